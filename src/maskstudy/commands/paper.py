"""`maskstudy paper`: write the tables and the paper from the results and the figures of a folder.

Writes `tables/*.csv` and `paper.pdf`. A figure whose CSV has no rows does not apply to the study and is left out.
"""

from pathlib import Path

from maskstudy import figures
from maskstudy.commands import options
from maskstudy.errors import StudyError
from maskstudy.figures.results import Results, Settings
from maskstudy.files import replacing
from maskstudy.report.paper import collect, compile_pdf
from maskstudy.report.tables import applying


def main(arguments: list[str]) -> None:
    """Write the tables and the paper, or none of them.

    Raises:
        StudyError: bad settings, or a table or figure that the paper needs is missing or wrong.
    """
    parser = options.parser("paper", __doc__, "cells", "confirmatory")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)

    settings = Settings.of(given.settings)
    results = Results(given.results, settings)
    tables = applying(results)
    drawings = given.results / "figures"
    shown = figures.names() if settings.figures is None else settings.figures
    drawn = [name for name in shown if _shows_something(drawings / f"{name}.csv")]
    pdf = compile_pdf(collect(settings, tables, drawn), drawings)
    for name, table in tables.items():
        with replacing(given.results / "tables" / f"{name}.csv") as temporary:
            table.write_csv(temporary)
    with replacing(given.results / "paper.pdf") as temporary:
        temporary.write_bytes(pdf)


def _shows_something(path: Path) -> bool:
    """Whether the CSV of a figure has rows below its header.

    Raises:
        StudyError: the figure has not been drawn.
    """
    try:
        return len(path.read_text(encoding="utf-8").splitlines()) > 1
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; draw the figure first: snakemake {path}") from None
