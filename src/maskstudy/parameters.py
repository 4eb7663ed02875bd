"""Checks of a task's parameters as they stand in config.yaml: one line says what is wrong and what is allowed."""

import math

from maskstudy.errors import StudyError


def check_whole(name: str, value: object, least: int, most: int | None = None, or_null: bool = False) -> None:
    """Refuse anything but a whole number from `least` to `most`; True and 2.0 are none.

    Args:
        name: what the message begins with, `task: parameter`.
        value: as config.yaml has it.
        least: the smallest that is allowed.
        most: the largest; None for no limit.
        or_null: whether None, which stands for all there is, is allowed too.

    Raises:
        StudyError: it is another value.
    """
    if or_null and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        allowed = f"whole numbers from {least}" + (f" to {most}" if most is not None else "")
        raise StudyError(f"{name}: {value!r}; allowed: {allowed}{', or null for all' if or_null else ''}")


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above 0.

    Args:
        name: what the message begins with, `task: parameter`.
        value: as config.yaml has it.

    Raises:
        StudyError: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise StudyError(f"{name}: {value!r}; allowed: numbers above 0")


def check_dropout(name: str, value: object) -> None:
    """Refuse anything but a number from 0 up to, not including, 1.

    Args:
        name: what the message begins with, `task: parameter`.
        value: as config.yaml has it.

    Raises:
        StudyError: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise StudyError(f"{name}: {value!r}; allowed: numbers from 0 up to, not including, 1")


def check_share(name: str, value: object) -> None:
    """Refuse anything but a number above 0 and at most 1.

    Args:
        name: what the message begins with, `task: parameter`.
        value: as config.yaml has it.

    Raises:
        StudyError: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise StudyError(f"{name}: {value!r}; allowed: numbers above 0, at most 1")
