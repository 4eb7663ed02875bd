"""The numbers of the page are PyTorch's."""

import base64
import json
import random
import re

import numpy as np
import pytest
import torch

from maskstudy.attention import textbook_attention
from maskstudy.masks import layer_masks
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape

CLOSE = 1e-4
SIGNS = [
    *"abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKL.,'-0123456789\n\t",
    *"äöüßéèñçåøłžšđŁİıſ",
    *"αβγδжщяшאבגשلسم中文字日本語한국어ไทย",
    *"😀🙈🏳️‍🌈👩‍🔬🇩🇪✨€",
    *"\u0301\u0308\u20dd\u200d\u202e\ufeff",
]


def texts(count):
    draw = random.Random(20170612)
    made = ["".join(draw.choices(SIGNS, k=draw.randint(1, 14))) for _ in range(count - 6)]
    return ["café", "e\u0301", "👩‍🔬", "naïve", "\u0301", "ABBA", *made]


@pytest.fixture(scope="module")
def torch_models(seen):
    """The models of the page in PyTorch, of the weights that stand in the page."""
    found = {}
    for place, description in enumerate(json.loads(seen.page.text_content("#data"))["models"]):
        text = seen.page.text_content(f"#weights-{place}")
        row = np.frombuffer(base64.b64decode(text), np.dtype(description["precision"]).newbyteorder("<"))
        weights, start = {}, 0
        for name, shape in description["tensors"]:
            size = int(np.prod(shape))
            weights[name] = torch.tensor(row[start : start + size].astype(np.float32).reshape(shape))
            start += size
        model = Transformer(ModelShape(**description["shape"]))
        model.load_state_dict(weights)
        found[f"{description['task']}/{description['mask']}"] = (model.eval(), description)
    return found


def expected_ids(text, description, count):
    if description["alphabet"] == "bytes":
        return list(text.encode("utf-8"))[:count]
    letters = [ord(sign) - ord("A") for sign in text.upper() if "A" <= sign <= "Z"]
    return [letter for letter in letters if letter < description["symbols"]][:count]


@torch.inference_mode()
def by_torch(model, ids, mask):
    """Scores and weights `[layers, heads, queries, keys]` by the textbook form, logits by the form that trains."""
    tokens = torch.tensor([ids])
    masks = layer_masks(mask, model.shape.layers, len(ids))
    scores, weights = [], []
    rotation = model.rotation(slice(0, len(ids)), model.embedding(tokens))
    for block, stream, layer_mask in zip(model.blocks, model.streams(tokens, masks), masks, strict=False):
        normed = block.attention_norm(stream)
        steps = textbook_attention(*block.attention.queries_keys_values(normed, rotation), layer_mask)
        scores.append(steps.scores[0].numpy())
        weights.append(steps.weights[0].numpy())
    return np.stack(scores), np.stack(weights), model(tokens, masks)[0].numpy()


@pytest.mark.parametrize("mask", ["causal", "full", "lookahead-2"])
def test_scores_weights_and_logits_of_fifty_texts_agree_with_pytorch(seen, torch_models, mask):
    compared = 0
    for number, text in enumerate(texts(50)):
        name = list(torch_models)[number % len(torch_models)]
        model, description = torch_models[name]
        ids = expected_ids(text, description, 12)
        if not ids:
            continue  # a text without any letter of the model: an example is shown, see test_texts
        page = seen.ask(name, text, 12, mask)
        assert page["ids"] == ids
        scores, weights, logits = by_torch(model, ids, mask)
        np.testing.assert_allclose(page["scores"], scores, atol=CLOSE)
        np.testing.assert_allclose(page["weights"], weights, atol=CLOSE)
        np.testing.assert_allclose(page["logits"], logits, atol=CLOSE)
        forbidden = ~torch.stack(layer_masks(mask, model.shape.layers, len(ids))).numpy()
        for layer, cells in enumerate(forbidden):
            assert (np.array(page["weights"])[layer][:, cells] == 0).all()
        compared += 1
    assert compared >= 40


