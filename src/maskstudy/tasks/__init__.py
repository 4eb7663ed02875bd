"""The tasks: one file each, named as the task. To add one, add its file: it is then a `kind` in config.yaml."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from maskstudy.errors import StudyError
from maskstudy.tasks.task import Task


@cache
def kinds() -> tuple[str, ...]:
    """The names of all tasks; a study asks for them with every task that it builds, and they are looked up once."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if module.name != "task"))


def question(kind: str) -> str:
    """What a task asks: the first line of its file."""
    return str(import_module(f"{__name__}.{kind}").__doc__).splitlines()[0]


def published(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Published results on the data of a task: `PUBLISHED` of its file, by dataset; none where it has no such thing.

    Args:
        settings: as for `build`, with the `dataset`.
    """
    module, dataset = import_module(f"{__name__}.{settings['kind']}"), settings["dataset"]
    known: Mapping[str, list[dict[str, Any]]] = getattr(module, "PUBLISHED", {})
    return known.get(dataset, []) if isinstance(dataset, str) else []


def build(settings: Mapping[str, Any]) -> Task:
    """The task of these settings.

    Args:
        settings: `kind`, the name of a task, and `parameters`, by name; other entries are left alone.

    Raises:
        StudyError: there is no such task, or it does not take these parameters.
    """
    kind, parameters = settings["kind"], settings["parameters"]
    if kind not in kinds():
        raise StudyError(f"task {kind!r} is not known; allowed: {', '.join(kinds())}")
    class_name = "".join(part.capitalize() for part in kind.split("_"))
    task_class = getattr(import_module(f"{__name__}.{kind}"), class_name)
    allowed = [entry.name for entry in fields(task_class)]
    if unknown := sorted(set(parameters) - set(allowed)):
        raise StudyError(f"{kind}: parameter {unknown[0]!r} is not known; allowed: {', '.join(allowed)}")
    return task_class(**parameters)
