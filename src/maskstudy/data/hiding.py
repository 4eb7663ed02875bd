"""Tokens hidden in examples, to be restored by who reads them."""

from dataclasses import replace

import numpy as np

from maskstudy.tasks.task import NOT_SCORED, Examples


def hide(examples: Examples, share: float, mask_token: int, generator: np.random.Generator) -> Examples:
    """Hide max(1, round(`share` · length)) real positions of every example, drawn without replacement.

    At a hidden position the input is `mask_token`, always, and what stood there is the answer. Padding is never picked.

    Args:
        examples: whole, nothing scored.
        share: of an example's real tokens.
        mask_token: stands in the input where a token is hidden.
        generator: draws the positions.
    """
    shape = examples.tokens.shape
    keys = generator.random(shape)
    keys[np.arange(shape[1]) >= examples.lengths[:, None]] = 2  # padding sorts last, and so is never picked
    counts = np.maximum(1, np.rint(share * examples.lengths)).astype(np.int64)
    picked = np.zeros(shape, dtype=np.bool_)
    np.put_along_axis(picked, keys.argsort(axis=1), np.arange(shape[1]) < counts[:, None], axis=1)
    return replace(
        examples,
        tokens=np.where(picked, np.int16(mask_token), examples.tokens),
        targets=np.where(picked, examples.tokens, np.int16(NOT_SCORED)),
    )
