"""Text cut into windows: of documents that are already split, so that no window of one split reaches into another."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from maskstudy.data.documents import Document
from maskstudy.errors import StudyError
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples

BYTES = 256  # a text is its bytes in UTF-8; a task's special tokens come after them


def cut(documents: Sequence[Document], length: int, padding: int, shared: int = 0) -> Examples:
    """All windows of the documents, in order, nothing scored.

    No window reaches from one document into the next; the short rest of a document is a shorter, padded window.

    Args:
        documents: of one split.
        length: bytes of a window.
        padding: the token that fills a shorter window up.
        shared: the last bytes of a window that are also the first of the next; a rest of no more than these, which the
            window before has in full, makes no window.

    Returns:
        Windows of `length` tokens; `groups` names the document.
    """
    step = length - shared
    texts = [np.frombuffer(document.text.encode("utf-8"), dtype=np.uint8) for document in documents]
    counts = [max(0, -(-(len(text) - shared) // step)) for text in texts]
    tokens = np.full((sum(counts), length), padding, dtype=np.int16)
    lengths = np.full(sum(counts), length, dtype=np.int32)
    end = 0
    for text, count in zip(texts, counts, strict=True):
        if count:
            padded = np.full(count * step + shared, padding, dtype=np.int16)
            padded[: len(text)] = text
            tokens[end : end + count] = np.lib.stride_tricks.sliding_window_view(padded, length)[::step]
            end += count
            lengths[end - 1] = len(text) - (count - 1) * step
    return Examples(
        tokens=tokens,
        targets=np.full_like(tokens, NOT_SCORED),
        lengths=lengths,
        condition_lengths=np.zeros_like(lengths),
        target_positions=np.full_like(tokens, NOWHERE),
        groups=np.repeat(np.array([document.group for document in documents], dtype=np.str_), counts),
    )


def by_split(
    documents: Mapping[str, Sequence[Document]],
    limits: Mapping[str, int | None],
    windows: Callable[[Sequence[Document]], Examples],
    task: str,
) -> dict[str, Examples]:
    """The windows of every split.

    Args:
        documents: by split.
        limits: split -> at most so many windows, spread evenly over all documents; None for all.
        windows: cuts the documents of a split.
        task: whose windows they are, for the message.

    Raises:
        StudyError: the text of a split makes no window.
    """
    splits = {}
    for split, limit in limits.items():
        found = windows(documents[split])
        if not len(found):
            raise StudyError(f"{task}: no text in {split}; add text to the dataset")
        splits[split] = found if limit is None else found[evenly(len(found), limit)]
    return splits


def evenly(count: int, limit: int) -> NDArray[np.int64]:
    """At most `limit` of `count` places, spread evenly."""
    kept = min(count, limit)
    return np.arange(kept) * count // kept
