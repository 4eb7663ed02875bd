"""The user's own data, by kind: files to documents by split. `text` has a module of its own, `data.text`.

labelled    a text and its class     CSV with a header, or parquet
tagged      a tag at every word      CoNLL-U
pairs       a source and its target  two columns, a tab between them

What differs in accents, case or punctuation alone is one group, and groups are dealt out 80 : 10 : 10.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from maskstudy.data.documents import Document, Labelled, Pair, Tagged
from maskstudy.data.groups import split_by_group
from maskstudy.data.text import read_text, split_texts, text_files
from maskstudy.data.words import likeness
from maskstudy.errors import StudyError

CONLLU_COLUMNS = 10
TAG_COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}  # where they stand on a line


def text(settings: Mapping[str, Any]) -> dict[str, list[Document]]:
    """Files of UTF-8 text.

    Raises:
        StudyError: as `data.text`.
    """
    return split_texts({path.as_posix(): read_text(path) for path in text_files(settings["files"])})


def labelled(settings: Mapping[str, Any]) -> dict[str, list[Labelled]]:
    """Rows of CSV or parquet files with a text and a label, in the columns that `text` and `label` name.

    Raises:
        StudyError: a file cannot be read, has no such column, or a row lacks a value.
    """
    text_column, label_column = settings.get("text", "text"), settings.get("label", "label")
    found = []
    for path in text_files(settings["files"]):
        rows = _parquet_rows if path.suffix == ".parquet" else _csv_rows
        for number, (words, label) in rows(path, (text_column, label_column)):
            for column, value in ((text_column, words), (label_column, label)):
                if not value.strip():
                    raise StudyError(f"{path}: row {number}: {column} is empty; fill it in, or leave the row out")
            found.append(Labelled(likeness(words), words, label.strip()))
    return split_by_group(found, f"datasets: files: {settings['files']!r}")


def tagged(settings: Mapping[str, Any]) -> dict[str, list[Tagged]]:
    """Sentences of CoNLL-U files, with the tags of the column that `tag` names (`upos`, `xpos` or `deprel`).

    Comments, multiword tokens (`1-2`) and empty nodes (`1.1`) are left out, as their words stand on lines of their own
    or nowhere in the text.

    Raises:
        StudyError: a file cannot be read, or a line has other than ten columns or no word or tag.
    """
    column = TAG_COLUMNS[settings.get("tag", "upos")]
    found = [sentence for path in text_files(settings["files"]) for sentence in _conllu_sentences(path, column)]
    return split_by_group(found, f"datasets: files: {settings['files']!r}")


def pairs(settings: Mapping[str, Any]) -> dict[str, list[Pair]]:
    """Lines of a source, a tab, and its target; empty lines are left out. A source with several targets has several.

    Raises:
        StudyError: a file cannot be read, or a line is not made of two columns.
    """
    found = []
    for path in text_files(settings["files"]):
        for number, line in enumerate(read_text(path).split("\n"), start=1):
            if not line.strip():
                continue
            columns = [column.strip() for column in line.split("\t")]
            if len(columns) != 2 or not all(columns):
                raise StudyError(f"{path}: line {number}: {line[:80]!r} is not a source, one tab, a target; mend it")
            found.append(Pair(likeness(columns[0]), *columns))
    return split_by_group(found, f"datasets: files: {settings['files']!r}")


def _csv_rows(path: Path, columns: tuple[str, str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """The number of each row, counted from 1 after the header, and its values in these columns."""
    reader = csv.DictReader(io.StringIO(read_text(path)), strict=True)
    try:
        _check_columns(path, columns, list(reader.fieldnames or []))
        for number, row in enumerate(reader, start=1):
            if None in row or None in row.values():
                raise StudyError(
                    f"{path}: row {number}: not as many values as the header has names; put quotes around commas"
                )
            yield number, (row[columns[0]], row[columns[1]])
    except csv.Error as error:
        raise StudyError(f"{path}: line {reader.line_num}: not CSV ({error}); mend it") from None


def _parquet_rows(path: Path, columns: tuple[str, str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """The same of a parquet file; numbers and booleans are taken as they are written, nothing as an empty text."""
    try:
        with pq.ParquetFile(path) as file:
            _check_columns(path, columns, file.schema_arrow.names)
            table = file.read(list(columns))
    except (pa.ArrowException, OSError) as error:
        raise StudyError(f"{path}: not parquet ({' '.join(str(error).split())}); mend it") from None
    values = ([("" if value is None else str(value)) for value in table[name].to_pylist()] for name in columns)
    yield from enumerate(zip(*values, strict=True), start=1)


def _check_columns(path: Path, wanted: tuple[str, str], there: list[str]) -> None:
    for key, name in zip(("text", "label"), wanted, strict=True):
        if name not in there:
            raise StudyError(
                f"{path}: no column {name!r}; it has {', '.join(map(repr, there)) or 'none'}: name the right one as "
                f"`{key}` of the dataset"
            )


def _conllu_sentences(path: Path, column: int) -> Iterator[Tagged]:
    """The sentences of one CoNLL-U file."""
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate([*read_text(path).split("\n"), ""], start=1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if words:
                yield Tagged(likeness(" ".join(words)), tuple(words), tuple(tags))
                words, tags = [], []
            continue
        parts = line.split("\t")
        if len(parts) != CONLLU_COLUMNS:
            raise StudyError(
                f"{path}: line {number}: {len(parts)} columns; CoNLL-U has {CONLLU_COLUMNS}, a tab between them"
            )
        if not parts[0].isdecimal():
            continue  # a multiword token or an empty node
        if not parts[1] or parts[column] in ("", "_"):
            raise StudyError(f"{path}: line {number}: no word, or no tag in column {column + 1}; name another as `tag`")
        words.append(parts[1])
        tags.append(parts[column])
