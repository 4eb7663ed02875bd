"""Masks, access and questions of the page are those of maskstudy.masks."""

import random
import re

import pytest
import torch

from maskstudy.masks import access, causal, layer_masks, lookahead, matrix

SIDE = 12


def page_mask(seen, view):
    seen.go(view)
    return [[cell == "✓" for cell in row] for row in seen.cells("one-layer")]


def page_access(seen):
    return [[cell != "" for cell in row] for row in seen.cells("after-layers")]


def own(cells):
    """A drawn mask as the address holds it."""
    bits = "".join(str(int(cell)) for row in cells for cell in row)
    return f"{int(bits, 2):036x}"


@pytest.mark.parametrize("length", [1, 2, 5, 12])
@pytest.mark.parametrize(
    ("view", "name"),
    [("mask=causal", "causal"), ("mask=full", "full"), ("mask=lookahead&ahead=2&every=0", "lookahead-2")],
)
def test_a_mask_and_its_access_are_the_study_s(seen, view, name, length):
    text = "causal masks"[:length]
    view = f"{view}&count={max(2, length)}&text={text}&depth=2"
    masks = layer_masks(name, 2, length)
    assert page_mask(seen, view) == masks[0].tolist()
    assert page_access(seen) == access(masks).tolist()


def test_a_prefix_is_full_inside_and_causal_after(seen):
    masks = layer_masks("prefix", 2, 8, condition_lengths=torch.tensor([3]))
    assert page_mask(seen, "mask=prefix&prefix=3&count=8&depth=2") == masks[0][0, 0].tolist()
    assert page_access(seen) == access(masks)[0, 0].tolist()


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 6])
def test_look_ahead_in_every_layer_adds_up(seen, depth):
    page_mask(seen, f"mask=lookahead&ahead=1&every=1&count=9&depth={depth}")
    reached = causal if depth else (lambda query, key: query == key)
    assert page_access(seen) == matrix(lookahead(depth) if depth else reached, 9).tolist()


def test_drawn_masks_and_what_they_add_up_to(seen):
    draw = random.Random(1)
    for depth in range(1, 5):
        cells = [[draw.random() < 0.2 for _ in range(SIDE)] for _ in range(SIDE)]
        mask = torch.tensor(cells)[:10, :10]
        assert page_mask(seen, f"mask=own&own={own(cells)}&count=10&depth={depth}") == mask.tolist()
        assert page_access(seen) == access([mask] * depth).tolist()
        numbers = seen.cells("after-layers")
        for layers in range(depth + 1):
            reached = access([mask] * layers) if layers else torch.eye(10, dtype=torch.bool)
            assert [[cell != "" and int(cell) <= layers for cell in row] for row in numbers] == reached.tolist()


def test_a_click_turns_any_mask_into_ones_own_with_that_cell_changed(seen):
    expected = page_mask(seen, "mask=causal&count=6")
    seen.page.click("#one-layer tbody tr:nth-child(2) td:nth-child(6)")
    seen.settle()
    expected[1][4] = True
    assert [[cell == "✓" for cell in row] for row in seen.cells("one-layer")] == expected
    assert seen.page.input_value("#mask") == "own"
    seen.page.click("#one-layer tbody tr:nth-child(2) td:nth-child(6)")
    seen.settle()
    assert [[cell == "✓" for cell in row] for row in seen.cells("one-layer")] == matrix(causal, 6).tolist()


def test_the_drawn_mask_is_what_the_model_runs_under(seen):
    cells = [[key <= query and query - key < 2 for key in range(SIDE)] for query in range(SIDE)]
    seen.go(f"mask=own&own={own(cells)}&count=6&step=7")
    assert [[cell == "0" for cell in row] for row in seen.cells("steps-matrix")] == [
        [not cells[query][key] for key in range(6)] for query in range(6)
    ]


def test_the_small_pictures_show_each_mask_beside_the_others(seen):
    """Cells of one colour are one path, and each cell of a path begins with M."""
    expected = {"causal": 21, "full": 36, "prefix": 24, "lookahead": 26, "own": 9}
    cells = [[query <= 2 and key <= 2 for key in range(SIDE)] for query in range(SIDE)]
    seen.go(f"text=abcdef&count=6&mask=prefix&prefix=3&ahead=1&own={own(cells)}")
    for mask, allowed in expected.items():
        card = seen.page.locator(f".card:has(input[value='{mask}'])")
        outlines = card.locator("path").evaluate_all("all => all.map(one => one.getAttribute('d'))")
        counts = [outline.count("M") for outline in outlines]
        assert counts == ([allowed] if allowed == 36 else [allowed, 36 - allowed])


