from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from maskstudy import tasks
from maskstudy.data.documents import Document, Labelled, Pair
from maskstudy.spelling import HIDDEN, Asked, Speller, spelled
from maskstudy.tasks.accents import Accents
from maskstudy.tasks.classification import Classification
from maskstudy.tasks.final_byte import FinalByte
from maskstudy.tasks.masked_byte import MASK, MaskedByte
from maskstudy.tasks.next_byte import NextByte
from maskstudy.tasks.pronunciation import Pronunciation
from maskstudy.transcripts import words
from small_study import HMM, examples


def spell(tokens, vocabulary=12, dataset=None):
    return spelled(np.array(tokens, dtype=np.int16), SimpleNamespace(vocabulary=vocabulary, dataset=dataset))


def test_bytes_are_text_and_what_is_none_is_escaped():
    assert spell([*"Größe\n".encode()], 257, "text") == "Größe\n"
    assert spell([72, 0xC3, 105], 257, "text") == "H\\xc3i"
    assert spell([72, 256, 105], 258, "text") == "H<256>i"


def test_states_are_letters_as_long_as_there_are_any_and_then_numbers():
    assert spell([0, 1, 25], 26) == "ABZ"
    assert spell([0, 1, 26], 27) == "0 1 26"


def test_different_texts_of_states_are_spelled_differently():
    for vocabulary in (26, 200):
        texts = [spell(tokens, vocabulary) for tokens in np.random.default_rng(0).integers(0, vocabulary, (50, 3))]
        assert all(one != other for one, other in pairwise(sorted(texts)))


def test_what_is_hidden_is_an_empty_box():
    assert spelled(np.array([72, MASK, 105], dtype=np.int16), MaskedByte()) == f"H{HIDDEN}i"
    chain = tasks.build({"kind": "markov_masked", "parameters": {"symbols": 4}})
    assert spelled(np.array([0, chain.mask_token, 3], dtype=np.int16), chain) == f"A{HIDDEN}D"


def test_an_accent_is_asked_about_at_its_word():
    task = Accents(length=7, words=4, forms=2, least=2)
    documents = {split: [Document(split, "Esta casa está aquí. Allí está. ¿Ves esta casa?")] for split in ("train",)}
    named = task.names(documents)
    made = task.examples(documents["train"], task.lexicon(documents["train"]))
    example, position = (int(each) for each in np.argwhere(made.scored)[1])
    asked = Speller(task, named).asked(made, example, position)
    assert (asked.place, asked.truth) == ("esta", "está")
    assert asked.before == "(edge) esta casa "
    assert asked.after.startswith(" aqui")
    assert "(padding)" not in asked.before + asked.after


def test_a_class_is_asked_about_at_the_end():
    task = Classification(length=8, words=10, classes=2)
    documents = {
        split: [Labelled(split, "¿Qué hora es?", "NUM"), Labelled(split, "who?", "HUM")] for split in ("train",)
    }
    made = task.splits(documents)["train"]
    asked = Speller(task, task.names(documents)).asked(made, 0, int(made.scored[0].argmax()))
    assert (asked.place, asked.after, asked.truth) == ("(edge)", "", "NUM")
    assert asked.before.endswith("? ")


def test_a_hidden_byte_is_asked_about_where_it_stood():
    made = examples([[*b"ca", MASK, *b"al"]], targets=[[-100, -100, 0xC3, -100, -100]])
    assert Speller(MaskedByte(length=5)).asked(made, 0, 2) == Asked("ca", HIDDEN, "al", "\\xc3")


def test_the_next_byte_is_asked_about_behind_the_position_and_does_not_stand_in_the_question():
    made = NextByte(length=5).windows([Document("a", "señor")])
    assert Speller(NextByte(length=5)).asked(made, 0, 1) == Asked("se", HIDDEN, "\\xb1o", "\\xc3")
    assert Speller(NextByte(length=5)).asked(made, 0, 3) == Asked("señ", HIDDEN, "", "o")


def test_the_byte_after_a_window_is_asked_about_behind_it():
    made = FinalByte(length=4).windows([Document("a", "Look before")])
    assert Speller(FinalByte(length=4)).asked(made, 0, 3) == Asked("Look", HIDDEN, "", " ")


def test_a_word_is_asked_about_with_all_its_pronunciations():
    task = Pronunciation(length=9, letters=4, phonemes=5)
    pairs = [Pair("at", "at", "AE T"), Pair("at", "at", "AH T")]
    speller = Speller(task, task.names({"train": pairs}))
    (word,) = words(task.examples(pairs, speller.names))
    assert speller.asked_whole(word) == Asked("", "at", "", "AE T / AH T")
    assert speller.written([0, 2]) == "AE T"


@pytest.mark.parametrize("kind", ["hmm", "numbers"])
def test_the_parts_of_a_question_put_together_are_the_example(kind):
    parameters = HMM["parameters"] | ({} if kind == "hmm" else {"symbols": 30})
    task = tasks.build(HMM | {"parameters": parameters})
    test = task.splits(None)["test"]
    asked = Speller(task).asked(test, 3, 2)
    assert asked.before + asked.place + asked.after == spelled(test.tokens[3], task)
