from itertools import product

import numpy as np
import pytest
import torch

from maskstudy.audit import random_model as weights_drawn
from maskstudy.errors import StudyError
from maskstudy.evaluation import log_probabilities
from maskstudy.generation import (
    beam_search,
    continuations,
    drawn,
    likeliest,
    scored_continuations,
    stepwise_log_probabilities,
)
from maskstudy.masks import layer_masks
from maskstudy.randomness import stream
from maskstudy.scoring import score
from maskstudy.shape import POSITIONS, ModelShape
from maskstudy.tasks.task import NOT_SCORED, NOWHERE
from small_study import examples, random_model

LENGTH, VOCABULARY, ANSWERS = 7, 9, 8  # one token is no answer, as padding
MASKS = ("causal", "full", "lookahead-1")


def model_of(seed=0, **changes):
    sizes = {"vocabulary": VOCABULARY, "answers": ANSWERS, "length": LENGTH, "width": 8, "layers": 2, "heads": 2}
    return random_model(ModelShape(**(sizes | changes)), seed)


def prompts(count=5, length=2, seed=0):
    return np.random.default_rng(seed).integers(0, ANSWERS, (count, length)).astype(np.int16)


def one_step_at_a_time(model, mask, prompt, steps, window=LENGTH - 1):
    """A single text, its masks made for it alone, its answer read at the newest position."""
    written = prompt.tolist()
    for _ in range(steps):
        read = written[-window:]
        with torch.no_grad():
            logits = model(torch.tensor([read]), layer_masks(mask, model.shape.layers, len(read)))
        written.append(int(logits[0, -1].argmax()))
    return written[len(prompt) :]


# --- greedy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mask", MASKS)
def test_greedy_is_the_likeliest_token_step_by_step(mask, positions):
    """20 steps, far beyond what the model reads at a time."""
    model = model_of(positions=positions)
    found = continuations(model, mask, prompts(), 20, likeliest)
    assert found.shape == (5, 20)
    assert found.dtype == np.int16
    assert found.tolist() == [one_step_at_a_time(model, mask, prompt, 20) for prompt in prompts()]
    assert len(np.unique(found)) > 1


@pytest.mark.parametrize(("mask", "equal"), [("causal", True), ("full", False), ("lookahead-1", False)])
def test_only_a_causal_model_writes_what_it_says_when_it_reads_the_whole(mask, equal):
    """One parallel pass over the finished text against the steps that wrote it."""
    agreement = []
    for seed in range(8):
        model = model_of(seed)
        text = continuations(model, mask, prompts(), LENGTH - 2, likeliest)
        whole = scored_continuations(prompts(), text)
        forced = log_probabilities(model, mask, whole).argmax(-1).reshape(text.shape)
        agreement.append(np.array_equal(forced, text))
    assert all(agreement) if equal else not all(agreement)


def test_a_text_does_not_depend_on_those_beside_it():
    model = model_of()
    together = continuations(model, "full", prompts(), 6, likeliest)
    for row, prompt in enumerate(prompts()):
        np.testing.assert_array_equal(continuations(model, "full", prompt[None], 6, likeliest)[0], together[row])


def test_the_model_reads_no_more_than_it_has_answered_positions_for():
    """The last position of an example was never scored: with learned positions nothing was trained there."""
    model = model_of(positions="learned")
    long = prompts(count=3, length=11)
    with torch.no_grad():
        model.position[-1] = torch.nan
    found = continuations(model, "causal", long, 4, likeliest)
    other = long.copy()
    other[:, : 11 - (LENGTH - 1)] = (other[:, : 11 - (LENGTH - 1)] + 1) % ANSWERS
    np.testing.assert_array_equal(found, continuations(model, "causal", other, 4, likeliest))
    nearer = long.copy()
    nearer[:, -(LENGTH - 1)] = (nearer[:, -(LENGTH - 1)] + 1) % ANSWERS
    texts = [continuations(model_of(seed, positions="learned"), "causal", long, 4, likeliest) for seed in range(5)]
    others = [continuations(model_of(seed, positions="learned"), "causal", nearer, 4, likeliest) for seed in range(5)]
    assert not np.array_equal(texts, others)  # the oldest that it does read matters


