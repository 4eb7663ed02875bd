"""`maskstudy gather`: put the results of every run, reference and audit into one table each.

Reads `runs/`, `references/`, `audit/` and `tuning/` of a results folder; writes `metrics.parquet`, `timing.parquet`,
`audit.parquet` and `tuning.parquet` beside them. Rows follow the cells of the config, then seeds, then the name of the
metric.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maskstudy import files, schemas
from maskstudy.commands import options
from maskstudy.errors import StudyError

_PER_METRIC = {"metric", "value", "baseline", "ceiling"}
_TUNING_JSON = ["task", "mask", "role", "curve", "chosen", "at_edge"]
_TABLES = {"metrics": schemas.METRICS, "timing": schemas.TIMING, "audit": schemas.AUDIT, "tuning": schemas.TUNING}
_METRICS_JSON = [*(name for name in schemas.METRICS.names if name not in _PER_METRIC), "metrics"]


def main(arguments: list[str]) -> None:
    """Write `metrics.parquet`, `timing.parquet`, `audit.parquet` and `tuning.parquet`, or none of them.

    Raises:
        StudyError: bad settings, or a file is missing, lacks an entry or belongs to another cell or run.
    """
    parser = options.parser("gather", __doc__, "cells")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)
    settings, results = given.settings, given.results

    rows: dict[str, list[dict[str, Any]]] = {"metrics": [], "timing": [], "audit": [], "tuning": []}
    for cell in settings["cells"]:
        name = f"{cell['task']}/{cell['mask']}"
        reference = _read(results / "references" / f"{name}.json", cell, ["task", "mask", "baseline", "ceiling"])
        rows["audit"].append(_read(results / "audit" / f"{name}.json", cell, schemas.AUDIT.names))
        rows["tuning"] += tuning_rows(_read(results / "tuning" / f"{name}.json", cell, _TUNING_JSON))
        for seed in cell["seeds"]:
            run = results / "runs" / name / f"seed-{seed}"
            rows["metrics"] += metric_rows(
                _read(run / "metrics.json", {**cell, "seed": seed}, _METRICS_JSON), reference
            )
            rows["timing"].append(_read(run / "timing.json", {**cell, "seed": seed}, schemas.TIMING.names))
    # Everything is read before anything is written: tables of different states never stand side by side.
    for table, schema in _TABLES.items():
        files.write_rows(results / f"{table}.parquet", rows[table], schema)


def metric_rows(run: Mapping[str, Any], reference: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a metric of a run (its metrics.json), with the baseline and ceiling of its cell beside it.

    `baseline` and `ceiling` are None where the reference does not have them.
    """
    shared = {name: run[name] for name in _METRICS_JSON if name != "metrics"}
    shared["train_flops"] = float(run["train_flops"])  # a count beyond 2^53 does not fit a float column as it is
    return [
        {
            **shared,
            "metric": metric,
            "value": value,
            "baseline": (reference["baseline"] or {}).get(metric),
            "ceiling": (reference["ceiling"] or {}).get(metric),
        }
        for metric, value in sorted(run["metrics"].items())
    ]


def tuning_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a run of the tuning of a cell (its JSON); none where there was nothing to choose from."""
    cell = {name: found[name] for name in ("task", "mask", "role")}
    return [
        {**cell, **row, "chosen": row["scale"] == found["chosen"], "at_edge": found["at_edge"]}
        for row in found["curve"]
    ]


def _read(path: Path, expected: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Read a JSON object that has the entries `names`, and among them those of the `expected` cell or run."""
    content: dict[str, Any] = files.read_json(path)
    for name in names:
        if name not in content:
            raise StudyError(f"{path}: {name} is missing; delete the file and run snakemake {path}")
        if name in expected and content[name] != expected[name]:
            raise StudyError(
                f"{path}: {name} is {content[name]!r}, not {expected[name]!r}; delete the file and run snakemake {path}"
            )
    return content