def test_the_matrix_on_the_page_shows_these_numbers(seen):
    seen.go("count=8&text=caf%C3%A9 abc&step=0&layer=1&head=2&model=next_byte/causal")
    asked = seen.ask("next_byte/causal", "café abc", 8, "causal")
    assert seen.cells("steps-matrix") == [[shown(value) for value in row] for row in asked["scores"][1][2]]
    seen.go("count=8&text=caf%C3%A9 abc&step=10&layer=1&head=2&model=next_byte/causal")
    shown_weights = seen.cells("steps-matrix")
    for i, row in enumerate(asked["weights"][1][2]):
        for j, weight in enumerate(row):
            assert (shown_weights[i][j] == "0") == (j > i)
            if j <= i:
                assert number(shown_weights[i][j]) == pytest.approx(weight, abs=6e-3, rel=0.51)


def shown(value):
    """Two decimals, one more where they would be 0.00, with a true minus."""
    size = abs(value)
    text = f"{value:.0e}".replace("e-0", "e-") if size < 5e-4 else f"{value:.3f}" if size < 5e-3 else f"{value:.2f}"
    return text.replace("-", "−")


def number(text):
    return float(text.replace("−", "-"))


def test_before_the_softmax_forbidden_cells_read_minus_infinity_and_no_others(seen):
    seen.go("count=6&step=1")
    for i, row in enumerate(seen.cells("steps-matrix")):
        assert [cell == "−∞" for cell in row] == [j > i for j in range(6)]


def test_softmax_goes_row_by_row(seen):
    for step in (2, 4, 7):
        seen.go(f"count=6&step={step}")
        rows = seen.cells("steps-matrix")
        assert ["−∞" not in row for row in rows] == [i <= step - 2 or i == 5 for i in range(6)]
        assert [row[-1] == "0" for row in rows[:-1]] == [i <= step - 2 for i in range(5)]


# --- a number in place of −∞ ------------------------------------------------------------------------------------------

FILLS = {0: 0, -5: 3, -10: 4, -100: 7, -1e4: 8, -1e9: 9}  # place on the slider


def weights_of(seen, view):
    seen.go(f"count=6&step=7&{view}")
    return np.array([[number(cell) for cell in row] for row in seen.cells("steps-matrix")])


def future(weights):
    return weights[np.triu_indices(len(weights), 1)]


def test_a_small_number_leaks_a_larger_one_leaks_less_and_a_large_one_is_zero(seen):
    leaks = {value: future(weights_of(seen, f"fill={place}")) for value, place in FILLS.items()}
    assert leaks[-5].max() > 1e-3
    assert "a visible leak" in seen_words(seen, "fill=3")
    assert (leaks[-10] > 0).any()
    assert leaks[-10].max() < leaks[-5].max() < leaks[0].max()
    assert (leaks[-1e4] == 0).all()
    assert (future(weights_of(seen, "")) == 0).all()


def seen_words(seen, view):
    seen.go(view)
    return seen.page.text_content("#fill-words")


def test_a_row_with_nothing_allowed_is_zero_with_minus_infinity_and_an_average_with_a_number(seen):
    assert (weights_of(seen, "blind=1")[0] == 0).all()
    written = weights_of(seen, "blind=1&how=write&fill=8")
    assert written[0] == pytest.approx([1 / 6] * 6, abs=5e-3)
    assert (future(written[1:, 1:]) == 0).all()  # the other rows are as they should be
    assert "uniform average" in seen_words(seen, "blind=1&how=write&fill=8")


def test_added_to_a_whole_row_a_number_cancels_until_it_swallows_the_scores(seen):
    unmasked = weights_of(seen, "mask=full")[0]
    assert weights_of(seen, "blind=1&fill=8")[0] == pytest.approx(unmasked, abs=6e-3)
    assert weights_of(seen, "blind=1&fill=9")[0] == pytest.approx([1 / 6] * 6, abs=5e-3)


