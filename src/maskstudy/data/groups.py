"""Splits by group: all that is alike stays together, and goes to one split.

Groups are dealt out in an order drawn with a fixed seed, so the same data always gives the same splits.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from maskstudy.errors import StudyError

SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
LEAST_GROUPS = 20
_SEED = 20170612


class Grouped(Protocol):
    """Anything that says which group it belongs to."""

    @property
    def group(self) -> str: ...  # noqa: D102


Item = TypeVar("Item", bound=Grouped)


def split_by_group(items: Sequence[Item], where: str, shares: Mapping[str, float] = SHARES) -> dict[str, list[Item]]:
    """Deal the groups out to splits by `shares` of their number; the items of a split keep their order.

    Args:
        items: to be split.
        where: whose items they are, for the message.
        shares: split -> its share of the groups; they sum to 1.

    Raises:
        StudyError: there are fewer than `LEAST_GROUPS` groups.
    """
    groups = list(dict.fromkeys(item.group for item in items))
    if len(groups) < LEAST_GROUPS:
        raise StudyError(f"{where}: {len(groups)} different examples; at least {LEAST_GROUPS} are needed to split them")
    ends = np.rint(np.cumsum(list(shares.values())) * len(groups)).astype(int)  # a running sum: no group left over
    places = np.random.default_rng(_SEED).permutation(len(groups))
    splits = list(shares)
    home = {
        group: splits[int(np.searchsorted(ends, place, side="right"))]
        for group, place in zip(groups, places.tolist(), strict=True)
    }
    dealt: dict[str, list[Item]] = {split: [] for split in shares}
    for item in items:
        dealt[home[item.group]].append(item)
    return dealt
