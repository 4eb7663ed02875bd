"""What holds the repository together: pins, versions, what a wheel takes along, and what no text file may say."""

import ast
import csv
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from maskstudy import schemas
from maskstudy.tasks import kinds

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "maskstudy"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
DISTRIBUTIONS = {"yaml": "PyYAML", "sklearn": "scikit-learn"}  # where the package is not named as what it installs


def pins(requirements):
    """Name to exact version; a requirement that is no exact pin fails."""
    found = {}
    for line in requirements:
        requirement = Requirement(line)
        assert [one.operator for one in requirement.specifier] == ["=="], f"{line} is no exact pin"
        found[requirement.name] = str(requirement.specifier)
    return found


def committed():
    """Every file that is committed, or would be with `git add --all`."""
    if not (REPOSITORY / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listing.stdout.split("\0") if name and (path := REPOSITORY / name).is_file()]


# --- pins and versions ------------------------------------------------------------------------------------------------


def test_conda_installs_exactly_the_pins_of_pyproject_and_this_package():
    environment = yaml.safe_load((REPOSITORY / "environment.yml").read_text(encoding="utf-8"))
    (by_pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert by_pip[-1] == "-e ."
    assert pins(by_pip[:-1]) == pins(PROJECT["project"]["dependencies"])
    assert f"python{PROJECT['project']['requires-python']}" in environment["dependencies"]
    assert "pip" in environment["dependencies"]


@pytest.mark.parametrize("extra", PROJECT["project"]["optional-dependencies"])
def test_everything_that_an_extra_adds_is_pinned(extra):
    assert pins(PROJECT["project"]["optional-dependencies"][extra])


def test_one_version_everywhere():
    version = PROJECT["project"]["version"]
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert citation["version"] == version
    assert released[0] == version
    assert released == sorted(released, key=Version, reverse=True)
    assert citation["license"] == PROJECT["project"]["license"] == "MIT"
    assert "MIT License" in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")


def third_party(files):
    """The top-level packages that Python files import, without the standard library and this package."""
    names = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return {DISTRIBUTIONS.get(name, name) for name in names - sys.stdlib_module_names - {"maskstudy"}}


def test_every_import_of_the_package_is_declared_and_every_dependency_is_used():
    declared = set(pins(PROJECT["project"]["dependencies"]))
    imported = third_party(PACKAGE.rglob("*.py"))
    assert imported <= declared
    # Snakemake runs the package, and reads config.yaml with PyYAML; the package imports neither.
    assert declared - imported <= {"snakemake", "PyYAML"}


def test_nothing_that_is_installed_with_the_package_brings_pandas():
    """Where it is installed, pyarrow imports it in every job and Snakemake in every call, for .3 s each."""
    needed, waiting = set(), [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    while waiting:
        requirement = waiting.pop()
        for extra in {"", *requirement.extras}:
            if (wanted := (canonicalize_name(requirement.name), extra)) not in needed:
                needed.add(wanted)
                further = map(Requirement, metadata.requires(requirement.name) or [])
                waiting += [one for one in further if one.marker is None or one.marker.evaluate({"extra": extra})]
    names = {name for name, _ in needed}
    assert {"polars", "pyarrow", "snakemake"} < names
    assert "pandas" not in names


# --- the wheel --------------------------------------------------------------------------------------------------------


def test_a_wheel_takes_every_file_of_the_package_along():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["maskstudy"]
    others = {
        path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    } - {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    taken = {path.relative_to(PACKAGE) for pattern in patterns for path in PACKAGE.glob(pattern)}
    assert taken == others
    assert {Path("py.typed"), Path("report/paper.typ")} <= taken
    assert all(list(PACKAGE.glob(pattern)) for pattern in patterns)
    # Folders without __init__.py are packages too: `find` looks for those as long as nobody switches it off.
    assert PROJECT["tool"]["setuptools"]["packages"]["find"] == {"where": ["src"]}


# --- what the texts say -----------------------------------------------------------------------------------------------


def test_the_readme_sets_up_with_two_commands_and_ci_runs_the_second():
    commands = re.findall(r"^python3 -m venv \.venv && .*$", README, re.MULTILINE)
    assert [command.rpartition("&& ")[2] for command in commands] == [
        ".venv/bin/snakemake --cores 8",
        ".venv/bin/pytest",
    ]
    script = (REPOSITORY / ".ci/run").read_text(encoding="utf-8")
    assert commands[1] in script.splitlines()
    assert os.access(REPOSITORY / ".ci/run", os.X_OK)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{name}.md" for name in ("config", "results", "tasks"))]
)
def test_links_lead_somewhere(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link}
    assert [link for link in sorted(links) if not (REPOSITORY / page).parent.joinpath(link).exists()] == []


def properties(schema):
    """The names of all keys that a JSON Schema declares, however deep."""
    own = schema.get("properties", {}) if isinstance(schema, dict) else {}
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return {*own, *(name for part in inside for name in properties(part))}


def test_every_key_of_the_config_is_explained():
    schema = yaml.safe_load((REPOSITORY / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
    text = (REPOSITORY / "docs/config.md").read_text(encoding="utf-8")
    assert [name for name in sorted(properties(schema)) if f"`{name}`" not in text] == []


def test_every_column_of_the_results_is_explained():
    text = (REPOSITORY / "docs/results.md").read_text(encoding="utf-8")
    tables = {name: value for name, value in vars(schemas).items() if name.isupper() and not name.startswith("_")}
    columns = [(name, column) for name, table in tables.items() for column in table.names]
    assert [column for column in columns if f"`{column[1]}`" not in text] == []


def test_every_task_is_described():
    text = (REPOSITORY / "docs/tasks.md").read_text(encoding="utf-8")
    assert [kind for kind in kinds() if f"## `{kind}`" not in text] == []


FORBIDDEN = {
    "a path of one machine": r"(?<![\w.~-])/(?:home|root|Users|work|tmp|opt|mnt|srv)/\w",
    "the address of a package index": r"\b(?:pypi|pythonhosted|anaconda|conda)\.(?:org|io|com|cloud)\b",
    "something left undone": r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_committed_text_holds(what):
    here = Path(__file__)
    found = []
    for path in committed():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path != here:
            found += [f"{path.relative_to(REPOSITORY)}: {match[0]}" for match in re.finditer(FORBIDDEN[what], text)]
    assert found == []


def test_nothing_generated_is_committed():
    names = [path.relative_to(REPOSITORY) for path in committed()]
    assert [name for name in names if name.parts[0] in ("data", "build", ".venv", ".snakemake")] == []
    assert [name for name in names if name.parts[0] == "results" and name.parts[1] != "reference"] == []


def test_the_numbers_of_the_readme_are_those_of_the_reference_results():
    table = csv.DictReader((REPOSITORY / "results/reference/tables/metrics.csv").read_text("utf-8").splitlines())
    known = {(row["task"], row["metric"], row["mask"]): row for row in table}
    shown = re.findall(
        r"^\| `(\w+)`, (\w+) \| ([\w-]+)(?: \(control\))? \| (.+?) \| (.+?) \| (.+?) \|$", README, re.MULTILINE
    )
    assert [(task, mask) for task, _, mask, *_ in shown] == list(dict.fromkeys((task, mask) for task, _, mask in known))
    for task, metric, mask, *numbers in shown:
        row = known[task, metric, mask]
        expected = [f"{float(row[name]):.3f}" if row[name] else "not known" for name in ("mean", "ceiling", "baseline")]
        assert numbers == expected
