"""The unit that raw data is read and split in, one class a kind of dataset."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """A text that stands or falls as one: all of it is in one split. Kind `text`.

    Attributes:
        group: what the split is made by, named so that a reader finds it again: an article's title, a file's name.
        text: the whole text.
    """

    group: str
    text: str


@dataclass(frozen=True)
class Labelled(Document):
    """A text and the class it belongs to. Kind `labelled`.

    Attributes:
        label: the class, as the data calls it.
    """

    label: str


@dataclass(frozen=True)
class Tagged:
    """A sentence with a tag at every word. Kind `tagged`.

    Attributes:
        group: what the split is made by.
        words: as the data has them.
        tags: one a word.
    """

    group: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """A source and what it becomes: a word and its sounds, a sentence and its translation. Kind `pairs`.

    Attributes:
        group: what the split is made by; equal for all pairs of one source.
        source: what is given.
        target: what is asked for.
    """

    group: str
    source: str
    target: str
