"""config.yaml: checked whole before any job starts, then cut into the part that each rule uses.

A verb gets nothing of the config but the settings that its rule passes on the command line, so what can change a result
is exactly what the rule carries in `params`. No verb imports this module either: how strictly the config is checked
changes no result.
"""

import math
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend

from maskstudy import tasks
from maskstudy.data.datasets import BUILT_IN, OPTIONS, kind_of
from maskstudy.errors import StudyError
from maskstudy.shape import build_shape, encoder_layers
from maskstudy.statistics import reachable
from maskstudy.supervision import alike
from maskstudy.tasks.task import Written
from maskstudy.training_settings import TrainingSettings
from maskstudy.tuning_settings import TuningSettings

Config = dict[str, Any]


def _is_number(_: Any, value: Any) -> bool:
    """A number as arithmetic needs it; YAML also knows true, `.nan` and `.inf`."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(_: Any, value: Any) -> bool:
    """A whole number as `range` needs it; JSON Schema takes 10.0 for one."""
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer}),
)


@dataclass(frozen=True)
class Cell:
    """One (task, mask) of the study; `role` is `study` or `control`."""

    task: str
    mask: str
    role: str

    def settings(self) -> dict[str, str]:
        """The cell as a rule passes it on."""
        return {"task": self.task, "mask": self.mask, "role": self.role}


def without_tasks_left_out(config: Config) -> Config:
    """The config without the tasks that it sets to null, as a profile or the command line leaves out what it inherits.

    Declared comparisons stay as they are: what is declared of a task that is left out is a mistake that `check` names.
    """
    entries = config.get("tasks")
    if not isinstance(entries, dict):
        return config
    return {**config, "tasks": {name: entry for name, entry in entries.items() if entry is not None}}


def check(config: Config, schema: dict[str, Any]) -> None:
    """Refuse a config that cannot be studied.

    Args:
        config: all of config.yaml, with whatever the command line or a profile put on top.
        schema: workflow/schemas/config.schema.json.

    Raises:
        StudyError: one line that names the key, its value and what is allowed.
    """
    if error := best_match(_Validator(schema).iter_errors(config)):
        raise StudyError(_schema_line(error))
    for name, entry in config["datasets"].items():
        allowed = ["kind", "files", *OPTIONS[entry["kind"]]]
        if unknown := sorted(set(entry) - set(allowed)):
            where = f"config: datasets.{name}.{unknown[0]}"
            raise StudyError(f"{where}: kind {entry['kind']} takes no such key; allowed: {', '.join(allowed)}")
    for name, entry in config["tasks"].items():
        where = f"config: tasks.{name}"
        if both := set(entry["masks"]) & set(entry.get("controls", [])):
            raise StudyError(f"{where}: {min(both)!r} stands under masks and under controls; allowed: one of them")
        try:
            settings = task_settings(config, name)
            task, model = tasks.build(settings), model_settings(config, name)
            shape = build_shape(task, model)
            for mask in (*entry["masks"], *entry.get("controls", [])):
                if mask == "encoder-decoder":
                    encoder_layers(shape.layers)
                task.check_cell(mask, model)
            TrainingSettings(**training_settings(config, name))
        except StudyError as error:
            raise StudyError(f"{where}: {error}") from None
    try:
        TuningSettings.of(config["tuning"])
    except StudyError as error:
        raise StudyError(f"config: {error}") from None
    _check_comparisons(config)


def cells(config: Config) -> list[Cell]:
    """All cells, in the order of the config."""
    return [
        Cell(name, mask, role)
        for name, entry in config["tasks"].items()
        for role, masks in (("study", entry["masks"]), ("control", entry.get("controls", [])))
        for mask in masks
    ]


def cell(config: Config, task: str, mask: str) -> Cell:
    """The cell of this task and mask.

    Raises:
        StudyError: the config declares no such cell.
    """
    for candidate in cells(config):
        if (candidate.task, candidate.mask) == (task, mask):
            return candidate
    declared = ", ".join(candidate.mask for candidate in cells(config) if candidate.task == task)
    raise StudyError(f"config: tasks.{task} declares no mask {mask!r}; declared: {declared}; add it to config.yaml")


def transformers(config: Config) -> dict[str, list[Cell]]:
    """The cells of each task whose models are one and the same transformer, so that each can be given another's mask.

    All but those of an encoder–decoder, which has weights of its own; tasks with nothing else are left out.
    """
    found: dict[str, list[Cell]] = {}
    for candidate in cells(config):
        if candidate.mask != "encoder-decoder":
            found.setdefault(candidate.task, []).append(candidate)
    return found


def seeds(config: Config, task: str) -> list[int]:
    """The seeds of every cell of a task: as many as the study has, or as the task asks for itself."""
    return list(range(config["tasks"][task].get("seeds", config["seeds"])))


def cell_with_seeds(config: Config, cell: Cell) -> dict[str, Any]:
    """A cell and its seeds, as the verbs that read all runs of it take them."""
    return {**cell.settings(), "seeds": seeds(config, cell.task)}


def task_settings(config: Config, name: str) -> dict[str, Any]:
    """What it takes to build a task and read its data.

    Raises:
        StudyError: the dataset is missing, not known or of another kind, or the task takes none.
    """
    entry = config["tasks"][name]
    settings = {"kind": entry.get("kind", name), "parameters": entry.get("parameters", {}), "dataset": None}
    needed = tasks.build(settings).dataset
    dataset = entry.get("dataset")
    if needed is None and dataset is not None:
        raise StudyError(f"dataset {dataset!r} is given, but {settings['kind']} makes its own data; remove it")
    if needed is not None:
        if dataset is None:
            raise StudyError(f"no dataset; {settings['kind']} reads one of kind {needed}: add `dataset:`")
        own = config["datasets"].get(dataset)
        if own is None and dataset not in BUILT_IN:
            known = ", ".join([*BUILT_IN, *config["datasets"]])
            raise StudyError(f"dataset {dataset!r} is not known; allowed: {known}, or a new entry of `datasets:`")
        settings["dataset"] = dataset if own is None else own
        if (found := kind_of(settings["dataset"])) != needed:
            raise StudyError(f"dataset {dataset!r} is of kind {found}; {settings['kind']} reads kind {needed}")
    return settings


def is_generative(config: Config, name: str) -> bool:
    """Whether a model of this task can write text by itself.

    Raises:
        StudyError: as `task_settings`.
    """
    return tasks.build(task_settings(config, name)).generative


def supervision(config: Config) -> list[str]:
    """The tasks whose models answer the same final bytes, so that the mask can be told from the supervision; or none.

    Raises:
        StudyError: as `task_settings`.
    """
    return alike({name: task_settings(config, name) for name in config["tasks"]})


def is_written(config: Config, name: str) -> bool:
    """Whether a model of this task writes whole answers, given the condition of an example.

    Raises:
        StudyError: as `task_settings`.
    """
    return isinstance(tasks.build(task_settings(config, name)), Written)


def model_settings(config: Config, name: str) -> dict[str, Any]:
    """The model of a task: the study's, with what the task changes."""
    return config["model"] | config["tasks"][name].get("model", {})


