"""The numbers of the page are PyTorch's."""

import json
import random
import re
import unicodedata

import numpy as np
import pytest
import torch

from embedded_weights import decoded
from maskstudy.attention import textbook_attention
from maskstudy.encoder_decoder import EncoderDecoder
from maskstudy.masks import encoder_decoder_masks, layer_masks
from maskstudy.model import Transformer, rotate, rotation
from maskstudy.shape import ModelShape

CLOSE = 1e-4
TRANSLATOR = "pronunciation/encoder-decoder"
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
    """The models of the page in PyTorch, of the weights that stand in the page.

    In double precision, as the page computes: in single precision a trained model that is run under another mask than
    its own is up to 2.5e-4 away from what it would be with exact numbers.
    """
    found = {}
    for place, description in enumerate(json.loads(seen.page.text_content("#data"))["models"]):
        weights = decoded(description, seen.page.text_content(f"#weights-{place}"))
        kind = EncoderDecoder if description["mask"] == "encoder-decoder" else Transformer
        model = kind(ModelShape(**description["shape"]))
        model.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
        found[f"{description['task']}/{description['mask']}"] = (model.double().eval(), description)
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
        names = [name for name in torch_models if name != TRANSLATOR]
        name = names[number % len(names)]
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


# --- the encoder–decoder ----------------------------------------------------------------------------------------------


def letters_of(text, names):
    """The tokens that the letters of a text are to a model of CMUdict, twelve at most."""
    plain = "".join(sign for sign in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(sign)[0] != "M")
    letters = names[names.index("(end)") + 1 : names.index("(separator)")]
    return [names.index(sign, names.index("(end)") + 1) for sign in plain if sign in letters][:12]


@torch.inference_mode()
def translated_by_torch(model, source, target):
    """Scores and weights of the three kinds of attention by the textbook form, logits by the form that trains."""
    masks = encoder_decoder_masks(*(torch.ones(1, len(side), dtype=torch.bool) for side in (source, target)))
    logits = model(torch.tensor([[*source, *target]]), masks)[0].numpy()
    found = {"encoder": [], "self": [], "cross": []}

    def attention(part, queries, keys, values, mask):
        steps = textbook_attention(queries, keys, values, mask)
        found[part].append((steps.scores[0].numpy(), steps.weights[0].numpy()))

    stream = model.embedding(torch.tensor([source]))
    turns = rotation(model.shape, slice(0, len(source)), stream)
    for block in model.encoder_blocks:
        normed = block.attention_norm(stream)
        attention("encoder", *block.attention.queries_keys_values(normed, turns), masks.source)
        stream = block(stream, masks.source, turns)
    encoded = model.encoder_norm(stream)
    stream = model.embedding(torch.tensor([target]))
    there = rotation(model.shape, slice(0, len(target)), stream)
    for block in model.decoder_blocks:
        seen_across = block.cross.source(encoded, turns)
        normed = block.attention_norm(stream)
        attention("self", *block.attention.queries_keys_values(normed, there), masks.target)
        normed = block.cross_norm(block.mixed(stream, masks.target, there))
        queries = block.cross.project_target(normed).unflatten(-1, (block.cross.heads, -1))
        attention("cross", rotate(queries, there).transpose(1, 2), *seen_across, masks.cross)
        stream = block.decoded(stream, (masks.target, masks.cross), seen_across, there)
    return {part: tuple(map(np.stack, zip(*layers, strict=True))) for part, layers in found.items()}, logits


def test_the_encoder_decoder_agrees_with_pytorch_and_with_itself_token_by_token(seen, torch_models):
    model, description = torch_models[TRANSLATOR]
    names, compared = description["names"], 0
    for text in [*texts(50), "knowledge", "l'été", "Straße", "o'clock"]:
        source = letters_of(text, names)
        if not source:
            continue
        page = seen.page.evaluate("word => maskstudy.translate(word)", text)
        assert page["source"] == source
        target = page["target"]
        assert target[0] == names.index("(separator)")
        by_torch, logits = translated_by_torch(model, source, target)
        np.testing.assert_allclose(page["logits"], logits, atol=CLOSE)
        np.testing.assert_allclose(page["stepwise"], page["logits"], atol=1e-12)
        for part, (scores, weights) in by_torch.items():
            np.testing.assert_allclose(page["scores"][part], scores, atol=CLOSE)
            np.testing.assert_allclose(page["weights"][part], weights, atol=CLOSE)
        likeliest = logits.argmax(-1).tolist()
        assert likeliest[:-1] == target[1:]
        assert len(target) == 12 or likeliest[-1] == description["end"]
        compared += 1
    assert compared >= 30


def test_what_the_encoder_decoder_writes_is_on_the_page(seen, torch_models):
    names = torch_models[TRANSLATOR][1]["names"]
    seen.go("word=Café&spoken=2")
    target = seen.page.evaluate("maskstudy.translate('café')")["target"]
    labels = ["⊢", *(names[token] for token in target[1:])]
    assert seen.page.text_content("#spoken").split()[:3] == labels[:3]
    signs = "all => all.map(one => one.textContent)"
    assert seen.page.eval_on_selector_all("#decoder-cross thead .sign", signs) == list("cafe")
    assert seen.page.eval_on_selector_all("#decoder-cross tbody th .sign", signs) == labels
    assert [row[0] == "" for row in seen.cells("decoder-cross")] == [place > 2 for place in range(len(labels))]
    assert re.search(r"exactly equal\.|apart by at most \de−1\d\.", seen.page.text_content("#spoken-equal"))


