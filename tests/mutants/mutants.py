"""Ways to break the code on purpose, and the tests that are there to notice.

Each mutant is one edit of one module: a bug of a kind that public attention code has had. `run.py` makes the edit in a
copy of the package and runs the named tests; all of them pass on the code as it is, and at least one must fail on the
mutant.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One edit.

    Attributes:
        name: the bug, in words.
        module: file of the package, such as `masks.py`.
        before: text that stands there exactly once.
        after: what stands there in the mutant.
        tests: node ids below `tests/`, each there to kill it.
    """

    name: str
    module: str
    before: str
    after: str
    tests: tuple[str, ...]


MUTANTS = [
    # --- masks: who may attend to whom ---
    Mutant(
        "causal flipped: a query sees the future instead of the past",
        "masks.py",
        "return key <= query\n",
        "return key >= query\n",
        ("test_masks.py::test_causal_full_and_lookahead_are_their_loops_for_unequal_lengths",),
    ),
    Mutant(
        "causal without the position itself",
        "masks.py",
        "return key <= query\n",
        "return key < query\n",
        (
            "test_masks.py::test_access_of_causal_and_full_is_the_mask_itself",
            "test_masks.py::test_causal_full_and_lookahead_are_their_loops_for_unequal_lengths",
        ),
    ),
    Mutant(
        "look-ahead sees one token more than its name says",
        "masks.py",
        "return key <= query + future",
        "return key <= query + future + 1",
        ("test_masks.py::test_lookahead_k_sees_exactly_k_tokens_of_the_future_however_many_layers",),
    ),
    Mutant(
        "look-ahead in every layer, so that it adds up",
        "masks.py",
        "StudyMask(lookahead(future), causal)",
        "StudyMask(lookahead(future), lookahead(future))",
        (
            "test_masks.py::test_lookahead_k_sees_exactly_k_tokens_of_the_future_however_many_layers",
            "test_model.py::test_lookahead_k_reaches_k_tokens_ahead_and_no_further",
        ),
    ),
    Mutant(
        "queries aligned at the top left where there are more keys",
        "masks.py",
        "torch.arange(keys - queries, keys, device=device)[:, None]",
        "torch.arange(queries, device=device)[:, None]",
        (
            "test_masks.py::test_one_query_against_a_cache_sees_all_cached_keys",
            "test_attention.py::test_decoding_one_token_against_a_cache_is_the_last_row_of_the_whole_pass",
        ),
    ),
    Mutant(
        "padding forgotten",
        "masks.py",
        "predicate = both(predicate, real(lengths))",
        "predicate = both(predicate)",
        (
            "test_masks.py::test_no_mask_admits_padding",
            "test_evaluation.py::test_whatever_stands_in_padding_has_no_effect",
        ),
    ),
    Mutant(
        "the first padding position counts as real",
        "masks.py",
        "return (key < _per_example(lengths)) & (query >= 0)",
        "return (key <= _per_example(lengths)) & (query >= 0)",
        ("test_masks.py::test_no_mask_admits_padding",),
    ),
    Mutant(
        "padding kept for causal masks alone: dropping causality drops it too",
        "masks.py",
        "        if lengths is not None:\n            predicate = both",
        '        if lengths is not None and name != "full":\n            predicate = both',
        ("test_masks.py::test_no_mask_admits_padding", "test_model.py::test_padding_on_the_right_has_no_effect"),
    ),
    Mutant(
        "padding in the first layer only",
        "masks.py",
        "later = first if study_mask.later is study_mask.first else combined(study_mask.later)",
        "later = matrix(study_mask.later, length, device=device)",
        ("test_masks.py::test_no_mask_admits_padding",),
    ),
    Mutant(
        "prefix without its condition",
        "masks.py",
        "StudyMask(causal, causal, sees_condition=True)",
        "StudyMask(causal, causal, sees_condition=False)",
        ("test_masks.py::test_prefix_is_full_inside_the_condition_and_causal_after_it",),
    ),
    Mutant(
        "packed documents see each other",
        "masks.py",
        "return query_documents[:, None, :, None] == documents[:, None, None, :]",
        "return query_documents[:, None, :, None] >= documents[:, None, None, :]",
        (
            "test_masks.py::test_same_document_is_its_loop_on_batches",
            "test_model.py::test_packed_documents_do_not_see_each_other",
        ),
    ),
    Mutant(
        "masks joined by or instead of and",
        "masks.py",
        "allowed = allowed & predicate(query, key)",
        "allowed = allowed | predicate(query, key)",
        (
            "test_masks.py::test_both_and_either_are_and_and_or",
            "test_masks.py::test_left_padding_joins_with_causal_in_one_mask",
        ),
    ),
    Mutant(
        "a 0/1 float mask is taken",
        "masks.py",
        "if not isinstance(mask, Tensor) or mask.dtype != torch.bool:",
        "if not isinstance(mask, Tensor):",
        (
            "test_masks.py::test_anything_but_a_boolean_mask_is_refused",
            "test_attention.py::test_anything_but_a_boolean_mask_is_refused",
        ),
    ),
    # --- access ---
    Mutant(
        "access of one layer taken for that of all",
        "masks.py",
        "seen = ((layer_mask | own).float() @ seen.float()) > 0",
        "seen = layer_mask | own",
        (
            "test_masks.py::test_access_is_reachability_over_the_layers",
            "test_masks.py::test_looking_ahead_in_every_layer_would_compound",
        ),
    ),
    Mutant(
        "access without the residual path",
        "masks.py",
        "seen = ((layer_mask | own).float() @ seen.float()) > 0",
        "seen = (layer_mask.float() @ seen.float()) > 0",
        ("test_masks.py::test_access_is_reachability_over_the_layers",),
    ),
    Mutant(
        "layers multiplied in the wrong order",
        "masks.py",
        "seen = ((layer_mask | own).float() @ seen.float()) > 0",
        "seen = (seen.float() @ (layer_mask | own).float()) > 0",
        ("test_masks.py::test_access_is_reachability_over_the_layers",),
    ),
    # --- attention ---
    Mutant(
        "True and False change places in the additive mask",
        "attention.py",
        "masked_fill(~mask, -math.inf)\n\n\ndef",
        "masked_fill(mask, -math.inf)\n\n\ndef",
        ("test_attention.py::test_the_additive_mask_is_zero_or_minus_infinity",),
    ),
    Mutant(
        "the mask dropped where weights are asked for",
        "attention.py",
        "masked = scores.masked_fill(~mask, -math.inf)",
        "masked = scores.masked_fill(torch.zeros_like(mask), -math.inf)",
        (
            "test_attention.py::test_masked_weights_are_exactly_zero_and_the_others_sum_to_one",
            "test_model.py::test_attention_weights_are_those_that_the_fused_form_uses",
        ),
    ),
    Mutant(
        "the mask dropped on the fused path",
        "attention.py",
        "attn_mask=mask | ~sees_something,",
        "attn_mask=None,",
        (
            "test_attention.py::test_both_forms_agree_in_output_and_gradient_under_every_mask",
            "test_model.py::test_under_causal_a_token_changes_nothing_before_it",
        ),
    ),
    Mutant(
        "the mask dropped under dropout",
        "attention.py",
        "attn_mask=mask | ~sees_something,",
        "attn_mask=None if dropout else mask | ~sees_something,",
        ("test_attention.py::test_causal_under_dropout", "test_model.py::test_causal_under_dropout"),
    ),
    Mutant(
        "−1e4 for −∞",
        "attention.py",
        "masked = scores.masked_fill(~mask, -math.inf)",
        "masked = scores + (~mask) * -1e4",
        ("test_attention.py::test_a_masked_key_has_no_weight_however_high_its_score",),
    ),
    Mutant(
        "a row with nothing allowed is a uniform average (textbook form)",
        "attention.py",
        "weights = torch.softmax(masked, dim=-1) * sees_something",
        "weights = torch.softmax(masked, dim=-1)",
        ("test_attention.py::test_a_query_that_sees_nothing_gives_zero_and_passes_no_gradient",),
    ),
    Mutant(
        "a row with nothing allowed is a uniform average (fused form)",
        "attention.py",
        "return output * sees_something",
        "return output",
        ("test_attention.py::test_a_query_that_sees_nothing_gives_zero_and_passes_no_gradient",),
    ),
    Mutant(
        "NaN patched after the softmax, its gradient left",
        "attention.py",
        "masked = scores.masked_fill(~mask, -math.inf).masked_fill(~sees_something, 0.0)  # ..., queries, keys\n"
        "    weights = torch.softmax(masked, dim=-1) * sees_something",
        "weights = torch.softmax(scores + additive, dim=-1).nan_to_num(0.0)",
        (
            "test_attention.py::test_a_query_that_sees_nothing_gives_zero_and_passes_no_gradient",
            "test_attention.py::test_the_output_of_an_empty_row_may_be_thrown_away",
        ),
    ),
    Mutant(
        "NaN in padding spreads",
        "attention.py",
        "if not (sees_something.all() & is_seen.all()):",
        "if False:",
        ("test_attention.py::test_what_stands_at_a_key_that_nobody_sees_has_no_effect_on_output_or_gradient",),
    ),
    Mutant(
        "scores not scaled",
        "attention.py",
        "scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])",
        "scores = queries @ keys.transpose(-2, -1)",
        ("test_attention.py::test_both_forms_agree_in_output_and_gradient_under_every_mask",),
    ),
    Mutant(
        "softmax over queries instead of keys",
        "attention.py",
        "weights = torch.softmax(masked, dim=-1) * sees_something",
        "weights = torch.softmax(masked, dim=-2) * sees_something",
        ("test_attention.py::test_textbook_is_a_loop_over_the_allowed_keys",),
    ),
    # --- model ---
    Mutant(
        "dropout on attention weights stays on in evaluation",
        "model.py",
        "dropout = self.dropout if self.training else 0.0",
        "dropout = self.dropout",
        ("test_model.py::test_two_passes_in_evaluation_are_identical",),
    ),
    Mutant(
        "every layer gets the first layer's mask",
        "model.py",
        "streams.append(block(streams[-1], mask, rotation))",
        "streams.append(block(streams[-1], masks[0], rotation))",
        ("test_model.py::test_lookahead_k_reaches_k_tokens_ahead_and_no_further",),
    ),
    Mutant(
        "heads and positions mixed up when heads are joined",
        "model.py",
        "mixed.transpose(1, 2).reshape(stream.shape)",
        "mixed.reshape(stream.shape)",
        (
            "test_model.py::test_a_token_influences_exactly_the_positions_whose_access_holds_it",
            "test_model.py::test_a_whole_pass_is_the_formula_in_numpy",
        ),
    ),
    Mutant(
        "values are rotated too",
        "model.py",
        "compared = rotate(compared, rotation)",
        "compared, values = rotate(compared, rotation), rotate(values, rotation)",
        ("test_model.py::test_a_whole_pass_is_the_formula_in_numpy",),
    ),
    Mutant(
        "initial weights differ by the batch that came before: the seed is not set",
        "training.py",
        'torch.manual_seed(torch_seed(seed, "weights"))',
        "torch.seed()",
        (
            "test_training.py::test_masks_of_a_seed_share_initial_weights_batches_and_hidden_positions",
            "test_training.py::test_the_same_run_twice_is_identical_to_the_bit",
        ),
    ),
    # --- training and evaluation ---
    Mutant(
        "labels shifted by one",
        "training.py",
        "targets = torch.from_numpy(batch.targets[batch.scored].astype(np.int64))",
        "targets = torch.from_numpy(np.roll(batch.targets[batch.scored], 1).astype(np.int64))",
        ("test_training.py::test_a_hand_written_alignment",),
    ),
    Mutant(
        "trained under full whatever the mask",
        "training.py",
        "tokens, masks, scored = model_input(mask, shape.layers, batch)",
        'tokens, masks, scored = model_input("full", shape.layers, batch)',
        ("test_training.py::test_the_next_of_independent_tokens_cannot_be_learned_unless_it_is_seen",),
    ),
    Mutant(
        "batches depend on the mask",
        "training.py",
        "batches(len(examples), settings, seed)",
        "batches(len(examples), settings, seed + len(mask))",
        ("test_training.py::test_masks_of_a_seed_share_initial_weights_batches_and_hidden_positions",),
    ),
    Mutant(
        "gradients pile up over steps",
        "optimizer.py",
        "self.model.zero_grad(set_to_none=True)",
        "pass",
        ("test_training.py::test_gradients_do_not_pile_up",),
    ),
    Mutant(
        "evaluated in training mode",
        "evaluation.py",
        "model.eval()",
        "model.train()",
        ("test_evaluation.py::test_dropout_is_off_however_the_model_comes",),
    ),
    Mutant(
        "evaluated under full whatever the mask",
        "evaluation.py",
        "tokens, masks, scored = model_input(mask, model.shape.layers,",
        'tokens, masks, scored = model_input("full", model.shape.layers,',
        ("test_evaluation.py::test_a_model_can_be_asked_under_another_mask_than_its_own",),
    ),
    Mutant(
        "lengths not told to the masks",
        "evaluation.py",
        "lengths=torch.from_numpy(examples.lengths) if padded else None",
        "lengths=None",
        ("test_evaluation.py::test_whatever_stands_in_padding_has_no_effect",),
    ),
    # --- tasks, ceilings, audit, scores ---
    Mutant(
        "padding may be hidden",
        "tasks/masked_byte.py",
        "keys[np.arange(shape[1]) >= windows.lengths[:, None]] = 2",
        "keys[np.arange(shape[1]) > windows.lengths[:, None]] = 2",
        ("tasks/test_masked_byte.py::test_the_promised_number_of_real_positions_is_hidden",),
    ),
    Mutant(
        "the hidden byte stays in the input",
        "tasks/masked_byte.py",
        "tokens=np.where(picked, np.int16(MASK), windows.tokens)",
        "tokens=windows.tokens",
        ("tasks/test_masked_byte.py::test_the_promised_number_of_real_positions_is_hidden",),
    ),
    Mutant(
        "the audit looks at one layer",
        "audit.py",
        "reached = access(masks).numpy()  # length, length",
        "reached = access(masks[-1:]).numpy()  # length, length",
        ("test_audit.py::test_a_leak_may_need_several_layers",),
    ),
    Mutant(
        "the audit mistakes query for key",
        "audit.py",
        "reached[np.arange(length), standing]",
        "reached[standing, np.arange(length)]",
        ("test_audit.py::test_the_next_token_leaks_where_the_future_is_seen",),
    ),
    Mutant(
        "the ideal observer smooths one symbol too far",
        "ceilings.py",
        "for ahead in range(min(future, length - 1), 0, -1):",
        "for ahead in range(min(future + 1, length - 1), 0, -1):",
        ("test_ceilings.py",),
    ),
    Mutant(
        "the transition matrix is read the wrong way round",
        "ceilings.py",
        "predicted = filtered[:, step] @ model.transition\n",
        "predicted = filtered[:, step] @ model.transition.T\n",
        ("test_ceilings.py",),
    ),
    Mutant(
        "the mean over examples instead of over scored positions",
        "scoring.py",
        '"nats": float(self.nats.sum() / scored)',
        '"nats": float((self.nats / self.scored.clip(1)).mean())',
        ("test_scoring.py::test_positions_weigh_the_same_however_they_are_spread_over_examples",),
    ),
    # --- statistics ---
    Mutant(
        "the bootstrap resamples examples and calls them seeds",
        "comparisons.py",
        "differences = values[task, mask_a, metric] - values[task, mask_b, metric]",
        "differences = values[task, mask_a, metric] - values[task, mask_b, metric][::-1]",
        ("test_comparisons.py::TestCompare",),
    ),
]
