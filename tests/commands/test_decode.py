"""`maskstudy decode`, and what `evaluate` and `reference` do where answers are written, on a small dictionary."""

import numpy as np
import pytest
from safetensors.torch import load_file

from maskstudy import files, tasks
from maskstudy.commands import audit, decode, evaluate, gather, prepare, reference, train
from maskstudy.data.examples import read_examples
from maskstudy.decoding import decoded
from maskstudy.errors import StudyError
from maskstudy.evaluation import build_model, log_probabilities
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.transcripts import transcripts, words
from small_study import HMM, TRAINING, cell, settings, untuned

MASKS = ("causal", "prefix", "encoder-decoder")
MODEL = {"width": 16, "layers": 2, "heads": 2, "positions": "rotary", "dropout": 0.0}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A dictionary in which every letter sounds as itself, some words in two ways; a model of each family."""
    folder = tmp_path_factory.mktemp("study")
    generator = np.random.default_rng(0)
    found = {"".join(generator.choice(list("abcd"), generator.integers(1, 6))) for _ in range(400)}
    lines = [f"{word}\t{' '.join(word.upper())}\n" for word in sorted(found)]
    lines += [f"{word}\t{' '.join(word.upper())} A\n" for word in sorted(found)[::7]]
    (folder / "dictionary.tsv").write_text("".join(lines), encoding="utf-8")
    task = {
        "kind": "pronunciation",
        "parameters": {"length": 14, "letters": 4, "phonemes": 4},
        "dataset": {"kind": "pairs", "files": str(folder / "dictionary.tsv")},
    }
    prepare.main([*settings(**task), "--raw", "raw", "--out", str(folder / "data")])
    data = ["--data", str(folder / "data")]
    for mask in MASKS:
        of_cell = {"cell": cell(mask, task="pronunciation"), "task": task, "model": MODEL}
        verdict, run = str(folder / "audit" / f"{mask}.json"), ["--run", str(folder / mask)]
        audit.main([*settings(**of_cell), *data, "--out", verdict])
        training = TRAINING | {"steps": 250, "batch": 32, "adamw_learning_rate": 0.02}
        given = settings(**of_cell, training=training, device="cpu")
        train.main([*given, "--seed", "0", *data, "--audit", verdict, *untuned(folder, of_cell["cell"]), *run])
        evaluate.main([*settings(**of_cell), "--seed", "0", *data, *run])
        decode.main([*settings(**of_cell), "--seed", "0", *data, *run])
        out = str(folder / "references" / mask)
        reference.main([*settings(cell=of_cell["cell"], task=task), *data, "--out", out])
    return folder, task


def model_of(folder, task, mask):
    model = build_model(mask, build_shape(tasks.build(task), MODEL))
    model.load_state_dict(load_file(folder / mask / "model.safetensors"))
    return model


@pytest.mark.parametrize("mask", MASKS)
def test_the_scores_of_a_run_hold_what_was_written(study, mask):
    folder, task = study
    test, model = read_examples(folder / "data/test.parquet"), model_of(folder, task, mask)
    of_words = words(test)
    written = decoded(model, mask, of_words, test, tasks.build(task).end)
    expected = transcripts(of_words, written)
    metrics = files.read_json(folder / mask / "metrics.json")["metrics"]
    assert metrics == score(log_probabilities(model, mask, test), test).metrics() | expected.metrics()
    table = files.read_table(folder / mask / "examples.parquet", PREDICTIONS)
    assert table["written"].to_pylist() == expected.written
    assert sum(table["wrong_words"].to_pylist()) / sum(table["words"].to_pylist()) == metrics["wer"]
    assert sum(table["phoneme_errors"].to_pylist()) / sum(table["phonemes"].to_pylist()) == metrics["per"]
    assert metrics["wer"] < 0.7  # it has learned something


@pytest.mark.parametrize("mask", MASKS)
def test_a_run_says_that_both_ways_of_reading_give_the_same_numbers(study, mask):
    folder, task = study
    found = files.read_json(folder / mask / "decoding.json")
    assert set(found["parallel_minus_stepwise"]) == {"probability", "nats"}
    assert 0 < found["parallel_minus_stepwise"]["probability"] < 1e-5
    assert {name: found[name] for name in ("task", "mask", "role", "seed")} == {
        **cell(mask, task="pronunciation"),
        "seed": 0,
    }
    test, model = read_examples(folder / "data/test.parquet"), model_of(folder, task, mask)
    of_words = words(test)
    for name, beam in (("greedy", 1), ("beam", decode.BEAM)):
        written = decoded(model, mask, of_words, test, tasks.build(task).end, beam)
        assert found["metrics"][name] == transcripts(of_words, written).metrics()
    assert found["words"] == len(of_words)
    assert len(found["texts"]) <= decode.SHOWN
    first = found["texts"][0]
    assert first["condition"] == "".join("abcd"[token - 5] for token in of_words[0].condition)
    assert first["right"] == [" ".join("ABCD"[token] for token in variant) for variant in of_words[0].variants]


def test_no_more_words_than_asked_for_are_decoded_and_they_are_whole(study, monkeypatch, tmp_path):
    folder, task = study
    monkeypatch.setattr(decode, "WORDS", 5)
    (tmp_path / "run").symlink_to(folder / "causal")
    parts = settings(cell=cell("causal", task="pronunciation"), task=task, model=MODEL)
    before = (folder / "causal/decoding.json").read_bytes()
    decode.main([*parts, "--seed", "0", "--data", str(folder / "data"), "--run", str(tmp_path / "run")])
    found = files.read_json(folder / "causal/decoding.json")
    assert (found["words"], len(found["texts"])) == (5, 5)
    every = words(read_examples(folder / "data/test.parquet"))
    wanted = [every[place * len(every) // 5] for place in range(5)]
    assert [len(text["right"]) for text in found["texts"]] == [len(word.variants) for word in wanted]
    (folder / "causal/decoding.json").write_bytes(before)


@pytest.mark.parametrize("mask", MASKS)
def test_the_baseline_is_what_the_joint_n_gram_writes_and_says_nothing_of_single_answers(study, mask):
    folder, task = study
    found = files.read_json(folder / f"references/{mask}.json")
    built = tasks.build(task)
    train_split, test = (read_examples(folder / f"data/{name}.parquet") for name in ("train", "test"))
    expected = transcripts(words(test), built.written_baseline(train_split, test))
    assert found["baseline"] == expected.metrics()
    assert found["ceiling"] is None
    table = files.read_table(folder / f"references/{mask}.parquet", PREDICTIONS)
    assert table["written"].to_pylist() == expected.written
    assert set(table["scored"].to_pylist()) == {0}
    rows = gather.metric_rows(files.read_json(folder / mask / "metrics.json"), found)
    assert [(row["metric"], row["baseline"]) for row in rows] == [
        ("accuracy", None),
        ("nats", None),
        ("per", expected.metrics()["per"]),
        ("wer", expected.metrics()["wer"]),
    ]


def test_all_families_have_the_same_access(study):
    verdicts = [files.read_json(study[0] / "audit" / f"{mask}.json") for mask in MASKS]
    assert len({verdict["scored_access"] for verdict in verdicts}) == 1
    assert not any(verdict["leaks"] or verdict["measured_leaks"] for verdict in verdicts)
    grids = [verdict["grid"]["layers"] for verdict in verdicts]
    assert grids[2][0][4:] == [[0] * 8] * 4  # nothing enters the encoder but the condition
    assert [sum(row) for row in grids[2][0][:4]] == [4] * 4


def test_a_task_without_answers_to_write_is_refused(tmp_path):
    given = settings(cell=cell("causal"), task=HMM, model=MODEL)
    with pytest.raises(StudyError, match="no answers that a model writes by itself"):
        decode.main([*given, "--seed", "0", "--data", str(tmp_path), "--run", str(tmp_path)])
