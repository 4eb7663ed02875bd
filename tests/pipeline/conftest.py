from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.study import Outcome, Study, copy_of_workflow, tiny_study


@dataclass(frozen=True)
class Finished:
    """A study that was run once, from nothing to report, and what snakemake said."""

    study: Study
    outcome: Outcome


@pytest.fixture(scope="session")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy of the workflow for all studies of the session."""
    return copy_of_workflow(tmp_path_factory.mktemp("session") / "workflow")


@pytest.fixture(scope="session")
def finished(workflow: Path) -> Finished:
    """The tiny study, complete, beside the copy of the workflow. Tests that change a file put it back."""
    study = tiny_study(workflow, workflow.parent / "study")
    return Finished(study, study.run())


@pytest.fixture
def study(workflow: Path, tmp_path: Path) -> Study:
    """The tiny study before anything of it has been made."""
    return tiny_study(workflow, tmp_path / "study")
