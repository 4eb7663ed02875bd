import pytest

from maskstudy.schemas import SWAPS
from maskstudy.swaps import rows

RUN = {"task": "a", "mask": "causal", "role": "study", "seed": 3, "metrics": {"accuracy": 0.7, "nats": 1.0, "wer": 0.2}}


def audit(mask, seen, leaks=False):
    return {"task": "a", "mask": mask, "role": "control" if leaks else "study", "scored_access": seen, "leaks": leaks}


def test_a_row_sets_the_score_beside_that_under_the_own_mask():
    found = rows(RUN, audit("causal", "x"), audit("full", "y"), {"nats": 2.0, "accuracy": 0.5})
    assert [(row["metric"], row["value"], row["own_value"]) for row in found] == [
        ("accuracy", 0.5, 0.7),
        ("nats", 2.0, 1.0),
    ]
    for row in found:
        assert set(row) == set(SWAPS.names)
        assert (row["trained_mask"], row["tested_mask"], row["role"], row["seed"]) == ("causal", "full", "study", 3)


@pytest.mark.parametrize("leaks", [False, True])
@pytest.mark.parametrize("seen", ["x", "y"])
def test_a_row_says_what_the_tested_mask_shows(seen, leaks):
    (row,) = rows(RUN, audit("causal", "x", leaks=not leaks), audit("full", seen, leaks), {"nats": 2.0})
    assert row["equal_access"] == (seen == "x")
    assert row["leaks"] == leaks
