"""What models of `transformers`, small and with random weights, really do: who sees whom, and what makes a difference.

None of this is a demand on them. It is what was measured, written down as tests, so that a change is noticed.
"""

import copy

import pytest
import torch

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed (pip install '.[peers]')", exc_type=ImportError
)

from maskstudy import probing  # noqa: E402
from maskstudy.access import measure_access  # noqa: E402
from maskstudy.patterns import pattern  # noqa: E402
from maskstudy.probing import Subject  # noqa: E402
from maskstudy.proofs import (  # noqa: E402
    FINITE_CASES,
    batch_size_has_no_effect,
    cached_decoding_agrees,
    documents_are_separate,
    evaluation_is_deterministic,
    examples_are_independent,
    forbidden_tokens_have_no_effect,
    padding_has_no_effect,
    returned_weights_have_no_effect,
)

transformers.logging.set_verbosity_error()  # of tokens that a small vocabulary does not have

VOCABULARY, LENGTH = 60, 12
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": VOCABULARY,
}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PAIR = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": VOCABULARY,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
    **SPECIAL,
}
T5 = {"d_model": 32, "d_ff": 64, "num_layers": 2, "num_heads": 2, "d_kv": 16, "vocab_size": VOCABULARY}


def build(name, attention="sdpa", **changes):
    """A model by name, with random weights that are the same every time."""
    t = transformers
    kinds = {
        "gpt2": lambda c: t.GPT2LMHeadModel(
            t.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=VOCABULARY, bos_token_id=1, eos_token_id=2, **c)
        ),
        "llama": lambda c: t.LlamaForCausalLM(t.LlamaConfig(**SMALL, **c)),
        "mistral": lambda c: t.MistralForCausalLM(t.MistralConfig(**SMALL, num_key_value_heads=2, **c)),
        "bert": lambda c: t.BertModel(t.BertConfig(**SMALL, **c)),
        "bert decoder": lambda c: t.BertLMHeadModel(t.BertConfig(**SMALL, is_decoder=True, **c)),
        "modernbert": lambda c: t.ModernBertModel(
            t.ModernBertConfig(**SMALL, **SPECIAL, cls_token_id=3, sep_token_id=4, **c)
        ),
        "t5 encoder": lambda c: t.T5EncoderModel(t.T5Config(**T5, **c)),
        "t5": lambda c: t.T5ForConditionalGeneration(t.T5Config(**T5, decoder_start_token_id=0, **c)),
        "bart": lambda c: t.BartForConditionalGeneration(t.BartConfig(**PAIR, **c)),
    }
    torch.manual_seed(0)
    return kinds[name]({"attn_implementation": attention, **changes})


def source(tokens):
    """A fixed source for the other half of an encoder–decoder."""
    return torch.arange(5, 5 + LENGTH)[: tokens.shape[1]].repeat(len(tokens), 1)


def decoder(model, tokens, **options):
    return model(input_ids=source(tokens), decoder_input_ids=tokens, **options)


def cross(model, tokens, **options):
    return model(input_ids=tokens, decoder_input_ids=source(tokens), **options)


def by_labels(model, tokens):
    return model(input_ids=source(tokens), labels=tokens)


# --- who sees whom ----------------------------------------------------------------------------------------------------

ACCESS = {
    "gpt2": ("gpt2", None, {}, "causal"),
    "llama": ("llama", None, {}, "causal"),
    "bert": ("bert", None, {}, "full"),
    "bert as a decoder": ("bert decoder", None, {}, "causal"),
    "modernbert": ("modernbert", None, {}, "full"),
    "t5 encoder": ("t5 encoder", None, {}, "full"),
    "t5 decoder": ("t5", decoder, {}, "causal"),
    "t5 decoder of the source": ("t5", cross, {}, "full"),
    "bart without decoder input": ("bart", None, {}, "full"),  # it makes its own from the source
    "bart decoder": ("bart", decoder, {}, "causal"),
    "bart decoder of the source": ("bart", cross, {}, "full"),
    # What goes in as labels is shifted by one on its way in: a position sees the labels before its own.
    "t5 by labels": ("t5", by_labels, {}, "strictly-causal"),
    "bart by labels": ("bart", by_labels, {}, "strictly-causal"),
    # A window of 3 holds the query itself and 2 keys before it; two layers of it reach 4 back.
    "mistral": ("mistral", None, {"sliding_window": 3}, "window-4-0"),
    # `local_attention=4` is 2 keys on either side. The first layer is global however rare global layers are.
    "modernbert, local": ("modernbert", None, {"local_attention": 4, "global_attn_every_n_layers": 100}, "full"),
    "modernbert, local alone": (
        "modernbert",
        None,
        {"local_attention": 4, "layer_types": ["sliding_attention"] * 2},
        "window-4-4",
    ),
}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("case", ACCESS)
def test_who_sees_whom(case, attention):
    name, call, changes, expected = ACCESS[case]
    measured = measure_access(build(name, attention, **changes), call=call)
    assert measured.verdict.name == expected
    assert measured.differences == ()
    assert {m.name for m in measured.measurements} == {
        f"{way} in {mode}" for way in ("perturbation", "gradient") for mode in ("evaluation", "training")
    }


