import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskstudy.data import own
from maskstudy.data.documents import Labelled, Pair, Tagged
from maskstudy.errors import StudyError

NUMBERS = range(20)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return {"files": str(path)}


def everything(splits):
    assert list(splits) == ["train", "validation", "test"]
    return [document for members in splits.values() for document in members]


def message_of(read, settings):
    with pytest.raises(StudyError) as raised:
        read(settings)
    message = str(raised.value)
    assert "\n" not in message
    return message


# --- labelled ---------------------------------------------------------------------------------------------------------

ROWS = [("Good, and short.", "yes"), ('She said "no"\nand left.', "no"), *((f"Text {n}.", f"{n % 2}") for n in NUMBERS)]


def csv_of(rows, header="text,label"):
    quoted = ('"' + text.replace('"', '""') + '",' + label for text, label in rows)
    return "\n".join([header, *quoted]) + "\n"


def test_csv_with_commas_quotes_and_line_ends_in_its_texts(tmp_path):
    found = everything(own.labelled(write(tmp_path, "a.csv", "\ufeff" + csv_of(ROWS))))
    assert {(one.text, one.label) for one in found} == set(ROWS)
    assert Labelled("good and short", "Good, and short.", "yes") in found


def test_parquet_with_numbers_as_labels_and_other_columns(tmp_path):
    columns = {"other": [None] * 22, "stars": list(range(22)), "review": [text for text, _ in ROWS]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    settings = {"files": str(tmp_path / "a.parquet"), "text": "review", "label": "stars"}
    found = everything(own.labelled(settings))
    assert {(one.text, one.label) for one in found} == {(text, str(n)) for n, (text, _) in enumerate(ROWS)}


def test_columns_have_the_names_that_the_dataset_gives_them(tmp_path):
    settings = write(tmp_path, "a.csv", csv_of(ROWS, "what,which")) | {"text": "what", "label": "which"}
    assert {(one.text, one.label) for one in everything(own.labelled(settings))} == set(ROWS)


def test_several_files_are_one_dataset_and_texts_that_are_alike_stay_together(tmp_path):
    write(tmp_path, "a.csv", csv_of(ROWS))
    write(tmp_path, "b.csv", csv_of([("TEXT 7", "x"), ("text: 7!", "y")]))
    splits = own.labelled({"files": str(tmp_path / "*.csv")})
    assert len(everything(splits)) == len(ROWS) + 2
    homes = [split for split, members in splits.items() for one in members if one.group == "text 7"]
    assert len(homes) == 3
    assert len(set(homes)) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (csv_of(ROWS, "words,label"), ["no column 'text'", "'words', 'label'", "`text`"]),
        (csv_of(ROWS, "text,class"), ["no column 'label'", "`label`"]),
        ("", ["no column 'text'", "none"]),
        ("text,label\n", ["0 different examples"]),
        ("text,label\na,b,c\n", ["row 1", "not as many values", "quotes"]),
        ("text,label\nok,1\nalone\n", ["row 2", "not as many values"]),
        ('text,label\nok,1\n"unclosed,2\n', ["line", "not CSV"]),
        (csv_of([*ROWS, ("words", " ")]), ["row 23", "label is empty"]),
        (csv_of([(" ", "1"), *ROWS]), ["row 1", "text is empty"]),
        (csv_of(ROWS).encode() + b"caf\xe9,1\n", ["not UTF-8 text (byte"]),
    ],
)
def test_what_is_no_labelled_csv_is_one_line_that_says_why(tmp_path, content, said):
    message = message_of(own.labelled, write(tmp_path, "mine.csv", content))
    assert "mine.csv" in message
    for part in said:
        assert part in message


