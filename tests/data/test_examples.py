from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.examples import read_examples, write_examples
from maskstudy.errors import StudyError
from maskstudy.files import read_table, write_table
from maskstudy.schemas import EXAMPLES
from maskstudy.tasks.task import Examples


def drawn(count, length, seed=0):
    """Examples with something else in every field, padding and int16's limits included."""
    generator = np.random.default_rng(seed)

    def matrix():
        return generator.integers(-(2**15), 2**15, (count, length), dtype=np.int16)

    return Examples(
        tokens=matrix(),
        targets=matrix(),
        lengths=generator.integers(1, length + 1, count, dtype=np.int32),
        condition_lengths=generator.integers(0, length + 1, count, dtype=np.int32),
        target_positions=matrix(),
        groups=np.array([f"Größe {n} ( = )" for n in range(count)], dtype=np.str_),
    )


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 9))
def test_what_is_read_is_what_was_written(tmp_path_factory, count, length):
    path = tmp_path_factory.mktemp("examples") / "train.parquet"
    examples = drawn(count, length)
    write_examples(path, examples)
    read = read_examples(path)
    for field in fields(Examples):
        written, again = getattr(examples, field.name), getattr(read, field.name)
        assert again.dtype == written.dtype
        np.testing.assert_array_equal(again, written)


def test_a_view_of_a_larger_array_is_written_as_it_looks(tmp_path):
    examples = drawn(10, 6)
    view = replace(examples[::3], tokens=examples.tokens.T[::-1, :4].copy().T[:, ::-1])
    write_examples(tmp_path / "train.parquet", view)
    np.testing.assert_array_equal(read_examples(tmp_path / "train.parquet").tokens, view.tokens)


def test_equal_examples_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        write_examples(tmp_path / name, drawn(200, 7))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_arrays_that_were_read_may_be_handed_to_torch(tmp_path):
    write_examples(tmp_path / "train.parquet", drawn(5, 3))
    read = read_examples(tmp_path / "train.parquet")
    for field in fields(Examples):
        if field.name != "groups":
            torch.from_numpy(getattr(read, field.name))  # warns where memory may not be written to


def test_a_row_reads_as_one_example_in_any_parquet_reader(tmp_path):
    examples = drawn(4, 3)
    write_examples(tmp_path / "train.parquet", examples)
    row = read_table(tmp_path / "train.parquet", EXAMPLES).to_pylist()[2]
    assert row["group"] == examples.groups[2]
    assert row["tokens"] == examples.tokens[2].tolist()
    assert row["targets"] == examples.targets[2].tolist()
    assert row["length"] == examples.lengths[2]
    assert row["condition_length"] == examples.condition_lengths[2]
    assert row["target_positions"] == examples.target_positions[2].tolist()


@pytest.mark.parametrize("examples", [drawn(4, 3)[:0], replace(drawn(4, 3), groups=np.empty(0, dtype=np.str_))])
def test_nothing_or_no_groups_is_not_written(tmp_path, examples):
    with pytest.raises(StudyError, match=r"train\.parquet"):
        write_examples(tmp_path / "train.parquet", examples)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tokens", [[], [[1, 2], [3]], [[1, 2], [3, None]]])
def test_rows_of_different_lengths_are_refused(tmp_path, tokens):
    path = tmp_path / "train.parquet"
    count = len(tokens)
    columns = {
        "group": pa.array(["a"] * count, pa.string()),
        "tokens": pa.array(tokens, pa.list_(pa.int16())),
        "targets": pa.array([[0, 0]] * count, pa.list_(pa.int16())),
        "length": pa.array([2] * count, pa.int32()),
        "condition_length": pa.array([0] * count, pa.int32()),
        "target_positions": pa.array([[0, 0]] * count, pa.list_(pa.int16())),
    }
    write_table(path, pa.table(columns), EXAMPLES)
    with pytest.raises(StudyError, match=r"train\.parquet: not one row of the same length") as raised:
        read_examples(path)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(StudyError, match="no such file"):
        read_examples(tmp_path / "absent.parquet")
