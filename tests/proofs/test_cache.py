import pytest
import torch
from torch import nn

from maskstudy.errors import StudyError
from maskstudy.proofs import cached_decoding_agrees
from own_models import Decoder

CASES = [
    "step by step against the cache",
    "6 at once, then step by step",
    "all at once with an empty cache",
    "every beginning anew",
]


def cases(proof):
    return [finding.case.removeprefix("evaluation, ") for finding in proof.broken]


def padded():
    real = torch.ones(3, 12, dtype=torch.bool)
    real[1, :4], real[2, 9:] = False, False
    return real


def test_cached_uncached_and_parallel_answers_agree():
    torch.manual_seed(0)
    proof = cached_decoding_agrees(Decoder())
    assert [finding.case.removeprefix("evaluation, ") for finding in proof.findings] == CASES
    assert proof.holds, str(proof)
    assert cached_decoding_agrees(Decoder(), real=padded()).holds


def test_positions_that_are_off_by_one_are_found_where_a_cache_has_something_in_it():
    torch.manual_seed(0)
    for real in (None, padded()):
        assert cases(cached_decoding_agrees(Decoder("cache"), real=real)) == CASES[:2]


def test_a_cache_that_forgets_padding_is_found():
    def step(model, new, cache, real):
        result = model(new, real.long() if cache is None else None, cache=cache, use_cache=True)
        return result, result["cache"]

    torch.manual_seed(0)
    assert cases(cached_decoding_agrees(Decoder(), step=step, real=padded())) == CASES[:2]


def test_a_model_that_looks_ahead_cannot_be_decoded_and_it_shows():
    class Ahead(Decoder):
        def forward(self, tokens, **options):
            result = super().forward(tokens, **options)
            result["logits"] = result["logits"] + 0.1 * result["logits"].mean(1, keepdim=True)
            return result

    torch.manual_seed(0)
    assert cases(cached_decoding_agrees(Ahead(), call=lambda m, x: m(x), step=lambda m, x, c: _step(m, x, c))) == [
        CASES[0],
        CASES[1],
        CASES[3],
    ]


def _step(model, new, cache):
    result = model(new, cache=cache, use_cache=True)
    return result, result["cache"]


def test_a_cache_of_one_s_own():
    class Sums(nn.Module):
        """A running sum: its cache is a vector."""

        def forward(self, vectors):
            return vectors.cumsum(1)

    def step(model, new, cache):
        answers = model(new) + (0 if cache is None else cache)
        return answers, answers[:, -1:]

    assert cached_decoding_agrees(Sums(), step=step, width=3).holds
    assert cases(cached_decoding_agrees(Sums(), step=lambda m, x, _: (m(x), None), width=3)) == CASES[:2]


def test_the_older_name_of_the_cache():
    class Older(Decoder):
        def forward(self, tokens, past_key_values=None, use_cache=False):
            result = super().forward(tokens, cache=past_key_values, use_cache=use_cache)
            if use_cache:
                result["past_key_values"] = result.pop("cache")
            return result

    torch.manual_seed(0)
    assert cached_decoding_agrees(Older()).holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 1}, "length 1; decoding needs at least 2 positions"),
        (
            {"real": torch.ones(2, 11, dtype=torch.bool)},
            r"real is torch.bool of shape \(2, 11\); give bool \[batch, 12\]",
        ),
        ({"real": torch.ones(2, 12)}, "real is torch.float32"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(StudyError, match=message):
        cached_decoding_agrees(Decoder(), **options)


def test_a_model_without_a_cache_is_refused():
    with pytest.raises(StudyError, match="takes neither cache= nor past_key_values=; give step="):
        cached_decoding_agrees(nn.Linear(2, 2))
