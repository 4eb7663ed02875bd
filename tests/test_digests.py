import json
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from maskstudy import digests, tasks
from maskstudy.cli import VERBS
from maskstudy.digests import reachable, source_digest
from maskstudy.errors import StudyError

PACKAGE = Path(digests.__file__).parent
# Verbs that need torch; the probes of the last are scikit-learn's.
OF_MODELS = ("audit", "tune", "train", "evaluate", "generate", "decode", "supervision", "swaps", "representations")
OF_TASKS = ("prepare", "reference", *OF_MODELS)  # build a task


def modules(*names):
    """The files reached, as names relative to the package."""
    return {path.relative_to(digests._PACKAGE).with_suffix("").as_posix() for path in reachable(*names)}


def of_verb(verb, task="hmm_tagging"):
    return modules(*names_of(verb, task))


# Prints, by verb, every module with a file that is loaded once the verb is. The package is forgotten between verbs, so
# that its part is exact; of all other modules a verb also shows those of the verbs before it.
LOADED = """
import json, sys
from importlib import import_module

found = {}
for verb, names in json.loads(sys.argv[1]).items():
    for name in [name for name in sys.modules if name.split(".")[0] == "maskstudy"]:
        del sys.modules[name]
    for name in names:
        import_module(f"maskstudy.{name}")
    found[verb] = [name for name, module in sys.modules.items() if getattr(module, "__file__", None)]
print(json.dumps(found))
"""


def names_of(verb, task="hmm_tagging"):
    return [f"commands.{verb}", *([f"tasks.{task}"] if verb in OF_TASKS else [])]