def test_encoder_and_decoder_have_three_matrices(seen):
    seen.go("word=sourcery&numbers=0")
    marks = {name: [[cell == "✓" for cell in row] for row in seen.cells(name)] for name in PARTS}
    assert marks["encoder-self"] == [[True] * 8] * 8
    written = len(marks["decoder-self"])
    assert marks["decoder-self"] == matrix(causal, written).tolist()
    assert marks["decoder-cross"] == [[True] * 8] * written


PARTS = ("encoder-self", "decoder-self", "decoder-cross")


def test_rows_of_the_three_matrices_add_up_to_one_whatever_head_is_chosen(seen):
    for head in (0, 5, 99):
        seen.go(f"word=abcde&encoderHead={head}&decoderHead={head}&crossHead={head}")
        for name in PARTS:
            for row in seen.cells(name):
                numbers = [float(cell.removeprefix("≈").replace("−", "-")) for cell in row]
                assert sum(numbers) == pytest.approx(1, abs=0.06)
        assert all(cell == "0" for i, row in enumerate(seen.cells("decoder-self")) for cell in row[i + 1 :])


# --- questions --------------------------------------------------------------------------------------------------------

MASKS = {
    "mask=causal": lambda depth: layer_masks("causal", depth, 8),
    "mask=full": lambda depth: layer_masks("full", depth, 8),
    "mask=lookahead&ahead=2&every=1": lambda depth: [matrix(lookahead(2), 8)] * depth,
    "mask=lookahead&ahead=2&every=0": lambda depth: layer_masks("lookahead-2", depth, 8),
    "mask=prefix&prefix=4": lambda depth: [
        layer[0, 0] for layer in layer_masks("prefix", depth, 8, condition_lengths=torch.tensor([4]))
    ],
}


def right_answer(words, masks):
    """The answer to a question of the page, worked out from its words."""
    numbers = [int(number) for number in re.findall(r"(?:position|token) (\d+)", words)]
    first = masks(1)[0]
    if "one layer: may position" in words:
        return "Yes" if first[numbers[0] - 1, numbers[1] - 1] else "No"
    if "know anything" in words:
        depth = int(re.search(r"(\d) layers", words)[1])
        return "Yes" if access(masks(depth))[numbers[0] - 1, numbers[1] - 1] else "No"
    if "how many positions" in words:
        return str(int(first[numbers[0] - 1].sum()))
    if "what can you say of the weight" in words:
        row = first[numbers[0] - 1]
        return "exactly 0" if not row[numbers[1] - 1] else "exactly 1" if row.sum() == 1 else "between 0 and 1"
    assert "is replaced by another one" in words
    return "Yes" if access(masks(2))[numbers[1] - 1, numbers[0] - 1] else "No"


@pytest.mark.parametrize("view", MASKS)
def test_questions_have_the_answers_that_follow_from_the_mask(seen, view):
    seen.go(f"{view}&count=8&text=abcdefgh")
    kinds = set()
    for _ in range(15):
        words = seen.page.text_content("#question-words")
        kinds.add(re.sub(r"\d+|“.*?”", "", words))
        right = right_answer(words, MASKS[view])
        choices = seen.page.eval_on_selector_all("#question-choices button", "all => all.map(one => one.textContent)")
        assert right in choices, words
        seen.page.locator("#question-choices button").nth(choices.index(right)).dispatch_event("click")
        assert seen.page.text_content("#question-why").startswith("Right. "), words
        seen.page.evaluate("document.getElementById('question-next').click()")
        seen.settle()
    assert seen.page.text_content("#question-score") == "15 of 15 right"
    assert len(kinds) >= 5


def test_a_wrong_answer_is_explained_and_counts_once(seen):
    seen.go("count=8&text=abcdefgh&quiz=5")
    right = right_answer(seen.page.text_content("#question-words"), MASKS["mask=causal"])
    wrong = "No" if right == "Yes" else "Yes"
    seen.page.click(f"#question-choices button:text-is('{wrong}')")
    words = seen.page.text_content("#question-why")
    assert words.startswith("Not so. ")
    assert len(words) > 30
    seen.page.click(f"#question-choices button:text-is('{right}')", force=True)
    assert seen.page.text_content("#question-score") == "0 of 1 right"
