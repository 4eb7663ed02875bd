"""Random streams: every use of chance in a run has a name, so that adding one does not shift another.

For one seed all masks draw the same initial weights, batch order and hidden positions, because no stream depends on the
mask.
"""

from zlib import crc32

import numpy as np
from numpy.typing import NDArray


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of one use of chance, say `batches`, of the run with this seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


def torch_seed(seed: int, name: str) -> int:
    """The seed to give to `torch.manual_seed` for one use of chance."""
    return int(stream(seed, name).integers(2**63))


def categories(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int16]:
    """One category a row of `[rows, categories]` probabilities: `[rows]`. Each row uses up one number of the stream."""
    thresholds = np.cumsum(probabilities, axis=-1)
    uniform = generator.random((len(probabilities), 1)) * thresholds[:, -1:]
    return (uniform >= thresholds).sum(-1).astype(np.int16)
