"""`maskstudy figure NAME`: draw one figure from the tables of a results folder.

Writes `figures/NAME.svg`, `figures/NAME.png` and `figures/NAME.csv` (what is drawn, as numbers) beside the tables.
"""

from maskstudy import figures
from maskstudy.commands import options
from maskstudy.figures import style
from maskstudy.figures.results import Results, Settings
from maskstudy.files import replacing


def main(arguments: list[str]) -> None:
    """Draw one figure; where the study declares nothing, the figure says so.

    Raises:
        StudyError: no such figure, bad settings, or a table that the figure needs is missing or wrong.
    """
    parser = options.parser("figure", __doc__, "cells", "confirmatory")
    parser.add_argument("name", help=f"one of {', '.join(figures.names())}")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)

    settings = Settings.of(given.settings)
    module = figures.named(given.name)
    data = module.data(Results(given.results, settings))
    figure = module.draw(data)
    if not settings.confirmatory:
        style.add_note(figure, f"quick profile: {settings.seeds_of_a_cell}, exploratory only")
    stem = given.results / "figures" / given.name
    with replacing(stem.with_name(f"{stem.name}.csv")) as temporary:
        data.write_csv(temporary)
    style.save(figure, stem)
