"""The node ids of all tests, read off their files."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent


def every_test() -> set[str]:
    """`test_masks.py::test_x` and `test_masks.py::TestX::test_y`; without parameters."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        name, tree = path.relative_to(TESTS).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        found |= {f"{name}::{each}" for each in _tests(tree)}
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                found |= {f"{name}::{node.name}::{each}" for each in _tests(node)}
    return found


def _tests(tree: ast.Module | ast.ClassDef) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
