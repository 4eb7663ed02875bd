import pytest

from fake_results import LOOKAHEADS, FakeTask, write
from maskstudy.figures.results import Results, Settings

LONG = "a_task_with_a_really_long_name_of_its_own"
STUDIES = {
    "two tasks": {"seeds": 4},
    "two seeds, one task": {"tasks": {"masked_byte": FakeTask()}, "seeds": 2, "confirmatory": False},
    "one mask": {"tasks": {LONG: FakeTask(masks=("causal",))}, "seeds": 3, "confirmatory": False},
    "controls and own masks": {
        "tasks": {
            "next_byte": FakeTask(masks=("causal",), controls=("full",)),
            LONG: FakeTask(masks=("causal", "prefix", "encoder-decoder", "window-3", "sink-2")),
            "tagging": FakeTask(
                masks=LOOKAHEADS, best=(0.62, 0.68, 0.69, 0.7, 0.66), declared=(("accuracy", "full", "causal", 0.01),)
            ),
            "recall": FakeTask(ceilings=(0.125, 1.0), declared=(("accuracy", "causal", "full", 0.01),)),
        },
        "seeds": 6,
    },
    "written answers": {
        "tasks": {
            "pronunciation": FakeTask(
                masks=("causal", "prefix", "encoder-decoder"),
                written=True,
                equal_access=True,
                declared=(("wer", "encoder-decoder", "causal", 0.01), ("per", "prefix", "causal", 0.01)),
            ),
            "masked_byte": FakeTask(),
        },
        "seeds": 8,
    },
    "many tasks": {"tasks": {f"task_number_{number}": FakeTask(masks=LOOKAHEADS) for number in range(8)}, "seeds": 2},
}


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """Gives the results of a study of `STUDIES` by its name, written once."""
    made = {}

    def results(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("results")
            made[name] = Results(folder, Settings.of(write(folder, **STUDIES[name])))
        return made[name]

    return results


@pytest.fixture
def results(studies):
    return studies("two tasks")
