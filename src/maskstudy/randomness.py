"""Random streams: every use of chance in a run has a name, so that adding one does not shift another.

For one seed all masks draw the same initial weights, batch order and hidden positions, because no stream depends on the
mask.
"""

from zlib import crc32

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of one use of chance, say `batches`, of the run with this seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


def torch_seed(seed: int, name: str) -> int:
    """The seed to give to `torch.manual_seed` for one use of chance."""
    return int(stream(seed, name).integers(2**63))