def training_settings(config: Config, name: str) -> dict[str, Any]:
    """The training of a task: the study's, with what the task changes."""
    return config["training"] | config["tasks"][name].get("training", {})


def _check_comparisons(config: Config) -> None:
    """Every declared comparison is of two study cells of one task, stands there once, and has seeds enough."""
    declared = set()
    for number, comparison in enumerate(config["comparisons"]):
        where = f"config: comparisons[{number}]"
        task, masks = comparison["task"], comparison["masks"]
        if task not in config["tasks"]:
            allowed = ", ".join(config["tasks"])
            raise StudyError(f"{where}.task: {task!r} is not a task of this study; allowed: {allowed}")
        ranked = config["tasks"][task]["masks"]
        for mask in masks:
            if mask not in ranked:
                raise StudyError(f"{where}.masks: {mask!r} is not a mask of {task}; allowed: {', '.join(ranked)}")
        key = (task, comparison["metric"], frozenset(masks))
        if key in declared:
            raise StudyError(f"{where}: {task}, {comparison['metric']}, {' and '.join(masks)} stands there twice")
        declared.add(key)
    if config["comparisons"] and not config["confirmatory"]:
        raise StudyError("config: comparisons: a study that is not confirmatory declares none; allowed: []")
    alpha = config["statistics"]["alpha"]
    reachable(len(config["comparisons"]), config["seeds"], alpha)
    for task in dict.fromkeys(comparison["task"] for comparison in config["comparisons"]):
        if "seeds" in config["tasks"][task]:
            reachable(len(config["comparisons"]), config["tasks"][task]["seeds"], alpha, f"tasks.{task}.seeds")


def _schema_line(error: ValidationError) -> str:
    """One line of a schema's complaint: the key, its value, what is allowed."""
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    if error.validator == "additionalProperties":
        unknown = sorted(set(error.instance) - set(error.schema.get("properties", {})))[0]
        key = f"{where}.{unknown}".lstrip(".")
        allowed = ", ".join(error.schema["properties"])
        return f"config: {key}: {error.instance[unknown]!r}: there is no such key; allowed: {allowed}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"config: {where or 'top level'}: the key {missing!r} is missing; add it"
    allowed = error.schema.get("description", f"{error.validator} {error.validator_value!r}")
    return f"config: {where}: {error.instance!r} is not allowed; allowed: {allowed}"