def test_dropout_is_off():
    model = model_of(dropout=0.5)
    model.train()
    one, again = (continuations(model, "causal", prompts(), 8, likeliest) for _ in range(2))
    np.testing.assert_array_equal(one, again)


def test_of_equals_the_first_is_taken():
    assert likeliest(np.array([[0.1, 0.4, 0.4, 0.1], [0.25, 0.25, 0.25, 0.25]])).tolist() == [1, 0]


# --- the cache --------------------------------------------------------------------------------------------------------


def passes(monkeypatch, model):
    """How many tokens each pass of the model is given, from now on."""
    given, forward = [], type(model).forward

    def spy(self, tokens, *arguments, **options):
        given.append(tokens.shape[1])
        return forward(self, tokens, *arguments, **options)

    monkeypatch.setattr(type(model), "forward", spy)
    return given


def test_a_step_computes_the_newest_token_alone_where_nothing_before_it_changes(monkeypatch):
    model = model_of()
    given = passes(monkeypatch, model)
    continuations(model, "causal", prompts(length=3), 4, likeliest)
    assert given == [3, 1, 1, 1]
    given.clear()
    continuations(model, "prefix", prompts(length=3), 4, likeliest, condition_lengths=np.full(5, 3, dtype=np.int32))
    assert given == [3, 1, 1, 1]
    given.clear()
    continuations(model, "full", prompts(length=3), 4, likeliest)
    assert given == [3, 4, 5, 6]
    given.clear()
    continuations(model, "causal", prompts(length=4), 5, likeliest)  # six tokens are read at most
    assert given == [4, 1, 1, 6, 6]


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("conditions", [None, [3, 1, 2, 0, 3]])
@pytest.mark.parametrize("padded", ["nowhere", "left", "right", "in between"])
def test_with_the_cache_and_without_it_the_same_is_said(monkeypatch, positions, conditions, padded):
    model = model_of(length=12, positions=positions)
    real = np.ones((5, 3), dtype=bool)
    real[1:3, {"left": 0, "right": 2, "in between": 1}.get(padded, slice(0, 0))] = False
    heard = []

    def likeliest_heard(probabilities):
        heard.append(probabilities)
        return likeliest(probabilities)

    def write():
        heard.clear()
        mask = "causal" if conditions is None else "prefix"
        lengths = None if conditions is None else np.array(conditions, dtype=np.int32)
        text = continuations(
            model,
            mask,
            prompts(length=3),
            6,
            likeliest_heard,
            real=None if padded == "nowhere" else real,
            condition_lengths=lengths,
        )
        return text, np.stack(heard)

    cached = write()
    monkeypatch.setattr("maskstudy.generation.is_settled", lambda *_: False)
    given = passes(monkeypatch, model)
    anew = write()
    assert given == [3, 4, 5, 6, 7, 8]
    np.testing.assert_array_equal(cached[0], anew[0])
    np.testing.assert_allclose(cached[1], anew[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mask", [*MASKS, "prefix"])
@pytest.mark.parametrize("side", ["left", "right", "in between"])
@pytest.mark.parametrize("length", [7, 12])  # what is written fits, or does not
def test_a_padded_prompt_is_continued_like_the_same_without_padding(mask, positions, side, length):
    model = model_of(length=length, positions=positions)
    rows = [prompts(1, tokens, seed)[0] for seed, tokens in enumerate([4, 2, 1, 3])]
    together = np.full((4, 4), 8, dtype=np.int16)
    for row, tokens in zip(together, rows, strict=True):
        places = {"left": range(4)[4 - len(tokens) :], "right": range(len(tokens)), "in between": [0, 3, 2, 1]}[side]
        row[sorted(places[: len(tokens)])] = tokens
    conditions = np.array([2, 1, 0, 3], dtype=np.int32)
    found = continuations(model, mask, together, 6, likeliest, real=together != 8, condition_lengths=conditions)
    for row, condition, text in zip(rows, conditions, found, strict=True):
        alone = continuations(model, mask, row[None], 6, likeliest, condition_lengths=condition[None])
        np.testing.assert_array_equal(text, alone[0])


# --- with an end, and by beam: all three families ---------------------------------------------------------------------

FAMILIES = ("causal", "prefix", "encoder-decoder")
END = 3


def family(mask, seed=0, **changes):
    """Few answers, so that all texts of a few tokens can be listed."""
    sizes = {"vocabulary": 9, "answers": 4, "length": 12, "width": 8, "layers": 2, "heads": 2, "positions": "rotary"}
    shape = ModelShape(**(sizes | changes))
    return weights_drawn(shape, seed, mask) if mask == "encoder-decoder" else random_model(shape, seed)


def conditioned(side="nowhere", seed=0):
    """Five prompts of a condition and one token more, of different lengths: tokens, real, condition lengths."""
    generator = np.random.default_rng(seed)
    lengths = np.full(5, 3) if side == "nowhere" else np.array([3, 1, 2, 3, 1])
    tokens = np.full((5, 4), 8, dtype=np.int16)
    for row, length in zip(tokens, lengths, strict=True):
        place = 0 if side in ("nowhere", "right") else 3 - length
        row[place : place + length + 1] = generator.integers(4, 8, length + 1)
    return tokens, None if side == "nowhere" else tokens != 8, lengths.astype(np.int32)


def as_example(tokens, condition_length, text):
    """A prompt and what follows as an example that scores what follows, and its end where it stands in it."""
    text = text[: text.index(END) + 1] if END in text else text
    given = tokens + [token for token in text if token != END]
    targets = [NOT_SCORED] * (len(tokens) - 1) + text
    targets += [NOT_SCORED] * (len(given) - len(targets))
    return examples([given], targets=[targets], condition_lengths=[condition_length])


def log_probability(model, mask, tokens, condition_length, text):
    """Of a text, its end included, by one parallel pass over it."""
    example = as_example(tokens, condition_length, text)
    return -score(log_probabilities(model, mask, example), example).nats[0]


def alone(prompts, row):
    tokens, real, lengths = prompts
    return tokens[row][slice(None) if real is None else real[row]].tolist(), int(lengths[row])


@pytest.mark.parametrize("mask", FAMILIES)
@pytest.mark.parametrize("side", ["nowhere", "left", "right"])
def test_a_text_ends_with_its_end_and_is_the_likeliest_token_step_by_step(mask, side):
    ended = 0
    for seed in range(4):
        model, given = family(mask, seed), conditioned(side, seed)
        found = continuations(
            model, mask, given[0], 6, likeliest, real=given[1], condition_lengths=given[2], end=END
        ).tolist()
        for row, text in enumerate(found):
            written = []
            while len(written) < 6 and END not in written:
                choices = [log_probability(model, mask, *alone(given, row), [*written, token]) for token in range(4)]
                written.append(int(np.argmax(choices)))
            assert text == written + [END] * (6 - len(written))
            ended += END in written
    assert 0 < ended < 20


@pytest.mark.parametrize("mask", FAMILIES)
@pytest.mark.parametrize("side", ["nowhere", "left", "right"])
def test_a_beam_of_one_is_greedy(mask, side):
    for seed in range(6):
        model, (tokens, real, lengths) = family(mask, seed), conditioned(side, seed)
        greedy = continuations(model, mask, tokens, 6, likeliest, real=real, condition_lengths=lengths, end=END)
        found = beam_search(model, mask, tokens, 6, 1, END, real=real, condition_lengths=lengths)
        np.testing.assert_array_equal(found.tokens, greedy)


@pytest.mark.parametrize("mask", FAMILIES)
@pytest.mark.parametrize("side", ["nowhere", "left", "right"])
def test_a_wide_beam_finds_the_likeliest_of_all_texts(mask, side):
    """All 121 texts of at most four tokens, listed."""
    better_than_greedy = 0
    for seed in range(3):
        model, given = family(mask, seed), conditioned(side, seed)
        found = beam_search(model, mask, given[0], 4, 100, END, real=given[1], condition_lengths=given[2])
        greedy = beam_search(model, mask, given[0], 4, 1, END, real=given[1], condition_lengths=given[2])
        for row in range(5):
            texts = [list(text) for steps in range(4) for text in product(range(3), repeat=steps)]
            texts = [[*text, END] for text in texts] + [list(text) for text in product(range(3), repeat=4)]
            scores = [log_probability(model, mask, *alone(given, row), text) for text in texts]
            best = texts[int(np.argmax(scores))]
            assert found.tokens[row].tolist() == best + [END] * (4 - len(best))
            assert found.log_probabilities[row] == pytest.approx(max(scores), abs=1e-9)
            assert greedy.log_probabilities[row] <= max(scores) + 1e-9
            better_than_greedy += greedy.log_probabilities[row] < max(scores) - 1e-9
    assert better_than_greedy


def test_a_beam_keeps_the_likeliest_beginnings_and_no_more():
    """Token 0 is the likelier beginning, but what follows token 1 is surer: only a beam of two finds it."""
    said = {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.01, 0.99]}

    class Reader:
        def __init__(self):
            self.tokens = torch.zeros(1, 3, dtype=torch.int64)

        def logits(self, place):
            rows = [said.get(tuple(row[1:place].tolist()), [1e-9, 1.0]) for row in self.tokens]
            return torch.tensor([[*row, 1e-9, 1e-9] for row in rows], dtype=torch.float64).log()

        def select(self, rows):
            self.tokens = self.tokens[rows]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maskstudy.generation._reader", lambda *_: Reader())
        texts = [beam_search(None, "causal", prompts(1, 1), 2, width, END).tokens[0].tolist() for width in (1, 2)]
    assert texts == [[0, 0], [1, 1]]


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mask", FAMILIES)
@pytest.mark.parametrize("side", ["nowhere", "left", "right"])
def test_token_by_token_and_in_one_parallel_pass_the_same_is_said(mask, side, positions):
    model, given = family(mask, positions=positions), conditioned(side)
    following = np.random.default_rng(1).integers(0, 3, (5, 5)).astype(np.int16)
    found = stepwise_log_probabilities(model, mask, given[0], following, real=given[1], condition_lengths=given[2])
    for row in range(5):
        tokens, condition_length = alone(given, row)
        example = as_example(tokens, condition_length, following[row].tolist())
        parallel = log_probabilities(model, mask, example)
        np.testing.assert_allclose(found[row], parallel, rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mask", FAMILIES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_prompts_may_go_on_after_their_condition_by_different_lengths(mask, side, positions):
    model, generator = family(mask, positions=positions), np.random.default_rng(2)
    conditions, begun = np.array([3, 1, 2, 1], dtype=np.int32), np.array([1, 4, 2, 1])
    tokens = np.full((4, 6), 8, dtype=np.int16)
    for row, length in zip(tokens, conditions + begun, strict=True):
        place = 0 if side == "right" else 6 - length
        row[place : place + length] = generator.integers(4, 8, length)
    following = generator.integers(0, 3, (4, 5)).astype(np.int16)
    given = tokens, tokens != 8, conditions
    found = stepwise_log_probabilities(model, mask, tokens, following, real=given[1], condition_lengths=conditions)
    for row in range(4):
        example = as_example(*alone(given, row), following[row].tolist())
        np.testing.assert_allclose(found[row], log_probabilities(model, mask, example), rtol=0, atol=1e-10)


def test_an_encoder_decoder_reads_its_source_once_and_each_token_once(monkeypatch):
    model, (tokens, _, lengths) = family("encoder-decoder"), conditioned()
    read = {"encode": [], "decode": []}
    for name in read:
        original = getattr(type(model), name)

        def spy(self, given, *arguments, name=name, original=original, **options):
            read[name].append(given.shape[1])
            return original(self, given, *arguments, **options)

        monkeypatch.setattr(type(model), name, spy)
    continuations(model, "encoder-decoder", tokens, 4, likeliest, condition_lengths=lengths)
    assert read == {"encode": [3], "decode": [1, 1, 1, 1]}


def test_writing_stops_when_every_text_has_ended():
    model, (tokens, _, lengths) = family("causal"), conditioned()
    with torch.no_grad():
        model.answer.weight.zero_()  # all answers are equal, and the end is made to win
    asked = []

    def end_of(probabilities):
        asked.append(len(probabilities))
        return np.full(len(probabilities), END, dtype=np.int16)

    found = continuations(model, "causal", tokens, 6, end_of, condition_lengths=lengths, end=END)
    assert asked == [5]
    assert (found == END).all()


def test_what_an_encoder_decoder_cannot_read_is_refused():
    model, (tokens, _, lengths) = family("encoder-decoder"), conditioned()
    with pytest.raises(StudyError, match="needs a condition in every text"):
        continuations(model, "encoder-decoder", tokens, 2, likeliest)
    with pytest.raises(StudyError, match="needs a token after the condition"):
        continuations(model, "encoder-decoder", tokens, 2, likeliest, condition_lengths=lengths + 1)
    with pytest.raises(StudyError, match="built for at most 12 tokens; write fewer"):
        continuations(model, "encoder-decoder", tokens, 12, likeliest, condition_lengths=lengths)


# --- sampling ---------------------------------------------------------------------------------------------------------


def test_the_same_seed_writes_the_same_text_and_another_another():
    model = model_of()
    one, again, other = (
        continuations(model, "causal", prompts(), 12, drawn(stream(seed, "generation"))) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_tokens_are_as_frequent_as_the_model_says():
    model = model_of()
    count = 4000
    prompt = np.tile(prompts(1), (count, 1))
    found = continuations(model, "causal", prompt, 2, drawn(np.random.default_rng(0)))
    with torch.no_grad():
        first = model(torch.from_numpy(prompt[:1].astype(np.int64)), layer_masks("causal", 2, 2))[0, -1].softmax(-1)
    shares = np.bincount(found[:, 0], minlength=ANSWERS) / count
    np.testing.assert_allclose(shares, first.numpy(), atol=5 * np.sqrt(0.25 / count))
    token = int(np.bincount(found[:, 0]).argmax())
    read = torch.tensor([[*prompt[0].tolist(), token]])
    with torch.no_grad():
        second = model(read, layer_masks("causal", 2, 3))[0, -1].softmax(-1)
    following = found[found[:, 0] == token, 1]
    shares = np.bincount(following, minlength=ANSWERS) / len(following)
    np.testing.assert_allclose(shares, second.numpy(), atol=5 * np.sqrt(0.25 / len(following)))


# --- texts as examples ------------------------------------------------------------------------------------------------


def test_what_follows_the_prompt_is_scored_and_nothing_else():
    texts = scored_continuations(np.array([[1, 2, 3]], dtype=np.int16), np.array([[4, 5]], dtype=np.int16))
    no, nowhere = NOT_SCORED, NOWHERE
    assert texts.tokens.tolist() == [[1, 2, 3, 4, 5]]
    assert texts.targets.tolist() == [[no, no, 4, 5, no]]
    assert texts.target_positions.tolist() == [[nowhere, nowhere, 3, 4, nowhere]]
    assert texts.lengths.tolist() == [5]


def test_a_prompt_of_one_token():
    texts = scored_continuations(np.array([[7]], dtype=np.int16), np.array([[4]], dtype=np.int16))
    assert texts.targets.tolist() == [[4, NOT_SCORED]]
