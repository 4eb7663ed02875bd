"""Whatever the reader types, or stands in the address, is text, and nothing breaks."""

import pytest

HOSTILE = "<img src=x onerror=alert(1)>"
SHORT = "<img src>"  # fits into twelve tokens, and so stands whole in every sentence that names the text


def signs(seen):
    """What the headings of the columns say."""
    return seen.page.eval_on_selector_all("#steps-matrix thead .sign", "all => all.map(one => one.textContent)")


def write(seen, text):
    seen.page.evaluate(
        """text => {
            const field = document.getElementById("text");
            field.value = text;
            field.dispatchEvent(new Event("input"));
        }""",
        text,
    )
    seen.settle()


def test_hostile_text_is_shown_as_text(seen):
    for view in ("", "model=markov_next/causal"):
        seen.go(view)
        images = seen.page.locator("img").count()
        write(seen, HOSTILE)
        seen.page.fill("#word", HOSTILE)
        seen.settle()
        assert seen.page.locator("img").count() == images == 0
    seen.go("count=12")
    write(seen, SHORT)
    assert SHORT.replace(" ", "␣") in seen.page.text_content("#hero-words")
    assert seen.page.locator("img").count() == 0
    write(seen, HOSTILE)
    assert "".join(signs(seen)) == HOSTILE.replace(" ", "␣")[:12]
    assert HOSTILE[:12] in seen.page.text_content("#written")


def test_a_hostile_address_is_text_too_and_what_makes_no_sense_is_left_out(seen):
    seen.go(
        "text=<script>alert(1)</script>&count=99&layer=-3&mask=none&own=zz&fill=abc&model=<b>&hidden=;&theme=%00&row=7e9"
    )
    assert "".join(signs(seen)) == "<scrip"
    assert seen.page.input_value("#mask") == "causal"
    assert seen.page.input_value("#count") == "6"


@pytest.mark.parametrize(("text", "shown"), [("", "causal"), ("x", "x"), ("   ", "causal"), ("ab", "ab")])
def test_short_texts(seen, text, shown):
    seen.go()
    write(seen, text)
    if text.strip():
        assert "".join(signs(seen)) == shown
    for step in range(16):
        seen.go(f"text={text}&step={step}&moment={step}&depth=3&pads=4&side=left&blind=1&fill=8")
    seen.go()
    write(seen, text)
    assert ("an example is shown" in seen.page.text_content("#note")) == (text == "")


def test_ten_thousand_characters(seen):
    seen.go("count=12")
    write(seen, "é" * 10_000)
    assert signs(seen) == ["é"] * 12
    assert "12 of 20,000 tokens" in seen.page.text_content("#note")
    assert len(seen.page.evaluate("location.hash")) < 1000
    seen.page.fill("#word", "b" * 10_000)
    seen.settle()
    assert len(seen.page.evaluate("location.hash")) < 1500


def test_a_byte_says_what_it_is_a_part_of(seen):
    seen.go()
    write(seen, "né\u0301")
    assert signs(seen) == ["n", "é", "é", "◌\u0301", "◌\u0301"]
    parts = seen.page.eval_on_selector_all("#steps-matrix thead .part", "all => all.map(one => one.textContent)")
    assert parts == ["1/2", "2/2", "1/2", "2/2"]
    assert (
        seen.page.get_attribute("#steps-matrix thead th:nth-child(3)", "title")
        == "byte 195, number 1 of the 2 bytes of é"
    )


def test_a_character_that_is_cut_is_mentioned(seen):
    seen.go("count=2")
    write(seen, "a😀")
    assert "The last token is byte 1 of the 4 that make “😀”." in seen.page.text_content("#note")


@pytest.mark.parametrize("text", ["\ud800", "a\u0000b", "\u202eabc", "a\u200db", "\n\n"])
def test_signs_that_cannot_be_seen_have_a_name(seen, text):
    seen.go()
    write(seen, text)
    assert all(sign.strip() and sign.isprintable() for sign in signs(seen))


def test_letters_that_a_model_does_not_know_are_left_out_and_that_is_said(seen):
    seen.go("model=markov_next/causal&letters=AB-zC")
    assert signs(seen) == ["A", "B", "C"]
    assert "knows the letters A to L" in seen.page.text_content("#note")
    write(seen, "???")
    assert "an example is shown" in seen.page.text_content("#note")


def test_hidden_tokens_are_hidden_from_the_model_that_restores_them(seen):
    seen.go("model=masked_byte/full&hidden=1,3&text=causal")
    assert signs(seen) == ["c", "▢", "u", "▢", "a", "l"]
    rows = seen.page.eval_on_selector_all("#hiding-table tbody tr", "all => all.map(one => one.cells[0].textContent)")
    assert rows == ["2 ‘a’", "2 ‘a’", "4 ‘s’", "4 ‘s’"]
    seen.page.click("#hiding-strip button:nth-child(2)")
    seen.settle()
    assert signs(seen) == ["c", "a", "u", "▢", "a", "l"]
