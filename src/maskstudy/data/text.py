"""The user's own text: files of UTF-8 text to documents, split by group.

Ten files or more: each file is a document. Fewer: each is cut into contiguous blocks of about a twentieth of all text,
at the paragraph break nearest to it (or line break, or space), and each block is a document. Documents are dealt out to
train, validation and test, 80 : 10 : 10 by size, in an order drawn with a fixed seed: each goes where most is missing.
The same files always give the same splits.
"""

import re
from collections.abc import Mapping
from glob import glob
from itertools import pairwise
from pathlib import Path

import numpy as np

from maskstudy.data.documents import Document
from maskstudy.errors import StudyError

FILES = 10  # from this many on, files are not cut
BLOCKS = 20  # in all, where they are
SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
LEAST_BYTES = 1000  # a split, in UTF-8
_SEED = 20170612


def text_files(pattern: str) -> list[Path]:
    """The files that a name or glob matches (`**` for folders within folders), sorted by name.

    Raises:
        StudyError: there are none.
    """
    name = Path(pattern).expanduser()
    matched = [str(name)] if name.is_file() else glob(str(name), recursive=True)  # noqa: PTH207 (it takes no full paths)
    found = sorted((path for path in map(Path, matched) if path.is_file()), key=Path.as_posix)
    if not found:
        raise StudyError(f"datasets: files: {pattern!r} matches no file in {Path.cwd()}; mend the name or the glob")
    return found


def read_text(path: Path) -> str:
    r"""A file of UTF-8 text, without a byte order mark and with `\n` at line ends.

    Raises:
        StudyError: the file cannot be read or is not UTF-8.
    """
    try:
        return re.sub("\r\n?", "\n", path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8, or leave it out") from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read ({error.strerror}); mend that, or leave it out") from None


def split_texts(texts: Mapping[str, str]) -> dict[str, list[Document]]:
    """Documents by split, `train`, `validation` and `test`, from whole texts by name. Empty texts are left out.

    Raises:
        StudyError: a split would hold less than `LEAST_BYTES`.
    """
    texts = {name: text for name, text in texts.items() if text.strip()}
    whole = [Document(name, text) for name, text in texts.items()]
    documents = whole if len(whole) >= FILES else [block for document in whole for block in _blocks(document, whole)]
    sizes = [len(document.text.encode()) for document in documents]
    chosen: dict[str, list[int]] = {split: [] for split in SHARES}
    missing = {split: share * sum(sizes) for split, share in SHARES.items()}
    for index in np.random.default_rng(_SEED).permutation(len(documents)).tolist():
        neediest = max(missing, key=lambda split: missing[split])
        chosen[neediest].append(index)
        missing[neediest] -= sizes[index]
    for split, indices in chosen.items():
        size = sum(sizes[index] for index in indices)
        if size < LEAST_BYTES:
            raise StudyError(
                f"datasets: too little text: {len(texts)} files leave {size} bytes for {split}, at least {LEAST_BYTES} "
                f"are needed (about {round(LEAST_BYTES / min(SHARES.values()))} in all); add text to `files`"
            )
    return {split: [documents[index] for index in sorted(indices)] for split, indices in chosen.items()}


def _blocks(document: Document, whole: list[Document]) -> list[Document]:
    """The document in contiguous blocks of about 1 / `BLOCKS` of all text; one block where it is shorter."""
    text, total = document.text, sum(len(each.text) for each in whole)
    count = max(1, round(len(text) * BLOCKS / total))
    size = len(text) / count
    cuts = [0, *(_boundary(text, round(size * block), round(size / 4)) for block in range(1, count)), len(text)]
    names = [f"{document.group}, block {block} of {count}" for block in range(1, count + 1)]
    return [Document(name, text[start:end]) for name, (start, end) in zip(names, pairwise(cuts), strict=True)]


def _boundary(text: str, target: int, reach: int) -> int:
    """The end of the paragraph nearest to `target`, at most `reach` away; else of the line, of the word; else it."""
    nearby = text[target - reach : target + reach]
    for separator in (r"\n\s*\n", r"\n", r"\s"):
        if ends := [found.end() for found in re.finditer(separator, nearby)]:
            return target - reach + min(ends, key=lambda end: abs(end - reach))
    return target
