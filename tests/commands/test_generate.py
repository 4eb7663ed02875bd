"""`maskstudy generate`: what a trained model writes, and what the judge thinks of it."""

import numpy as np
import pytest
from safetensors.torch import load_file

from maskstudy import files, tasks
from maskstudy.commands import audit, generate, prepare, train
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.generation import continuations, likeliest, scored_continuations
from maskstudy.model import Transformer
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from small_study import HMM, TRAINING, cell, settings, untuned

SIZES = {"train_examples": 512, "validation_examples": 16, "test_examples": 48}
MARKOV = {
    "kind": "markov_next",
    "dataset": None,
    "parameters": {"symbols": 4, "length": 12, "concentration": 0.2, **SIZES},
}
TEXT = "".join(
    f"On day {day} the {animal} crossed {day * 7 % 13} bridges — and nobody asked why.\n\n"
    for day in range(60)
    for animal in ("fox", "heron", "old mare")
)
MODEL = {"width": 16, "layers": 2, "heads": 2, "positions": "rotary", "dropout": 0.0}
ROLES = {"causal": "study", "full": "control"}


def trained(folder, task, name, steps):
    """The task's data, and a model under each mask."""
    prepare.main([*settings(**task), "--raw", "raw", "--out", str(folder / "data")])
    data = ["--data", str(folder / "data")]
    for mask, role in ROLES.items():
        of_cell = {"cell": cell(mask, role, name), "task": task, "model": MODEL}
        verdict = str(folder / "audit" / f"{mask}.json")
        audit.main([*settings(**of_cell), *data, "--out", verdict])
        given = settings(**of_cell, training=TRAINING | {"steps": steps, "batch": 32}, device="cpu")
        tuning = untuned(folder, of_cell["cell"])
        train.main([*given, "--seed", "0", *data, "--audit", verdict, *tuning, "--run", str(folder / mask)])
    return folder


def generated(folder, task, name, mask, seed=0):
    parts = settings(cell=cell(mask, ROLES[mask], name), task=task, model=MODEL)
    paths = ["--data", str(folder / "data"), "--run", str(folder / mask)]
    generate.main([*parts, "--seed", str(seed), *paths])
    return files.read_json(folder / mask / "generated.json")


@pytest.fixture(scope="module")
def markov(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("markov"), MARKOV, "markov_next", steps=250)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "own.txt").write_text(TEXT, encoding="utf-8")
    parameters = {"length": 17, "validation_windows": 8}
    task = {
        "kind": "next_byte",
        "dataset": {"kind": "text", "files": str(folder / "own.txt")},
        "parameters": parameters,
    }
    return trained(folder, task, "my_text", steps=6), task


def states(spelling):
    return np.array([[ord(letter) - ord("A") for letter in text] for text in spelling], dtype=np.int16)


def test_the_file_says_whose_it_is_and_how_it_came_about(markov):
    found = generated(markov, MARKOV, "markov_next", "causal", seed=3)
    assert {name: found[name] for name in ("task", "mask", "role", "seed", "judge")} == {
        **cell("causal", "study", "markov_next"),
        "seed": 3,
        "judge": "ceiling",
    }
    assert (found["prompt_tokens"], found["generated_tokens"]) == (3, 9)
    assert len(found["texts"]) == generate.TEXTS
    assert set(found["metrics"]) == {"teacher_forced", "true", "greedy", "sampled"}


