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
        ("test_ceilings.py::test_posteriors_are_sums_over_all_state_paths_for_every_lag",),
    ),
    Mutant(
        "the transition matrix is read the wrong way round",
        "ceilings.py",
        "predicted = filtered[:, step] @ model.transition\n",
        "predicted = filtered[:, step] @ model.transition.T\n",
        ("test_ceilings.py::test_posteriors_are_sums_over_all_state_paths_for_every_lag",),
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
        "the seeds of one mask are paired with other seeds of the other",
        "comparisons.py",
        "differences = values[task, mask_a, metric] - values[task, mask_b, metric]",
        "differences = values[task, mask_a, metric] - values[task, mask_b, metric][::-1]",
        ("test_comparisons.py::TestCompare::test_numbers_are_those_of_the_paired_differences",),
    ),
    # --- access, measured ---
    Mutant(
        "queries and keys change places in the measured access",
        "access.py",
        "effects[:, key] = changes[row].cpu().numpy() / size",
        "effects[key] = changes[row].cpu().numpy() / size",
        ("test_access.py::test_every_pattern_is_found_by_name",),
    ),
    Mutant(
        "one input is enough: a coincidence of zeros is taken for a mask",
        "access.py",
        "for draw in range(draws if thorough else 1):",
        "for draw in range(1):",
        ("test_access.py::test_a_coincidence_of_zeros_is_not_taken_for_a_mask",),
    ),
    Mutant(
        "a weak influence counts as none",
        "access.py",
        "TOLERANCE = 1e-13",
        "TOLERANCE = 1e-6",
        ("test_access.py::test_a_weak_effect_is_sight",),
    ),
    Mutant(
        "statistics over the batch are taken for sight",
        "access.py",
        "max(1, at_once) if self._apart.get(mode) else 1",
        "max(1, at_once)",
        ("test_access.py::test_statistics_over_the_batch_are_not_taken_for_sight",),
    ),
    Mutant(
        "NaN among the answers passes",
        "access.py",
        "    if answers.isnan().any():",
        "    if answers.isnan().all():",
        (
            "test_access.py::test_nan_that_comes_with_a_change_is_refused",
            "test_access.py::test_bad_models_are_one_clear_line",
        ),
    ),
    Mutant(
        "what one measurement sees is unseen if another does not see it",
        "access.py",
        "return np.fmax.reduce([measurement.effects for measurement in self.measurements])",
        "return np.fmin.reduce([measurement.effects for measurement in self.measurements])",
        ("test_access.py::test_a_single_pair_that_is_seen_in_training_alone_is_found",),
    ),
    Mutant(
        "queries that share a gradient all see what the first of them sees",
        "access.py",
        "                    if seen:\n                        break\n",
        "",
        ("test_access.py::test_ordered_sums_settle_every_pair_that_is_not_seen",),
    ),
    # --- the model under examination ---
    Mutant(
        "measured in evaluation alone: a mask that is lost in training is not found",
        "probing.py",
        "self.modes = (EVALUATION, TRAINING)",
        "self.modes = (EVALUATION,)",
        ("test_access.py::test_a_mask_that_is_lost_under_dropout_is_found",),
    ),
    Mutant(
        "dropout drawn anew on the two sides of a comparison",
        "probing.py",
        "            with fixed_randomness(seed, self.device):\n",
        "            with suppress():\n",
        ("test_access.py::test_dropout_is_the_same_on_both_sides_of_a_comparison",),
    ),
    Mutant(
        "measured in the model's own single precision",
        "probing.py",
        "                    self.model.to(precision)\n",
        "                    pass\n",
        ("test_probing.py::test_modes_and_precision",),
    ),
    Mutant(
        "the model itself is put into another mode",
        "probing.py",
        "self.model = copy.deepcopy(model).requires_grad_(False)",
        "self.model = model.requires_grad_(False)",
        ("test_probing.py::test_the_model_itself_is_left_as_it_is",),
    ),
    Mutant(
        "what a training pass writes into buffers stays for the next",
        "probing.py",
        "buffer.clone() if mode == TRAINING else buffer",
        "buffer",
        ("test_probing.py::test_a_pass_leaves_nothing_for_the_next_and_the_inputs_as_they_were",),
    ),
    Mutant(
        "padding is drawn as a token",
        "probing.py",
        "return tokens[~torch.isin(tokens, torch.tensor([padding for _, padding in tables if padding is not None]))]",
        "return tokens",
        ("test_probing.py::test_the_padding_token_of_a_table_is_no_token_to_draw",),
    ),
    Mutant(
        "positions first is read as batch first",
        "probing.py",
        "    if tuple(found.shape[:2]) != (batch, length):",
        "    if found.shape[:2].numel() != batch * length:",
        ("test_probing.py::test_answers_that_are_none_are_refused_in_one_line",),
    ),
    Mutant(
        "a change may put the same token there again",
        "probing.py",
        "step = torch.randint(1, len(self.tokens)",
        "step = torch.randint(0, len(self.tokens)",
        ("test_probing.py::test_a_change_changes_what_it_says_and_stays_in_the_vocabulary",),
    ),
    # --- patterns: the verdict ---
    Mutant(
        "look-ahead K admits one key more than its name says, in the verdict",
        "patterns.py",
        "return key <= query + numbers[0]",
        "return key <= query + numbers[0] + 1",
        ("test_patterns.py::test_a_mask_of_the_study_gives_the_access_of_the_same_name",),
    ),
    Mutant(
        "a window of 3 admits 4 keys",
        "patterns.py",
        "return (key >= query - numbers[0]) & (key <= query + numbers[1])",
        "return (key >= query - numbers[0] - 1) & (key <= query + numbers[1])",
        ("test_patterns.py::test_a_name_is_its_rule_cell_by_cell_and_the_verdict_finds_the_name_again",),
    ),
    Mutant(
        "the first key after the prefix belongs to it",
        "patterns.py",
        "return (key <= query) | (key < numbers[0])",
        "return (key <= query) | (key <= numbers[0])",
        ("test_patterns.py::test_a_name_is_its_rule_cell_by_cell_and_the_verdict_finds_the_name_again",),
    ),
    Mutant(
        "blocks see each other backwards",
        "patterns.py",
        "together = document[:, None] == document[None, :]",
        "together = document[:, None] >= document[None, :]",
        ("test_patterns.py::test_a_name_is_its_rule_cell_by_cell_and_the_verdict_finds_the_name_again",),
    ),
    Mutant(
        "an access that is nearly causal is called causal",
        "patterns.py",
        "if np.array_equal(pattern(name, length), matrix):",
        "if (pattern(name, length) != matrix).sum() < 2:",
        ("test_patterns.py::test_an_outlier_does_not_hide_the_pattern_it_departs_from",),
    ),
    Mutant(
        "a 0/1 matrix is taken for what is expected",
        "patterns.py",
        "if matrix.dtype != np.bool_ or matrix.shape",
        "if matrix.shape",
        ("test_patterns.py::test_what_is_expected_may_be_a_matrix",),
    ),
    # --- proofs ---
    Mutant(
        "padding is tried on the right alone",
        "proofs/padding.py",
        '{"left": length - counts, "right": 0 * counts,',
        '{"left": 0 * counts, "right": 0 * counts,',
        (
            "proofs/test_padding.py::test_padding_that_is_not_masked_is_found_on_the_left_where_a_causal_mask_lets_it_through",
        ),
    ),
    Mutant(
        "True and False change places where a model is told its padding",
        "proofs/padding.py",
        "src_key_padding_mask=~real",
        "src_key_padding_mask=real",
        ("proofs/test_padding.py::test_how_common_models_are_told",),
    ),
    Mutant(
        "an answer that becomes NaN counts as unchanged",
        "proofs/proof.py",
        "changes = largest_change(before, after).nan_to_num(nan=math.inf)",
        "changes = largest_change(before, after).nan_to_num(nan=0.0)",
        ("proofs/test_padding.py::test_the_position_that_padding_spoils_is_named",),
    ),
    Mutant(
        "the gradient into padding is that of the padding's own answers too",
        "proofs/padding.py",
        "projected = (answers @ (direction / direction.norm()))[~padding.to(answers.device)]",
        "projected = answers @ (direction / direction.norm())",
        ("proofs/test_padding.py::test_a_model_with_learned_positions_and_plain_attention",),
    ),
    Mutant(
        "the same seed in every pass hides dropout that stays on in evaluation",
        "proofs/running.py",
        "chance=chance) for chance in range(4)",
        "chance=0) for chance in range(4)",
        ("proofs/test_running.py::test_dropout_that_stays_on_in_evaluation_is_found",),
    ),
    Mutant(
        "weights are asked for in evaluation alone",
        "proofs/running.py",
        "    for mode in plain.subject.modes:",
        "    for mode in plain.subject.modes[:1]:",
        ("proofs/test_running.py::test_a_mask_that_is_lost_in_training_alone_is_found",),
    ),
    Mutant(
        "a packed document may see those before it",
        "proofs/seeing.py",
        "allowed = (number[:, None] == number).numpy()",
        "allowed = (number[:, None] >= number).numpy()",
        ("proofs/test_seeing.py::test_documents_that_see_each_other_are_found_with_the_first_pair",),
    ),
    Mutant(
        "every layer may hold what is seen after the last",
        "proofs/seeing.py",
        "seen = [access(masks[: layer + 1]).numpy() for layer in range(len(masks))]",
        "seen = [access(masks).numpy() for layer in range(len(masks))]",
        ("proofs/test_seeing.py::test_a_layer_may_not_hold_what_a_later_one_is_there_to_bring",),
    ),
    Mutant(
        "a layer may hold what its own mask admits, whatever the layers before it brought",
        "proofs/seeing.py",
        "seen = [access(masks[: layer + 1]).numpy() for layer in range(len(masks))]",
        "seen = [masks[layer].numpy() for layer in range(len(masks))]",
        ("proofs/test_seeing.py::test_no_layer_of_the_study_s_own_model_holds_what_its_masks_forbid",),
    ),
    Mutant(
        "the cache is empty at every step",
        "proofs/cache.py",
        "cache: Any = cache, end: int = end",
        "cache: Any = None, end: int = end",
        (
            "proofs/test_cache.py::test_a_cache_of_one_s_own",
            "proofs/test_cache.py::test_cached_uncached_and_parallel_answers_agree",
        ),
    ),
    Mutant(
        "with a cache the padding mask is cut from the wrong end",
        "proofs/cache.py",
        "real[: len(inputs), :positions]",
        "real[: len(inputs), real.shape[1] - positions :]",
        ("proofs/test_cache.py::test_cached_uncached_and_parallel_answers_agree",),
    ),
    Mutant(
        "batches of every size are those of the first",
        "proofs/batch.py",
        "for part in base.split(size)]",
        "for part in base.split(sizes[0])]",
        ("proofs/test_batch.py::test_the_batch_size",),
    ),
    Mutant(
        "no NaN is put where NaN is promised",
        "proofs/proof.py",
        "row[entrance.cells[positions].flatten()] = value",
        "row[entrance.cells[positions].flatten()] = 0.0",
        ("proofs/test_batch.py::test_an_example_that_influences_another_is_found",),
    ),
    Mutant(
        "an assertion that nothing can fail",
        "testing.py",
        "    if not proof.holds:",
        "    if not proof.findings:",
        ("test_testing.py::test_each_sibling_holds_and_each_bites",),
    ),
    Mutant(
        "a model that sees less than it should passes",
        "testing.py",
        "    if offence is None:",
        "    if offence is None or not offence.seen:",
        ("test_testing.py::test_a_key_that_is_not_seen_is_an_offence_too",),
    ),
    # --- audit, measured, and its path ---
    Mutant(
        "the audit is content with one of the two ways",
        "audit.py",
        "wrong = np.flatnonzero((self.moved != self.seen) | (self.felt != self.seen))",
        "wrong = np.flatnonzero((self.moved != self.seen) & (self.felt != self.seen))",
        ("test_audit_measurement.py::test_one_of_the_two_ways_alone_is_a_contradiction",),
    ),
    Mutant(
        "the audit asks a new model, whose zeros let nothing through",
        "audit.py",
        "            if parameter.dim() == 2:",
        "            if parameter.dim() == 2 and parameter.any():",
        (
            "test_audit_measurement.py::test_every_matrix_of_a_random_model_is_drawn",
            "test_audit_measurement.py::test_masks_and_model_agree_and_a_leak_is_measured_exactly_where_one_is_found",
        ),
    ),
    Mutant(
        "the path of a leak without the residual path",
        "audit.py",
        "step = mask | own  # queries, keys",
        "step = mask  # queries, keys",
        ("test_audit.py::test_every_step_of_a_path_is_allowed_by_its_layer_and_every_reach_has_a_path",),
    ),
    Mutant(
        "the path of a leak takes the layers in the wrong order",
        "audit.py",
        "    for mask in reversed(masks):",
        "    for mask in masks:",
        ("test_audit.py::test_every_step_of_a_path_is_allowed_by_its_layer_and_every_reach_has_a_path",),
    ),
    Mutant(
        "the audit counts positions that are not scored",
        "audit.py",
        "answered = examples.scored & (examples.target_positions != NOWHERE)",
        "answered = examples.target_positions != NOWHERE",
        ("test_audit.py::test_an_answer_that_stands_in_the_input_but_is_not_scored_is_no_leak",),
    ),
    Mutant(
        "the audit forgets the condition",
        "audit.py",
        "yield _plain_masks(mask, layers, int(length), int(condition_length)), rows",
        "yield _plain_masks(mask, layers, int(length), 0), rows",
        ("test_audit.py::test_answers_inside_the_condition_leak_under_prefix",),
    ),
    Mutant(
        "the audit measures the first examples alone, and not the one that leaks",
        "audit.py",
        "rows = np.union1d(np.flatnonzero(answered.any(1))[:MEASURED_EXAMPLES], np.flatnonzero(seen.any(1))[:1])",
        "rows = np.flatnonzero(answered.any(1))[:MEASURED_EXAMPLES]",
        ("test_audit_measurement.py::test_the_example_that_leaks_is_measured_wherever_it_stands",),
    ),
    Mutant(
        "look-ahead is read off the mask of one layer",
        "audit.py",
        '"look_ahead": look_ahead(access(masks)),',
        '"look_ahead": look_ahead(masks[-1]),',
        ("test_audit_measurement.py::test_the_masks_of_the_study_look_ahead_as_they_are_named_at_any_depth",),
    ),
    Mutant(
        "equal access is judged at all positions, scored or not",
        "audit.py",
        "positions = np.flatnonzero(examples.scored[rows, : len(seen)].any(0))",
        "positions = np.arange(len(seen))",
        ("test_audit.py::test_read_at_the_last_token_causal_and_full_see_the_same",),
    ),
    # --- chance, threads and gradients ---
    Mutant(
        "the forward pass is right and its gradient is not",
        "attention.py",
        "scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])",
        "scores = queries @ keys.detach().transpose(-2, -1) / math.sqrt(queries.shape[-1])",
        (
            "test_attention.py::test_both_forms_agree_in_output_and_gradient_under_random_masks",
            "test_attention.py::test_gradients_are_those_of_finite_differences_an_empty_row_among_them",
        ),
    ),
    Mutant(
        "as many threads as the caller has",
        "commands/train.py",
        "    torch.set_num_threads(1)  # sums in another order give other bits\n",
        "",
        ("commands/test_train.py::test_the_threads_of_the_caller_do_not_matter",),
    ),
    # --- tasks and data ---
    Mutant(
        "labels never shifted: the answer is the token itself",
        "tasks/task.py",
        "following = np.roll(tokens, -1, axis=1)",
        "following = tokens",
        ("tasks/test_task.py::test_next_tokens_by_hand", "tasks/test_next_byte.py::test_alignment_by_hand"),
    ),
    Mutant(
        "labels shifted twice: the answer is the token after the next",
        "tasks/task.py",
        "following = np.roll(tokens, -1, axis=1)",
        "following = np.roll(tokens, -2, axis=1)",
        (
            "tasks/test_task.py::test_next_tokens_by_hand",
            "tasks/test_markov_next.py::test_the_answer_is_the_next_token_and_the_last_position_has_none",
        ),
    ),
    Mutant(
        "the answer is said to stand one position too far left, where every mask sees it",
        "tasks/task.py",
        "positions = np.arange(1, tokens.shape[1] + 1, dtype=np.int16)",
        "positions = np.arange(tokens.shape[1], dtype=np.int16)",
        (
            "tasks/test_task.py::test_next_tokens_by_hand",
            "tasks/test_next_byte.py::test_an_answer_stands_where_it_is_said_to_and_padding_is_never_one",
        ),
    ),
    Mutant(
        "the answer to the last real token is padding",
        "tasks/task.py",
        "answered = np.arange(tokens.shape[1]) < lengths[:, None] - 1",
        "answered = np.arange(tokens.shape[1]) < np.minimum(lengths[:, None], tokens.shape[1] - 1)",
        (
            "tasks/test_task.py::test_next_tokens_by_hand",
            "tasks/test_next_byte.py::test_an_answer_stands_where_it_is_said_to_and_padding_is_never_one",
        ),
    ),
    Mutant(
        "an answer is lost at the end of every window",
        "tasks/next_byte.py",
        "windows = cut(documents, self.length, PAD, shared=1)",
        "windows = cut(documents, self.length, PAD)",
        (
            "tasks/test_next_byte.py::test_the_worked_example",
            "tasks/test_next_byte.py::test_every_byte_but_the_first_of_a_document_is_an_answer_once_and_after_the_byte_before_it",
        ),
    ),
    Mutant(
        "visible bytes are scored too",
        "tasks/masked_byte.py",
        "targets=np.where(picked, windows.tokens, np.int16(NOT_SCORED)),",
        "targets=np.where(windows.tokens < BYTES, windows.tokens, np.int16(NOT_SCORED)),",
        ("tasks/test_masked_byte.py::test_the_promised_number_of_real_positions_is_hidden",),
    ),
    Mutant(
        "the floor of a control is that of a model that cannot see",
        "tasks/markov_next.py",
        "        if visible_future(mask) != 0:\n            distributions = np.eye",
        "        if visible_future(mask) == -1:\n            distributions = np.eye",
        ("tasks/test_markov_next.py::test_who_sees_the_answer_knows_it",),
    ),
    Mutant(
        "the chain is read against its direction",
        "tasks/markov_next.py",
        "distributions = self.chain().transition[test.tokens",
        "distributions = self.chain().transition.T[test.tokens",
        ("tasks/test_markov_next.py::test_the_ceiling_is_the_posterior_given_all_that_is_seen",),
    ),
    Mutant(
        "the baseline sees an answer that the mask hides",
        "baselines.py",
        "return before if visible_future(mask) == 0 else (1, *before)",
        "return (1, *before)",
        ("tasks/test_markov_next.py::test_the_causal_baseline_does_not_look_at_the_answer",),
    ),
    Mutant(
        "windows reach across documents",
        "data/windows.py",
        "    step = length - shared\n",
        "    step = length - shared\n"
        '    documents = [Document("all", "".join(document.text for document in documents))]\n',
        ("tasks/test_masked_byte.py::test_windows_are_the_documents_in_order_and_none_crosses_a_boundary",),
    ),
    Mutant(
        "windows overlap, so that the same text is seen twice",
        "data/windows.py",
        "    step = length - shared\n",
        "    step = max(1, (length - shared) // 2)\n",
        ("data/test_windows.py::test_windows_by_hand",),
    ),
    Mutant(
        "what validation repeats stays in train",
        "data/splits.py",
        "elsewhere = set().union(*(contents[later] for later in SPLITS[place + 1 :]))",
        "elsewhere = set().union(*(contents[later] for later in SPLITS[max(place + 1, 2) :]))",
        ("data/test_splits.py::test_what_is_left_is_disjoint_and_nothing_else_is_lost",),
    ),
    Mutant(
        "validation inside train is not looked for",
        "data/splits.py",
        "for one, other in combinations(SPLITS, 2):",
        'for one, other in (("train", "test"), ("validation", "test")):',
        (
            "data/test_splits.py::test_a_group_in_two_splits_is_named",
            "data/test_splits.py::test_an_identical_example_in_two_splits_is_named",
        ),
    ),
    Mutant(
        "equal windows with different hidden positions pass for different",
        "data/splits.py",
        "        if whole:\n",
        "        if False:\n",
        ("data/test_splits.py::test_two_examples_with_different_hidden_positions_are_still_the_same",),
    ),
    Mutant(
        "a drawn sequence may stand in two splits",
        "data/sequences.py",
        "        taken.update(row.tobytes() for row in splits[split].tokens)\n",
        "",
        ("data/test_sequences.py::test_no_sequence_stands_in_two_splits_though_it_may_stand_twice_in_one",),
    ),
    # --- chance, training, evaluation, generation ---
    Mutant(
        "two uses of chance draw the same numbers",
        "randomness.py",
        "spawn_key=(crc32(name.encode()),)",
        "spawn_key=(0,)",
        ("test_randomness.py::test_a_stream_is_a_function_of_seed_and_name",),
    ),
    Mutant(
        "trained on validation data",
        "training.py",
        "task.batch(examples, index, hiding)",
        "task.batch(validation, index % len(validation), hiding)",
        ("test_training.py::test_looking_at_validation_changes_nothing_that_is_learned",),
    ),
    Mutant(
        "dropout off after the first look at validation",
        "training.py",
        "        model.train()\n",
        "        model.train(step == 1 or model.training)\n",
        (
            "test_training.py::test_dropout_is_on_in_every_step_and_off_at_every_look",
            "test_training.py::test_looking_at_validation_changes_nothing_that_is_learned",
        ),
    ),
    Mutant(
        "the validation curve is taken on train data",
        "training.py",
        "score(log_probabilities(model, mask, validation), validation)",
        "score(log_probabilities(model, mask, examples), examples)",
        ("test_training.py::test_the_curve_has_its_points_and_ends_with_the_model_that_is_returned",),
    ),
    Mutant(
        "test data is opened by training",
        "commands/train.py",
        'for name in ("train", "validation"))',
        'for name in ("train", "test"))',
        ("commands/test_train.py::test_a_run_leaves_its_model_curve_cost_and_time_and_never_opens_test",),
    ),
    Mutant(
        "a cell that leaks trains as a study cell",
        "commands/train.py",
        'passed = {**cell, "leaks": cell["role"] == "control"}',
        "passed = dict(cell)",
        ("commands/test_train.py::test_nothing_trains_that_the_audit_has_not_passed",),
    ),
    Mutant(
        "the condition is not told to the masks",
        "evaluation.py",
        "if examples.condition_lengths.any() else None",
        "if False else None",
        (
            "test_evaluation.py::test_answers_are_those_of_each_example_alone",
            "test_training.py::test_prefix_trains_with_the_conditions_of_its_examples",
        ),
    ),
    Mutant(
        "a model writes with dropout on",
        "generation.py",
        "model.eval()",
        "model.train()",
        ("test_generation.py::test_dropout_is_off",),
    ),
    Mutant(
        "the prompt is scored as if the model had written it",
        "generation.py",
        "    targets[:, : prompts.shape[1] - 1] = NOT_SCORED\n",
        "",
        ("test_generation.py::test_what_follows_the_prompt_is_scored_and_nothing_else",),
    ),
    # --- statistics ---
    Mutant(
        "examples are resampled and seeds are not",
        "statistics.py",
        "seed_counts = _resample_counts(generator, rows, seeds)",
        "seed_counts = np.ones((rows, seeds))",
        (
            "test_statistics.py::TestHierarchicalInterval::test_each_axis_counts",
            "test_statistics.py::TestHierarchicalInterval::test_is_the_crossed_bootstrap_of_all_resamples",
        ),
    ),
    Mutant(
        "the axes of seeds and examples change places",
        "statistics.py",
        'by_seed = np.einsum("re,se->rs", example_counts, values)',
        'by_seed = np.einsum("re,se->rs", example_counts, values.T.reshape(values.shape))',
        ("test_statistics.py::TestHierarchicalInterval::test_is_the_crossed_bootstrap_of_all_resamples",),
    ),
    Mutant(
        "an interval of width 0 is a result",
        "statistics.py",
        "    if not interval.high > interval.low:",
        "    if interval.high < interval.low:",
        (
            "test_statistics.py::TestBcaInterval::test_width_zero_is_an_error_where_values_differ",
            "test_statistics.py::TestHierarchicalInterval::test_width_zero_is_an_error_where_values_differ",
        ),
    ),
    Mutant(
        "one seed is enough",
        "statistics.py",
        "    if seeds < 2:",
        "    if seeds < 1:",
        (
            "test_statistics.py::TestSignFlip::test_refuses_one_seed_with_its_smallest_p",
            "test_statistics.py::TestReachable::test_refuses_one_seed",
        ),
    ),
    Mutant(
        "one-sided p called two-sided",
        "statistics.py",
        "return float(2 * at_least / 2 ** len(values))",
        "return float(at_least / 2 ** len(values))",
        ("test_statistics.py::TestSignFlip::test_is_the_share_of_all_assignments",),
    ),
    Mutant(
        "the study starts though no declared comparison can reach alpha",
        "statistics.py",
        "smallest = min(1.0, max(1, comparisons) * smallest_p(seeds))",
        "smallest = smallest_p(seeds)",
        ("test_statistics.py::TestReachable::test_agrees_with_the_best_case",),
    ),
    Mutant(
        "a run that diverged takes part as NaN",
        "statistics.py",
        '    if not np.isfinite(values).all():\n        raise ValueError(f"values over seeds',
        '    if np.isnan(values).all():\n        raise ValueError(f"values over seeds',
        ("test_statistics.py::TestBcaInterval::test_refuses_what_is_not_finite",),
    ),
    Mutant(
        "no difference found is called equivalent",
        "statistics.py",
        "if p_equivalence is not None and p_equivalence <= alpha:",
        "if p_equivalence is not None:",
        ("test_statistics.py::TestVerdict::test_of_both_tests",),
    ),
    Mutant(
        "NaN is called inconclusive",
        "statistics.py",
        "    if np.isnan([effect, p, 0.0 if p_equivalence is None else p_equivalence]).any():",
        "    if np.isnan([effect, p, 0.0 if p_equivalence is None else p_equivalence]).all():",
        ("test_statistics.py::TestVerdict::test_of_nan_nothing_is_said",),
    ),
    Mutant(
        "p values of a family left as they are",
        "statistics.py",
        "values[order] * np.arange(len(values), 0, -1)",
        "values[order]",
        ("test_statistics.py::TestHolm::test_is_the_closure_of_bonferroni",),
    ),
    Mutant(
        "the best of several seeds is reported",
        "comparisons.py",
        '"effect": float(differences.mean()),',
        '"effect": float(max(differences, key=abs)),',
        ("test_comparisons.py::TestCompare::test_numbers_are_those_of_the_paired_differences",),
    ),
    Mutant(
        "controls are ranked",
        "comparisons.py",
        'study = metrics[metrics["role"] == "study"]',
        "study = metrics",
        ("test_comparisons.py::TestCompare::test_every_pair_of_study_masks_once_and_no_control",),
    ),
    Mutant(
        "a model above its ceiling passes for close to it",
        "comparisons.py",
        "                outcome = ABOVE_CEILING",
        "                outcome = WITHIN",
        ("test_comparisons.py::TestCeilingGaps::test_above_zero_is_better_than_the_ceiling_in_every_metric",),
    ),
    # --- masks, once more ---
    Mutant(
        "the condition shows padding",
        "masks.py",
        "        if study_mask.sees_condition and condition_lengths is not None:\n"
        "            predicate = either(predicate, condition(condition_lengths))\n"
        "        if lengths is not None:\n"
        "            predicate = both(predicate, real(lengths))\n",
        "        if lengths is not None:\n"
        "            predicate = both(predicate, real(lengths))\n"
        "        if study_mask.sees_condition and condition_lengths is not None:\n"
        "            predicate = either(predicate, condition(condition_lengths))\n",
        ("test_masks.py::test_no_mask_admits_padding",),
    ),
    Mutant(
        "against a cache, the documents of the keys are taken for those of the queries",
        "masks.py",
        "documents = query_documents if key_documents is None else key_documents",
        "documents = query_documents",
        (
            "test_masks.py::test_against_a_cache_documents_and_padding_are_those_of_all_its_keys",
            "test_masks.py::test_same_document_is_its_loop_on_batches",
        ),
    ),
    Mutant(
        "the document of one query stands for those of all keys",
        "masks.py",
        "    if marks.shape[-1] != positions:",
        "    if marks.shape[-1] not in (1, positions):",
        ("test_masks.py::test_against_a_cache_documents_and_padding_are_those_of_all_its_keys",),
    ),
]
