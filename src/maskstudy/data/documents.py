"""The unit that raw text is read and split in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """A text that stands or falls as one: all of it is in one split.

    Attributes:
        group: what the split is made by, named so that a reader finds it again: an article's title, a file's name.
        text: the whole text.
    """

    group: str
    text: str
