from pathlib import Path

import pytest

from maskstudy.data.cmudict import pronunciations
from maskstudy.data.datasets import documents
from maskstudy.data.documents import Pair
from maskstudy.data.raw import CMUDICT
from maskstudy.errors import StudyError

RAW = Path(__file__).parents[2] / "data/raw"
FILLER = "".join(f"{'abcdefghijklmnopqrstuvwxyz'[n]}filler F IH1 L ER0\n" for n in range(26))


def of(text):
    splits = pronunciations(text + FILLER)
    return [pair for members in splits.values() for pair in members if "filler" not in pair.group]


def test_a_line_is_a_word_and_its_phonemes_without_stress():
    assert of("abandon AH0 B AE1 N D AH0 N\n") == [Pair("abandon", "abandon", "AH B AE N D AH N")]


def test_the_variants_of_a_headword_are_one_group_in_one_split():
    lines = "".join(f"read{n} R EH1 D\nread{n}(2) R IY1 D\n" for n in "abcdefghijklmnopqrstuvwxyz")
    splits = pronunciations(lines)
    for members in splits.values():
        for word in {pair.group for pair in members}:
            assert {pair.target for pair in members if pair.group == word} == {"R EH D", "R IY D"}
    words = [pair.group for members in splits.values() for pair in members]
    assert len(words) == 52


def test_variants_that_differ_in_stress_alone_are_one():
    found = of("record R IH0 K AO1 R D\nrecord(2) R IH1 K AO0 R D\nrecord(3) R EH1 K ER0 D\n")
    assert [pair.target for pair in found] == ["R IH K AO R D", "R EH K ER D"]


def test_comments_and_signs_in_words():
    found = of("d'artagnan D AH0 R # foreign french\na.m. EY2 EH1 M\ntwo-by-four(2) T UW1\n'tis(11) T IH1 Z # old\n")
    assert [(pair.source, pair.target) for pair in found] == [
        ("d'artagnan", "D AH R"),
        ("a.m.", "EY EH M"),
        ("two-by-four", "T UW"),
        ("'tis", "T IH Z"),
    ]


@pytest.mark.parametrize("line", ["word", "word ", "word AH0  B", "word ah0", "word AH3", "", "# comment"])
def test_another_line_is_one_line(line):
    with pytest.raises(StudyError, match=r"cmudict: line 27: .* is not a word and its phonemes") as raised:
        pronunciations(f"{FILLER}{line}\n")
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(not (RAW / CMUDICT).exists(), reason="the raw data is not fetched")
def test_the_splits_of_the_real_dictionary_share_no_headword():
    splits = documents("cmudict", RAW)
    words = {split: {pair.group for pair in pairs} for split, pairs in splits.items()}
    assert {split: len(found) for split, found in words.items()} == {
        "train": 100_842,
        "validation": 12_605,
        "test": 12_605,
    }
    assert sum(map(len, words.values())) == len(set().union(*words.values()))
    assert sum(map(len, splits.values())) == 134_860
