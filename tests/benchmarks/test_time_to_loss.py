"""The smallest run, with another peer in the place of the one that is an extra."""

import pytest
from benchmarks.effort import Effort
from benchmarks.peers import torch_encoder

from benchmarks import time_to_loss
from maskstudy.data.documents import Document
from maskstudy.data.examples import write_examples
from maskstudy.tasks.next_byte import NextByte


@pytest.fixture
def results(tmp_path):
    documents = {name: [Document(name, f"{name}: " + "to be or not to be. " * 8)] for name in ("train", "validation")}
    for split, of_split in documents.items():
        write_examples(tmp_path / "data" / "next_byte" / f"{split}.parquet", NextByte(length=33).windows(of_split))
    return tmp_path


def test_the_first_run_that_reaches_the_loss_of_the_best_peer_counts(results, monkeypatch):
    monkeypatch.setattr(time_to_loss, "gpt2", torch_encoder)
    (table,) = time_to_loss.measure(Effort(smallest=True, results=results))
    peers = {name: row["nats"].median for name, row in table.rows.items() if name.startswith("GPT-2")}
    own = [(row["nats"].median, len(row)) for name, row in table.rows.items() if name.startswith("maskstudy")]
    choices = {name.partition(", Muon")[2]: row["nats"].median for name, row in table.rows.items() if "rates?" in name}
    assert len(peers) == len(choices) == 3
    chosen = min(choices, key=choices.__getitem__)
    assert all(name.endswith(chosen) for name in table.rows if name.startswith("maskstudy"))
    target = min(peers.values())
    assert f"{target:.4f} nats" in table.notes[0]
    for nats, columns in own:
        assert (nats <= target) == (columns == 3)  # the ratio stands where the loss was reached
    assert all(nats > target for nats, _ in own[:-1])


def test_windows_are_cut_out_of_those_that_were_prepared(results):
    effort = Effort(results=results)
    cut = time_to_loss._windows(effort, "train", 8)
    assert cut.shape[1] == 9
    text = "train: " + "to be or not to be. " * 8
    assert all(bytes(window.tolist()).decode() in text for window in cut)


def test_results_that_are_not_there_are_asked_for(tmp_path):
    with pytest.raises(SystemExit, match="not there; run the study first"):
        time_to_loss.measure(Effort(smallest=True, results=tmp_path))
