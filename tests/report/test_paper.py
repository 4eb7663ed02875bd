import json
import re
from dataclasses import replace

import pytest
import typst

from fake_results import FakeTask, write
from maskstudy import figures
from maskstudy.errors import StudyError
from maskstudy.figures import style
from maskstudy.figures.results import Results, Settings
from maskstudy.report import paper, statements
from maskstudy.report.statements import number
from maskstudy.report.tables import applying


@pytest.fixture(scope="module")
def tables(results):
    return applying(results)


@pytest.fixture(scope="module")
def document(results, tables):
    return paper.collect(results.settings, tables, figures.names())


@pytest.fixture(scope="module")
def drawings(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    for name in figures.names():
        module = figures.named(name)
        style.save(module.draw(module.data(results)), folder / name)
    return folder


def headings(document, tmp_path, selector="heading"):
    """What the template makes of a document, found by a Typst selector."""
    (tmp_path / "paper.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "paper.typ").write_text(paper.TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    return json.loads(typst.query(str(tmp_path / "paper.typ"), selector, ignore_system_fonts=True))


def test_equal_documents_give_equal_bytes(document, drawings):
    first = paper.compile_pdf(document, drawings)
    assert first == paper.compile_pdf(json.loads(json.dumps(document)), drawings)
    assert first != paper.compile_pdf({**document, "seeds": "11"}, drawings)
    assert b"/CreationDate" not in first


def test_the_template_holds_no_number():
    style_part, _, text = paper.TEMPLATE.read_text(encoding="utf-8").partition("// --- text ---")
    assert "#set page" in style_part
    assert len(text.split()) > 500
    assert not re.findall(r"\d", text)
    assert not re.findall(r"\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) (tasks|seeds|cells)\b", text)


def test_the_paper_says_all_that_has_to_be_said(document):
    said = json.dumps(document, ensure_ascii=False)
    assert statements.NOT_SUPERIOR in said
    assert "first of all about information" in said
    assert "not learned: poor (causal −0.03" in said
    assert "loses to its baseline" in said
    assert "The answer leaks in next_byte under full, on purpose" in said
    assert [row["task"] for group in document["answer"] for row in group["findings"]] == [
        "hmm_tagging",
        "hmm_tagging",
        "masked_byte",
    ]


def test_every_cell_has_a_row_and_declared_comparisons_stand_apart(document, results):
    assert len(document["results"]) == len(results.settings.cells)
    assert [row["task"] for row in document["comparisons"]["declared"]] == ["hmm_tagging"] * 2 + ["masked_byte"]
    assert len(document["comparisons"]["exploratory"]) == 2 * (10 + 1 + 1 + 1) - 3
    for row in document["results"]:
        assert len(row["values"]) == 8
    controls = [row for row in document["results"] if row["mask"].endswith("(control)")]
    assert [(row["task"], row["colour"]) for row in controls] == [("next_byte", style.CONTROL)]


def test_cells_that_were_given_the_same_share_a_row_of_cost(document):
    hmm = [row for row in document["cost"] if row["task"] == "hmm_tagging"]
    assert [row["masks"] for row in hmm] == ["causal, lookahead-1, lookahead-2, lookahead-4, full"]
    assert hmm[0]["seconds"].startswith("11.")


def test_scores_on_the_final_bytes_stand_beside_what_was_given(document, drawings, tmp_path):
    supervision = document["supervision"]
    assert [(row["task"], row["mask"]) for row in supervision["rows"]] == [
        ("next_byte", "causal"),  # its control sees the final byte, and is left out
        ("final_byte", "causal"),
        ("final_byte", "full"),
    ]
    every, final, _ = supervision["rows"]
    assert every["tokens"] == final["tokens"]
    assert (every["targets"], final["targets"]) == (statements.count(400 * 64 * 30), statements.count(400 * 64))
    assert all(len(row["values"]) == 4 for row in supervision["rows"])
    assert supervision["baseline"] == {"accuracy": "0.300", "nats": "1.820"}
    for path in drawings.glob("*.svg"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with_it, without = (
        json.dumps(headings({**document, "supervision": value}, tmp_path)) for value in (supervision, None)
    )
    assert "apart from the amount of supervision" in with_it
    assert "apart from the amount of supervision" not in without


def test_swaps_and_layers_are_exploratory_sections_of_their_own(document, drawings, tmp_path):
    swaps, layers = document["swaps"], document["representations"]
    assert len(swaps["rows"]) == 5 * 4 + 4 * 2
    assert all(len(row["values"]) == 8 for row in swaps["rows"])
    leaks = [(row["task"], row["mask"], row["tested"]) for row in swaps["rows"] if row["leaks"]]
    assert leaks == [("next_byte", "causal", "full")]
    assert {row["colour"] for row in swaps["rows"] if row["mask"] == "full (control)"} == {style.CONTROL}
    assert len(layers["rows"]) == len(document["results"])
    assert all(len(row["values"]) == 10 for row in layers["rows"])
    for path in drawings.glob("*.svg"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with_both = json.dumps(headings(document, tmp_path))
    without = json.dumps(headings({**document, "swaps": None, "representations": None}, tmp_path))
    for title in ("A mask swapped at test time", "What the layers hold"):
        assert title in with_both
        assert title not in without


def test_a_cell_shows_its_last_layer_and_its_likeness_to_the_first_mask(document, tables):
    table = tables["representations"]
    last = table.filter(task="hmm_tagging", layer=2)
    rows = {row["mask"]: row["values"] for row in document["representations"]["rows"] if row["task"] == "hmm_tagging"}
    assert rows["causal"][-2:] == ["", ""]
    for mask in ("lookahead-1", "full"):
        for place, weights in enumerate(("trained", "random")):
            position = last.filter(weights=weights, mask=mask, measure="position")
            alike = last.filter(weights=weights, mask="causal", other_mask=mask)
            expected = [number(rows["mean"].item(), 2) for rows in (position, alike)]
            assert [rows[mask][place], rows[mask][8 + place]] == expected


def test_models_without_positions_get_a_sentence(results, tables):
    settings = replace(results.settings, unordered=("masked_byte",))
    said = paper.collect(settings, tables, [])["representations"]["unordered"]
    assert said.startswith("The models of masked_byte are told no positions.")
    last = tables["representations"].filter(task="masked_byte", layer=2, measure="position")
    for mask in ("causal", "full"):
        trained, random = (
            number(last.filter(mask=mask, weights=weights)["mean"].item(), 2) for weights in ("trained", "random")
        )
        assert f"{trained} under {mask} (random weights: {random})" in said


def test_masks_are_told_in_words():
    told = {row["mask"]: row["words"] for row in paper._masks(["window-3", "lookahead-1", "lookahead-8"])}
    assert list(told) == ["lookahead-1", "lookahead-8", "window-3"]
    assert "exactly one token of the future" in told["lookahead-1"]
    assert "exactly 8 tokens of the future" in told["lookahead-8"]
    assert told["window-3"] == paper.OWN_MASK


def test_an_exploratory_paper_says_so_first(document, drawings, tmp_path):
    for path in drawings.glob("*.svg"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert headings(document, tmp_path, "<exploratory>") == []
    quick = {**document, "confirmatory": False, "answer": []}
    (notice,) = headings(quick, tmp_path, "<exploratory>")
    assert "nothing below" in json.dumps(notice)
    assert len(headings(quick, tmp_path)) == len(headings(document, tmp_path))


def test_the_paper_is_whole_without_figures_and_with_one_of_the_users_own(document, drawings, tmp_path):
    for path in drawings.glob("*.svg"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "own.svg").write_bytes((drawings / "seeds.svg").read_bytes())
    with_all = headings(document, tmp_path, "figure")
    none = headings({**document, "figures": []}, tmp_path, "figure")
    own = [*document["figures"], {"name": "own", "title": "Own", "caption": "A figure of the user's own."}]
    assert len(with_all) == len(none) + len(figures.names())
    assert len(headings({**document, "figures": own}, tmp_path, "figure")) == len(with_all) + 1


def test_words_of_the_user_are_no_markup(document, drawings):
    odd = {**document, "questions": [{"task": "a_b*c#d", "question": "_what_ is $x$ #here <tag> @name?"}]}
    assert paper.compile_pdf(odd, drawings).startswith(b"%PDF")


def test_written_answers_have_a_table_of_their_own_and_published_results_stand_beside_them(tmp_path):
    task = FakeTask(
        masks=("causal", "encoder-decoder"), written=True, declared=(("wer", "encoder-decoder", "causal", 0.01),)
    )
    settings = write(tmp_path, {"pronunciation": task, "masked_byte": FakeTask()}, seeds=8)
    found = {"pronunciation": [{"method": "by hand", "per": 0.05, "wer": 0.2, "source": "S. 2001", "differs": "all"}]}
    results = Results(tmp_path, Settings.of({**settings, "published": found}))
    made = applying(results)
    document = paper.collect(results.settings, made, [])
    assert [(row["task"], row["mask"]) for row in document["written"]] == [
        ("pronunciation", "causal"),
        ("pronunciation", "encoder-decoder"),
    ]
    for row in document["written"]:
        for place, metric in ((0, "per"), (4, "wer")):
            mean = made["metrics"].filter(task=row["task"], mask=row["mask"], metric=metric)["mean"].item()
            assert row["values"][place] == number(mean)
    assert len(document["results"]) == 4
    assert all(row["values"][2] == "" for row in document["results"] if row["task"] == "pronunciation")
    assert document["published"] == [
        {
            "task": "pronunciation",
            "method": "by hand",
            "per": "0.0500",
            "wer": "0.2000",
            "source": "S. 2001",
            "differs": "all",
        }
    ]
    assert "in word error rate" in json.dumps(document["answer"])
    shown_scores = made["decoding"].select("mask", "greedy_per", "beam_per", "greedy_wer", "beam_wer")
    for row, (mask, *shown) in zip(document["decoding"]["rows"], shown_scores.iter_rows(), strict=True):
        assert row["mask"] == mask
        assert row["values"] == [number(value) for value in shown]
        assert row["difference"] == "3.2 × 10⁻⁶"  # of the last seed, the largest
    assert paper.compile_pdf(document, tmp_path).startswith(b"%PDF")
    assert (
        len(headings(document, tmp_path, "figure"))
        == len(headings({**document, "written": [], "published": []}, tmp_path, "figure")) + 2
    )


def test_a_missing_drawing_is_named(document, tmp_path):
    with pytest.raises(StudyError, match=r"access_grids\.svg: no such file; draw it first"):
        paper.compile_pdf(document, tmp_path)


def test_a_study_without_comparisons_or_ceilings_has_a_paper(results, tables, drawings):
    cell = results.settings.cells[-1]
    few = {
        **{name: tables[name].filter(task=cell.task) for name in ("metrics", "cost", "audit")},
        **{name: tables[name].clear() for name in ("comparisons", "tuning")},
    }
    document = paper.collect(replace(results.settings, cells=(cell,)), few, [])
    assert document["answer"] == []
    assert document["supervision"] is document["swaps"] is document["representations"] is None
    assert paper.compile_pdf(document, drawings).startswith(b"%PDF")


def test_what_models_write_stands_beside_true_text_with_a_control_named_as_one(document):
    (row,) = {text["task"]: text for text in document["texts"]}.values()
    assert row["task"] == "next_byte"
    assert [one["mask"] for one in row["written"]] == ["true text", "causal", "full (control)"]
    assert all("\n" not in one["text"] and len(one["text"]) < 200 for one in row["written"])
