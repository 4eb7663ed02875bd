import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskstudy.errors import StudyError
from maskstudy.files import read_json, read_table, replacing, sha256, write_json, write_rows, write_table

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("count", pa.int16(), nullable=False),
        ("share", pa.float64()),
    ]
)
ROWS = pa.table({"name": ["a", "b"], "count": [1, 2], "share": [0.5, None]})


def one_line(raised, *parts):
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


# --- replacing --------------------------------------------------------------------------------------------------------


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "er" / "file.txt"
    with replacing(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
        assert temporary.parent == path.parent
    assert path.read_text() == "half"
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def stops():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stops()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_sha256_of_bytes():
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256(b"masks") == hashlib.sha256(b"masks").hexdigest()


# --- JSON -------------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(value=VALUES)
def test_json_comes_back_as_it_went(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "value.json"
    write_json(path, value)
    assert read_json(path) == value


def test_equal_objects_give_equal_bytes(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1, "é": [2]})
    write_json(tmp_path / "b.json", {"é": [2], "x": 1})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_not_written(tmp_path, value):
    write_json(tmp_path / "a.json", 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"loss": value})
    assert read_json(tmp_path / "a.json") == 1


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b'{"a": 1} {}'])
def test_what_is_not_json_is_one_line_that_says_how_to_mend_it(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(StudyError) as raised:
        read_json(path)
    one_line(raised, f"{path}: not JSON", f"delete it and run snakemake {path}")


def test_a_missing_file_is_one_line_that_says_how_to_make_it(tmp_path):
    path = tmp_path / "absent"
    for read in (lambda: read_json(path), lambda: read_table(path, SCHEMA)):
        with pytest.raises(StudyError) as raised:
            read()
        one_line(raised, f"{path}: no such file", f"snakemake {path}")


# --- tables -----------------------------------------------------------------------------------------------------------


def test_a_table_comes_back_with_the_columns_and_types_of_its_schema(tmp_path):
    path = tmp_path / "seed-1" / "a.parquet"
    write_table(path, ROWS.select(["share", "name", "count"]), SCHEMA)
    table = read_table(path, SCHEMA)
    assert table.schema == SCHEMA
    assert table.to_pylist() == ROWS.to_pylist()
    first = path.read_bytes()
    write_table(path, ROWS, SCHEMA)
    assert path.read_bytes() == first


def test_some_columns_can_be_read_and_all_are_checked(tmp_path):
    path = tmp_path / "a.parquet"
    write_table(path, ROWS, SCHEMA)
    table = read_table(path, SCHEMA, ["count"])
    assert table.schema == pa.schema([SCHEMA.field("count")])
    assert table.to_pylist() == [{"count": 1}, {"count": 2}]
    with pytest.raises(StudyError, match="columns"):
        read_table(path, SCHEMA.remove(2), ["count"])
    with pytest.raises(StudyError, match="other types"):
        read_table(path, SCHEMA.set(0, pa.field("name", pa.int16())), ["count"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (ROWS.drop_columns("share"), "columns missing ['share'], unknown []"),
        (ROWS.append_column("more", pa.array([1, 2])), "columns missing [], unknown ['more']"),
        (ROWS.set_column(1, "count", pa.array([1, 2**20])), "1048576"),
        (ROWS.set_column(1, "count", pa.array([1, 2.5])), "2.5"),
        (ROWS.set_column(1, "count", pa.array(["one", "two"])), "Failed to parse string"),
        (ROWS.set_column(1, "count", pa.array([[1], [2]])), "maskstudy.schemas"),
        (ROWS.set_column(1, "count", pa.array([1, None])), "count"),
    ],
)
def test_what_the_schema_does_not_admit_is_not_written(tmp_path, table, message):
    path = tmp_path / "a.parquet"
    with pytest.raises(StudyError) as raised:
        write_table(path, table, SCHEMA)
    one_line(raised, f"{path}: ", message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (SCHEMA.remove(2), "['name', 'count', 'share'] where ['name', 'count']"),
        (pa.schema([SCHEMA[1], SCHEMA[0], SCHEMA[2]]), "where ['count', 'name', 'share']"),
        (SCHEMA.set(1, pa.field("count", pa.string())), "columns ['count'] are of other types"),
    ],
)
def test_a_table_of_another_schema_is_not_read(tmp_path, schema, message):
    path = tmp_path / "a.parquet"
    write_table(path, ROWS, SCHEMA)
    with pytest.raises(StudyError) as raised:
        read_table(path, schema)
    one_line(raised, f"{path}: ", message, "make it again")


def damaged(content):
    """Ways in which a parquet file can break."""
    length = int.from_bytes(content[-8:-4], "little")
    yield "empty", b""
    yield "text", b"not a table"
    yield "cut short", content[: len(content) // 2]
    yield "zeros at the end", content[:-8] + bytes(8)
    yield "footer", content[: -8 - length] + bytes(length) + content[-8:]


def test_a_damaged_table_is_one_line_that_says_how_to_mend_it(tmp_path):
    path = tmp_path / "a.parquet"
    write_table(path, ROWS, SCHEMA)
    for _, content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(StudyError) as raised:
            read_table(path, SCHEMA)
        one_line(raised, f"{path}: not parquet", f"delete it and run snakemake {path}")


def test_tables_are_plain_parquet(tmp_path):
    write_table(tmp_path / "a.parquet", ROWS, SCHEMA)
    assert pq.read_table(tmp_path / "a.parquet").to_pydict() == ROWS.to_pydict()
    write_json(tmp_path / "a.json", {"a": 1})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"a": 1}


def test_rows_are_a_table_of_the_columns_of_the_schema(tmp_path):
    schema = pa.schema([pa.field("name", pa.string(), nullable=False), pa.field("value", pa.float64())])
    rows = [{"name": "a", "value": 1, "more": "left out"}, {"name": "b", "value": None}]
    write_rows(tmp_path / "table.parquet", rows, schema)
    found = read_table(tmp_path / "table.parquet", schema)
    assert found.to_pylist() == [{"name": "a", "value": 1.0}, {"name": "b", "value": None}]
    write_rows(tmp_path / "empty.parquet", [], schema)
    assert read_table(tmp_path / "empty.parquet", schema).num_rows == 0
    with pytest.raises(StudyError, match="'name' with null values to non-nullable"):
        write_rows(tmp_path / "wrong.parquet", [{"name": None, "value": 0.5}], schema)
    assert not (tmp_path / "wrong.parquet").exists()