def test_parquet_mistakes_are_one_line_too(tmp_path):
    settings = {"files": str(tmp_path / "a.parquet")}
    (tmp_path / "a.parquet").write_bytes(b"text,label\n")
    assert "not parquet" in message_of(own.labelled, settings)
    pq.write_table(pa.table({"text": ["a"], "name": ["b"]}), tmp_path / "a.parquet")
    assert "no column 'label'" in message_of(own.labelled, settings)
    pq.write_table(pa.table({"text": ["a", "b"], "label": ["b", None]}), tmp_path / "a.parquet")
    assert "row 2: label is empty" in message_of(own.labelled, settings)


# --- tagged -----------------------------------------------------------------------------------------------------------


def line(number, word, upos="NOUN", xpos="NN", deprel="root"):
    return f"{number}\t{word}\t_\t{upos}\t{xpos}\t_\t0\t{deprel}\t_\t_"


FILLER = "\n\n".join(line(1, f"word{n}") for n in NUMBERS)
SENTENCE = "\n".join(
    [
        "# text = Vámonos ya",
        "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_",
        line(1, "Vamos", "VERB", "v", "root"),
        line(2, "nos", "PRON", "p", "obj"),
        "2.1\tgone\t_\tVERB\t_\t_\t_\t_\t_\t_",
        line(3, "ya", "ADV", "a", "advmod"),
    ]
)


@pytest.mark.parametrize(
    ("tag", "tags"),
    [
        ({}, ("VERB", "PRON", "ADV")),
        ({"tag": "xpos"}, ("v", "p", "a")),
        ({"tag": "deprel"}, ("root", "obj", "advmod")),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_words_and_tags_of_a_sentence_without_comments_multiword_tokens_and_empty_nodes(tmp_path, tag, tags, end):
    settings = write(tmp_path, "a.conllu", f"{FILLER}\n\n{SENTENCE}{end}") | tag
    found = everything(own.tagged(settings))
    assert len(found) == 21
    assert Tagged("vamos nos ya", ("Vamos", "nos", "ya"), tags) in found


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1\tword\tNOUN\n", ["line 1: 3 columns; CoNLL-U has 10"]),
        (f"{FILLER}\n\n{line(1, 'a', '_')}", ["line 41", "column 4", "`tag`"]),
        (f"{FILLER}\n\n{line(1, '')}", ["line 41", "no word"]),
        ("# nothing\n", ["0 different examples"]),
        (FILLER.encode() + b"\xe9", ["not UTF-8 text"]),
    ],
)
def test_what_is_no_conllu_is_one_line_that_says_why(tmp_path, content, said):
    message = message_of(own.tagged, write(tmp_path, "mine.conllu", content))
    assert "mine.conllu" in message
    for part in said:
        assert part in message


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_pairs_are_lines_and_all_of_one_source_stay_together(tmp_path):
    lines = "".join(f"word{n}\tW {n}\n" for n in NUMBERS)
    splits = own.pairs(write(tmp_path, "a.tsv", f"\ufeff{lines}\n\r\nRead\tR IY D\r\nread\tR EH D"))
    found = everything(splits)
    assert len(found) == 22
    assert Pair("read", "Read", "R IY D") in found
    assert sorted(sum(one.group == "read" for one in members) for members in splits.values()) == [0, 0, 2]


@pytest.mark.parametrize("wrong", ["alone", "a\tb\tc", "a\t", "\tb", "a b"])
def test_a_line_that_is_no_pair_is_named(tmp_path, wrong):
    message = message_of(own.pairs, write(tmp_path, "mine.tsv", f"one\tW AH N\n{wrong}\n"))
    assert "mine.tsv: line 2" in message
    assert "one tab" in message


@pytest.mark.parametrize("content", ["", "\n\n", "one\tW AH N\n"])
def test_too_few_pairs_are_one_line(tmp_path, content):
    assert "different examples" in message_of(own.pairs, write(tmp_path, "mine.tsv", content))


@pytest.mark.parametrize("read", [own.text, own.labelled, own.tagged, own.pairs])
def test_no_file_is_one_line(tmp_path, read):
    assert "matches no file" in message_of(read, {"files": str(tmp_path / "*.none")})
