import pytest

from fake_results import FakeTask, write
from maskstudy.figures import samples, style
from maskstudy.figures.results import Results, Settings
from maskstudy.figures.samples import fitting, levelled, shortened

TASKS = {
    "accents": FakeTask(masks=("causal", "lookahead-1", "full")),
    "tagging": FakeTask(dataset=None),
    "next_byte": FakeTask(masks=("causal",), controls=("full",)),
    "pronunciation": FakeTask(masks=("causal", "prefix", "encoder-decoder"), written=True),
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    return Results(folder, Settings.of(write(folder, TASKS, seeds=5)))


@pytest.fixture(scope="module")
def data(shown):
    return samples.data(shown)


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_real_tasks_with_two_masks_are_drawn_and_no_others(data):
    assert list(dict.fromkeys(data["task"])) == ["accents", "pronunciation"]


def test_two_questions_are_spread_evenly_and_two_are_of_each_order_of_the_first_and_last_mask(data):
    for task, last in (("accents", "full"), ("pronunciation", "encoder-decoder")):
        rows = data.filter(task=task)
        questions = rows.unique("example", keep="first", maintain_order=True)
        assert questions["chosen"].to_list() == ["spread"] * 2 + ["ahead"] * 4
        assert questions["mask_a"].to_list()[2:] == ["causal"] * 2 + [last] * 2
        assert questions["mask_b"].to_list()[2:] == [last] * 2 + ["causal"] * 2
        assert len(rows) == 6 * 3  # under every mask, those between the ends too


def test_the_commonest_answer_stands_with_its_seeds_and_a_filled_point_says_that_it_is_right(data):
    figure = samples.draw(data)
    answers = [words for words in words(figure) if words.endswith("/5")]
    assert len(answers) == len(data)
    assert answers == [f"{agreeing}/{seeds}" for agreeing, seeds in data.select("agreeing", "seeds").iter_rows()]
    points = [line for line in figure.axes[0].lines if line.get_marker() == "o"][: len(data)]
    filled = [point.get_markerfacecolor() != "white" for point in points]
    assert filled == (2 * data["right"] > data["seeds"]).to_list()


def test_one_of_several_right_answers_is_right(data):
    row = data.filter(task="pronunciation", right=5).row(0, named=True)
    assert " / " in row["truth"]
    assert samples._is_right(row)
    assert not samples._is_right(row | {"answer": "K AE N"})


def test_nothing_is_taken_for_a_formula_and_spaces_are_seen(data):
    figure = samples.draw(data)
    assert not any(text.get_parse_math() for text in figure.axes[0].texts if "$" in text.get_text())
    assert {"␣", "\\\\xc3", "$x$"} & set(words(figure))
    assert samples._answer("  ") == "␣␣"
    assert samples._answer("\n") == "↵"


def test_a_study_without_real_data_says_so(shown):
    figure = samples.draw(samples.data(shown).clear())
    assert words(figure) == ["No task of this study has real data and two masks to compare."]


@pytest.mark.parametrize("room", [8, 20, 45, 200])
def test_a_question_is_cut_far_from_its_place(room):
    before, place, after = "the quick brown fox ", "jumps", " over the lazy dog"
    left, middle, right = fitting(before, place, after, room)
    assert middle == place
    assert len(left + middle + right) <= max(room, len(place) + 2)
    assert before.endswith(left.removeprefix("…"))
    assert after.startswith(right.removesuffix("…"))
    assert (left == before) == (not left.startswith("…"))


def test_the_widest_columns_give_way():
    assert levelled([1.0, 2.0], 4.0) == [1.0, 2.0]
    assert sum(levelled([3.0, 1.0, 9.0, 9.0], 8.0)) == pytest.approx(8.0)
    assert min(levelled([3.0, 1.0, 9.0, 9.0], 8.0)) == 1.0


def test_an_answer_is_cut_to_its_column():
    assert shortened("$x$", 1) == "$x$"
    cut = shortened("K AE N D AH D", 0.5)
    assert cut.endswith("…")
    assert style.text_width(cut) <= 0.5
