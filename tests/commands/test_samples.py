import numpy as np
import pyarrow.parquet as pq
import pytest

from maskstudy import tasks
from maskstudy.commands import samples
from maskstudy.data.documents import Pair
from maskstudy.data.examples import read_examples, write_examples
from maskstudy.errors import StudyError
from maskstudy.files import read_table, write_json, write_rows, write_table
from maskstudy.schemas import PREDICTIONS, SAMPLES
from maskstudy.scoring import score
from maskstudy.tasks.pronunciation import Pronunciation
from maskstudy.transcripts import transcripts, words
from small_study import HMM, cell, settings

SEEDS = [0, 1, 2]
SIZES = {"length": 9, "letters": 4, "phonemes": 5}
PRONUNCIATION = {"kind": "pronunciation", "dataset": "cmudict", "parameters": SIZES}
CELLS = [{**each, "seeds": SEEDS} for each in (cell("causal"), cell("full"), cell("prefix", "control"))]


@pytest.fixture
def results(tmp_path):
    """`full` is always right, `causal` where the answer is 0; the control has no runs at all."""
    write_study(tmp_path, tasks.build(HMM).splits(None)["test"])
    return tmp_path


def write_study(folder, test):
    write_examples(folder / "data/hmm_tagging/test.parquet", test)
    write_json(folder / "data/hmm_tagging/summary.json", {"names": None})
    targets = test.targets[test.scored]
    for seed in SEEDS:
        for mask, answers in (("full", targets), ("causal", np.zeros_like(targets))):
            said = np.log(np.where(np.arange(3) == answers[:, None], 0.8, 0.1))
            path = folder / f"runs/hmm_tagging/{mask}/seed-{seed}/examples.parquet"
            write_table(path, score(said, test).table(), PREDICTIONS)


def run(folder, cells=CELLS, **of_tasks):
    given = settings(cells=cells, tasks=of_tasks or {"hmm_tagging": HMM})
    samples.main([*given, "--results", str(folder)])
    return read_table(folder / "examples.parquet", SAMPLES).to_pylist()


def test_every_mask_answers_the_same_questions_and_controls_none(results):
    rows = run(results)
    assert {row["mask"] for row in rows} == {"causal", "full"}
    questions = [
        [(row["example"], row["position"]) for row in rows if row["mask"] == mask] for mask in ("causal", "full")
    ]
    assert questions[0] == questions[1]
    assert len(set(questions[0][:8])) == 8


def test_questions_truth_and_answers_are_those_of_the_test_split_and_the_runs(results):
    test = read_examples(results / "data/hmm_tagging/test.parquet")
    for row in run(results):
        text = "".join("ABCD"[token] for token in test.tokens[row["example"]])
        truth = "ABC"[test.targets[row["example"], row["position"]]]
        assert row["before"] + row["place"] + row["after"] == text
        assert len(row["before"]) == row["position"]
        assert row["truth"] == truth
        assert row["answer"] == (truth if row["mask"] == "full" else "A")
        assert (row["right"], row["agreeing"], row["seeds"]) == (3 * (row["answer"] == truth), 3, 3)
        assert row["questions"] == test.scored.sum()


def test_where_one_is_ahead_is_counted_over_the_whole_split(results):
    test = read_examples(results / "data/hmm_tagging/test.parquet")
    ahead = [row for row in run(results) if row["chosen"] == "ahead"]
    assert {(row["mask_a"], row["mask_b"]) for row in ahead} == {("full", "causal")}  # the other way round is empty
    assert {row["ahead"] for row in ahead} == {(test.targets[test.scored] != 0).sum()}


def test_an_example_in_which_nothing_is_asked_shifts_no_answer(tmp_path):
    test = tasks.build(HMM).splits(None)["test"]
    test.targets[::2] = -100
    write_study(tmp_path, test)
    for row in run(tmp_path):
        assert row["example"] % 2 == 1
        assert row["truth"] == "ABC"[test.targets[row["example"], row["position"]]]
        assert row["answer"] == (row["truth"] if row["mask"] == "full" else "A")


def test_a_written_answer_is_one_question_a_word(tmp_path):
    task = Pronunciation(**SIZES)
    pairs = [Pair("cat", "cat", "K AE T"), Pair("at", "at", "AE T"), Pair("at", "at", "AH T")]
    named = task.names({"test": pairs})
    test = task.examples(pairs, named)
    write_examples(tmp_path / "data/spoken/test.parquet", test)
    write_json(tmp_path / "data/spoken/summary.json", {"names": named})
    said = np.full((int(test.scored.sum()), task.answers), -1.0)
    for seed in SEEDS:
        scores = score(said, test)
        found = transcripts(words(test), [[0], [1, 3]])
        write_table(
            tmp_path / f"runs/spoken/causal/seed-{seed}/examples.parquet",
            type(scores)(**{**vars(scores), "transcripts": found}).table(),
            PREDICTIONS,
        )
    rows = run(tmp_path, cells=[{**cell(task="spoken"), "seeds": SEEDS}], spoken=PRONUNCIATION)
    assert [(row["place"], row["truth"], row["answer"], row["right"], row["position"]) for row in rows] == [
        ("cat", "K AE T", "AE", 0, None),
        ("at", "AE T / AH T", "AH T", 3, None),
    ]
    assert [row["nats"] for row in rows] == [1.0, 1.0]
    path = tmp_path / "runs/spoken/causal/seed-1/examples.parquet"
    table = pq.read_table(path).to_pylist()
    table[0]["words"] = None
    write_rows(path, table, PREDICTIONS)
    with pytest.raises(StudyError, match=r"seed-1/examples\.parquet: not one answer a condition"):
        run(tmp_path, cells=[{**cell(task="spoken"), "seeds": SEEDS}], spoken=PRONUNCIATION)


def test_runs_of_other_data_are_refused(results):
    path = results / "runs/hmm_tagging/full/seed-1/examples.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(StudyError, match=r"seed-1/examples\.parquet: 23 rows for 24 test examples"):
        run(results)


def test_the_same_command_twice_gives_the_same_bytes(results):
    run(results)
    first = (results / "examples.parquet").read_bytes()
    run(results)
    assert (results / "examples.parquet").read_bytes() == first
