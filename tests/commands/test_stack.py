import pyarrow as pa
import pytest

from maskstudy.commands import stack
from maskstudy.errors import StudyError
from maskstudy.files import read_table, write_table
from maskstudy.schemas import SWAPS
from small_study import settings


@pytest.fixture
def results(tmp_path):
    for number, task in enumerate(("b", "a")):
        row = {"task": task, "trained_mask": "causal", "tested_mask": "full", "role": "study", "seed": number}
        row |= {"metric": "nats", "value": 1.0, "own_value": 0.5, "equal_access": False, "leaks": False}
        write_table(tmp_path / "swaps" / f"{task}.parquet", pa.Table.from_pylist([row, row], SWAPS), SWAPS)
    return tmp_path


def run(results, tasks, table="swaps"):
    stack.main([table, *settings(tasks=tasks), "--results", str(results)])


def test_the_tables_stand_one_below_the_other_in_the_order_of_the_tasks(results):
    run(results, ["b", "a"])
    table = read_table(results / "swaps.parquet", SWAPS)
    assert table["task"].to_pylist() == ["b", "b", "a", "a"]
    assert table["seed"].to_pylist() == [0, 0, 1, 1]


def test_without_a_task_the_table_has_its_columns_and_no_row(results):
    run(results, [])
    assert read_table(results / "swaps.parquet", SWAPS).num_rows == 0


def test_a_missing_table_is_named(results):
    with pytest.raises(StudyError, match=r"representations/a\.parquet: no such file"):
        run(results, ["a"], "representations")
    assert not (results / "representations.parquet").exists()
