"""The weights that stand in a page, read as its script reads them, but by NumPy."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def decoded(description: dict[str, Any], text: str) -> dict[str, NDArray[np.float32]]:
    """The weights by name, from base64."""
    data = base64.b64decode(text)
    if description["precision"] == "float12":
        first, middle, last = np.frombuffer(data, np.uint8).astype(np.uint16).reshape(-1, 3).T
        pairs = np.stack([first << 8 | middle & 0xF0, middle << 12 | last << 4], axis=1)
        row = pairs.astype(np.uint16).ravel().view(np.float16).astype(np.float32)
    else:
        row = np.frombuffer(data, np.dtype(description["precision"]).newbyteorder("<")).astype(np.float32)
    found, start = {}, 0
    for name, shape in description["tensors"]:
        size = int(np.prod(shape))
        found[name] = row[start : start + size].reshape(shape)
        start += size
    assert len(row) - start in (0, 1)  # three bytes hold two weights
    return found
