import pytest

from maskstudy.data.documents import Document
from maskstudy.data.tatoeba import sentences
from maskstudy.errors import StudyError


def table(*spanish):
    lines = [f"English {n}.\t{sentence}\tCC-BY #{n}" for n, sentence in enumerate(spanish)]
    return "\n".join([*lines, *(f"Filler.\tRelleno {n}.\tCC-BY" for n in range(20))]) + "\n"


def of(text):
    return [document for members in sentences(text).values() for document in members]


def test_a_sentence_that_translates_several_stands_once():
    assert [one.text for one in of(table("¿Qué?", "Sí.", "¿Qué?")) if "Relleno" not in one.text] == ["¿Qué?", "Sí."]


def test_sentences_that_differ_in_accents_case_or_punctuation_are_one_group():
    found = [document for document in of(table("¿Esta aqui?", "Está aquí.")) if "Relleno" not in document.text]
    assert {document.group for document in found} == {"esta aqui"}
    assert len(found) == 2


def test_line_ends_of_other_alphabets_and_quotes_are_text():
    text = table('"Uno\u2028dos" y \x85.')
    assert Document("uno dos y", '"Uno\u2028dos" y \x85.') in of(text)


def test_a_table_of_one_column_is_one_line():
    with pytest.raises(StudyError, match="line 2 has no second column") as raised:
        sentences("a\tb\tc\nwords alone\n")
    assert "\n" not in str(raised.value)
