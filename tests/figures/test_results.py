import json

import pytest

from maskstudy.errors import StudyError
from maskstudy.figures.results import Results, Settings, verdict_words
from maskstudy.files import read_json

CELL = {"task": "t", "mask": "m", "role": "study", "seeds": [0, 1]}
SETTINGS = {"cells": [CELL], "confirmatory": True}


def test_settings_are_read_with_what_the_config_says_beside_them():
    given = {"statistics": {"alpha": 0.01, "confidence": 0.9, "resamples": 7}, "figures": ["seeds"], "other": 1}
    settings = Settings.of(SETTINGS | given)
    assert (settings.alpha, settings.confidence, settings.resamples, settings.figures) == (0.01, 0.9, 7, ("seeds",))
    plain = Settings.of(SETTINGS)
    assert (plain.alpha, plain.confidence, plain.figures, plain.tasks) == (0.05, 0.95, None, ["t"])


@pytest.mark.parametrize("cells", [[], [CELL, CELL | {"seeds": []}]])
def test_a_study_of_nothing_is_refused(cells):
    with pytest.raises(StudyError, match="no cells or no seeds"):
        Settings.of(SETTINGS | {"cells": cells})


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ({"t": 1}, "1 seed a cell"),
        ({"t": 10, "u": 10}, "10 seeds a cell"),
        ({"t": 10, "u": 5, "v": 10, "w": 3}, "10 seeds a cell (5 in u, 3 in w)"),
    ],
)
def test_the_number_of_seeds_in_words(seeds, words):
    cells = [CELL | {"task": task, "seeds": list(range(number))} for task, number in seeds.items()]
    settings = Settings.of(SETTINGS | {"cells": cells})
    assert settings.seeds == seeds
    assert settings.seeds_of_a_cell == words


def test_tables_are_read_only_when_they_are_needed(tmp_path):
    results = Results(tmp_path, Settings.of(SETTINGS))
    with pytest.raises(StudyError, match=r"metrics\.parquet: no such file"):
        _ = results.metrics


def test_rows_are_those_of_the_config_in_its_order(results):
    cells = [(cell.task, cell.mask) for cell in results.settings.cells]
    settings = Settings.of(
        {
            "cells": [
                {"task": task, "mask": mask, "role": "study", "seeds": [2, 0]} for task, mask in reversed(cells[1:])
            ],
            "confirmatory": True,
        }
    )
    part = Results(results.folder, settings)
    for table in (part.metrics, part.timing, part.audit):
        assert list(dict.fromkeys(zip(table["task"], table["mask"], strict=True))) == cells[:0:-1]
    assert set(part.metrics["seed"]) == {0, 2}
    assert set(part.history["seed"]) == {0, 2}
    assert not {cells[0][1]} & set(part.comparisons["mask_a"]) - {mask for _, mask in cells[1:]}
    hmm = part.comparisons.filter(task="hmm_tagging")
    assert "causal" not in set(hmm["mask_a"]) | set(hmm["mask_b"])


def test_a_run_that_is_missing_is_named(results):
    settings = Settings.of(
        {"cells": [CELL | {"task": "masked_byte", "mask": "full", "seeds": [0, 77]}], "confirmatory": True}
    )
    with pytest.raises(StudyError, match="no row for masked_byte, full, seed 77"):
        _ = Results(results.folder, settings).metrics


def test_comparisons_keep_their_meaning_when_they_are_turned(studies):
    results = studies("controls and own masks")
    values = {}
    for path in results.folder.glob("runs/*/*/*/metrics.json"):
        run = read_json(path)
        for metric, value in run["metrics"].items():
            values.setdefault((run["task"], run["mask"], metric), {})[run["seed"]] = value
    order = {(cell.task, cell.mask): place for place, cell in enumerate(results.settings.cells)}
    table = results.comparisons
    assert len(table) == 2 * (10 + 10 + 1)  # pairs of masks, two metrics
    assert table["declared"].to_list() == sorted(table["declared"], reverse=True)
    for row in table.iter_rows(named=True):
        a, b = (values[row["task"], row[mask], row["metric"]] for mask in ("mask_a", "mask_b"))
        assert row["effect"] == pytest.approx(sum(a[seed] - b[seed] for seed in a) / len(a))
        assert row["low"] <= row["effect"] <= row["high"]
        assert row["declared"] or order[row["task"], row["mask_a"]] > order[row["task"], row["mask_b"]]
        if row["verdict"] in ("a", "b"):
            assert (row["verdict"] == "a") == ((row["effect"] > 0) == (row["metric"] == "accuracy"))


def test_both_turned_verdicts_occur(studies):
    verdicts = studies("controls and own masks").comparisons
    assert {"a", "b"} <= set(verdicts.filter(declared=False)["verdict"])


def test_one_seed_has_no_interval(results):
    assert results.mean_interval([0.25]) == (0.25, None, None)
    mean, low, high = results.mean_interval([0.1, 0.2, 0.4])
    assert low < mean < high


def test_groups_keep_their_order_and_have_the_interval_of_their_values(results):
    table = results.metrics.filter(metric="nats").reverse()
    means = results.mean_intervals(table, ["task", "mask"])
    cells = [(cell.task, cell.mask) for cell in results.settings.cells]
    assert means.columns == ["task", "mask", "mean", "low", "high"]
    assert list(means.select("task", "mask").iter_rows()) == cells[::-1]
    for task, mask, *interval in means.iter_rows():
        assert tuple(interval) == results.mean_interval(table.filter(task=task, mask=mask)["value"])
    assert results.mean_intervals(table.clear(), ["task", "mask"]).columns == means.columns


def test_verdicts_in_words():
    words = [verdict_words(verdict, "full", "causal") for verdict in ("a", "b", "equivalent", "inconclusive")]
    assert words == ["full better", "causal better", "equivalent", "inconclusive"]


def test_settings_survive_the_command_line():
    assert Settings.of(json.loads(json.dumps(SETTINGS))) == Settings.of(SETTINGS)
