"""`maskstudy explain`: write the page to play with, who can see which token, as one HTML file.

    maskstudy explain --weights model.safetensors --out page.html

puts one model of yours into it, or several; with --results and --settings, as the workflow calls it, also what the
study found. The page runs in any browser, without a network.
"""

import argparse
from functools import partial
from pathlib import Path

from maskstudy.commands.options import read_settings
from maskstudy.errors import StudyError
from maskstudy.explainer import models
from maskstudy.explainer.page import page
from maskstudy.files import read_json, replacing


def main(arguments: list[str]) -> None:
    """Write the page.

    Raises:
        StudyError: a file is missing or holds no model that the page can run, or the page would be too large.
    """
    parser = argparse.ArgumentParser(
        prog="maskstudy explain", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--weights",
        nargs="+",
        required=True,
        type=Path,
        metavar="PATH",
        help="model.safetensors of a run, or several, the most important first",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="PATH", help="the page that is written")
    parser.add_argument("--results", type=Path, metavar="PATH", help="a finished results folder, for what it found")
    parser.add_argument(
        "--settings",
        type=partial(read_settings, names=("cells", "confirmatory")),
        metavar="JSON",
        help="the part of the config that says what the results folder holds; with --results",
    )
    parser.add_argument(
        "--names",
        type=Path,
        metavar="JSON",
        help="summary.json of the prepared data of an encoder–decoder: what its tokens stand for",
    )
    given = parser.parse_args(arguments)
    if (given.results is None) != (given.settings is None):
        raise StudyError("--results and --settings go together: give both, or none for a page without results")

    chosen = [models.read(path) for path in given.weights]
    study = None
    if given.results is not None:
        from maskstudy.explainer.study import collected  # tables and figures are needed for results alone
        from maskstudy.figures.results import Results, Settings

        study = collected(Results(given.results, Settings.of(given.settings)))
    text = page(chosen, study, _token_names(given.names) if given.names else ())
    with replacing(given.out) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _token_names(path: Path) -> list[str]:
    try:
        return list(read_json(path)["names"]["tokens"])
    except (KeyError, TypeError):
        raise StudyError(f"{path}: it names no tokens; give summary.json of the data of an encoder–decoder") from None
