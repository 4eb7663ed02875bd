import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.text import LEAST_BYTES, read_text, split_texts, text_files
from maskstudy.errors import StudyError

SPLITS = ("train", "validation", "test")


def book(paragraphs, words=40):
    """Text with a paragraph every few hundred bytes, no two alike."""
    return "".join(f"Paragraph {n}:" + f" word{n}" * words + ".\n\n" for n in range(paragraphs))


def size(documents):
    return sum(len(document.text.encode()) for document in documents)


def all_of(splits):
    return [document for split in SPLITS for document in splits[split]]


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_glob_gives_its_files_sorted_and_no_folders(tmp_path, monkeypatch):
    for name in ("b.txt", "a.txt", "c.md", "deep/er/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "folder.txt").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [path.as_posix() for path in text_files("*.txt")] == ["a.txt", "b.txt"]
    assert [path.as_posix() for path in text_files("**/*.txt")] == ["a.txt", "b.txt", "deep/er/d.txt"]
    assert [path.as_posix() for path in text_files("c.md")] == ["c.md"]
    assert text_files(str(tmp_path / "a.*")) == [tmp_path / "a.txt"]


def test_a_file_name_may_look_like_a_glob(tmp_path):
    (tmp_path / "book[1].txt").write_text("text", encoding="utf-8")
    assert text_files(str(tmp_path / "book[1].txt")) == [tmp_path / "book[1].txt"]


def test_a_name_may_begin_at_the_users_home(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert text_files("~/a.*") == [tmp_path / "a.txt"]


def test_no_file_is_an_error_that_names_the_glob(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match=r"'texts/\*\.txt' matches no file") as raised:
        text_files("texts/*.txt")
    assert "\n" not in str(raised.value)


def test_text_is_read_without_byte_order_mark_and_with_plain_line_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffGröße\r\nzwei\rdrei\n".encode())
    assert read_text(path) == "Größe\nzwei\ndrei\n"


def test_other_encodings_are_an_error_that_names_file_and_byte(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("abcé".encode("latin-1"))
    with pytest.raises(StudyError, match=r"a\.txt: not UTF-8 text \(byte 3\)"):
        read_text(path)


def test_an_unreadable_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(StudyError, match=r"absent\.txt: cannot be read"):
        read_text(tmp_path / "absent.txt")


# --- splits -----------------------------------------------------------------------------------------------------------


def test_ten_files_are_split_whole():
    texts = {f"texts/{n}.txt": book(10 + n) for n in range(10)}
    splits = split_texts(texts)
    assert [len(splits[split]) for split in SPLITS] == [8, 1, 1]
    assert sorted((document.group, document.text) for document in all_of(splits)) == sorted(texts.items())


def test_nine_files_are_cut_into_blocks_that_are_all_of_them():
    texts = {f"texts/{n}.txt": book(20 + 5 * n) for n in range(9)}
    splits = split_texts(texts)
    blocks = sorted(all_of(splits), key=lambda document: (document.group.split(",")[0], int(document.group.split()[2])))
    for name, text in texts.items():
        assert "".join(block.text for block in blocks if block.group.startswith(f"{name}, block ")) == text
    groups = [block.group for block in blocks]
    assert len(set(groups)) == len(groups)


def test_one_book_is_cut_at_paragraphs_into_twentieths():
    splits = split_texts({"book.txt": book(200)})
    assert [len(splits[split]) for split in SPLITS] == [16, 2, 2]
    assert all(document.text.startswith("Paragraph") for document in all_of(splits))
    total = size(all_of(splits))
    for document in all_of(splits):  # both ends are the paragraph break nearest to the twentieth
        assert abs(len(document.text) - total / 20) <= len(book(1)) * 1.2


@pytest.mark.parametrize("separator", ["\n", " "])
def test_text_without_paragraphs_is_cut_at_lines_or_words(separator):
    text = separator.join(f"word{n}" for n in range(4000))
    splits = split_texts({"book.txt": text})
    assert all(document.text.startswith("word") for document in all_of(splits))


def test_text_without_any_break_is_cut_anyway():
    splits = split_texts({"book.txt": "x" * 40_000})
    assert [size(splits[split]) for split in SPLITS] == [32_000, 4_000, 4_000]


@settings(deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=30))
def test_shares_are_by_size_however_uneven_the_files(sizes):
    texts = {f"{n:02}.txt": book(each, words=10) for n, each in enumerate(sizes)}
    total = sum(len(text) for text in texts.values())
    if total < 40 * LEAST_BYTES:
        return
    try:
        splits = split_texts(texts)
    except StudyError:
        assert len(sizes) >= 10  # whole files only: a few big ones may leave too little
        return
    largest = max(len(document.text) for document in all_of(splits))
    assert size(all_of(splits)) == total
    for split, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert abs(size(splits[split]) - share * total) <= max(largest, 1)


def test_the_same_texts_give_the_same_splits_in_their_order():
    texts = {f"{n:02}.txt": book(10 + n) for n in range(30)}
    splits = split_texts(texts)
    assert splits == split_texts(dict(texts))
    for split in SPLITS:
        groups = [document.group for document in splits[split]]
        assert groups == sorted(groups)
    assert splits["test"][0].group < "20.txt"  # drawn, not the last ones


def test_empty_files_are_left_out():
    texts = {f"{n}.txt": book(20) for n in range(9)} | {"empty.txt": " \n\n"}
    groups = [document.group for document in all_of(split_texts(texts))]
    assert not any("empty" in group for group in groups)
    assert all("block" in group for group in groups)  # nine texts, not ten


@pytest.mark.parametrize("texts", [{"a.txt": book(10)}, {"a.txt": ""}, {f"{n}.txt": "Short. " for n in range(12)}])
def test_too_little_text_is_one_clear_line(texts):
    with pytest.raises(StudyError, match="too little text") as raised:
        split_texts(texts)
    assert "\n" not in str(raised.value)
