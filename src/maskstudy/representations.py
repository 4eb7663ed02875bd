"""What the residual stream of a model holds after each layer: linear probes, similarity between masks, effective rank.

A probe is a linear reader of the stream at one position, fitted on some test examples and scored on others (Alain &
Bengio 2016, "Understanding intermediate layers using linear classifier probes"):

    position    ridge regression on the position's number; R², the share of its variance that is explained. Chance is 0.
    left        logistic regression on the token that stands to the left, one of the `NEIGHBOURS` commonest; accuracy.
    right       the same of the token to the right. Chance is always to name the commonest.

A causal mask alone tells order: positions can be read off models without any position encoding (Haviv et al. 2022,
"Transformer Language Models without Positional Encodings Still Learn Positional Information"; Kazemnejad et al. 2023,
"The Impact of Positional Encoding on Length Generalization in Transformers"). A probe finds much in random weights too,
so each of these numbers is worth only what it is above the same number of a model that was never trained.
"""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.preprocessing import StandardScaler

from maskstudy.errors import StudyError
from maskstudy.evaluation import Model, model_input
from maskstudy.model import Transformer
from maskstudy.randomness import stream
from maskstudy.tasks.task import Examples

POSITIONS = 8192  # of the test examples that are looked at, or a few less: more move no probe by .01
NEIGHBOURS = 16  # commonest tokens that a probe tells apart; with all of a vocabulary it would cost more than training
STEPS = 100  # of the optimiser of logistic regression: more move no probe by .01

Stream = NDArray[np.float32]


def chosen(examples: Examples) -> Examples:
    """Examples in an order drawn by lot, as many as have `POSITIONS` positions together; two at least, if there are.

    The same for every model of a task.
    """
    order = stream(0, "representations").permutation(len(examples))
    count = np.searchsorted(np.cumsum(examples.lengths[order]), POSITIONS, side="right")
    return examples[order[: max(2, int(count))]]


@torch.inference_mode()
def streams(model: Model, mask: str, examples: Examples) -> list[Stream]:
    """The residual stream at every real position, before the first block and after each.

    Args:
        model: put into evaluation mode, so that dropout is off.
        mask: a mask of the study, not that of an encoder–decoder.
        examples: their padding is left out.

    Returns:
        `layers + 1` arrays `[positions, width]`, positions in row-major order of the examples.

    Raises:
        StudyError: the model is an encoder–decoder.
    """
    if not isinstance(model, Transformer):
        raise StudyError(f"mask {mask}: an encoder–decoder has no single stream whose layers could be compared")
    model.eval()
    tokens, masks, _ = model_input(mask, model.shape.layers, examples)
    real = torch.from_numpy(_real(examples)[:, : tokens.shape[1]])
    return [layer[real].float().numpy() for layer in model.streams(tokens, masks)]


def probes(layer: Stream, examples: Examples) -> dict[str, tuple[float, float]]:
    """What linear probes of one layer find: by name (`position`, `left`, `right`) the score, and that of chance.

    Fitted on the first half of the examples, scored on the others. A probe is left out where there is nothing to tell,
    as where every example has a single token.

    Args:
        layer: `[positions, width]`, of `streams`.
        examples: the same.
    """
    real = _real(examples)
    places = np.broadcast_to(np.arange(real.shape[1]), real.shape)
    first = np.broadcast_to(np.arange(len(examples))[:, None] < (len(examples) + 1) // 2, real.shape)[real]
    found = {"position": _position(layer, places[real], first)}
    for name, step in (("left", -1), ("right", 1)):
        there = (places + step >= 0) & (places + step < examples.lengths[:, None])
        neighbours = np.roll(examples.tokens, -step, axis=1)
        found[name] = _neighbour(layer, neighbours[real], there[real], first)
    return {name: scores for name, scores in found.items() if scores is not None}


def similarity(one: Stream, other: Stream) -> float:
    """Linear CKA of two layers on the same positions: 1 if they differ by a rotation and a factor, 0 if unrelated.

    ‖YᵀX‖² / (‖XᵀX‖ · ‖YᵀY‖), in Frobenius norms of centred columns (Kornblith et al. 2019, "Similarity of Neural
    Network Representations Revisited", §3, eq. 4 and the linear case). NaN where one of them is constant.

    Args:
        one: `[positions, width]`.
        other: `[positions, width]`, which may be another width.
    """
    x, y = _centred(one), _centred(other)
    norms = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(y.T @ x) ** 2 / norms) if norms else float("nan")


