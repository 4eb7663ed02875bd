"""What a rule depends on besides its files: the source code that its verb reaches.

Snakemake does not look inside an imported package. Each rule therefore carries the digest of the modules that its verb
imports, followed inside this package to the end, in `params`: editing `model.py` retrains, editing a figure redraws
that figure, and nothing else moves. Comments, docstrings and layout do not count: to explain a line better must never
cost an hour of training.

To parse all modules takes a third of a second, which every call of `snakemake` would pay. What was found in a file is
therefore kept in `__pycache__`, as Python keeps what it compiles, and holds for the same bytes alone.
"""

import ast
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from maskstudy.errors import StudyError
from maskstudy.files import replacing, sha256

_PACKAGE = Path(__file__).parent


class _Module(NamedTuple):
    """Where a source file stands, what it does, and what it imports from this package (all names relative to it)."""

    name: str
    digest: str
    imports: frozenset[str]


def source_digest(verb: str, *modules: str, files: tuple[str, ...] = ()) -> str:
    """Digest of all source that `maskstudy <verb>` runs.

    Args:
        verb: a module of `maskstudy.commands`.
        modules: further modules that the verb imports by name at run time, such as `tasks.hmm_tagging`.
        files: further files of the package that the verb reads, such as `report/paper.typ`.

    Returns:
        16 hexadecimal digits.

    Raises:
        StudyError: there is no such verb or module.
    """
    reached = [_module(path, path.stat().st_mtime_ns) for path in reachable(f"commands.{verb}", *modules)]
    content = sorted((module.name, module.digest) for module in reached)
    content += [(name, sha256((_PACKAGE / name).read_bytes())) for name in files]
    return sha256(repr(content).encode())[:16]


def reachable(*modules: str) -> set[Path]:
    """The files of the package that these modules import, directly or not, wherever the import stands.

    Args:
        modules: names relative to the package, such as `commands.train`.

    Raises:
        StudyError: there is no such module; its digest would never change.
    """
    for name in modules:
        if _module_file(_PACKAGE, name) is None:
            raise StudyError(f"maskstudy.{name}: there is no such module; a name in config.yaml may be misspelled")
    found: set[Path] = set()
    waiting = [_module_file(_PACKAGE, name) for module in modules for name in _with_packages(module)]
    while waiting:
        path = waiting.pop()
        if path is not None and path not in found:
            found.add(path)
            waiting += [_module_file(_PACKAGE, name) for name in _module(path, path.stat().st_mtime_ns).imports]
    return found


@cache
def _module_file(package: Path, name: str) -> Path | None:
    """The file of a module named relative to the package; None if it is a name inside a module, not a module."""
    path = package.joinpath(*name.split("."))
    if (path / "__init__.py").is_file():
        return path / "__init__.py"
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else None


@cache
def _module(path: Path, _modified: int) -> _Module:
    """What a file holds, read from what was kept of it if it is still the same."""
    name, source = path.relative_to(_PACKAGE).as_posix(), path.read_bytes()
    kept, key = Path(cache_from_source(path)).with_suffix(".digest"), sha256(_rules() + source)
    with suppress(OSError, ValueError, TypeError):
        found, digest, *imports = json.loads(kept.read_text(encoding="utf-8"))
        if found == key:
            return _Module(name, digest, frozenset(imports))
    digest, imports = _parsed(source)
    if not sys.dont_write_bytecode:
        with suppress(OSError), replacing(kept) as temporary:  # an installed package may stand where nobody can write
            temporary.write_text(json.dumps([key, digest, *imports]), encoding="utf-8")
    return _Module(name, digest, frozenset(imports))


@cache
def _rules() -> bytes:
    """This file: what was found by other rules than these does not hold."""
    return Path(__file__).read_bytes()


def _parsed(source: bytes) -> tuple[str, list[str]]:
    """Digest of the syntax tree without docstrings, and all imports, the packages on the way included."""
    tree = ast.parse(source)
    names: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
    relative = {name.removeprefix("maskstudy.") for name in names if name.startswith("maskstudy.")}
    return sha256(ast.dump(tree).encode()), sorted({name for module in relative for name in _with_packages(module)})


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all statements inside it. Imports and docstrings stand nowhere else: expressions, most of a tree,
    are not entered, for a study plans with the digests of all its modules.
    """
    yield node
    for block in ("body", "handlers", "cases", "orelse", "finalbody"):
        inside = getattr(node, block, ())
        for statement in inside if isinstance(inside, list) else ():
            yield from _statements(statement)


def _with_packages(name: str) -> list[str]:
    """A module and the packages on the way to it, whose code runs first: `a.b.c` -> `a`, `a.b`, `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[: depth + 1]) for depth in range(len(parts))]
