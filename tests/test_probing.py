import copy
import dataclasses
import random
from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn

from maskstudy.errors import StudyError
from maskstudy.probing import (
    AS_GIVEN,
    EVALUATION,
    TRAINING,
    Inputs,
    Subject,
    find_entrances,
    find_inputs,
    fixed_randomness,
    per_position,
    run_with,
)
from own_models import LENGTH, VOCABULARY, WIDTH, Mixing, VectorMixing, drawn

CAUSAL = torch.ones(LENGTH, LENGTH).tril()


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# --- the model --------------------------------------------------------------------------------------------------------


class Busy(nn.Module):
    """Leaves traces: running statistics, a buffer that it replaces, a forward hook, gradients, a frozen weight."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.register_buffer("passes", torch.zeros(()))
        self.dropout = nn.Dropout(0.5)
        self.norm.bias.requires_grad_(False)

    def forward(self, tokens):
        self.passes = self.passes + 1
        tokens += 0
        tokens[:, 0] = tokens[:, 0]
        return self.dropout(self.norm(self.embedding(tokens).transpose(1, 2)).transpose(1, 2)) + self.passes


def test_the_model_itself_is_left_as_it_is():
    torch.manual_seed(0)
    model = Busy().train()
    model.norm.eval()
    model(torch.zeros(2, 3, dtype=torch.long)).sum().backward()
    before = copy.deepcopy(model.state_dict())
    parameters = dict(model.named_parameters())
    gradients = {name: each.grad.clone() for name, each in parameters.items() if each.grad is not None}
    wants = {name: parameter.requires_grad for name, parameter in parameters.items()}
    default = torch.get_default_dtype()
    subject = Subject(model)
    for mode in subject.modes:
        subject.answers(torch.ones(2, 3, dtype=torch.long), mode)
    subject.redraw(generator())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert {name: parameter.requires_grad for name, parameter in model.named_parameters()} == wants
    assert all(torch.equal(gradients[name], parameters[name].grad) for name in gradients)
    assert model.training
    assert not model.norm.training
    assert model.norm.weight.dtype == torch.float32
    assert torch.get_default_dtype() == default


def test_a_pass_leaves_nothing_for_the_next_and_the_inputs_as_they_were():
    subject, tokens = Subject(Busy()), torch.arange(6).view(2, 3)
    first = {mode: subject.answers(tokens, mode, seed=1) for mode in subject.modes}
    for mode in (TRAINING, EVALUATION, TRAINING):
        assert torch.equal(first[mode], subject.answers(tokens, mode, seed=1))
        assert torch.equal(tokens, torch.arange(6).view(2, 3))
    assert not torch.equal(first[TRAINING], subject.answers(tokens, TRAINING, seed=2))


def test_modes_and_precision():
    model = VectorMixing(CAUSAL)
    vectors = drawn(1, LENGTH, WIDTH).double()
    assert Subject(model).modes == (EVALUATION, TRAINING)
    assert Subject(model.forward).modes == (AS_GIVEN,)
    assert Subject(model).answers(vectors, EVALUATION).dtype == torch.float64
    assert Subject(model, precision=None).answers(vectors, EVALUATION).dtype == torch.float32
    assert Subject(model, precision=torch.bfloat16).answers(vectors, EVALUATION).dtype == torch.bfloat16
    double, own, half = (Subject(model, precision=precision) for precision in (torch.float64, None, torch.bfloat16))
    assert 1e-6 == double.rounding < own.rounding < 1e-3 < half.rounding == 0.1


def test_what_a_module_makes_while_it_runs_has_its_precision():
    class Makes(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(WIDTH, WIDTH)

        def forward(self, vectors):
            return self.linear(vectors + torch.ones(WIDTH) @ torch.eye(WIDTH))

    assert Subject(Makes()).answers(drawn(1, 2, WIDTH).double(), EVALUATION).dtype == torch.float64


def test_what_cannot_be_examined_is_refused():
    class Uncopied(nn.Module):
        def __deepcopy__(self, memo):
            raise RuntimeError("no copies of this")

    with pytest.raises(StudyError, match=r"Uncopied cannot be copied in torch.float64 \(no copies of this\)"):
        Subject(Uncopied())
    with pytest.raises(StudyError, match="a module or a function is needed, not int"):
        Subject(3)
    with pytest.raises(StudyError, match=r"only the weights of a .* can be drawn anew"):
        Subject(lambda x: x).redraw(generator())


def test_a_failing_model_is_one_line_with_what_it_was_given():
    def fails(_):
        raise ValueError("a long\n  story")

    with pytest.raises(StudyError) as caught:
        Subject(fails).answers(torch.zeros(2, 3, dtype=torch.long), AS_GIVEN)
    assert str(caught.value) == "the model fails on tokens of shape (2, 3) (int64): ValueError: a long story"
    with pytest.raises(StudyError, match=r"vectors of shape \(1, 3, 2\) \(float64\)"):
        Subject(fails).answers(torch.zeros(1, 3, 2), AS_GIVEN)


def test_weights_that_are_zero_are_named_and_redrawn_weights_are_not_zero():
    model = nn.Sequential(nn.Embedding(5, 4), nn.LayerNorm(4), nn.Linear(4, 4), nn.Linear(4, 2))
    nn.init.zeros_(model[3].weight)
    subject = Subject(model)
    assert subject.zero_weights() == ["3.weight"]
    subject.redraw(generator())
    assert subject.zero_weights() == []
    assert (subject.model[1].weight != 1).all()
    first = copy.deepcopy(subject.model.state_dict())
    subject.redraw(generator(1))
    assert all((first[name] != tensor).all() for name, tensor in subject.model.state_dict().items())
    assert (model[3].weight == 0).all()


def test_chance_is_fixed_and_put_back():
    def chances():
        return torch.rand(3).tolist(), random.random(), np.random.random()  # noqa: NPY002

    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    undisturbed = chances()
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    with fixed_randomness(1):
        inside = chances()
    assert chances() == undisturbed
    with fixed_randomness(1):
        assert chances() == inside
    with fixed_randomness(2):
        assert chances() != inside
    with pytest.raises(KeyError), fixed_randomness(1):
        raise KeyError
    assert chances() not in (undisturbed, inside)


# --- very many answers ------------------------------------------------------------------------------------------------

MANY = 300


class Scores(nn.Module):
    """Scores of many tokens, made by the matrix that looks them up; what `later` does to them comes after."""

    def __init__(self, later=lambda _model, scores: scores, bias=False):
        super().__init__()
        self.embedding = nn.Embedding(MANY, WIDTH)
        self.dropout = nn.Dropout(0.2)
        self.answer = nn.Linear(WIDTH, MANY, bias=bias)
        self.answer.weight = self.embedding.weight
        self.later = later

    def forward(self, tokens):
        return self.later(self, self.answer(self.dropout(self.embedding(tokens)).cumsum(1).tanh()))


TOKENS = torch.randint(MANY, (1, 20), generator=generator())


def both(subject):
    return [subject.answers(TOKENS, mode) for mode in subject.modes]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("precision", [torch.float64, None])
@pytest.mark.parametrize("later", [lambda _, scores: scores, lambda _, scores: {"logits": -3 * scores}])
def test_of_very_many_answers_random_directions_are_given(later, precision, bias):
    model = Scores(later, bias)
    before = copy.deepcopy(model.state_dict())
    subject = Subject(model, precision=precision)
    all_answers = both(subject)
    embedded = subject.model.embedding(TOKENS)
    assert subject.narrow(TOKENS, generator()) == "answer"
    for answers, directions in zip(all_answers, both(subject), strict=True):
        assert directions.shape == (*TOKENS.shape, 256)
        assert directions.dtype == answers.dtype
        size = directions.square().mean().sqrt() / answers.square().mean().sqrt()
        assert 0.7 < size < 1.4
        # Linear in all the answers, and nothing of what these span is lost.
        together = torch.cat([answers, directions], -1)[0]
        ranks = {torch.linalg.matrix_rank(each, rtol=1e-4).item() for each in (answers[0], directions[0], together)}
        assert ranks in ({WIDTH}, {WIDTH + bias})
    assert torch.equal(subject.model.embedding(TOKENS), embedded)
    assert subject.model.embedding.weight.shape == (MANY, WIDTH)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert model.answer.weight is model.embedding.weight


def written_in_place(_, scores):
    scores[..., 280:] = scores[:, :1, 280:]
    return scores


LEFT_ALONE = {
    "their number": lambda _, scores: scores.view(-1, TOKENS.shape[1], MANY),
    "a table of their size": lambda _, scores: scores + torch.arange(MANY),
    "probabilities": lambda _, scores: scores.log_softmax(-1),
    "some of them": written_in_place,
    "the best of them": lambda model, scores: model.answer(model.embedding(scores.argmax(-1))),
    "dropout": lambda model, scores: model.dropout(scores),
    "more of them in training": lambda model, scores: torch.cat([scores, scores], -1) if model.training else scores,
    "their order in training": lambda model, scores: scores.sort(-1).values if model.training else scores,
    "fewer of them": lambda _, scores: scores[..., :-1],
    "infinity": lambda _, scores: torch.cat([torch.full_like(scores[..., :1], -torch.inf), scores[..., 1:]], -1),
}


@pytest.mark.parametrize("kind", LEFT_ALONE)
def test_a_model_that_counts_on_its_answers_is_left_alone(kind):
    subject = Subject(Scores(LEFT_ALONE[kind]))
    before = both(subject)
    assert subject.narrow(TOKENS, generator()) is None
    assert all(map(torch.equal, both(subject), before))


class Adapted(nn.Linear):
    """A matrix to whose answers another, of low rank, adds its own."""

    def __init__(self):
        super().__init__(WIDTH, MANY)
        self.down, self.up = nn.Parameter(drawn(2, WIDTH)), nn.Parameter(drawn(MANY, 2))

    def forward(self, vectors):
        return super().forward(vectors) + vectors @ self.down.T @ self.up.T


def test_other_models_are_left_alone():
    def by_table(model, tokens):
        return model.embedding(tokens) @ model.embedding.weight.T

    def ending_in(last):
        return nn.Sequential(nn.Embedding(MANY, WIDTH), last)

    few, normed = nn.Linear(WIDTH, 256), nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, MANY))
    others = [*map(ending_in, (few, normed, Adapted())), ending_in(nn.Linear(WIDTH, MANY)).forward]
    for subject in (*map(Subject, others), Subject(Scores(), by_table)):
        before = both(subject)
        assert subject.narrow(TOKENS, generator()) is None
        assert all(map(torch.equal, both(subject), before))


# --- answers ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Output:
    loss: torch.Tensor
    hidden: torch.Tensor


LOGITS = drawn(2, 3, 4)


@pytest.mark.parametrize(
    "result",
    [
        LOGITS,
        LOGITS.numpy(),
        (LOGITS, torch.zeros(2, 9)),
        [torch.zeros(()), LOGITS],
        ((LOGITS, None), 3),
        {"logits": LOGITS, "other": torch.zeros(2, 3, 1)},
        OrderedDict(attentions=torch.zeros(2, 2, 3, 3), last_hidden_state=LOGITS),
        {"anything": LOGITS},
        Output(torch.zeros(()), LOGITS),
    ],
    ids=["tensor", "array", "tuple", "loss first", "nested", "logits", "hidden state", "mapping", "dataclass"],
)
def test_answers_are_found_in_what_models_return(result):
    assert torch.equal(per_position(result, 2, 3), LOGITS)


def test_answers_of_any_rank_have_one_row_of_features():
    assert per_position(torch.zeros(2, 3), 2, 3).shape == (2, 3, 1)
    assert per_position(torch.zeros(2, 3, 4, 5), 2, 3).shape == (2, 3, 20)
    assert per_position(torch.zeros(2, 3, 4, dtype=torch.complex128), 2, 3).shape == (2, 3, 8)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (torch.zeros(2, 4), r"answers of shape \(2, 4\) to inputs of shape \(2, 3\); one answer a position is needed"),
        (torch.zeros(3, 2, 4), r"answers of shape \(3, 2, 4\).*; positions come first: build it with batch_first=True"),
        (torch.zeros(6), r"answers of shape \(6,\)"),
        (torch.zeros(2, 3, dtype=torch.long), r"whole numbers \(torch.int64\).*return the logits, not their argmax"),
        (torch.zeros(2, 3, dtype=torch.bool), "whole numbers"),
        ({"logits": torch.zeros(2, 7), "hidden": LOGITS}, r"answers of shape \(2, 7\)"),
        (None, "the model returns NoneType, in which there is no tensor"),
        ("logits", "the model returns str"),
        (torch.zeros(()), "the model returns Tensor"),
        ({}, "no tensor of answers"),
    ],
)
def test_answers_that_are_none_are_refused_in_one_line(result, message):
    with pytest.raises(StudyError, match=message) as caught:
        per_position(result, 2, 3)
    assert "\n" not in str(caught.value)


# --- inputs -----------------------------------------------------------------------------------------------------------


class Tables(nn.Module):
    """Looks tokens up in several ways; `padding` is no token."""

    def __init__(self, way, padding=None):
        super().__init__()
        self.way = way
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=padding)
        self.larger = nn.Embedding(VOCABULARY + 5, WIDTH)
        self.position = nn.Embedding(4, WIDTH)

    def forward(self, tokens):
        position = self.position(torch.arange(tokens.shape[1]) % 4)
        looked_up = {
            "module": lambda: self.embedding(tokens),
            "index": lambda: self.embedding.weight[tokens],
            "transposed": lambda: self.embedding(tokens.T).transpose(0, 1),
            "flat": lambda: self.embedding(tokens.reshape(-1)).view(*tokens.shape, WIDTH),
            "select": lambda: self.embedding.weight.index_select(0, tokens.reshape(-1)).view(*tokens.shape, WIDTH),
            "one-hot": lambda: nn.functional.one_hot(tokens, VOCABULARY).double() @ self.embedding.weight,
            "two tables": lambda: self.larger(tokens) + self.embedding(tokens),
            "shifted": lambda: self.embedding(tokens.roll(1, 1)),
        }[self.way]()
        return looked_up + position


WAYS_IN = ["module", "index", "transposed", "flat", "select", "one-hot", "two tables", "shifted"]


@pytest.mark.parametrize("way", sorted(set(WAYS_IN) - {"one-hot"}))
def test_the_vocabulary_is_found_wherever_tokens_are_looked_up(way):
    inputs = find_inputs(Subject(Tables(way)), LENGTH)
    assert inputs.tokens.tolist() == list(range(VOCABULARY))
    assert inputs.describe() == "tokens out of 11"


def test_the_padding_token_of_a_table_is_no_token_to_draw():
    assert find_inputs(Subject(Tables("module", padding=3)), LENGTH).tokens.tolist() == [0, 1, 2, *range(4, VOCABULARY)]


def test_vectors_are_tried_where_tokens_fail():
    assert find_inputs(Subject(VectorMixing(CAUSAL)), LENGTH) == Inputs(LENGTH, width=WIDTH)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    assert find_inputs(Subject(layer), 3).describe() == "vectors of width 16"


def test_what_the_reader_says_is_taken():
    subject = Subject(Tables("module"))
    assert find_inputs(subject, 3, vocabulary=5).tokens.tolist() == [0, 1, 2, 3, 4]
    assert find_inputs(subject, 3, vocabulary=[7, 2, 7]).tokens.tolist() == [2, 7]
    assert find_inputs(subject, 3, width=2) == Inputs(3, width=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0}, "length 0; at least one position"),
        ({"length": -1}, "length -1"),
        ({"vocabulary": 1}, "a vocabulary of 1; at least two tokens"),
        ({"vocabulary": []}, "a vocabulary of 0"),
        ({"width": 0}, "width 0"),
        ({"width": 3, "vocabulary": 3}, "both vocabulary= and width= are given"),
    ],
)
def test_impossible_inputs_are_refused(options, message):
    with pytest.raises(StudyError, match=message):
        find_inputs(Subject(Tables("module")), **{"length": 3, **options})


def test_where_nothing_works_the_reader_is_asked():
    with pytest.raises(StudyError, match="how many tokens there are cannot be told from the model; give vocabulary="):
        find_inputs(Subject(lambda tokens: tokens.double()), 3)

    def fails(_):
        raise ValueError("no way in")

    with pytest.raises(StudyError, match=r"no way in \(vectors do not work either: give vocabulary= or width="):
        find_inputs(Subject(fails), 3)


@pytest.mark.parametrize("inputs", [Inputs(5, tokens=torch.tensor([1, 4, 6])), Inputs(5, width=2)])
def test_a_change_changes_what_it_says_and_stays_in_the_vocabulary(inputs):
    base = inputs.draw(4, generator())
    where = torch.rand(4, 5, generator=generator()) < 0.5
    changed = inputs.changed(base, where, generator(1))
    differs = (changed != base) if inputs.tokens is not None else (changed != base).all(-1)
    assert torch.equal(differs, where)
    if inputs.tokens is not None:
        assert set(changed.flatten().tolist()) <= {1, 4, 6}
        assert set(base.flatten().tolist()) == {1, 4, 6}


# --- where tokens become numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("way", WAYS_IN)
def test_what_is_added_at_an_entrance_reaches_the_positions_of_its_token(way, batch):
    subject = Subject(Tables(way))
    inputs = find_inputs(subject, LENGTH, VOCABULARY)
    base = inputs.draw(batch, generator())

    def run(x):
        return subject.answers(x, EVALUATION)

    entrances, reason = find_entrances(run, inputs, base[:1], generator())
    assert reason is None
    assert len(entrances) == (2 if way == "two tables" else 1)
    for position in range(LENGTH):
        add = []
        for entrance in entrances:
            cells = torch.zeros(batch, np.prod(entrance.shape) + 1, dtype=torch.float64)
            cells[:, entrance.cells[position]] = 1.0
            add.append(cells[:, :-1])
        moved = (run_with(run, base, entrances, add) != run(base)).any(-1)
        expected = torch.arange(LENGTH) == (position + (way == "shifted")) % LENGTH
        assert torch.equal(moved, expected.expand(batch, -1))


def test_positions_are_no_entrance():
    subject = Subject(lambda tokens: torch.arange(tokens.shape[1]).double().expand(len(tokens), -1))
    inputs = find_inputs(subject, LENGTH, VOCABULARY)
    base = inputs.draw(1, generator())
    entrances, reason = find_entrances(lambda x: subject.answers(x, AS_GIVEN), inputs, base, generator())
    assert entrances == []
    assert "no place was found where tokens become numbers" in reason


def test_vectors_are_their_own_entrance():
    inputs = Inputs(3, width=2)
    entrances, reason = find_entrances(lambda x: x, inputs, inputs.draw(1, generator()), generator())
    assert reason is None
    assert entrances[0].cells.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_mixing_model_is_what_it_says():
    """The oracle of other tests: its Jacobian is nonzero exactly where its matrix is."""
    model = Mixing(CAUSAL).double().eval()
    vectors = model.embedding(torch.arange(LENGTH)[None]).detach().requires_grad_()
    answers = model.answer(model.weights * model.matrix @ vectors.tanh())
    for query in range(LENGTH):
        gradient = torch.autograd.grad(answers[0, query].sum(), vectors, retain_graph=True)[0]
        assert torch.equal((gradient[0] != 0).any(-1), CAUSAL[query].bool())