def test_prompts_are_the_beginnings_of_test_examples_spread_over_all(markov):
    found = generated(markov, MARKOV, "markov_next", "full")
    test = read_examples(markov / "data/test.parquet")
    rows = [each["example"] for each in found["texts"]]
    assert rows == [number * 48 // 32 for number in range(32)]
    np.testing.assert_array_equal(states(each["prompt"] for each in found["texts"]), test.tokens[rows, :3])
    np.testing.assert_array_equal(states(each["true"] for each in found["texts"]), test.tokens[rows, 3:])


@pytest.mark.parametrize("mask", ROLES)
def test_metrics_are_those_of_the_texts(markov, mask):
    found = generated(markov, MARKOV, "markov_next", mask)
    prompt, true = (states(each[name] for each in found["texts"]) for name in ("prompt", "true"))
    transition = tasks.build(MARKOV).chain().transition
    for name in ("greedy", "sampled", "true"):
        text = states(each[name] for each in found["texts"])
        whole = np.concatenate([prompt[:, -1:], text], axis=1)
        nats = -np.log(transition[whole[:, :-1], whole[:, 1:]]).mean()  # of each step under the true chain
        assert found["metrics"][name]["judged_nats"] == pytest.approx(nats)
        if name != "true":
            assert found["metrics"][name]["accuracy"] == pytest.approx((text == true).mean())


def test_the_control_reads_what_it_cannot_write(markov):
    """What a leak looks like: every token right when the text is given, none to be trusted when it is not."""
    causal, control = (generated(markov, MARKOV, "markov_next", mask)["metrics"] for mask in ROLES)
    assert control["teacher_forced"]["accuracy"] > 0.95
    assert control["teacher_forced"]["nats"] < causal["teacher_forced"]["nats"] / 3
    true = causal["true"]["judged_nats"]
    assert control["true"]["judged_nats"] == true
    assert abs(causal["sampled"]["judged_nats"] - true) < 0.25
    assert control["sampled"]["judged_nats"] > true + 0.5
    assert control["greedy"]["accuracy"] < control["teacher_forced"]["accuracy"] - 0.3


@pytest.mark.parametrize("mask", ROLES)
def test_a_model_writes_under_the_mask_that_it_was_trained_with(markov, mask):
    found = generated(markov, MARKOV, "markov_next", mask)
    model = Transformer(build_shape(tasks.build(MARKOV), MODEL))
    model.load_state_dict(load_file(markov / mask / "model.safetensors"))
    prompt, greedy = (states(each[name] for each in found["texts"]) for name in ("prompt", "greedy"))
    texts = {name: continuations(model, name, prompt, 9, likeliest) for name in ROLES}
    np.testing.assert_array_equal(greedy, texts[mask])
    assert not np.array_equal(texts["causal"], texts["full"])


def test_the_same_seed_gives_the_same_bytes_and_another_samples_anew(markov):
    one = generated(markov, MARKOV, "markov_next", "causal")
    content = (markov / "causal/generated.json").read_bytes()
    generated(markov, MARKOV, "markov_next", "causal")
    assert (markov / "causal/generated.json").read_bytes() == content
    other = generated(markov, MARKOV, "markov_next", "causal", seed=1)
    for name, changes in (("greedy", False), ("sampled", True)):
        assert ([each[name] for each in one["texts"]] != [each[name] for each in other["texts"]]) == changes


def test_without_a_ceiling_the_n_gram_is_the_judge(text):
    folder, task = text
    found = generated(folder, task, "my_text", "full")
    assert found["judge"] == "baseline"
    whole = [each["prompt"] + each["true"] for each in found["texts"]]
    assert all(each in TEXT for each in whole if "\\x" not in each)  # where a window cuts no character in two
    made = tasks.build(task)
    train_split, test = (read_examples(folder / f"data/{name}.parquet") for name in ("train", "test"))
    rows = [each["example"] for each in found["texts"]]
    true = scored_continuations(test.tokens[rows, :4], test.tokens[rows, 4:])
    expected = score(made.baseline("causal", train_split, true), true).metrics()["nats"]
    assert found["metrics"]["true"]["judged_nats"] == pytest.approx(expected)
    assert found["metrics"]["sampled"]["judged_nats"] > expected  # hardly trained


def test_only_examples_of_full_length_are_written_on(text):
    folder, task = text
    lengths = read_examples(folder / "data/test.parquet").lengths
    assert (lengths < 17).any()
    found = generated(folder, task, "my_text", "causal")
    assert (lengths[[each["example"] for each in found["texts"]]] == 17).all()


def test_where_no_example_is_long_enough_a_line_says_so(text):
    test = read_examples(text[0] / "data/test.parquet")
    with pytest.raises(StudyError, match="task my_text: no test example has the full length of 400; shorten `length`"):
        generate._spread(test, "my_text", 400)


def test_a_step_that_cannot_happen_is_a_large_number_and_no_infinity(markov, monkeypatch):
    def never(task, _mask, texts):
        return np.full((int(texts.scored.sum()), task.answers), -np.inf)

    monkeypatch.setattr("maskstudy.tasks.markov_next.MarkovNext.ceiling", never)
    assert 700 < generated(markov, MARKOV, "markov_next", "causal")["metrics"]["true"]["judged_nats"] < 710


def test_a_task_that_does_not_ask_for_the_next_token_is_refused(tmp_path):
    given = settings(cell=cell("causal"), task=HMM, model=MODEL)
    with pytest.raises(StudyError, match="task hmm_tagging: its answers are not the next tokens"):
        generate.main([*given, "--seed", "0", "--data", str(tmp_path), "--run", str(tmp_path)])
