"""`maskstudy access PACKAGE.MODULE:FACTORY`: measure who really sees whom in a model of yours.

The factory takes no arguments and returns a torch.nn.Module, or a function, from [batch, length] tokens or
[batch, length, width] vectors to one answer a position. Names that --expect knows: causal, full, lookahead-K, prefix-N,
window-A-B (A keys before, B after), block-N, causal-block-N, diagonal, none, strictly-causal, anticausal.

Exits with 0, or with 1 if the access is not the expected one.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from maskstudy import patterns
from maskstudy.errors import StudyError
from maskstudy.patterns import Matrix


def main(arguments: list[str]) -> None:
    """Print the grid, or JSON, and draw it.

    Raises:
        StudyError: the factory cannot be imported or called, an unknown pattern, or what `measure_access` refuses.
        SystemExit: with status 1, if the access is not the expected one.
    """
    given = _parser().parse_args(arguments)
    if given.length < 1:
        raise StudyError(f"--length {given.length}: at least one position is needed")
    if given.figure is not None and given.figure.suffix.lower() not in (".svg", ".png"):
        raise StudyError(f"--figure {given.figure}: give a file that ends in .svg or .png")
    wanted = None if given.expect is None else patterns.pattern(given.expect, given.length)
    model = build(given.factory)

    from maskstudy.access import measure_access  # torch takes seconds; --help and typing errors need none of it

    options: dict[str, Any] = {} if given.precision == "double" else {"precision": None}
    access = measure_access(
        model,
        length=given.length,
        vocabulary=given.vocabulary,
        width=given.width,
        draws=given.draws,
        redraw_weights=given.redraw_weights,
        seed=given.seed,
        **options,
    )
    offence = None if wanted is None else access.offence(wanted)
    report = {**access.as_dict(), "expected": given.expect, "as_expected": None if wanted is None else offence is None}
    if given.figure is not None:
        _draw(report, wanted, given.figure)
    if given.json:
        print(json.dumps({**report, "offence": offence and vars(offence)}))
    else:
        print(_page(report, access.matrix, wanted))
        if wanted is not None:
            print(f"expected {given.expect}: {offence or 'agrees'}")
    if offence is not None:
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="maskstudy access", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "factory", metavar="PACKAGE.MODULE:FACTORY", help="what makes the model; looked for here as well"
    )
    parser.add_argument("--expect", metavar="NAME", help="the access that it must have, say causal")
    parser.add_argument("--length", type=int, default=12, metavar="N", help="positions (12)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the grid")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw it, as SVG or PNG by the ending of FILE")
    parser.add_argument("--vocabulary", type=int, metavar="N", help="tokens that the model knows (found in the model)")
    parser.add_argument("--width", type=int, metavar="N", help="of vectors, for a model that takes no tokens (found)")
    parser.add_argument("--draws", type=int, default=3, metavar="N", help="random inputs (3)")
    parser.add_argument(
        "--redraw-weights", action="store_true", help="measure with random weights: those that start at 0 hide access"
    )
    parser.add_argument(
        "--precision", choices=("double", "own"), default="double", help="of the copy that is measured (double)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (0)")
    return parser


def build(target: str) -> Any:
    """What the factory at `package.module:factory` returns; a module that stands there already is taken as it is.

    Raises:
        StudyError: there is no such module or attribute, or importing or calling it fails.
    """
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise StudyError(f"{target}: give the factory as PACKAGE.MODULE:FACTORY, say my_models.small:build")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: a command that is installed starts without it
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise StudyError(f"{target}: {module_name} cannot be imported: {_one_line(error)}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise StudyError(f"{target}: there is no {name} in {module_name}")
        found = getattr(found, name)
    if not isinstance(found, type) and hasattr(found, "state_dict"):  # a torch.nn.Module, without importing torch
        return found
    if not callable(found):
        raise StudyError(
            f"{target}: {type(found).__name__} is no factory; give a function without arguments or a class"
        )
    try:
        return found()
    except Exception as error:
        raise StudyError(f"{target}: the factory fails: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _page(report: dict[str, Any], matrix: Matrix, wanted: Matrix | None) -> str:
    """The grid with what was measured above it and the verdict below."""
    ways = list(dict.fromkeys(measurement["way"] for measurement in report["measurements"]))
    modes = list(dict.fromkeys(measurement["mode"] for measurement in report["measurements"]))
    draws = max(measurement["draws"] for measurement in report["measurements"])
    lines = [
        f"{report['length']} positions, {report['inputs']}; by {' and '.join(ways)}; {' and '.join(modes)}; "
        f"{draws} draw{'s' if draws > 1 else ''}",
        "",
        patterns.grid(matrix, wanted),
        "",
        f"{report['verdict']}: {report['sentence']}",
        *(f"note: {remark}" for remark in report["remarks"]),
    ]
    return "\n".join(lines)


def _draw(report: dict[str, Any], wanted: Matrix | None, path: Path) -> None:
    from maskstudy.figures import measured_access, style  # matplotlib is needed for pictures alone

    style.save_as(measured_access.draw(report, wanted), path)
