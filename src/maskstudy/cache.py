"""The keys and values of the tokens so far, so that a step of decoding computes its new tokens alone.

That is the same computation only where a token that joins changes nothing before it. `masks.is_settled` says whether
a mask is of that kind.
"""

from torch import Tensor

from maskstudy.errors import StudyError
from maskstudy.shape import ModelShape


class LayerCache:
    """What one layer has computed so far, in tensors that are allocated once."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        """Take two tensors `[batch, heads, length, head width]` to be filled from the front."""
        self.keys = keys
        self.values = values
        self.filled = 0

    def extended(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep those of new tokens, and return those of all tokens so far.

        Args:
            keys: `[batch, heads, new tokens, head width]`.
            values: the same.

        Returns:
            `[batch, heads, tokens so far, head width]` each.

        Raises:
            StudyError: there is no room for so many.
        """
        begin, end = self.filled, self.filled + keys.shape[2]
        if end > self.keys.shape[2]:
            raise StudyError(f"cache: {end} tokens, but there is room for {self.keys.shape[2]}")
        self.keys.narrow(2, begin, end - begin).copy_(keys)
        self.values.narrow(2, begin, end - begin).copy_(values)
        self.filled = end
        return self.keys.narrow(2, 0, end), self.values.narrow(2, 0, end)

    def select(self, rows: Tensor) -> None:
        """Go on with the texts at `rows` `[new batch]`, which may name a text twice or not at all."""
        if len(rows) != len(self.keys):
            self.keys, self.values = self.keys[rows], self.values[rows]
            return
        for kept in (self.keys, self.values):  # the room that is left need not be copied
            kept[:, :, : self.filled] = kept[rows, :, : self.filled]


class KeyValueCache:
    """One `LayerCache` a layer."""

    def __init__(self, shape: ModelShape, batch: int, length: int, like: Tensor, layers: int | None = None) -> None:
        """Make room for `length` tokens of `batch` texts.

        Args:
            shape: of the model.
            batch: texts.
            length: most tokens of a text, padding included.
            like: a weight of the model, for device and data type.
            layers: how many layers have a cache; all of the model's where it is left out.
        """
        size = (batch, shape.heads, length, shape.width // shape.heads)
        count = shape.layers if layers is None else layers
        self.layers = [LayerCache(like.new_zeros(size), like.new_zeros(size)) for _ in range(count)]

    @property
    def filled(self) -> int:
        """Tokens so far, padding included."""
        return self.layers[0].filled

    def select(self, rows: Tensor) -> None:
        """Go on with the texts at `rows` `[new batch]`, which may name a text twice or not at all."""
        for layer in self.layers:
            layer.select(rows)