@pytest.mark.parametrize(("name", "expected"), [("gpt2", "causal"), ("llama", "causal"), ("bert", "full")])
def test_a_sparing_measurement_finds_the_same(name, expected):
    measured = measure_access(build(name), length=40, thorough=False)
    assert measured.verdict.name == expected
    assert measured.differences == ()


LAST_MATRIX = {
    "gpt2": ("lm_head", None),
    "llama": ("lm_head", None),
    "bert decoder": ("cls.predictions.decoder", None),
    "t5": ("lm_head", decoder),
    "bart": (None, decoder),  # it adds a bias of its own, one number a token
}


@pytest.mark.parametrize("name", LAST_MATRIX)
def test_random_directions_of_the_scores_of_a_vocabulary_show_the_same(name, monkeypatch):
    monkeypatch.setattr(probing, "_MOST_ANSWERS", VOCABULARY // 2)
    model, (matrix, call) = build(name), LAST_MATRIX[name]
    before = copy.deepcopy(model.state_dict())
    measured = measure_access(model, call=call, thorough=False)
    assert measured.verdict.name == "causal"
    assert measured.differences == ()
    noted = [note.partition(" gives")[0] for note in measured.notes if note.startswith("random directions")]
    assert noted == ([f"random directions of the many numbers that {matrix}"] if matrix else [])
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state_dict().items())


def test_embeddings_may_go_in_instead_of_tokens():
    measured = measure_access(build("gpt2"), call=lambda m, vectors: m(inputs_embeds=vectors), width=32)
    assert measured.verdict.name == "causal"


def test_no_layer_of_a_causal_model_looks_ahead():
    for name in ("gpt2", "llama"):
        proof = forbidden_tokens_have_no_effect(build(name), "causal", draws=1)
        assert proof.holds, str(proof)
        assert len(proof.findings) == 6
    # Of Mistral's windows the first layer reaches 2 back and the second 4.
    masks = torch.from_numpy(pattern("window-2-0", LENGTH)).repeat(2, 1, 1)
    proof = forbidden_tokens_have_no_effect(build("mistral", sliding_window=3), masks, draws=1)
    assert proof.holds, str(proof)


# --- padding ----------------------------------------------------------------------------------------------------------


def broken(proof):
    """(side, case) of what fails, in any mode."""
    cases = [finding.case.removeprefix("padding on ").removeprefix("the ").split(", ") for finding in proof.broken]
    return {(side, case) for side, _, case in cases}


SHIFTED = {("left", "taken away"), ("both sides", "taken away")}  # padding on the left counts as positions
PADDING = {
    "gpt2": SHIFTED,
    "llama": set(),
    "bert": SHIFTED,
    "modernbert": set(),
    "t5 encoder": set(),
    # Without decoder input BART feeds its source, padding included, to a decoder that is not told about padding: a
    # causal mask hides padding on the right, and nothing hides it on the left.
    "bart": {*SHIFTED, *((side, case) for side in ("left", "both sides") for case in ("other contents", "gradient"))},
}


@pytest.mark.parametrize("name", PADDING)
def test_which_padding_makes_a_difference(name):
    assert broken(padding_has_no_effect(build(name), cases=FINITE_CASES)) == PADDING[name]


@pytest.mark.parametrize("name", PADDING)
def test_nan_in_padding_spoils_every_one_of_them(name):
    proof = padding_has_no_effect(build(name), cases=["NaN", "infinity"])
    assert len(proof.broken) == len(proof.findings) == 12


def test_gpt2_is_told_its_positions():
    def call(model, tokens, real):
        return model(tokens, attention_mask=real.long(), position_ids=(real.long().cumsum(1) - 1).clamp(min=0))

    assert padding_has_no_effect(build("gpt2"), call=call, cases=FINITE_CASES).holds


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_padding_of_a_source_does_not_reach_the_decoder(name):
    def call(model, tokens, real):
        return cross(model, tokens, attention_mask=real.long())

    assert padding_has_no_effect(build(name), call=call, cases=["contents", "gradient"]).holds


def test_padding_on_the_left_is_nan_in_eager_llama_in_double_precision_alone():
    """Its softmax is in single precision, where the smallest double is −∞: a row of padding sees nothing, 0/0."""
    proof = padding_has_no_effect(build("llama", "eager"), cases=FINITE_CASES)
    assert broken(proof) == {("left", "any contents"), ("both sides", "any contents")}
    assert "is NaN" in str(proof)
    assert padding_has_no_effect(build("llama", "eager"), cases=FINITE_CASES, precision=None).holds


# --- the batch, chance, weights ---------------------------------------------------------------------------------------

