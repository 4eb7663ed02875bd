"""Models whose access is known by construction, and the ways in which it can be wrong."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VOCABULARY, WIDTH, LENGTH = 11, 6, 8


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Mixing(nn.Module):
    """Tokens, each made a vector by itself, mixed by one matrix: position i sees j exactly where `matrix[i, j]`.

    In training the matrix may be another one, and dropout falls on the vectors.
    """

    def __init__(self, matrix: Tensor, in_training: Tensor | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Linear(WIDTH, 3)
        self.register_buffer("matrix", matrix)
        self.register_buffer("in_training", matrix if in_training is None else in_training)
        self.register_buffer("weights", 0.5 + torch.rand(matrix.shape, generator=torch.Generator().manual_seed(1)))

    def forward(self, tokens: Tensor) -> Tensor:
        matrix = self.in_training if self.training else self.matrix
        return self.answer(self.weights * matrix @ self.dropout(self.embedding(tokens)).tanh())


class VectorMixing(nn.Module):
    """The same for vectors of width `WIDTH`."""

    def __init__(self, matrix: Tensor) -> None:
        super().__init__()
        self.answer = nn.Linear(WIDTH, 3)
        self.register_buffer("matrix", matrix)

    def forward(self, vectors: Tensor) -> Tensor:
        return self.answer(self.matrix.to(vectors) @ vectors.tanh())


class Decoder(nn.Module):
    """One layer of causal attention with learned positions, padding, packed documents and a cache; and its mistakes.

    Args of `__init__`: `mistake` is one of the words below.

        cache        the position of a cached step is off by one
        padding      padding is not masked
        weights      the causal mask is lost where the weights are asked for
        dropout      dropout stays on in evaluation
        documents    documents are not kept apart
        batch        every example is centred on the mean of the batch
        size         answers depend on how many examples there are
    """

    def __init__(self, mistake: str | None = None, length: int = 12) -> None:
        super().__init__()
        self.mistake = mistake
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(drawn(length, WIDTH, seed=2))
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)])
        self.answer = nn.Linear(WIDTH, 4)

    def forward(
        self,
        tokens: Tensor,
        attention_mask: Tensor | None = None,
        documents: Tensor | None = None,
        cache: tuple[Tensor, Tensor] | None = None,
        use_cache: bool = False,
        output_attentions: bool = False,
    ) -> dict[str, object]:
        past = 0 if cache is None else cache[0].shape[1]
        first = past - 1 if self.mistake == "cache" and past else past
        stream = self.embedding(tokens) + self.position[first : first + tokens.shape[1]]
        if self.mistake == "batch":
            stream = stream - stream.mean(0, keepdim=True)
        stream = self.layers[0](stream)
        queries, keys, values = self.project(stream).chunk(3, -1)
        if cache is not None:
            keys, values = torch.cat([cache[0], keys], 1), torch.cat([cache[1], values], 1)
        allowed = torch.ones(queries.shape[1], keys.shape[1], dtype=torch.bool).tril(past)[None]
        if self.mistake == "weights" and output_attentions:
            allowed = torch.ones_like(allowed)
        if attention_mask is not None and self.mistake != "padding":
            real = attention_mask.bool()
            allowed = allowed & (real[:, None, :] | torch.eye(keys.shape[1], dtype=torch.bool)[past:])
        if documents is not None and self.mistake != "documents":
            allowed = allowed & (documents[:, :, None] == documents[:, None, :])
        scores = (queries @ keys.transpose(1, 2) / math.sqrt(WIDTH)).masked_fill(~allowed, -math.inf)
        weights = scores.softmax(-1)
        dropped = F.dropout(weights, 0.3, self.training or self.mistake == "dropout")
        stream = self.layers[1](stream + dropped @ values)
        if self.mistake == "size":
            stream = stream * len(tokens)
        result: dict[str, object] = {"logits": self.answer(stream)}
        if output_attentions:
            result["attentions"] = weights
        if use_cache:
            result["cache"] = (keys, values)
        return result