def effective_rank(layer: Stream) -> float:
    """How many directions a layer uses: exp of the entropy of its singular values, as shares of their sum.

    From 1, where all positions lie on a line, to the width, where they spread alike in all directions (Roy & Vetterli
    2007, "The effective rank: a measure of effective dimensionality", §2; of centred columns). NaN where it is
    constant.

    Args:
        layer: `[positions, width]`.
    """
    x = _centred(layer)
    # The singular values of a tall matrix are the roots of the eigenvalues of its small square.
    values = np.sqrt(np.clip(np.linalg.eigvalsh(x.T @ x), 0, None))
    if not values.any():
        return float("nan")
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def measures(layers: Mapping[str, Sequence[Stream]], examples: Examples) -> list[dict[str, Any]]:
    """Everything that is measured of the models of one task and seed, one a mask.

    Args:
        layers: mask -> what `streams` gives of its model on `examples`.
        examples: those of `chosen`.

    Returns:
        `mask`, `layer`, `measure`, `other_mask`, `value` and `chance` of every measure that is defined, as the schema
        `REPRESENTATIONS` has them. Every two masks are compared once, the earlier one first.
    """
    rows: list[tuple[str, int, str, str | None, float, float | None]] = []
    for mask, of_mask in layers.items():
        for number, layer in enumerate(of_mask):
            found = probes(layer, examples)
            rows += [(mask, number, name, None, value, chance) for name, (value, chance) in found.items()]
            rows.append((mask, number, "effective_rank", None, effective_rank(layer), None))
    for mask, other in combinations(layers, 2):
        compared = zip(layers[mask], layers[other], strict=True)
        rows += [(mask, number, "cka", other, similarity(*two), None) for number, two in enumerate(compared)]
    names = ("mask", "layer", "measure", "other_mask", "value", "chance")
    return [dict(zip(names, row, strict=True)) for row in rows if not np.isnan(row[4])]


def _real(examples: Examples) -> NDArray[np.bool_]:
    """`[examples, length]`, True where no padding stands."""
    real: NDArray[np.bool_] = np.arange(examples.tokens.shape[1]) < examples.lengths[:, None]
    return real


def _centred(layer: Stream) -> NDArray[np.float64]:
    wide = layer.astype(np.float64)
    centred: NDArray[np.float64] = wide - wide.mean(axis=0)
    return centred


def _position(layer: Stream, places: NDArray[np.int64], first: NDArray[np.bool_]) -> tuple[float, float] | None:
    """R² of the position's number; None where it does not vary."""
    if min(len(np.unique(places[half])) for half in (first, ~first)) < 2:
        return None
    scaler = StandardScaler().fit(layer[first])
    probe = Ridge(alpha=1.0).fit(scaler.transform(layer[first]), places[first])
    return float(r2_score(places[~first], probe.predict(scaler.transform(layer[~first])))), 0.0


def _neighbour(
    layer: Stream, neighbours: NDArray[np.int16], there: NDArray[np.bool_], first: NDArray[np.bool_]
) -> tuple[float, float] | None:
    """Accuracy, and the share of the commonest; None where there are not two to tell apart."""
    tokens, counts = np.unique(neighbours[there & first], return_counts=True)
    commonest = tokens[np.argsort(-counts, kind="stable")[:NEIGHBOURS]]
    there = there & np.isin(neighbours, commonest)
    fitted, scored = there & first, there & ~first
    if len(commonest) < 2 or not scored.any():
        return None
    scaler = StandardScaler().fit(layer[fitted])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # see `STEPS`
        probe = LogisticRegression(max_iter=STEPS, tol=1e-3).fit(scaler.transform(layer[fitted]), neighbours[fitted])
    answers = probe.predict(scaler.transform(layer[scored]))
    return float(accuracy_score(neighbours[scored], answers)), float((neighbours[scored] == commonest[0]).mean())