def test_the_page_says_whether_the_first_position_notices_another_last_token(seen):
    seen.go("")
    assert "move by exactly 0" in seen.page.text_content("#fill-leak")
    seen.go("fill=0")
    assert re.search(r"move by up to .* knows of a token that is forbidden", seen.page.text_content("#fill-leak"))


# --- training beside inference ----------------------------------------------------------------------------------------


def columns(seen):
    rows = seen.page.eval_on_selector_all(
        "#inference-table tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    return list(zip(*rows, strict=True))


def test_losses_are_those_of_pytorch_and_the_same_token_by_token(seen, torch_models):
    text = "a longer text"
    seen.go(f"text={text}&count=12&moment=12")
    _, inputs, targets, training, inference, apart = columns(seen)
    assert "".join(inputs).replace("␣", " ") == text[:12]
    assert "".join(targets).replace("␣", " ") == text[1:13]
    model, _ = torch_models["next_byte/causal"]
    ids = list(text.encode())
    _, _, logits = by_torch(model, ids[:12], "causal")
    losses = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(ids[1:]), reduction="none")
    assert [number(loss) for loss in training] == pytest.approx(losses.tolist(), abs=6e-3)
    assert inference == training
    assert set(apart) == {"✓ 0"}


def test_what_is_not_read_yet_has_no_number(seen):
    seen.go("count=6&moment=2")
    *_, training, inference, apart = columns(seen)
    assert all(training)
    assert [bool(loss) for loss in inference] == [bool(gap) for gap in apart] == [True] * 2 + [False] * 4


def test_without_the_mask_the_two_differ(seen):
    seen.go("count=6&moment=6&sighted=1")
    assert all(gap.startswith("✗") for gap in columns(seen)[-1])


@torch.inference_mode()
def test_the_model_writes_what_pytorch_writes(seen, torch_models):
    for view, name, mask in (("", "next_byte/causal", "causal"), ("&sighted=1", "next_byte/full", "full")):
        seen.go(f"text=once upon&count=9&moment=17{view}")
        model, _ = torch_models[name]
        ids = list(b"once upon")
        for _ in range(8):
            ids.append(int(model(torch.tensor([ids]), layer_masks(mask, 2, len(ids)))[0, -1].argmax()))
        expected = bytes(ids[9:]).decode("utf-8", errors="replace")
        written = seen.page.text_content("#written .made")
        visible = {" ": " ", "\n": "⏎", "\t": "⇥", "\r": "␍"}
        assert written == "".join(visible.get(sign, sign if sign.isprintable() else "·") for sign in expected)


# --- padding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("causality", [0, 1])
def test_padding_that_is_hidden_moves_no_answer(seen, side, causality):
    seen.go(f"side={side}&pads=3&causality={causality}&model=next_byte/causal")
    words = seen.page.text_content("#padding-words")
    assert re.search(r"move by (exactly 0|at most \de−(9|1\d)|at most \de−8)", words), words
    rows = seen.cells("padding-matrix")
    padded = range(3) if side == "left" else range(6, 9)
    assert all(row[key] == "0" for row in rows for key in padded)
    blind = [i for i, row in enumerate(rows) if set(row) == {"0"}]
    assert blind == (list(range(3)) if side == "left" and causality else [])


def test_padding_that_is_not_hidden_moves_answers_except_where_the_future_hides_it(seen):
    seen.go("side=left&pads=3&padmask=0")
    assert "read as if it were text" in seen.page.text_content("#padding-words")
    seen.go("side=right&pads=3&padmask=0")
    assert "move by exactly 0" in seen.page.text_content("#padding-words")
    seen.go("side=right&pads=3&padmask=0&causality=0")
    assert "read as if it were text" in seen.page.text_content("#padding-words")
