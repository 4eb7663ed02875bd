"""What a finished results folder must hold. By hand: `python tests/pipeline/outputs.py results/quick`."""

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq

from maskstudy.config import is_generative, is_written, seeds, transformers

TABLES = ("metrics", "timing", "audit", "tuning", "comparisons", "effects", "ceiling_gaps", "swaps", "representations")
MAY_BE_EMPTY = ("comparisons", "effects", "ceiling_gaps", "swaps")  # without a second mask, or without a known ceiling
OF_A_RUN = ("model.safetensors", "history.parquet", "cost.json", "timing.json", "metrics.json", "examples.parquet")
BEGINNINGS = {".pdf": b"%PDF-", ".png": b"\x89PNG\r\n", ".parquet": b"PAR1"}


def flaws(results: Path) -> list[str]:
    """What is missing or hollow in a results folder; empty where the study is complete."""
    config = json.loads((results / "config.yaml").read_text(encoding="utf-8"))
    found = [f"{path}: missing" for path in promised(results, config) if not path.is_file()]
    files = sorted(path for path in results.rglob("*") if path.is_file() and path.suffix != ".log")
    return found + [f"{path}: {flaw}" for path in files if (flaw := hollow(path, config["figures"]))]


def hollow(path: Path, figures: list[str]) -> str | None:
    """What is wrong with a file, or None."""
    content = path.read_bytes()
    if path.name.endswith(".partial"):
        return "half-written"
    if not content.startswith(BEGINNINGS.get(path.suffix, b"")):
        return f"is no {path.suffix[1:]} file"
    match path.suffix:
        case ".parquet" if path.stem not in MAY_BE_EMPTY:
            return None if pq.read_metadata(path).num_rows else "no rows"
        case ".csv":
            return None if len(list(csv.reader(content.decode().splitlines()))) > 1 else "no rows"
        case ".svg":
            return None if len(ElementTree.fromstring(content)) else "draws nothing"
        case ".html" if path.name == "explainer.html":
            return None if b'id="weights-0">' in content else "holds no model"
        case ".html":
            return None if all(f"figures/{name}.svg".encode() in content for name in figures) else "lacks a figure"
        case ".pdf" | ".png":
            return None if len(content) > 5000 else f"{len(content)} bytes show nothing"
    return None


def promised(results: Path, config: dict) -> Iterator[Path]:
    """Every file that a study with this config makes."""
    yield from (results / name for name in ("config.yaml", "paper.pdf", "report.html", "explainer.html"))
    yield from (results / f"{name}.parquet" for name in TABLES)
    for name in config["figures"]:
        yield from (results / "figures" / f"{name}.{ending}" for ending in ("svg", "png", "csv"))
    yield from (results / "tables" / f"{name}.csv" for name in ("metrics", "comparisons", "cost", "tuning", "audit"))
    for task, cells in transformers(config).items():
        yield results / "representations" / f"{task}.parquet"
        if len(cells) > 1:
            yield results / "swaps" / f"{task}.parquet"
    for task, entry in config["tasks"].items():
        yield from (results / "data" / task / f"{split}.parquet" for split in ("train", "validation", "test"))
        yield results / "data" / task / "summary.json"
        of_a_run = [*OF_A_RUN]
        of_a_run += ["generated.json"] if is_generative(config, task) else []
        of_a_run += ["decoding.json"] if is_written(config, task) else []
        for mask in (*entry["masks"], *entry.get("controls", [])):
            yield results / "audit" / task / f"{mask}.json"
            yield results / "tuning" / task / f"{mask}.json"
            yield from (results / "references" / task / f"{mask}.{ending}" for ending in ("json", "parquet"))
            for seed in seeds(config, task):
                yield from (results / "runs" / task / mask / f"seed-{seed}" / name for name in of_a_run)


if __name__ == "__main__":
    if complaints := flaws(Path(sys.argv[1])):
        sys.exit("\n".join(complaints))
    print(f"{sys.argv[1]}: complete")