def test_without_a_word_the_first_of_the_text_is_read_and_one_without_letters_is_replaced(seen):
    signs = "all => all.map(one => one.textContent).join('')"
    for view, expected in (
        ("text=causal masks", "causal"),
        ("word=北京", "attention"),
        ("word=Straßenbahnen", "straenbahnen"),
    ):
        seen.go(view)
        assert seen.page.eval_on_selector_all("#encoder-self thead .sign", signs) == expected
    seen.go("word=北京")
    assert "“attention” is shown" in seen.page.text_content("#word-note")


# --- what stands on the page ------------------------------------------------------------------------------------------


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


def test_in_small_cells_only_an_exact_zero_is_written_zero(visit, torch_models):
    name = next(name for name in torch_models if name != TRANSLATOR)
    with visit(f"model={name}&count=12&text=attention mask&letters=ABCABDABCABE&step=14", width=390) as seen:
        text = "attention mask" if torch_models[name][1]["alphabet"] == "bytes" else "ABCABDABCABE"
        weights = seen.ask(name, text, 12, "causal")["weights"][0][0]
        for row, shown_row in zip(weights, seen.cells("steps-matrix"), strict=True):
            for weight, words in zip(row, shown_row, strict=True):
                if words in ("0", "≈0"):
                    assert weight == 0 if words == "0" else 0 < weight < 0.0005
                else:
                    assert float(words) == pytest.approx(weight, abs=0.005)


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


def shares_on_the_page(seen):
    """The next tokens with their shares."""
    rows = seen.page.eval_on_selector_all(
        "#next-list li", "all => all.map(one => [...one.children].map(part => part.textContent))"
    )
    return [(sign, float(re.sub("[<% ]", "", share) or 0) / 100, note) for sign, _, share, note in rows]


@pytest.mark.parametrize("tenths", [0, 5, 10, 20])
def test_the_temperature_divides_the_logits(seen, tenths):
    seen.go(f"text=hello&count=5&moment=5&temperature={tenths}")
    logits = torch.tensor(seen.ask("next_byte/causal", "hello", 5, "causal")["logits"][-1])
    shares = torch.softmax(logits / (tenths / 10), 0) if tenths else torch.zeros(256).index_fill(0, logits.argmax(), 1)
    found = shares_on_the_page(seen)
    expected = [shares[token].item() for token in logits.topk(6).indices]
    written = [note for _, _, note in found if note]
    assert written == ["◀ is written"]
    for (_, share, note), right in zip(found, expected, strict=True):
        assert share == pytest.approx(right, abs=6e-3) or note  # what was drawn takes the last place if it is unlikely


def test_another_draw_is_another_text_and_the_same_draw_the_same(seen):
    texts_of = []
    for draw in (1, 2, 1):
        seen.go(f"text=hello&count=5&moment=25&temperature=15&draw={draw}")
        texts_of.append(seen.page.text_content("#written .made"))
    assert texts_of[0] == texts_of[2] != texts_of[1]
    seen.page.click("#draw-again")
    seen.settle()
    assert seen.page.text_content("#written .made") == texts_of[1]


def test_draws_follow_their_distribution(seen):
    seen.go("text=hello&count=5&moment=5&temperature=10")
    seen.page.locator("#next-list").scroll_into_view_if_needed()
    seen.settle()  # what is on the screen is drawn at once
    drawn = seen.page.evaluate(
        """() => Array.from({ length: 300 }, (_, place) => {
            maskstudy.choose({ draw: 1 + place });
            return document.querySelector("#next-list .taken:not(:empty)").parentNode.firstChild.textContent;
        })"""
    )
    sign, share, _ = shares_on_the_page(seen)[0]
    assert abs(drawn.count(sign) - 300 * share) <= 4 * (300 * share * (1 - share)) ** 0.5 + 2


def test_a_score_is_the_sum_of_its_products(seen):
    seen.go("count=6&row=4&column=1&step=0")
    seen.page.click("#product summary")
    rows = seen.page.eval_on_selector_all(
        "#product tbody tr", "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    assert len(rows) == 16
    numbers = np.array([[number(cell) for cell in row] for row in rows])
    np.testing.assert_allclose(numbers[:, 0] * numbers[:, 1], numbers[:, 2], atol=0.05)
    score = number(seen.cells("steps-matrix")[4][1])
    assert numbers[:, 2].sum() / 4 == pytest.approx(score, abs=0.05)
    texts_of = seen.page.eval_on_selector_all("#product text", "all => all.map(one => one.textContent)")
    assert number(texts_of[-1].removeprefix("= ")) == pytest.approx(score, abs=0.011)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_masked_links_are_not_there(seen, mask):
    seen.go(f"count=6&row=2&mask={mask}")
    widths = seen.page.eval_on_selector_all(
        "#links path",
        """all => all.map(one =>
            one.getAttribute("visibility") === "hidden" ? 0 : Number(one.getAttribute("stroke-width")))""",
    )
    weights = np.array(seen.ask("next_byte/causal", "causal masks", 6, mask)["weights"][0][0])
    np.testing.assert_allclose(np.reshape(widths, (6, 6)), np.where(weights > 0, 0.6 + 9 * weights, 0), atol=0.011)
    masked = seen.page.locator("#links text:text-is('masked')").count()
    assert masked == (3 if mask == "causal" else 0)


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
