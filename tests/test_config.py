import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from maskstudy import tasks
from maskstudy.config import (
    Cell,
    cell,
    cell_with_seeds,
    cells,
    check,
    model_settings,
    seeds,
    supervision,
    task_settings,
    training_settings,
    transformers,
    without_tasks_left_out,
)
from maskstudy.data.datasets import KINDS, OPTIONS
from maskstudy.data.own import TAG_COLUMNS
from maskstudy.errors import StudyError
from maskstudy.shape import POSITIONS, ModelShape
from maskstudy.statistics import MOST_SEEDS
from maskstudy.training_settings import TrainingSettings

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
DEFAULT = (ROOT / "config.yaml").read_text(encoding="utf-8")
PROFILES = sorted((ROOT / "profiles").glob("*/study.yaml"))
PAGES = ("README.md", "docs/config.md", "docs/tasks.md")
EXAMPLES = [
    pytest.param(block, id=f"{page} {number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^```yaml\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )
]
REMOVED = object()


def default():
    return yaml.safe_load(DEFAULT)


def merged(below, above):
    """`above` on top of `below`, objects key by key, as Snakemake puts one configfile on top of another."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: merged(below.get(key), value) for key, value in above.items()}


def changed(changes):
    """config.yaml with the value at each `a.b.c` set, or removed."""
    given = copy.deepcopy(default())
    for key, value in changes.items():
        *way, last = key.split(".")
        place = given
        for part in way:
            place = place.setdefault(part, {})
        if value is REMOVED:
            del place[last]
        else:
            place[last] = value
    return given


# --- what passes ------------------------------------------------------------------------------------------------------


def test_the_config_of_the_study_passes():
    check(default(), SCHEMA)


@pytest.mark.parametrize("preset", ["small", "large"])
def test_a_preset_says_how_long_every_task_trains(preset):
    """A task with steps of its own keeps them whatever `training` says, so a preset must name it."""
    given = yaml.safe_load((ROOT / "profiles" / preset / "study.yaml").read_text(encoding="utf-8"))
    own = {name for name, entry in default()["tasks"].items() if "steps" in entry.get("training", {})}
    assert set(given["tasks"]) == own
    together = merged(default(), given)
    for name in own | {"hmm_tagging"}:
        before, after = (training_settings(config, name)["steps"] for config in (default(), together))
        assert after < before if preset == "small" else after > before
    windows = {name: training_settings(together, name) for name in ("next_byte", "final_byte", "next_byte_few")}
    seen = {name: how["steps"] * how["batch"] for name, how in windows.items()}
    assert seen["next_byte"] == seen["final_byte"] == 128 * seen["next_byte_few"]


@pytest.mark.parametrize("name", ["gpu", "CUDA", "", 0, None])
def test_a_device_that_is_not_known_is_refused(name):
    with pytest.raises(StudyError, match=r"device: .*; allowed: auto, cpu, cuda"):
        check(changed({"device": name}), SCHEMA)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.parent.name)
def test_the_config_with_a_profile_on_top_passes(profile):
    given = merged(default(), yaml.safe_load(profile.read_text(encoding="utf-8")))
    check(without_tasks_left_out(given), SCHEMA)


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_the_pages_show_may_be_put_on_top_of_the_config(example):
    check(merged(default(), yaml.safe_load(example)), SCHEMA)


@pytest.mark.parametrize(
    "changes",
    [
        {"tasks.hmm_tagging.controls": ["lookahead-3"]},
        {"tasks.again": {"kind": "hmm_tagging", "masks": ["full"], "parameters": {"chain_seed": 1}}},
        {
            "datasets.my_book": {"kind": "text", "files": "texts/*.txt"},
            "tasks.my_bytes": {"kind": "masked_byte", "dataset": "my_book", "masks": ["full"]},
        },
        {
            "datasets.my_reviews": {"kind": "labelled", "files": "*.csv", "text": "review", "label": "stars"},
            "tasks.my_stars": {"kind": "classification", "dataset": "my_reviews", "masks": ["full"]},
            "tasks.my_questions": {"kind": "classification", "dataset": "trec", "masks": ["full"]},
        },
        {
            "datasets.my_treebank": {"kind": "tagged", "files": "*.conllu", "tag": "deprel"},
            "tasks.tagging": {"dataset": "my_treebank", "masks": ["full"]},
        },
        {"datasets.my_lexicon": {"kind": "pairs", "files": "*.tsv"}},
        {"comparisons": [], "confirmatory": False, "seeds": 2},
        {"comparisons": [], "seeds": 2},
        {"statistics.alpha": 0.05, "seeds": MOST_SEEDS},
        {"model.positions": "none", "model.dropout": 0.5},
        {"tasks.previous_token_unordered": {"masks": ["causal", "full"], "model": {"positions": "none"}}},
        {"training.decay": 0, "training.warmup": 0, "training.points": 7},
    ],
)
def test_what_a_user_may_change(changes):
    check(changed(changes), SCHEMA)


# --- what is refused --------------------------------------------------------------------------------------------------

COMPARISON = {"task": "hmm_tagging", "metric": "accuracy", "masks": ["full", "causal"], "margin": 0.01}
LOOKAHEADS = "causal, full, prefix, lookahead-K (K = 1, 2, …), encoder-decoder"
REFUSED = {
    "an unknown key": ({"sedes": 3}, ["config: sedes: 3", "no such key", "allowed: ", "seeds", "comparisons"]),
    "an unknown key of a task": (
        {"tasks.hmm_tagging.maks": ["full"]},
        ["config: tasks.hmm_tagging.maks: ['full']", "no such key", "allowed: ", "controls", "masks"],
    ),
    "an unknown key of the model": ({"model.depth": 2}, ["config: model.depth: 2", "allowed: width, layers, heads"]),
    "an unknown key of the training": (
        {"tasks.hmm_tagging.training": {"lr": 1}},
        ["config: tasks.hmm_tagging.training.lr: 1", "learning_rate"],
    ),
    "an unknown task": (
        {"tasks.taging": {"masks": ["full"]}},
        ["config: tasks.taging", "'taging'", f"allowed: {', '.join(tasks.kinds())}"],
    ),
    "an unknown kind": (
        {"tasks.mine": {"kind": "task", "masks": ["full"]}},
        ["config: tasks.mine", "'task'", f"allowed: {', '.join(tasks.kinds())}"],
    ),
    "an unknown mask": (
        {"tasks.hmm_tagging.masks": ["causal", "triangular"]},
        ["config: tasks.hmm_tagging.masks[1]: 'triangular'", f"allowed: {LOOKAHEADS}"],
    ),
    "lookahead of -1": ({"tasks.hmm_tagging.masks": ["lookahead--1"]}, ["masks[0]: 'lookahead--1'", LOOKAHEADS]),
    "lookahead of 0": ({"tasks.hmm_tagging.controls": ["lookahead-0"]}, ["controls[0]: 'lookahead-0'", LOOKAHEADS]),
    "a mask and a line end": ({"tasks.hmm_tagging.masks": ["causal\n"]}, [r"masks[0]: 'causal\n'", LOOKAHEADS]),
    "a mask twice": ({"tasks.hmm_tagging.masks": ["full", "full"]}, ["masks: ['full', 'full']", "different masks"]),
    "no mask": ({"tasks.hmm_tagging.masks": []}, ["tasks.hmm_tagging.masks: []", "allowed: at least one mask"]),
    "masks missing": ({"tasks.hmm_tagging.masks": REMOVED}, ["config: tasks.hmm_tagging", "'masks' is missing"]),
    "a mask in masks and controls": (
        {"tasks.hmm_tagging.controls": ["prefix", "full"]},
        ["config: tasks.hmm_tagging", "'full'", "masks", "controls", "allowed: one of them"],
    ),
    "an empty task": (
        {"tasks.hmm_tagging": None},
        ["config: tasks.hmm_tagging: None", "allowed: an object with masks"],
    ),
    "no task": ({"tasks": {}}, ["config: tasks: {}", "allowed: at least one task"]),
    "a task with a name for no folder": (
        {"tasks.My Task": {"kind": "hmm_tagging", "masks": ["full"]}},
        ["config: tasks: 'My Task'", "allowed: names of small letters"],
    ),
    "one seed": ({"seeds": 1}, ["config: seeds: 1", "allowed: whole numbers from 2"]),
    "half a seed": ({"seeds": 2.5}, ["config: seeds: 2.5", "allowed: whole numbers from 2"]),
    "seeds as a float": ({"seeds": 10.0}, ["config: seeds: 10.0", "allowed: whole numbers from 2"]),
    "seeds as words": ({"seeds": "ten"}, ["config: seeds: 'ten'", "allowed: whole numbers from 2"]),
    "seeds as a switch": ({"seeds": True}, ["config: seeds: True", "allowed: whole numbers from 2"]),
    "steps as a float": (
        {"training.steps": 1000.0},
        ["config: training.steps: 1000.0", "allowed: whole numbers from 1"],
    ),
    "a margin of nothing": (
        {"comparisons": [COMPARISON | {"margin": float("nan")}]},
        ["config: comparisons[0].margin: nan", "allowed: numbers above 0"],
    ),
    "a rate without end": (
        {"training.learning_rate": float("inf")},
        ["learning_rate: inf", "allowed: numbers above 0"],
    ),
    "alpha of 1": ({"statistics.alpha": 1}, ["config: statistics.alpha: 1", "allowed: numbers between 0 and 1"]),
    "a key missing": ({"statistics": REMOVED}, ["config: top level", "'statistics' is missing"]),
    "a key of the model missing": ({"model.width": REMOVED}, ["config: model", "'width' is missing"]),
    "a folder with a space": ({"results": "my results"}, ["config: results: 'my results'", "allowed: a folder name"]),
    "heads that do not share the width": (
        {"model.width": 65},
        ["config: tasks.hmm_tagging", "width 65", "multiple of heads 4"],
    ),
    "heads of one task that do not share the width": (
        {"tasks.masked_byte.model": {"heads": 5}},
        ["config: tasks.masked_byte", "width 64", "multiple of heads 5"],
    ),
    "an unknown kind of positions": (
        {"model.positions": "absolute"},
        ["config: model.positions: 'absolute'", "allowed: learned, rotary, none"],
    ),
    "a mask without a baseline and a ceiling": (
        {"tasks.hmm_tagging.masks": ["full", "prefix"]},
        ["config: tasks.hmm_tagging: mask 'prefix'", "baseline and ceiling", "allowed: causal, lookahead-K"],
    ),
    "a control without a baseline": (
        {"tasks.next_byte.controls": ["prefix"]},
        ["config: tasks.next_byte: mask 'prefix'", "baseline and ceiling", "allowed: causal, lookahead-K"],
    ),
    "positions where a task withholds them": (
        {"tasks.previous_token_unordered": {"masks": ["causal"]}},
        ["config: tasks.previous_token_unordered: model: positions 'rotary'", "allowed: none"],
    ),
    "one layer where order needs two": (
        {"tasks.previous_token_unordered": {"masks": ["causal"], "model": {"positions": "none", "layers": 1}}},
        ["config: tasks.previous_token_unordered: model: layers 1", "allowed: 2 or more"],
    ),
    "a mask whose ceiling is not known": (
        {"tasks.previous_token_unordered": {"masks": ["full", "lookahead-1"], "model": {"positions": "none"}}},
        ["config: tasks.previous_token_unordered: mask 'lookahead-1'", "allowed: causal, full"],
    ),
    "no dataset": ({"tasks.masked_byte.dataset": REMOVED}, ["config: tasks.masked_byte", "no dataset", "kind text"]),
    "a dataset that is not needed": (
        {"tasks.hmm_tagging.dataset": "wikitext2"},
        ["config: tasks.hmm_tagging", "'wikitext2'", "makes its own data", "remove it"],
    ),
    "an unknown dataset": (
        {"tasks.masked_byte.dataset": "wikitext3", "datasets.my_book": {"kind": "text", "files": "a.txt"}},
        ["config: tasks.masked_byte", "'wikitext3'", "allowed: wikitext2, spanish, trec, cmudict, my_book"],
    ),
    "an unknown kind of dataset": (
        {"datasets.my_book": {"kind": "pictures", "files": "*.png"}},
        ["config: datasets.my_book.kind: 'pictures'", "allowed: text, labelled, tagged, pairs"],
    ),
    "a key of a dataset of another kind": (
        {"datasets.my_book": {"kind": "text", "files": "a.txt", "label": "stars"}},
        ["config: datasets.my_book.label", "kind text takes no such key", "allowed: kind, files"],
    ),
    "a tag that CoNLL-U does not have": (
        {"datasets.my_book": {"kind": "tagged", "files": "a.conllu", "tag": "pos"}},
        ["config: datasets.my_book.tag: 'pos'", "allowed: upos, xpos, deprel"],
    ),
    "a built-in dataset of another kind": (
        {"tasks.masked_byte.dataset": "trec"},
        ["config: tasks.masked_byte", "'trec' is of kind labelled", "reads kind text"],
    ),
    "an encoder–decoder of one layer": (
        {"tasks.hmm_tagging.masks": ["encoder-decoder", "causal"], "model.layers": 1},
        ["config: tasks.hmm_tagging", "1 layer for an encoder and a decoder", "allowed: 2 or more"],
    ),
    "an unknown parameter": (
        {"tasks.hmm_tagging.parameters.colour": 1},
        ["config: tasks.hmm_tagging", "'colour'", "allowed: states, symbols, length"],
    ),
    "a parameter that is no parameter": (
        {"tasks.hmm_tagging.parameters.dataset": "wikitext2"},
        ["config: tasks.hmm_tagging", "parameter 'dataset'", "allowed: states, symbols, length"],
    ),
    "a parameter out of range": (
        {"tasks.hmm_tagging.parameters.states": 1},
        ["config: tasks.hmm_tagging", "states: 1", "allowed: whole numbers from 2"],
    ),
    "a comparison of no task": (
        {"comparisons": [COMPARISON | {"task": "tagging"}]},
        ["config: comparisons[0].task: 'tagging'", "allowed: hmm_tagging, markov_masked, masked_byte"],
    ),
    "a comparison of an undeclared mask": (
        {"comparisons": [COMPARISON | {"masks": ["full", "prefix"]}]},
        ["config: comparisons[0].masks: 'prefix'", "allowed: causal, lookahead-1, lookahead-2, lookahead-4, full"],
    ),
    "a comparison of a control": (
        {
            "tasks.hmm_tagging.controls": ["lookahead-3"],
            "comparisons": [COMPARISON | {"masks": ["full", "lookahead-3"]}],
        },
        ["config: comparisons[0].masks: 'lookahead-3'", "is not a mask of hmm_tagging"],
    ),
    "a comparison of a mask with itself": (
        {"comparisons": [COMPARISON | {"masks": ["full", "full"]}]},
        ["config: comparisons[0].masks: ['full', 'full']", "allowed: a list of different masks"],
    ),
    "a comparison of three masks": (
        {"comparisons": [COMPARISON | {"masks": ["full", "causal", "lookahead-1"]}]},
        ["config: comparisons[0].masks", "allowed: two different masks"],
    ),
    "a comparison twice": (
        {"comparisons": [COMPARISON, COMPARISON | {"masks": ["causal", "full"], "margin": 0.02}]},
        ["config: comparisons[1]", "hmm_tagging, accuracy, causal and full", "twice"],
    ),
    "a comparison of no metric": (
        {"comparisons": [COMPARISON | {"metric": "loss"}]},
        ["config: comparisons[0].metric: 'loss'", "allowed: accuracy, nats"],
    ),
    "a comparison where none is to be": (
        {"confirmatory": False},
        ["config: comparisons", "not confirmatory", "allowed: []"],
    ),
    "too few seeds for the comparisons": (
        {"seeds": 5, "comparisons": [COMPARISON]},
        ["seeds: 5", "smallest p of 1 declared comparison", "0.0625", "alpha 0.05", "set seeds to 6 or more"],
    ),
    "too few seeds for so many comparisons": (
        {"seeds": 6, "comparisons": [COMPARISON, COMPARISON | {"metric": "nats"}]},
        ["seeds: 6", "smallest p of 2 declared comparison", "0.0625", "set seeds to 7 or more"],
    ),
    "too few seeds of a task for the comparisons": (
        {"tasks.hmm_tagging.seeds": 5, "comparisons": [COMPARISON]},
        ["with tasks.hmm_tagging.seeds: 5", "0.0625", "set tasks.hmm_tagging.seeds to 6 or more"],
    ),
    "one seed of a task": ({"tasks.hmm_tagging.seeds": 1}, ["tasks.hmm_tagging.seeds: 1", "whole numbers from 2"]),
    "more seeds than can be tested": (
        {"seeds": MOST_SEEDS + 1},
        [f"config: seeds: {MOST_SEEDS + 1}", f"to {MOST_SEEDS}"],
    ),
}


@pytest.mark.parametrize(("changes", "parts"), REFUSED.values(), ids=REFUSED)
def test_one_line_names_the_key_its_value_and_what_is_allowed(changes, parts):
    with pytest.raises(StudyError) as raised:
        check(changed(changes), SCHEMA)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith("config")
    for part in parts:
        assert part in message


@pytest.mark.parametrize("given", [None, [], "config.yaml"])
def test_a_config_that_is_no_object_is_one_line(given):
    with pytest.raises(StudyError) as raised:
        check(given, SCHEMA)
    assert re.fullmatch(r"config: .*", str(raised.value))


def test_checking_changes_nothing():
    given = default()
    check(given, SCHEMA)
    assert given == default()


# --- what the rules read ----------------------------------------------------------------------------------------------


def test_cells_stand_in_the_order_of_the_config():
    given = changed({"tasks.masked_byte.controls": ["lookahead-1"]})
    found = cells(given)
    assert list(dict.fromkeys(one.task for one in found)) == list(given["tasks"])
    assert found[:5] == [
        Cell("hmm_tagging", mask, "study") for mask in ["causal", "lookahead-1", "lookahead-2", "lookahead-4", "full"]
    ]
    assert [one for one in found if one.task in ("masked_byte", "markov_next")] == [
        *(Cell("masked_byte", mask, "study") for mask in ["causal", "full"]),
        Cell("masked_byte", "lookahead-1", "control"),
        Cell("markov_next", "causal", "study"),
        Cell("markov_next", "full", "control"),
    ]
    assert cell(given, "masked_byte", "lookahead-1") == Cell("masked_byte", "lookahead-1", "control")
    assert cell(given, "masked_byte", "full").settings() == {"task": "masked_byte", "mask": "full", "role": "study"}
    with pytest.raises(StudyError, match="masked_byte declares no mask 'prefix'; declared: causal, full, lookahead-1"):
        cell(given, "masked_byte", "prefix")


def test_seeds_count_from_zero():
    assert seeds(changed({"seeds": 3}), "hmm_tagging") == [0, 1, 2]


def test_a_task_may_have_seeds_of_its_own():
    given = changed({"seeds": 3, "tasks.hmm_tagging.seeds": 2})
    assert seeds(given, "hmm_tagging") == [0, 1]
    assert seeds(given, "masked_byte") == [0, 1, 2]
    assert cell_with_seeds(given, Cell("hmm_tagging", "full", "study"))["seeds"] == [0, 1]


def test_a_task_that_is_null_is_left_out_of_the_study():
    given = without_tasks_left_out(changed({"tasks.hmm_tagging": None}))
    assert "hmm_tagging" not in given["tasks"]
    assert {one.task for one in cells(given)} == set(given["tasks"])
    assert without_tasks_left_out({"tasks": "no object"}) == {"tasks": "no object"}


def test_a_task_changes_what_it_names_and_takes_the_rest_from_the_study():
    given = changed(
        {
            "tasks.masked_byte.model": {"width": 32},
            "tasks.masked_byte.training": {"steps": 7},
        }
    )
    assert model_settings(given, "hmm_tagging") == given["model"]
    assert model_settings(given, "masked_byte") == given["model"] | {"width": 32}
    assert training_settings(given, "hmm_tagging") == given["training"]
    assert training_settings(given, "masked_byte") == given["training"] | {"steps": 7}


def test_the_settings_of_a_task_hold_all_that_its_data_depends_on():
    own = {"kind": "text", "files": "a.txt"}
    given = changed(
        {
            "datasets.my_book": own,
            "tasks.mine": {"kind": "masked_byte", "dataset": "my_book", "masks": ["full"]},
        }
    )
    parameters = given["tasks"]["hmm_tagging"]["parameters"]
    assert task_settings(given, "hmm_tagging") == {"kind": "hmm_tagging", "parameters": parameters, "dataset": None}
    assert task_settings(given, "masked_byte")["dataset"] == "wikitext2"
    assert task_settings(given, "mine") == {"kind": "masked_byte", "parameters": {}, "dataset": own}


def test_tasks_that_ask_for_the_same_final_bytes_are_found():
    parameters = default()["tasks"]["next_byte"]["parameters"]
    final = {"dataset": "wikitext2", "masks": ["causal", "full"], "parameters": parameters | {"length": 128}}
    without = {"tasks.final_byte": None, "tasks.next_byte_few": None}
    assert supervision(default()) == ["next_byte", "final_byte", "next_byte_few"]
    assert supervision(without_tasks_left_out(changed(without))) == []
    left = without_tasks_left_out(changed(without | {"tasks.final_byte": final}))
    assert supervision(left) == ["next_byte", "final_byte"]
    shorter = final | {"parameters": parameters | {"length": 127}}
    assert supervision(without_tasks_left_out(changed(without | {"tasks.final_byte": shorter}))) == []


def test_the_models_of_an_encoder_decoder_take_no_other_mask():
    def masks(given):
        return {task: [cell.mask for cell in cells] for task, cells in transformers(given).items()}

    assert masks(default())["hmm_tagging"] == default()["tasks"]["hmm_tagging"]["masks"]
    assert masks(default())["next_byte"] == ["causal", "full"]  # a control takes part
    pairs = {"kind": "pronunciation", "dataset": "cmudict"}
    written = {"tasks.all": pairs | {"masks": ["prefix", "encoder-decoder", "causal"]}}
    alone = {"tasks.alone": pairs | {"masks": ["encoder-decoder"]}}
    found = masks(changed(written | alone))
    assert found["all"] == ["prefix", "causal"]
    assert "alone" not in found


def test_a_dataset_of_another_kind_is_refused():
    given = changed({"datasets.my_words": {"kind": "tagged", "files": "a"}, "tasks.masked_byte.dataset": "my_words"})
    with pytest.raises(StudyError, match="'my_words' is of kind tagged; masked_byte reads kind text"):
        task_settings(given, "masked_byte")


# --- one list in two places -------------------------------------------------------------------------------------------


def test_the_schema_knows_the_kinds_of_datasets_and_their_keys():
    properties = SCHEMA["$defs"]["dataset"]["properties"]
    assert properties["kind"]["enum"] == list(KINDS)
    assert set(properties) == {"kind", "files"}.union(*OPTIONS.values())
    assert properties["tag"]["enum"] == list(TAG_COLUMNS)


def test_the_schema_knows_the_positions_and_tasks_that_there_are():
    assert SCHEMA["$defs"]["model"]["properties"]["positions"]["enum"] == list(POSITIONS)
    for kind in tasks.kinds():
        assert re.search(SCHEMA["$defs"]["name"]["pattern"], kind)


def test_the_schema_knows_every_key_of_model_and_training():
    of_shape = set(ModelShape.__dataclass_fields__) - {"vocabulary", "answers", "length"}  # those are the task's
    assert set(SCHEMA["$defs"]["model"]["properties"]) == of_shape
    assert set(SCHEMA["$defs"]["training"]["properties"]) == set(TrainingSettings.__dataclass_fields__)


def test_checking_is_quick_to_import():
    code = (
        "import sys, maskstudy.config, maskstudy.digests; "
        "print([name for name in ('torch', 'scipy', 'polars', 'matplotlib') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
