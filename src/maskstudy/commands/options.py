"""What the verbs read from the command line."""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from maskstudy.errors import StudyError


def parser(verb: str, summary: str | None, *settings: str) -> argparse.ArgumentParser:
    """A parser that says what the verb does, and takes the settings that its rule passes.

    Args:
        verb: name of the verb.
        summary: what `--help` says, usually the docstring of its module.
        settings: entries that `--settings` must have.
    """
    made = argparse.ArgumentParser(
        prog=f"maskstudy {verb}", description=summary, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--settings",
        required=True,
        type=partial(read_settings, names=settings),
        metavar="JSON",
        help=f"the part of the config that it uses, an object with {', '.join(settings)}",
    )
    return made


def add_path(to: argparse.ArgumentParser, name: str, meaning: str) -> None:
    """Add a required option that names a file or folder."""
    to.add_argument(f"--{name}", required=True, type=Path, metavar="PATH", help=meaning)


def add_run(to: argparse.ArgumentParser) -> None:
    """Add what names a run and what it is made from: `--seed`, `--data` and `--run`."""
    to.add_argument("--seed", required=True, type=int)
    add_path(to, "data", "folder of the prepared examples")
    add_path(to, "run", "folder of the run")


def read_settings(text: str, names: tuple[str, ...]) -> dict[str, Any]:
    """A JSON object from the command line that has the entries `names`.

    Raises:
        StudyError: it is not a JSON object, or an entry is missing.
    """
    try:
        settings = json.loads(text)
    except json.JSONDecodeError as error:
        raise StudyError(f"--settings: not JSON ({error}); pass an object with {', '.join(names)}") from None
    if missing := [name for name in names if not isinstance(settings, dict) or name not in settings]:
        raise StudyError(f"--settings: {', '.join(missing)} missing; pass an object with {', '.join(names)}")
    return dict(settings)
