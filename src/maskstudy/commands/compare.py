"""`maskstudy compare`: put the cells beside each other and beside their ceilings.

Reads `metrics.parquet`, the audits, and the per-example scores of runs and references in a results folder; writes
`comparisons.parquet`, `effects.parquet` and `ceiling_gaps.parquet`. Where a study cell is significantly better than
its ceiling it writes nothing and fails: such a model sees more than its mask admits, or the ceiling is wrong.
"""

from pathlib import Path
from typing import Any

from polars import DataFrame

from maskstudy import files, schemas
from maskstudy.commands import options
from maskstudy.comparisons import ABOVE_CEILING, CellScores, ceiling_gaps, cell_scores, compare, effect_sizes
from maskstudy.errors import StudyError


def main(arguments: list[str]) -> None:
    """Write `comparisons.parquet` and `ceiling_gaps.parquet`, or neither.

    Raises:
        StudyError: bad settings; a file is missing or belongs to another configuration; what `comparisons.compare` and
            `comparisons.ceiling_gaps` refuse; a study cell that is significantly better than its ceiling.
    """
    parser = options.parser("compare", __doc__, "cells", "comparisons", "statistics", "confirmatory")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)
    settings, results = given.settings, given.results
    cells = settings["cells"]

    comparisons = compare(
        _metrics(results / "metrics.parquet", cells),
        [files.read_json(results / "audit" / cell["task"] / f"{cell['mask']}.json") for cell in cells],
        settings["comparisons"] if settings["confirmatory"] else [],
        settings["statistics"],
    )
    scores = {(cell["task"], cell["mask"]): _scores(results, cell) for cell in cells}
    observers = {name: observer for name in scores if (observer := _observer(results, *name))}
    gaps = ceiling_gaps([(scores[name], observer) for name, observer in observers.items()], settings["statistics"])
    _refuse_above_ceiling(gaps, cells)
    effects = effect_sizes(comparisons, scores, settings["statistics"])

    files.write_rows(results / "comparisons.parquet", comparisons, schemas.COMPARISONS)
    files.write_rows(results / "effects.parquet", effects, schemas.EFFECTS)
    files.write_rows(results / "ceiling_gaps.parquet", gaps, schemas.CEILING_GAPS)


def _metrics(path: Path, cells: list[dict[str, Any]]) -> DataFrame:
    """The rows of metrics.parquet, which must be those of the configured cells and seeds."""
    metrics = DataFrame(files.read_table(path, schemas.METRICS))
    found = set(metrics.select("task", "mask", "role", "seed").iter_rows())
    wanted = {(cell["task"], cell["mask"], cell["role"], seed) for cell in cells for seed in cell["seeds"]}
    for task, mask, role, seed in sorted(found ^ wanted):
        state = "is missing" if (task, mask, role, seed) in wanted else "is not in the configuration"
        raise StudyError(f"{path}: {task}, mask {mask} ({role}), seed {seed} {state}; make it again: snakemake {path}")
    return metrics


def _scores(results: Path, cell: dict[str, Any]) -> CellScores:
    """The per-example scores of all seeds of a cell."""
    task, mask = cell["task"], cell["mask"]
    runs = [results / "runs" / task / mask / f"seed-{seed}" / "examples.parquet" for seed in cell["seeds"]]
    return cell_scores(task, mask, [_predictions(path) for path in runs])


def _observer(results: Path, task: str, mask: str) -> CellScores | None:
    """The per-example scores of a cell's ideal observer, or None where no ceiling is known."""
    reference = results / "references" / task / f"{mask}.json"
    if files.read_json(reference)["ceiling"] is None:
        return None
    return cell_scores(task, mask, [_predictions(reference.with_suffix(".parquet"))])


def _predictions(path: Path) -> DataFrame:
    return DataFrame(files.read_table(path, schemas.PREDICTIONS).drop_columns(["predictions", "written"]))


def _refuse_above_ceiling(gaps: list[dict[str, Any]], cells: list[dict[str, Any]]) -> None:
    """Stop if a study cell beats its ideal observer; a control, there to leak, may."""
    controls = {(cell["task"], cell["mask"]) for cell in cells if cell["role"] == "control"}
    for gap in gaps:
        task, mask = gap["task"], gap["mask"]
        if gap["verdict"] == ABOVE_CEILING and (task, mask) not in controls:
            raise StudyError(
                f"{task}, mask {mask}: its {gap['metric']} beats the exact ceiling by {gap['gap']:.4g} "
                f"[{gap['low']:.4g}, {gap['high']:.4g}]; either it sees more than its mask admits or the ceiling is "
                "wrong: check the model's masks and the task's ceiling"
            )
