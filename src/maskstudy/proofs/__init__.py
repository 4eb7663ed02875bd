"""What must not make a difference, shown on any model: padding, the rest of the batch, the cache, other documents.

Siblings of `maskstudy.access`, on the same footing: a copy of the model in double precision, random inputs, evaluation
and training mode. Each claim is tried in several cases and gives a `Proof` that lists them:

    >>> import torch
    >>> from maskstudy.proofs import examples_are_independent
    >>> layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    >>> examples_are_independent(layer, length=4, width=16).holds
    True

A change on which nothing may depend must leave every number as it was (up to 1e-13 of the typical answer). Where the
same answer is computed along another path, in another batch or step by step, sums are added up in another order, and
models that compute in single precision inside round differently: there 1e-6 is allowed.
"""

from maskstudy.proofs.batch import batch_size_has_no_effect, examples_are_independent
from maskstudy.proofs.cache import cached_decoding_agrees
from maskstudy.proofs.padding import CASES, FINITE_CASES, SIDES, padding_has_no_effect
from maskstudy.proofs.proof import Finding, Options, Proof
from maskstudy.proofs.running import evaluation_is_deterministic, returned_weights_have_no_effect
from maskstudy.proofs.seeing import documents_are_separate, forbidden_tokens_have_no_effect

__all__ = [
    "CASES",
    "FINITE_CASES",
    "SIDES",
    "Finding",
    "Options",
    "Proof",
    "batch_size_has_no_effect",
    "cached_decoding_agrees",
    "documents_are_separate",
    "evaluation_is_deterministic",
    "examples_are_independent",
    "forbidden_tokens_have_no_effect",
    "padding_has_no_effect",
    "returned_weights_have_no_effect",
]
