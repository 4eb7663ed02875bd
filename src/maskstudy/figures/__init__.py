"""Figures of the study, one module a figure.

A figure is a module with four names:

    SUMMARY    what the figure shows, in a few words: its title
    CAPTION    what is seen, for a reader who sees the figure alone
    data       Results -> DataFrame: everything that is drawn, and what becomes the CSV
    draw       DataFrame -> matplotlib Figure

Means of groups are taken with `over`, or by `Results.mean_intervals`: `group_by(…).agg(…)` of a large table adds up in
an order that depends on the number of threads, and so do the last bits.

A new figure is a new module in this folder, with its caption in `workflow/report/` and its line in config.yaml.
"""

import importlib
import pkgutil
from typing import Protocol, cast

from matplotlib.figure import Figure
from polars import DataFrame

from maskstudy.errors import StudyError
from maskstudy.figures.results import Results

SHARED = ("results", "style", "measured_access")  # modules of this folder that are no figures of the study


class FigureModule(Protocol):
    """What a module of this folder offers."""

    SUMMARY: str
    CAPTION: str

    def data(self, results: Results) -> DataFrame:
        """Everything that is drawn."""
        ...

    def draw(self, data: DataFrame) -> Figure:
        """The picture, from its data alone."""
        ...


def names() -> list[str]:
    """The names of all figures, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SHARED)


def named(name: str) -> FigureModule:
    """The figure with this name.

    Raises:
        StudyError: there is no such figure.
    """
    if name not in names():
        raise StudyError(f"figure {name!r}: unknown; use one of {', '.join(names())}")
    return cast(FigureModule, importlib.import_module(f"{__name__}.{name}"))
