"""What the rules share: the checked config, the settings each verb gets, and the digest of the source it runs."""

import json
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from maskstudy import config as study
from maskstudy.data.datasets import BUILT_IN
from maskstudy.data.raw import WHEELS
from maskstudy.data.text import text_files
from maskstudy.digests import source_digest
from maskstudy.errors import StudyError
from maskstudy.explainer import SOURCES, models
from maskstudy.files import read_json
from maskstudy.tasks import build, published, question


def raw_files(task):
    """What a task's data is read from: a fetched package, the user's own files, or nothing."""
    dataset = study.task_settings(config, task)["dataset"]
    if dataset is None:
        return []
    if isinstance(dataset, str):
        return [f"{config['data']}/{BUILT_IN[dataset].wheel}"]
    return text_files(dataset["files"])


config["tasks"] = study.without_tasks_left_out(config)["tasks"]

try:
    study.check(config, read_json(Path(workflow.basedir, "workflow/schemas/config.schema.json")))
    RAW_FILES = {task: raw_files(task) for task in config["tasks"]}
    QUESTIONS = {task: question(study.task_settings(config, task)["kind"]) for task in config["tasks"]}
    PUBLISHED = {task: found for task in config["tasks"] if (found := published(study.task_settings(config, task)))}
    FIGURE_SOURCE = {name: source_digest("figure", f"figures.{name}") for name in config["figures"]}
except StudyError as error:
    raise WorkflowError(str(error))

if workflow.deployment_settings.deployment_method:
    raise WorkflowError(
        "one environment, the one that Snakemake runs in, serves all rules: leave out --sdm, --use-conda"
    )

# The rules call `maskstudy` of this very Python, whether or not its environment is activated.
os.environ.update(PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))

RESULTS = config["results"]
RAW = config["data"]
CELLS = study.cells(config)
TASKS = list(config["tasks"])
KINDS = sorted({study.task_settings(config, task)["kind"] for task in TASKS})
DATA = f"{RESULTS}/data/{{task}}"
AUDIT = f"{RESULTS}/audit/{{task}}/{{mask}}.json"
TUNING = f"{RESULTS}/tuning/{{task}}/{{mask}}.json"
RUN = f"{RESULTS}/runs/{{task}}/{{mask}}/seed-{{seed}}"
GENERATIVE = [task for task in TASKS if study.is_generative(config, task)]  # whose models write text by themselves
SUPERVISED = study.supervision(config)  # tasks that ask for the same final bytes, or none
SUPERVISED_CELLS = [cell for cell in CELLS if cell.task in SUPERVISED and cell.role == "study"]
SUPERVISION = [f"{RESULTS}/supervision.parquet"] if SUPERVISED else []
TRANSFORMERS = study.transformers(config)  # task -> its cells with models of one kind
SWAPPED = [task for task, cells in TRANSFORMERS.items() if len(cells) > 1]
# The models that stand in the page; none where no task of the study has tokens that can be typed.
EXPLAINED = models.of_study(CELLS, {task: build(study.task_settings(config, task)) for task in TASKS})
EXPLAINED_KINDS = sorted({study.task_settings(config, cell.task)["kind"] for cell in EXPLAINED})
WRITTEN = [task for task in TASKS if study.is_written(config, task)]  # whose models write whole answers
FIGURES = expand(f"{RESULTS}/figures/{{figure}}.svg", figure=config["figures"])


wildcard_constraints:
    task="|".join(TASKS),
    mask="|".join(sorted({cell.mask for cell in CELLS})),
    seed="0|[1-9][0-9]*",


# Params are worked out for every job, but differ between few: those of a thousand seeds of a cell are the same.
@cache
def task_source(verb, task):
    """Digest of the source of a verb that builds a task."""
    return source_digest(verb, f"tasks.{study.task_settings(config, task)['kind']}")


def cell_settings(wildcards, *parts):
    """The cell, its task, and the named parts of the config (`model`, `training`, `device`), as JSON."""
    return settings_of_cell(wildcards.task, wildcards.mask, *parts)


@cache
def settings_of_cell(task, mask, *parts):
    """The same, of a cell that is given by its names."""
    available = {
        "model": study.model_settings(config, task),
        "training": study.training_settings(config, task),
        "tuning": config["tuning"],
        "device": config["device"],
    }
    settings = {"cell": study.cell(config, task, mask).settings(), "task": study.task_settings(config, task)}
    return json.dumps(settings | {part: available[part] for part in parts})


@cache
def models_settings(task):
    """All cells of a task with models of one kind and their seeds, the task and its model, as JSON."""
    settings = {
        "cells": [study.cell_with_seeds(config, cell) for cell in TRANSFORMERS[task]],
        "task": study.task_settings(config, task),
        "model": study.model_settings(config, task),
    }
    return json.dumps(settings)


def supervision_settings():
    """The cells whose models answer the same final bytes, their tasks, models and seeds, as JSON."""
    settings = {
        "tasks": {task: study.task_settings(config, task) for task in SUPERVISED},
        "models": {task: study.model_settings(config, task) for task in SUPERVISED},
        "cells": [study.cell_with_seeds(config, cell) for cell in SUPERVISED_CELLS],
    }
    return json.dumps(settings)


def study_settings(*keys, **more):
    """All cells and their seeds, the named keys of the config, and whatever else is given, as JSON."""
    settings = {"cells": [study.cell_with_seeds(config, cell) for cell in CELLS]}
    return json.dumps(settings | {key: config[key] for key in keys} | more)


def workflow_file(name):
    """A file of the workflow, relative to the working folder: a study that is moved as a whole stays finished."""
    return os.path.relpath(Path(workflow.basedir, name))


def every_cell(pattern, cells=CELLS):
    """One file a cell."""
    return [pattern.format(task=cell.task, mask=cell.mask) for cell in cells]


def every_run(pattern, cells=CELLS):
    """One file a run."""
    return [
        pattern.format(task=cell.task, mask=cell.mask, seed=seed)
        for cell in cells
        for seed in study.seeds(config, cell.task)
    ]


GENERATED = every_run(f"{RUN}/generated.json", [cell for cell in CELLS if cell.task in GENERATIVE])
DECODED = every_run(f"{RUN}/decoding.json", [cell for cell in CELLS if cell.task in WRITTEN])
