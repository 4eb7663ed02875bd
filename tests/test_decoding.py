import numpy as np
import pytest
import torch

from maskstudy.audit import random_model
from maskstudy.data.documents import Pair
from maskstudy.decoding import decoded, parallel_minus_stepwise
from maskstudy.evaluation import build_model, log_probabilities, model_input
from maskstudy.shape import POSITIONS, ModelShape
from maskstudy.tasks.pronunciation import Pronunciation
from maskstudy.transcripts import words

FAMILIES = ("causal", "prefix", "encoder-decoder")
TASK = Pronunciation(length=12, letters=3, phonemes=3)


def split(count=30, seed=0):
    generator = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        word = "".join(generator.choice(list("abc"), generator.integers(1, 6)))
        pairs.append(Pair(word, word, " ".join(generator.choice(list("XYZ"), generator.integers(1, 5)))))
    return TASK.splits(dict.fromkeys(("train", "validation", "test"), pairs))["test"]


def model_of(mask, seed=0, **changes):
    sizes = {"width": 8, "layers": 2, "heads": 2, "positions": "rotary"}
    return random_model(ModelShape(TASK.vocabulary, TASK.answers, TASK.length, **(sizes | changes)), seed, mask)


def one_word_at_a_time(model, mask, examples, word):
    """Greedy, one parallel pass for each token, the word alone."""
    row = examples[np.array(word.examples[:1])]
    begin, written = int(row.condition_lengths[0]), []
    while len(written) < TASK.length - examples.condition_lengths.max() - 1:
        row.tokens[0, begin + 1 : begin + 1 + len(written)] = written
        row.lengths[0] = begin + 1 + len(written)
        row.targets[:] = -100
        row.targets[0, begin + len(written)] = 0
        answer = int(log_probabilities(model, mask, row)[0].argmax())
        if answer == TASK.end:
            break
        written.append(answer)
    return written


@pytest.mark.parametrize("mask", FAMILIES)
def test_each_word_is_written_as_if_it_were_alone(mask, monkeypatch):
    monkeypatch.setattr("maskstudy.decoding.BATCH", 7)
    examples = split()
    of_words = words(examples)
    lengths = set()
    for seed in range(2):
        model = model_of(mask, seed)
        found = decoded(model, mask, of_words, examples, TASK.end)
        assert found == [one_word_at_a_time(model, mask, examples, word) for word in of_words]
        lengths |= set(map(len, found))
    assert len(lengths) > 1


@pytest.mark.parametrize("mask", FAMILIES)
def test_a_beam_is_at_least_as_likely_as_greedy_and_sometimes_likelier(mask):
    examples = split()
    of_words = words(examples)
    likelier = 0
    for seed in range(3):
        model = model_of(mask, seed)
        greedy, beam = (decoded(model, mask, of_words, examples, TASK.end, width) for width in (1, 8))
        for word, one, other in zip(of_words, greedy, beam, strict=True):
            if one != other:
                scores = [_score(model, mask, examples, word, text) for text in (one, other)]
                likelier += scores[1] > scores[0]
    assert likelier


def _score(model, mask, examples, word, text):
    row = examples[np.array(word.examples[:1])]
    begin, text = int(row.condition_lengths[0]), [*text, TASK.end][: TASK.length - int(row.condition_lengths[0]) - 1]
    row.tokens[0, begin + 1 : begin + len(text)] = text[:-1]
    row.lengths[0] = begin + len(text)
    row.targets[:] = -100
    row.targets[0, begin : begin + len(text)] = text
    return log_probabilities(model, mask, row)[np.arange(len(text)), text].sum()


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mask", FAMILIES)
def test_parallel_and_stepwise_numbers_are_equal(mask, positions):
    model, examples = model_of(mask, positions=positions), split()
    assert all(difference < 1e-10 for difference in parallel_minus_stepwise(model, mask, examples).values())
    torch.manual_seed(0)
    single = build_model(mask, model.shape)
    single.load_state_dict(model.float().state_dict())
    difference = parallel_minus_stepwise(single, mask, examples)
    assert 0 < difference["probability"] < 1e-5
    assert difference["nats"] < 1e-4


def test_a_difference_between_the_two_is_seen(monkeypatch):
    model, examples = model_of("causal"), split()

    def off_by_a_little(mask, layers, rows):
        tokens, masks, scored = model_input(mask, layers, rows)
        return (tokens + (torch.arange(tokens.shape[1]) == 0)) % TASK.vocabulary, masks, scored

    monkeypatch.setattr("maskstudy.decoding.model_input", off_by_a_little)
    assert parallel_minus_stepwise(model, "causal", examples)["probability"] > 1e-3
