"""Mask swap at test time: a model that was trained under one mask, asked under another of its task.

Published practice does this: a decoder is given full attention for embeddings, an encoder is cut to causal in order to
generate. What it costs is exploratory here: nothing of it is declared, and nothing is tested.

A mask that is swapped in may show what the model was not used to see, and even the answer itself. Each row therefore
says whether the tested mask lets the scored positions see the same as the mask of the training, and whether it leaks.
"""

from collections.abc import Mapping
from typing import Any


def rows(
    run: Mapping[str, Any], trained: Mapping[str, Any], tested: Mapping[str, Any], metrics: Mapping[str, float]
) -> list[dict[str, Any]]:
    """One row of the schema `SWAPS` a metric.

    Args:
        run: `metrics.json` of the run: which it is, and its metrics under its own mask.
        trained: the audit of its own cell.
        tested: the audit of the cell whose mask it was tested under.
        metrics: of the run under that mask, on the same positions; those that it does not have are of its own alone.
    """
    shared = {
        "task": run["task"],
        "trained_mask": run["mask"],
        "tested_mask": tested["mask"],
        "role": run["role"],
        "seed": run["seed"],
        "equal_access": trained["scored_access"] == tested["scored_access"],
        "leaks": tested["leaks"],
    }
    return [
        {**shared, "metric": metric, "value": value, "own_value": run["metrics"][metric]}
        for metric, value in sorted(metrics.items())
    ]
