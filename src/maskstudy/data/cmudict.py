"""The CMU Pronouncing Dictionary: lines of a word and its phonemes to pairs by split.

    abandon AH0 B AE1 N D AH0 N
    abbreviate(2) AH0 B R IY1 V Y EY2 T
    d'artagnan D AH0 R T AE1 NG Y AH0 N # foreign french

The digit after a vowel is its stress, and is taken off. `(2)` marks a further pronunciation of the word before it.
"""

import re

from maskstudy.data.documents import Pair
from maskstudy.data.groups import split_by_group
from maskstudy.errors import StudyError

_LINE = re.compile(r"(?P<headword>\S+?)(\(\d+\))?(?P<phonemes>( [A-Z]{1,2}[012]?)+)( #.*)?")


def pronunciations(dictionary: str) -> dict[str, list[Pair]]:
    """The different pronunciations of every headword, by split; the group is the headword.

    Pronunciations that differ in stress alone are one.

    Args:
        dictionary: the text of cmudict.dict.

    Raises:
        StudyError: a line is no word with its phonemes.
    """
    found: dict[Pair, None] = {}
    for number, line in enumerate(dictionary.splitlines(), start=1):
        if not (entry := _LINE.fullmatch(line)):
            raise StudyError(f"cmudict: line {number}: {line[:80]!r} is not a word and its phonemes")
        phonemes = re.sub(r"[012]", "", entry["phonemes"]).strip()
        found[Pair(entry["headword"], entry["headword"], phonemes)] = None
    return split_by_group(list(found), "cmudict")
