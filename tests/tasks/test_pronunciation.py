import doctest

import numpy as np
import pytest

from maskstudy.audit import find_leak, scored_access_digest
from maskstudy.data.documents import Pair
from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.errors import StudyError
from maskstudy.tasks import pronunciation, published
from maskstudy.tasks.pronunciation import Pronunciation
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Named, Task, Written
from maskstudy.transcripts import transcripts
from maskstudy.transcripts import words as of_examples

FAMILIES = ("causal", "prefix", "encoder-decoder")
TRAIN = [Pair("ab", "ab", "A B"), Pair("b", "b", "B"), Pair("b", "b", "B A")]
GIVEN = {"train": TRAIN, "validation": [Pair("ba", "ba", "B A")], "test": [Pair("c'", "c'", "B C")]}
SMALL = {"length": 7, "letters": 5, "phonemes": 4}


def words(count):
    generator = np.random.default_rng(0)
    found = {"".join(generator.choice(list("abc"), generator.integers(1, 5))) for _ in range(count)}
    return [Pair(word, word, " ".join(word.upper())) for word in sorted(found)]


def test_the_worked_example():
    result = doctest.testmod(pronunciation)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = Pronunciation()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (71, 40, 58, "pairs", False)
    assert isinstance(task, Named)


def test_alignment_by_hand():
    no, nowhere = NOT_SCORED, NOWHERE
    task = Pronunciation(**SMALL)
    assert task.names(GIVEN) == {
        "answers": ["A", "B", "C", "", "(end)"],
        "tokens": ["A", "B", "C", "", "(end)", "'", "a", "b", "c", "", "(separator)", "(padding)"],
    }
    splits = task.splits(GIVEN)
    assert splits["train"].tokens.tolist() == [
        [6, 7, 10, 0, 1, 11, 11],
        [7, 10, 1, 11, 11, 11, 11],
        [7, 10, 1, 0, 11, 11, 11],
    ]
    assert splits["train"].targets.tolist() == [
        [no, no, 0, 1, 4, no, no],
        [no, 1, 4, no, no, no, no],
        [no, 1, 0, 4, no, no, no],
    ]
    assert splits["train"].target_positions[0].tolist() == [nowhere, nowhere, 3, 4, nowhere, nowhere, nowhere]
    assert splits["train"].lengths.tolist() == [5, 3, 4]
    assert splits["train"].condition_lengths.tolist() == [2, 1, 1]
    assert splits["train"].groups.tolist() == ["ab", "b", "b"]
    assert splits["test"].tokens.tolist() == [[8, 5, 10, 1, 2, 11, 11]]


def test_every_answer_that_stands_in_the_input_stands_at_its_target_position():
    task = Pronunciation(length=10, letters=3, phonemes=3)
    examples = task.splits({split: words(40) for split in ("train", "validation", "test")})["test"]
    rows, positions = np.nonzero(examples.target_positions != NOWHERE)
    standing = examples.tokens[rows, examples.target_positions[rows, positions]]
    assert (standing == examples.targets[rows, positions]).all()
    last = examples.lengths - 1
    assert (examples.targets[np.arange(len(examples)), last] == task.end).all()
    assert (examples.target_positions[np.arange(len(examples)), last] == NOWHERE).all()
    assert (examples.scored.sum(1) == examples.lengths - examples.condition_lengths).all()


def test_no_family_sees_its_answers_and_all_of_them_see_the_same():
    examples = Pronunciation(**SMALL).splits(GIVEN)["train"]
    for layers in (2, 3):
        for mask in FAMILIES:
            assert find_leak(mask, layers, examples) is None
        assert len({scored_access_digest(mask, layers, examples) for mask in FAMILIES}) == 1
    assert find_leak("full", 2, examples) is not None


def test_a_limit_keeps_whole_words_spread_evenly():
    pairs = [Pair(word, word, target) for word in "abcdef" for target in ("A", "B")]
    task = Pronunciation(length=4, letters=6, phonemes=2, test_words=3)
    test = task.splits(dict.fromkeys(("train", "validation", "test"), pairs))["test"]
    assert test.groups.tolist() == ["a", "a", "c", "c", "e", "e"]


def test_the_splits_of_a_dictionary_pass_the_overlap_check_and_a_shared_word_does_not():
    found = words(60)
    task = Pronunciation(length=10, letters=3, phonemes=3)
    given = {"train": found[:-8], "validation": found[-8:-4], "test": found[-4:]}
    splits, dropped = without_repeats(task.splits(given))
    check_disjoint(splits)
    assert not any(dropped.values())
    other = Pair(found[0].group, found[0].source, "A A")
    with pytest.raises(StudyError, match="1 groups stand in both train and test"):
        check_disjoint(task.splits({**given, "test": [*given["test"], other]}))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length": 3}, "pronunciation: length: 3; allowed: whole numbers from 4"),
        ({"letters": 0}, "pronunciation: letters: 0"),
        ({"phonemes": 1.5}, "pronunciation: phonemes: 1.5"),
        ({"test_words": 0}, "pronunciation: test_words: 0; allowed: whole numbers from 1, or null for all"),
    ],
)
def test_a_parameter_out_of_range_is_one_line(parameters, message):
    with pytest.raises(StudyError, match=message):
        Pronunciation(**parameters)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"letters": 3}, "letters: 3, but the data has 4 different ones; raise it"),
        ({"phonemes": 2}, "phonemes: 2, but the data has 3 different ones; raise it"),
        ({"length": 5}, "length: 5, but a pair has 6 tokens, the end included; raise it"),
    ],
)
def test_data_that_does_not_fit_is_one_line(changed, message):
    with pytest.raises(StudyError, match=message):
        Pronunciation(**{**SMALL, **changed}).splits(GIVEN)


def test_a_split_without_pairs_is_one_line():
    with pytest.raises(StudyError, match="pronunciation: no pair in validation"):
        Pronunciation(**SMALL).splits({**GIVEN, "validation": []})


# --- what is written --------------------------------------------------------------------------------------------------


def test_the_baseline_learns_a_regular_spelling():
    """Every letter sounds as itself: the joint n-gram must find that out, also for words that it has never seen."""
    assert isinstance(Pronunciation(), Written)
    task = Pronunciation(length=11, letters=3, phonemes=3)
    found = words(100)
    splits = task.splits({"train": found[::2], "validation": found[1::4], "test": found[3::4]})
    assert task.baseline("causal", splits["train"], splits["test"]) is None
    of_words = of_examples(splits["test"])
    written = task.written_baseline(splits["train"], splits["test"])
    assert transcripts(of_words, written).metrics() == {"per": 0.0, "wer": 0.0}


def test_published_results_belong_to_the_dictionary_alone():
    kind = {"kind": "pronunciation", "parameters": {}}
    assert {row["method"] for row in published(kind | {"dataset": "cmudict"})} == {
        "joint n-gram",
        "bidirectional LSTM on alignments",
    }
    assert published(kind | {"dataset": {"kind": "pairs", "files": "a.tsv"}}) == []
    assert published({"kind": "hmm_tagging", "dataset": None}) == []
