"""Examples as parquet, one row an example, one file a split.

Rows are written as they stand in memory, padding included (which compresses to almost nothing), so that reading gives
back exactly what was written without knowing the task's padding token; `length` says how many tokens are real.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskstudy.errors import StudyError
from maskstudy.files import read_table, write_table
from maskstudy.schemas import EXAMPLES
from maskstudy.tasks.task import Examples


def write_examples(path: Path, examples: Examples) -> None:
    """Write one split. Equal examples give equal bytes.

    Raises:
        StudyError: there are no examples, or not every example has a group.
    """
    if not len(examples) or len(examples.groups) != len(examples):
        raise StudyError(f"{path}: {len(examples)} examples with {len(examples.groups)} groups cannot be written")
    columns = {
        "group": pa.array(examples.groups.tolist(), pa.string()),
        "tokens": _rows(examples.tokens),
        "targets": _rows(examples.targets),
        "length": pa.array(examples.lengths),
        "condition_length": pa.array(examples.condition_lengths),
        "target_positions": _rows(examples.target_positions),
    }
    write_table(path, pa.table(columns), EXAMPLES)


def read_examples(path: Path) -> Examples:
    """Read one split, into arrays that may be written to.

    Raises:
        StudyError: the file is missing, empty or is no table of examples of one length.
    """

    def column(name: str) -> pa.ChunkedArray:
        # One column at a time: a train split in memory twice would be most of what a training job needs.
        return read_table(path, EXAMPLES, [name])[name]

    return Examples(
        tokens=_matrix(path, column("tokens")),
        targets=_matrix(path, column("targets")),
        lengths=column("length").to_numpy().copy(),
        condition_lengths=column("condition_length").to_numpy().copy(),
        target_positions=_matrix(path, column("target_positions")),
        groups=np.array(column("group").to_pylist(), dtype=np.str_),
    )


def _rows(matrix: NDArray[np.int16]) -> pa.ListArray:
    """A list array with one list a row, without a loop over rows."""
    count, length = matrix.shape
    offsets = np.arange(0, (count + 1) * length, length, dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(matrix).reshape(-1)))


def _matrix(path: Path, column: pa.ChunkedArray) -> NDArray[np.int16]:
    """The inverse of `_rows`: `[examples, length]`."""
    lists = column.combine_chunks()
    lengths = np.diff(lists.offsets.to_numpy())
    values = lists.flatten()
    if not len(lengths) or values.null_count or (lengths != lengths[0]).any():
        raise StudyError(f"{path}: not one row of the same length an example; delete it and run snakemake {path}")
    return values.to_numpy().copy().reshape(len(lengths), lengths[0])
