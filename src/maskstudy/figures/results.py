"""What figures and the paper draw on: the tables of one results folder, each read when it is first asked for.

results = Results(Path("results"), Settings.of(settings))
results.metrics          DataFrame, the columns of schemas.METRICS
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from polars import DataFrame

from maskstudy import schemas, statistics
from maskstudy.errors import StudyError
from maskstudy.files import read_json, read_table


@dataclass(frozen=True)
class Cell:
    """One (task, mask) with the seeds of its runs; its role is `study` or `control`."""

    task: str
    mask: str
    role: str
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    """The part of the config that figures and the paper follow.

    Attributes:
        cells: all cells, in the order of the config.
        confirmatory: False where the study declares no comparison, so that everything is exploratory.
        confidence: coverage of the intervals, 0.95 for 95 %.
        alpha: level of the tests.
        resamples: bootstrap resamples of an interval.
        questions: task -> one sentence saying what is asked; tasks may be absent.
        published: task -> published results on its data, `method`, `per`, `wer`, `source` and `differs` of each; tasks
            may be absent.
        figures: the figures that the paper shows; None for all there are.
        supervision: the tasks whose models answer the same final bytes; there may be none.
        tuning: the entry `tuning` of the config, for the words about it.
        written: the tasks whose models write whole answers; there may be none.
        texts: the tasks whose models write text by themselves; there may be none.
        unordered: the tasks whose models are told no positions; there may be none.
    """

    cells: tuple[Cell, ...]
    confirmatory: bool
    confidence: float = 0.95
    alpha: float = 0.05
    resamples: int = 10_000
    questions: dict[str, str] = field(default_factory=dict)
    published: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    figures: tuple[str, ...] | None = None
    supervision: tuple[str, ...] = ()
    tuning: dict[str, Any] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Settings":
        """Read `{"cells": [{"task", "mask", "role", "seeds"}], "confirmatory": bool}`; other entries may stand.

        Optional: `"statistics": {"alpha", "confidence", "resamples"}`, `"tuning"` and `"figures": [name]` as in the
        config, `"questions": {task: sentence}`, `"supervision": [task]`, `"written": [task]`, `"texts": [task]`,
        `"unordered": [task]`, and `"published": {task: [result]}`, each result with `method`, `per`, `wer`, `source`
        and `differs`.

        Raises:
            StudyError: there is no cell, or one without a seed.
        """
        if not value["cells"] or not all(cell["seeds"] for cell in value["cells"]):
            raise StudyError("--settings: no cells or no seeds; the config needs a task with a mask, and seeds")
        given = value.get("statistics", {})
        return cls(
            cells=tuple(
                Cell(cell["task"], cell["mask"], cell["role"], tuple(cell["seeds"])) for cell in value["cells"]
            ),
            confirmatory=value["confirmatory"],
            questions=dict(value.get("questions", {})),
            published=dict(value.get("published", {})),
            figures=tuple(value["figures"]) if "figures" in value else None,
            supervision=tuple(value.get("supervision", ())),
            tuning=dict(value.get("tuning", {})),
            written=tuple(value.get("written", ())),
            texts=tuple(value.get("texts", ())),
            unordered=tuple(value.get("unordered", ())),
            **{name: given[name] for name in ("alpha", "confidence", "resamples") if name in given},
        )

    @property
    def tasks(self) -> list[str]:
        """All tasks, in the order of the config."""
        return list(dict.fromkeys(cell.task for cell in self.cells))

    @property
    def seeds(self) -> dict[str, int]:
        """How many seeds the cells of each task have."""
        return {cell.task: len(cell.seeds) for cell in self.cells}

    @property
    def seeds_of_a_cell(self) -> str:
        """`10 seeds a cell`, or `10 seeds a cell (5 in accents)` where some tasks have another number."""
        usual = Counter(self.seeds.values()).most_common(1)[0][0]
        others = [f"{number} in {task}" for task, number in self.seeds.items() if number != usual]
        return f"{usual} seed{'s' * (usual != 1)} a cell" + (f" ({', '.join(others)})" if others else "")


@dataclass(frozen=True)
class Results:
    """The results of one study.

    Every table has the columns of its schema and only the rows of the configured cells and seeds, in their order.

    Attributes:
        folder: `results/`, or `results/quick/`.
        settings: the part of the config that says what the study holds.
    """

    folder: Path
    settings: Settings

    @cached_property
    def metrics(self) -> DataFrame:
        """One row a (cell, seed, metric).

        Raises:
            StudyError: a configured run has no row.
        """
        table = self._of_runs(_frame(self.folder / "metrics.parquet", schemas.METRICS))
        missing = self._runs.join(table, on=["task", "mask", "seed"], how="anti", maintain_order="left")
        for task, mask, seed in missing.iter_rows():
            raise StudyError(
                f"{self.folder / 'metrics.parquet'}: no row for {task}, {mask}, seed {seed}; "
                "make it again with the config as it is now"
            )
        return table

    @cached_property
    def timing(self) -> DataFrame:
        """One row a run."""
        return self._of_runs(_frame(self.folder / "timing.parquet", schemas.TIMING))

    @cached_property
    def audit(self) -> DataFrame:
        """One row a cell."""
        return self._of_cells(_frame(self.folder / "audit.parquet", schemas.AUDIT), "mask")

    @cached_property
    def tuning(self) -> DataFrame:
        """One row a run of the tuning of a cell; none where the grid has one point."""
        return self._of_cells(_frame(self.folder / "tuning.parquet", schemas.TUNING), "mask")

    @cached_property
    def ceiling_gaps(self) -> DataFrame:
        """One row a (cell with a ceiling, metric)."""
        return self._of_cells(_frame(self.folder / "ceiling_gaps.parquet", schemas.CEILING_GAPS), "mask")

    @cached_property
    def samples(self) -> DataFrame:
        """One row a question that is shown and mask of its task."""
        table = _frame(self.folder / "examples.parquet", schemas.SAMPLES)
        return table.join(self._runs, on=["task", "mask"], how="semi", maintain_order="left")

    @cached_property
    def decoding(self) -> DataFrame:
        """One row a run of the tasks of `settings.written`: what `decoding.json` says of it, by search and metric."""
        rows = []
        for cell in self.settings.cells:
            for seed in cell.seeds if cell.task in self.settings.written else ():
                found = read_json(self.folder / "runs" / cell.task / cell.mask / f"seed-{seed}" / "decoding.json")
                scores = {
                    f"{search}_{metric}": value
                    for search, metrics in found["metrics"].items()
                    for metric, value in metrics.items()
                }
                run = {"task": cell.task, "mask": cell.mask, "seed": seed, "words": found["words"]}
                difference = found["parallel_minus_stepwise"]["probability"]
                rows.append(
                    run | {"beam_width": found["beam_width"]} | scores | {"parallel_minus_stepwise": difference}
                )
        return DataFrame(rows, infer_schema_length=None)

    @cached_property
    def texts(self) -> DataFrame:
        """What the model of the first seed wrote by itself, one row a cell and prompt, beside true text."""
        rows = []
        for cell in self.settings.cells:
            if cell.task in self.settings.texts:
                run = {"task": cell.task, "mask": cell.mask, "role": cell.role, "seed": cell.seeds[0]}
                folder = self.folder / "runs" / cell.task / cell.mask / f"seed-{cell.seeds[0]}"
                rows += [run | text for text in read_json(folder / "generated.json")["texts"]]
        return DataFrame(rows, infer_schema_length=None)

    @cached_property
    def supervision(self) -> DataFrame:
        """One row a (run, metric) of the tasks of `settings.supervision`, scored on the same final positions."""
        return self._of_runs(_frame(self.folder / "supervision.parquet", schemas.SUPERVISION))

    @cached_property
    def swaps(self) -> DataFrame:
        """One row a (run, other mask of its task, metric): what a model scores under a mask it was not trained with."""
        return self._of_runs(_frame(self.folder / "swaps.parquet", schemas.SWAPS), "trained_mask", "tested_mask")

    @cached_property
    def representations(self) -> DataFrame:
        """One row a (run or its random control, layer, measure); those of `cka` are of two configured masks."""
        table = self._of_runs(_frame(self.folder / "representations.parquet", schemas.REPRESENTATIONS))
        other = pl.coalesce("other_mask", "mask")
        cells = ["task", "mask"]
        return table.join(self._runs, left_on=["task", other], right_on=cells, how="semi", maintain_order="left")

    @cached_property
    def comparisons(self) -> DataFrame:
        """One row a comparison of two configured cells, declared ones first, else in the order of the config."""
        table = _frame(self.folder / "comparisons.parquet", schemas.COMPARISONS)
        return self._of_cells(table, "mask_b", "mask_a").sort("declared", descending=True, maintain_order=True)

    @cached_property
    def effects(self) -> DataFrame:
        """What stands beside each comparison, in no particular order."""
        return _frame(self.folder / "effects.parquet", schemas.EFFECTS)

    @cached_property
    def history(self) -> DataFrame:
        """One row a (run, step, split): the columns of schemas.HISTORY after task, mask, role, seed."""
        frames = []
        for cell in self.settings.cells:
            for seed in cell.seeds:
                path = self.folder / "runs" / cell.task / cell.mask / f"seed-{seed}" / "history.parquet"
                run = {"task": cell.task, "mask": cell.mask, "role": cell.role, "seed": seed}
                values = [pl.lit(value).alias(name) for name, value in run.items()]
                frames.append(_frame(path, schemas.HISTORY).select(*values, pl.all()))
        return pl.concat(frames)

    @cached_property
    def audits(self) -> list[dict[str, Any]]:
        """The audit of each cell as it stands in `audit/{task}/{mask}.json`, with its access grid."""
        return [read_json(self.folder / "audit" / cell.task / f"{cell.mask}.json") for cell in self.settings.cells]

    def mean_interval(self, values: Iterable[float]) -> tuple[float, float | None, float | None]:
        """Mean over seeds and its bootstrap interval at the study's confidence; a single seed has no interval."""
        seeds = [float(value) for value in values]
        mean = sum(seeds) / len(seeds)
        if len(seeds) == 1:
            return mean, None, None
        interval = statistics.bca_interval(seeds, self.settings.confidence, self.settings.resamples, seed=0)
        return mean, interval.low, interval.high

    def mean_intervals(self, table: DataFrame, by: Sequence[str], column: str = "value") -> DataFrame:
        """One row a group of `table`, in their order: the columns `by`, then `mean`, `low`, `high` of a column."""
        rows = [
            (*of_group, *self.mean_interval(group[column]))
            for of_group, group in table.group_by(by, maintain_order=True)
        ]
        groups = {name: table.schema[name] for name in by}
        return DataFrame(rows, {**groups, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}, orient="row")

    @cached_property
    def _runs(self) -> DataFrame:
        """One row a configured run: task, mask, seed."""
        runs = [(cell.task, cell.mask, seed) for cell in self.settings.cells for seed in cell.seeds]
        return DataFrame(runs, schema={"task": pl.String, "mask": pl.String, "seed": pl.Int32}, orient="row")

    def _of_runs(self, table: DataFrame, mask: str = "mask", *others: str) -> DataFrame:
        """The rows of the configured runs, where `mask` is the mask of a run, in the order of the config."""
        runs = self._runs.rename({"mask": mask})
        table = table.join(runs, on=["task", mask, "seed"], how="semi", maintain_order="left")
        return self._of_cells(table, mask, *others)

    def _of_cells(self, table: DataFrame, *masks: str) -> DataFrame:
        """The rows whose cells, the task with each of `masks`, are configured, in the order of the config."""
        placed = table
        for mask in masks:
            cells = self._runs.select("task", pl.col("mask").alias(mask)).unique(maintain_order=True)
            cells = cells.with_row_index(f"place of {mask}")
            placed = placed.join(cells, on=["task", mask], maintain_order="left")
        keys = [f"place of {mask}" for mask in masks]
        keys += [name for name in ("scale", "metric", "seed") if name in table.columns]
        return placed.sort(keys, maintain_order=True).select(table.columns)


def verdict_words(verdict: str, mask_a: str, mask_b: str) -> str:
    """The verdict of a comparison in two words: `full better`, `equivalent`, `inconclusive`."""
    return {"a": f"{mask_a} better", "b": f"{mask_b} better"}.get(verdict, verdict)


def _frame(path: Path, schema: pa.Schema) -> DataFrame:
    return DataFrame(read_table(path, schema))
