"""Reading and writing result files: nothing half-written is ever read as whole."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from maskstudy.errors import StudyError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; rename it to `path` once the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON with sorted keys, so that equal values give equal bytes."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        StudyError: the file is missing or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; run the rule that makes it: snakemake {path}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: not JSON ({error}); delete it and run snakemake {path}") from None


def write_table(path: Path, table: pa.Table, schema: pa.Schema) -> None:
    """Write a parquet table whose columns are exactly those of `schema`, in its order and with its types.

    Raises:
        StudyError: a column is missing, unknown, or holds values that its type does not admit.
    """
    if set(table.column_names) != set(schema.names):
        missing = sorted(set(schema.names) - set(table.column_names))
        unknown = sorted(set(table.column_names) - set(schema.names))
        raise StudyError(f"{path}: columns missing {missing}, unknown {unknown}; the schema is in maskstudy.schemas")
    try:
        table = table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise StudyError(f"{path}: {error}; the schema is in maskstudy.schemas") from None
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise StudyError(f"{path}: column {field.name} holds {table[field.name].null_count} empty values")
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    """Write rows as `write_table` writes a table; what a row holds beside the columns of `schema` is left out.

    Raises:
        StudyError: as `write_table`.
    """
    write_table(path, pa.table({name: [row[name] for row in rows] for name in schema.names}), schema)


def read_table(path: Path, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    """Read a parquet table, or some of its columns, and check that it has the columns of `schema`.

    Raises:
        StudyError: the file is missing, is not parquet, or has other columns or types.
    """
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow
            table = file.read(columns)
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; run the rule that makes it: snakemake {path}") from None
    except (pa.ArrowInvalid, OSError) as error:
        reason = " ".join(str(error).split())
        raise StudyError(f"{path}: not parquet ({reason}); delete it and run snakemake {path}") from None
    if found.names != schema.names:
        raise StudyError(f"{path}: columns {found.names} where {schema.names} are expected; make it again")
    if other := [field.name for field, wanted in zip(found, schema, strict=True) if field.type != wanted.type]:
        raise StudyError(f"{path}: columns {other} are of other types than in maskstudy.schemas; make it again")
    return table.cast(pa.schema([schema.field(name) for name in table.column_names]))
