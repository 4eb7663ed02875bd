import pytest

from fake_results import TASKS, FakeTask, write
from maskstudy.figures.results import Results, Settings


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A study with a task that is not learned and loses to its baseline, a control, and the same final bytes twice."""
    folder = tmp_path_factory.mktemp("results")
    poor = FakeTask(ceilings=(0.31, 0.42), short=0.03, baseline=0.01)
    control = FakeTask(masks=("causal",), controls=("full",))
    settings = write(
        folder, {**TASKS, "poor": poor, "next_byte": control, "final_byte": FakeTask(equal_access=True)}, seeds=8
    )
    return Results(folder, Settings.of(settings))