EVERY = ["gpt2", "llama", "bert", "modernbert", "t5 encoder", "bart"]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", EVERY)
def test_examples_and_batch_size_make_no_difference(name, attention):
    for claim in (examples_are_independent, batch_size_has_no_effect):
        proof = claim(build(name, attention))
        assert proof.holds, str(proof)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", EVERY)
def test_dropout_is_off_in_evaluation_and_on_in_training(name, attention):
    """Llama and ModernBERT have none unless they are told to."""
    model = build(name, attention, **({"attention_dropout": 0.2} if name in ("llama", "modernbert") else {}))
    proof = evaluation_is_deterministic(model)
    assert proof.holds, str(proof)
    subject, tokens = Subject(model), torch.arange(5, 5 + LENGTH)[None]
    assert not torch.equal(*(subject.answers(tokens, "training", seed) for seed in (0, 1)))


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", EVERY)
def test_asking_for_the_weights_makes_no_difference_and_sdpa_returns_none(name, attention):
    model = build(name, attention)
    proof = returned_weights_have_no_effect(model)
    assert proof.holds, str(proof)
    returned = model.eval()(torch.arange(5, 5 + LENGTH)[None], output_attentions=True)
    weights = returned["decoder_attentions" if name == "bart" else "attentions"]
    assert len(weights) == (2 if attention == "eager" else 0)  # a layer; an empty tuple where nothing is said
    for layer in weights:
        assert layer.shape == (1, 2, LENGTH, LENGTH)
        torch.testing.assert_close(layer.sum(-1), torch.ones(1, 2, LENGTH))


@pytest.mark.parametrize("name", EVERY)
def test_both_kinds_of_attention_give_the_same_answers(name):
    sdpa, eager = (Subject(build(name, attention)) for attention in ("sdpa", "eager"))
    tokens = torch.arange(5, 5 + LENGTH)[None]
    one, other = (subject.answers(tokens, "evaluation") for subject in (sdpa, eager))
    assert (one - other).abs().max() < sdpa.rounding * other.square().mean().sqrt()


# --- the cache --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(("name", "changes"), [("gpt2", {}), ("llama", {}), ("mistral", {"sliding_window": 3})])
def test_cached_decoding_agrees(name, changes, attention):
    proof = cached_decoding_agrees(build(name, attention, **changes))
    assert proof.holds, str(proof)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_cached_decoding_agrees_with_padding_on_the_left(name):
    real = torch.ones(2, LENGTH, dtype=torch.bool)
    real[1, :4] = False
    proof = cached_decoding_agrees(build(name), real=real)
    assert proof.holds, str(proof)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_cached_decoding_of_an_encoder_decoder_agrees(name):
    def whole_source(tokens):
        return torch.arange(5, 5 + LENGTH).repeat(len(tokens), 1)

    def step(model, new, cache):
        result = model(input_ids=whole_source(new), decoder_input_ids=new, cache=cache, use_cache=True)
        return result, result["cache"]

    def call(model, tokens):
        return model(input_ids=whole_source(tokens), decoder_input_ids=tokens, use_cache=False)

    proof = cached_decoding_agrees(build(name), step=step, call=call)
    assert proof.holds, str(proof)


# --- packed documents -------------------------------------------------------------------------------------------------


def restarting(documents):
    """Positions that start anew with every document."""
    first = torch.ones_like(documents, dtype=torch.bool)
    first[:, 1:] = documents[:, 1:] != documents[:, :-1]
    position = torch.arange(documents.shape[1]).expand_as(documents)
    return position - torch.where(first, position, 0).cummax(1).values


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_positions_that_restart_keep_documents_apart_only_without_a_mask_and_without_a_cache(name, attention):
    """`use_cache=True`, the default in evaluation and in training, silently lets documents see each other."""

    def apart(masked=False, **options):
        def call(model, tokens, documents):
            mask = {"attention_mask": torch.ones_like(tokens)} if masked else {}
            return model(tokens, position_ids=restarting(documents), **mask, **options)

        return documents_are_separate(build(name, attention), call=call)

    assert apart(use_cache=False).holds
    for proof in (apart(), apart(masked=True), apart(masked=True, use_cache=False)):
        assert len(proof.broken) == len(proof.findings) == 4  # by both ways, in both modes
        assert "query 5, for another content of key 0" in str(proof)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_documents_that_are_kept_apart_are_answered_as_if_each_stood_alone(name, attention):
    model = build(name, attention).double().eval()
    tokens, documents = torch.arange(5, 17)[None], torch.tensor([[0] * 5 + [1] * 3 + [2] * 4])
    with torch.no_grad():
        packed = model(tokens, position_ids=restarting(documents), use_cache=False).logits
        alone = [model(part, use_cache=False).logits for part in tokens.split([5, 3, 4], 1)]
    torch.testing.assert_close(packed, torch.cat(alone, 1), rtol=0, atol=1e-6)
