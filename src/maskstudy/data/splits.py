"""Nothing of test in train: repeated examples are left out, and a check fails closed where a split is not clean.

What is compared is the real tokens of an example. A task that hides tokens anew in every batch keeps its train examples
whole, with nothing scored; what is hidden in the other splits is put back from their targets before comparing.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from maskstudy.errors import StudyError
from maskstudy.tasks.task import NOWHERE, Examples

SPLITS = ("train", "validation", "test")


def without_repeats(splits: Mapping[str, Examples]) -> tuple[dict[str, Examples], dict[str, int]]:
    """Leave out of train what also stands in validation or test, and out of validation what also stands in test.

    Test is never touched, and repetitions within a split stay.

    Returns:
        the splits, and how many examples were left out of each.

    Raises:
        StudyError: a split is missing or empty, or becomes empty.
    """
    _check_complete(splits)
    contents = _contents(splits)
    cleaned, left_out = {}, {}
    for place, split in enumerate(SPLITS):
        elsewhere = set().union(*(contents[later] for later in SPLITS[place + 1 :]))
        kept = np.array([content not in elsewhere for content in contents[split]])
        cleaned[split] = splits[split] if kept.all() else splits[split][kept]
        left_out[split] = int((~kept).sum())
    _check_complete(cleaned)
    return cleaned, left_out


def check_disjoint(splits: Mapping[str, Examples]) -> None:
    """Make sure that no two splits share a group or an identical example.

    Raises:
        StudyError: two splits do, or a split is missing, empty or without groups, so that nothing can be vouched for.
    """
    _check_complete(splits)
    for split in SPLITS:
        if len(splits[split].groups) != len(splits[split]):
            raise StudyError(
                f"splits: {len(splits[split])} {split} examples have {len(splits[split].groups)} groups; the task's "
                "splits() must give each example the group (article, sentence, sequence) that it was cut from"
            )
    contents = {split: dict(zip(found, range(len(found)), strict=True)) for split, found in _contents(splits).items()}
    for one, other in combinations(SPLITS, 2):
        shared = np.intersect1d(splits[one].groups, splits[other].groups)
        if len(shared):
            raise StudyError(
                f"splits: {len(shared)} groups stand in both {one} and {other}, e.g. {str(shared[0])!r}; split by "
                "group before cutting examples"
            )
        repeated = [content for content in contents[other] if content in contents[one]]
        if repeated:
            first, second = contents[one][repeated[0]], contents[other][repeated[0]]
            raise StudyError(
                f"splits: {len(repeated)} examples of {other} stand in {one} too, e.g. {other} {second} (group "
                f"{str(splits[other].groups[second])!r}) is {one} {first} (group {str(splits[one].groups[first])!r}); "
                "leave them out with data.splits.without_repeats"
            )


def _check_complete(splits: Mapping[str, Examples]) -> None:
    for split in SPLITS:
        if split not in splits or not len(splits[split]):
            raise StudyError(f"splits: no example in {split}; give the task more data, or smaller examples")


def _contents(splits: Mapping[str, Examples]) -> dict[str, list[bytes]]:
    """The real tokens of every example, as bytes that are equal where they are."""
    whole = not splits["train"].scored.any()  # what the other splits hide stands open in train
    contents = {}
    for split in SPLITS:
        examples, tokens = splits[split], splits[split].tokens
        if whole:
            tokens = np.where(examples.scored & (examples.target_positions == NOWHERE), examples.targets, tokens)
        rows = zip(tokens.astype(np.int16), examples.lengths.tolist(), strict=True)
        contents[split] = [row[:length].tobytes() for row, length in rows]
    return contents
