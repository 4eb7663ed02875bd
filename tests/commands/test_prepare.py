import numpy as np
import pytest

from maskstudy import tasks
from maskstudy.commands import prepare
from maskstudy.data.documents import Document
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.files import read_json
from small_study import HMM, RandomTokens, settings

SPLITS = ("train", "validation", "test")


def run(folder, task=HMM, raw="raw"):
    prepare.main([*settings(**task), "--raw", str(folder / raw), "--out", str(folder / "data")])
    return {split: read_examples(folder / "data" / f"{split}.parquet") for split in SPLITS}


def test_a_synthetic_source_needs_no_raw_data(tmp_path):
    read = run(tmp_path)
    made = tasks.build(HMM).splits(None)
    assert len(read["test"]) == 24
    np.testing.assert_array_equal(read["test"].tokens, made["test"].tokens)
    np.testing.assert_array_equal(read["test"].targets, made["test"].targets)


def test_the_summary_counts_what_is_there(tmp_path):
    read = run(tmp_path)
    summary = read_json(tmp_path / "data/summary.json")
    for split in SPLITS:
        assert summary["splits"][split] == {
            "examples": len(read[split]),
            "tokens": 6 * len(read[split]),
            "scored": 6 * len(read[split]),
            "groups": len(read[split]),
        }
    assert set(summary["dropped_as_repeats"]) == set(SPLITS)


def test_the_same_command_twice_gives_the_same_bytes(tmp_path):
    run(tmp_path)
    files = [
        tmp_path / "data" / name for name in ("train.parquet", "validation.parquet", "test.parquet", "summary.json")
    ]
    before = [file.read_bytes() for file in files]
    run(tmp_path)
    assert [file.read_bytes() for file in files] == before


def test_a_users_own_text_becomes_examples(tmp_path):
    for number in range(12):
        words = " ".join(f"word{number}{n}" for n in range(300))
        (tmp_path / f"{number:02}.txt").write_text(words, encoding="utf-8")
    own = {"kind": "text", "files": str(tmp_path / "*.txt")}
    read = run(tmp_path, {"kind": "masked_byte", "dataset": own, "parameters": {"length": 32}})
    assert read["train"].tokens.shape[1] == 32
    assert not set(read["train"].groups.tolist()) & set(read["test"].groups.tolist())


def test_a_users_own_labels_become_examples_and_the_summary_names_them(tmp_path):
    rows = "".join(f'"Review {n}, by {"abcde"[n % 5]}.",{("bad", "good")[n % 2]}\n' for n in range(60))
    (tmp_path / "mine.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    own = {"kind": "labelled", "files": str(tmp_path / "mine.csv")}
    task = {"kind": "classification", "dataset": own, "parameters": {"words": 70, "classes": 2}}
    read = run(tmp_path, task)
    names = read_json(tmp_path / "data/summary.json")["names"]
    assert names["answers"] == ["bad", "good"]
    test = read["test"]
    for row, length, target, group in zip(
        test.tokens, test.lengths, test.targets[test.scored], test.groups, strict=True
    ):
        words = [names["tokens"][token] for token in row[:length]]
        assert words[0] == words[-1] == "(edge)"
        assert group.split()[0] == words[1] == "review"
        assert names["answers"][target] == ("bad", "good")[int(group.split()[1]) % 2]


def test_numbers_that_stand_for_themselves_have_no_names(tmp_path):
    run(tmp_path)
    assert read_json(tmp_path / "data/summary.json")["names"] is None


def test_a_test_example_that_stands_in_train_is_left_out_of_train_and_counted(tmp_path, monkeypatch):
    class Repeats(RandomTokens):
        def splits(self, documents):
            splits = super().splits(documents)
            tokens = splits["train"].tokens.copy()
            tokens[3] = splits["test"].tokens[5]
            splits["train"].tokens[:] = tokens
            return splits

    monkeypatch.setattr(tasks, "build", lambda _: Repeats(vocabulary=50))
    read = run(tmp_path)
    assert read_json(tmp_path / "data/summary.json")["dropped_as_repeats"] == {"train": 1, "validation": 0, "test": 0}
    assert (len(read["train"]), len(read["test"])) == (63, 64)


def test_a_group_in_two_splits_stops_and_nothing_is_written(tmp_path, monkeypatch):
    class Shares(RandomTokens):
        def splits(self, documents):
            splits = super().splits(documents)
            splits["test"].groups[0] = splits["train"].groups[1]
            return splits

    monkeypatch.setattr(tasks, "build", lambda _: Shares(vocabulary=50))
    with pytest.raises(StudyError, match="1 groups stand in both train and test"):
        run(tmp_path)
    assert not (tmp_path / "data").exists()


def test_documents_go_to_the_task_as_they_were_read(tmp_path, monkeypatch):
    given = {split: [Document(split, "text")] for split in SPLITS}
    seen = []

    class Reads(RandomTokens):
        def splits(self, documents):
            seen.append(documents)
            return super().splits(documents)

    def documents(dataset, folder):
        assert (dataset, folder) == ("wikitext2", tmp_path / "raw")
        return given

    monkeypatch.setattr(tasks, "build", lambda _: Reads(vocabulary=50))
    monkeypatch.setattr(prepare, "documents", documents)
    run(tmp_path, HMM | {"dataset": "wikitext2"})
    assert seen == [given]


def test_missing_raw_data_is_one_line(tmp_path):
    with pytest.raises(StudyError) as raised:
        run(tmp_path, {"kind": "masked_byte", "dataset": "wikitext2", "parameters": {}})
    assert "\n" not in str(raised.value)
    assert "raw" in str(raised.value)