@cache
def loaded_together(*verbs):
    wanted = json.dumps({verb: names_of(verb) for verb in verbs})
    found = subprocess.run([sys.executable, "-c", LOADED, wanted], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def loaded(verb):
    """What a new Python really loads for a verb, together with others that may load the same."""
    data = tuple(other for other in OF_TASKS if other not in OF_MODELS)
    tables = tuple(other for other in VERBS if other not in OF_TASKS)
    group = next(group for group in (OF_MODELS, data, tables) if verb in group)
    return set(loaded_together(*group)[verb])


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package that may be edited."""
    target = tmp_path / "maskstudy"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "_PACKAGE", target)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # whatever the environment says
    return target


def edit(path):
    """Change a file, to the later time that an editor would give it."""
    path.write_text(path.read_text(encoding="utf-8") + "\nedited = True\n", encoding="utf-8")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))


def of_train(task="hmm_tagging"):
    return source_digest("train", f"tasks.{task}")


# --- what moves a digest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edited",
    [
        "commands/train.py",
        "commands/__init__.py",
        "training.py",
        "model.py",
        "masks.py",
        "errors.py",
        "schemas.py",
        "tasks/__init__.py",
        "tasks/task.py",
        "tasks/hmm_tagging.py",
        "ceilings.py",  # by way of the task
        "data/examples.py",
    ],
)
def test_editing_what_training_reaches_changes_its_digest(copy, edited):
    before = of_train()
    edit(copy / edited)
    assert of_train() != before


@pytest.mark.parametrize(
    "edited",
    [
        "figures/seeds.py",
        "figures/style.py",
        "statistics.py",
        "comparisons.py",
        "report/paper.py",
        "tasks/masked_byte.py",
        "commands/evaluate.py",
        "audit.py",
        "config.py",
        "digests.py",
        "cli.py",
        "data/fetch.py",
    ],
)
def test_editing_anything_else_does_not(copy, edited):
    before = of_train()
    edit(copy / edited)
    assert of_train() == before


def test_a_task_is_trained_again_when_its_own_file_changes(copy):
    hmm, byte = of_train(), of_train("masked_byte")
    edit(copy / "tasks/masked_byte.py")
    assert of_train() == hmm
    assert of_train("masked_byte") != byte


def test_touching_a_file_changes_nothing(copy):
    before = of_train()
    for path in copy.rglob("*.py"):
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
    assert of_train() == before


def test_a_new_import_is_followed_from_then_on(copy):
    before = modules("commands.train")
    assert "figures/style" not in before
    path = copy / "optimizer.py"
    path.write_text(path.read_text(encoding="utf-8") + "\ndef draw():\n    from maskstudy.figures import style\n")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))
    assert modules("commands.train") >= before | {"figures/style", "figures/__init__", "figures/results"}


def test_a_digest_does_not_depend_on_where_the_package_lies(copy, monkeypatch):
    of_copy = of_train()
    assert copy == digests._PACKAGE
    monkeypatch.setattr(digests, "_PACKAGE", PACKAGE)
    assert of_train() == of_copy


def test_further_files_that_a_verb_reads_count_too(copy):
    before = source_digest("paper", files=("report/paper.typ",))
    edit(copy / "report/paper.typ")
    assert source_digest("paper", files=("report/paper.typ",)) != before


def test_different_verbs_have_different_digests():
    found = [source_digest(verb) for verb in VERBS]
    assert len(set(found)) == len(VERBS)
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in found)


@pytest.mark.parametrize("name", ["tasks.hmm_taging", "figures.absent", "tasks.hmm_tagging.HmmTagging"])
def test_a_name_that_is_no_module_is_refused_rather_than_left_out(name):
    with pytest.raises(StudyError, match=f"maskstudy.{name}: there is no such module") as raised:
        source_digest("train", name)
    assert "\n" not in str(raised.value)
    with pytest.raises(StudyError, match=r"maskstudy\.commands\.trian: there is no such module"):
        source_digest("trian")


# --- what is kept of a file -------------------------------------------------------------------------------------------


def kept_of(path):
    return Path(cache_from_source(path)).with_suffix(".digest")


def forget():
    """What this process knows, as a new one would not."""
    digests._module.cache_clear()


@pytest.mark.parametrize("written", ["", "{", "[]", '["another file", "0000", "figures.style"]'])
def test_what_was_kept_of_other_bytes_or_was_cut_off_does_not_count(copy, written):
    before = of_train()
    kept_of(copy / "model.py").write_text(written, encoding="utf-8")
    forget()
    assert of_train() == before
    assert "figures/style" not in modules("commands.train")


@pytest.mark.usefixtures("copy")
def test_what_is_kept_spares_a_new_process_the_parsing(monkeypatch):
    before, reached = of_train(), modules("commands.train", "tasks.hmm_tagging")
    forget()
    monkeypatch.setattr(digests, "_parsed", None)
    assert of_train() == before
    assert modules("commands.train", "tasks.hmm_tagging") == reached


def test_an_edit_that_keeps_the_time_of_a_file_is_seen(copy):
    before, path = of_train(), copy / "model.py"
    times = path.stat()
    path.write_text(path.read_text(encoding="utf-8") + "\nedited = True\n", encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    forget()
    assert of_train() != before


@pytest.mark.usefixtures("copy")
def test_what_was_found_by_other_rules_does_not_count(monkeypatch):
    of_train()
    forget()
    monkeypatch.setattr(digests, "_rules", lambda: b"others")
    monkeypatch.setattr(digests, "_parsed", lambda _: ("0000", []))
    assert modules("commands.train") == {"commands/__init__", "commands/train"}  # which import nothing by such rules


@pytest.mark.parametrize("asked", [True, False])
def test_nothing_is_kept_where_python_keeps_nothing(copy, monkeypatch, asked):
    if asked:
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        (copy / "__pycache__").write_text("no folder can be here", encoding="utf-8")
    before = of_train()
    forget()
    assert of_train() == before
    assert not kept_of(copy / "model.py").exists()


# --- what is reached --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_all_that_python_loads_for_a_verb_is_in_its_digest(verb):
    really = {name.removeprefix("maskstudy.") for name in loaded(verb) if name.startswith("maskstudy.")}
    followed = {name.removesuffix("/__init__").replace("/", ".") for name in of_verb(verb)}
    assert f"commands.{verb}" in really
    assert really <= followed


@pytest.mark.parametrize("verb", OF_TASKS)
@pytest.mark.parametrize("task", tasks.kinds())
def test_what_makes_and_scores_a_run_never_reaches_what_reads_it(verb, task):
    reached = of_verb(verb, task)
    for later in ("statistics", "comparisons", "figures/", "report/", "config", "cli", "digests"):
        assert not [name for name in reached if name.startswith(later)]
    assert not reached & {f"commands/{other}" for other in VERBS if other != verb}
    assert not reached & {f"tasks/{other}" for other in tasks.kinds() if other != task}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in OF_TASKS])
def test_what_reads_results_never_reaches_a_model(verb):
    assert not of_verb(verb) & {"masks", "attention", "model", "training", "evaluation", "audit", "optimizer"}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in OF_MODELS])
def test_verbs_without_a_model_load_no_torch(verb):
    assert "torch" not in loaded(verb)


@pytest.mark.parametrize("verb", [verb for verb in OF_TASKS if verb != "representations"])
def test_verbs_of_a_run_load_no_tables_statistics_or_pictures(verb):
    assert not loaded(verb) & {"pandas", "polars", "scipy", "matplotlib", "jsonschema", "snakemake"}


def test_no_module_imports_by_a_relative_name_which_would_not_be_followed():
    for path in PACKAGE.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.strip().startswith("from .")], path


def test_comments_docstrings_and_layout_do_not_change_the_digest(copy):
    module = copy / "randomness.py"
    before = source_digest("train")
    text = module.read_text(encoding="utf-8")
    explained = text.replace('"""Random streams', '"""Streams of chance')
    module.write_text(explained.replace("import numpy as np", "import  numpy  as np  # x"), encoding="utf-8")
    os.utime(module, ns=(module.stat().st_atime_ns, module.stat().st_mtime_ns + 1_000_000))
    assert module.read_text(encoding="utf-8") != text
    assert source_digest("train") == before


def test_a_changed_constant_changes_the_digest(copy):
    before = source_digest("train")
    module = copy / "optimizer.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("_ITERATIONS = 5", "_ITERATIONS = 6"), encoding="utf-8")
    os.utime(module, ns=(module.stat().st_atime_ns, module.stat().st_mtime_ns + 1_000_000))
    assert module.read_text(encoding="utf-8") != text
    assert source_digest("train") != before


BLOCKS = {
    "a function": "async def work():\n    {}",
    "a method": "class Work:\n    def work(self):\n        {}",
    "a loop": "for name in ():\n    pass\nelse:\n    {}",
    "a branch": "if True:\n    pass\nelif True:\n    {}",
    "a handler": "try:\n    pass\nexcept OSError:\n    {}",
    "the end of a try": "try:\n    pass\nfinally:\n    {}",
    "a with": "with open('x'):\n    {}",
    "a case": "match 1:\n    case _:\n        {}",
}


@pytest.mark.parametrize("block", BLOCKS)
def test_an_import_is_followed_wherever_it_stands(copy, block):
    assert copy / "figures/style.py" not in digests.reachable("commands.fetch")
    path = copy / "commands/fetch.py"
    statement = BLOCKS[block].format("from maskstudy.figures import style")
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{statement}\n", encoding="utf-8")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))
    assert copy / "figures/style.py" in digests.reachable("commands.fetch")
