import math

import numpy as np
import pyarrow as pa
import pytest
import torch

from maskstudy import evaluation, training
from maskstudy.errors import StudyError
from maskstudy.evaluation import log_probabilities
from maskstudy.masks import layer_masks
from maskstudy.model import Transformer
from maskstudy.optimizer import MuonWithAdamW
from maskstudy.schemas import HISTORY
from maskstudy.scoring import score
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import NOT_SCORED, NOWHERE
from maskstudy.training import history_columns, train
from maskstudy.training_settings import TrainingSettings
from small_study import RandomTokens, examples, next_token

LOW = {"adamw_learning_rate": 0.003, "warmup": 2, "decay": 0.5, "points": 4}


def of(steps, batch=16, learning_rate=0.02, **changes):
    return TrainingSettings(**({"steps": steps, "batch": batch, "learning_rate": learning_rate} | LOW | changes))


def shape_for(task, **changes):
    sizes = {"width": 16, "layers": 2, "heads": 2, "positions": "learned"}
    return ModelShape(task.vocabulary, task.answers, task.length, **(sizes | changes))


def trained(task, mask, how, seed=0, **changes):
    splits = task.splits(None)
    return train(
        task, mask, splits["train"], splits["validation"], shape_for(task, **changes), how, seed, report=lambda _: None
    )


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one) and set(one) == set(other)


class Fixed(RandomTokens):
    """A task that trains on its examples as they stand, and remembers which."""

    def __init__(self, **parts):
        super().__init__(**parts)
        object.__setattr__(self, "indices", [])
        object.__setattr__(self, "hidden", [])

    def batch(self, examples, index, generator):
        self.indices.append(index.tolist())
        self.hidden.append(generator.random())
        return examples[index]


# --- the same for every mask ------------------------------------------------------------------------------------------


def test_masks_of_a_seed_share_initial_weights_batches_and_hidden_positions(monkeypatch):
    initial = []

    class Watched(Transformer):
        def __init__(self, shape):
            super().__init__(shape)
            initial.append({name: value.clone() for name, value in self.state_dict().items()})

    monkeypatch.setattr(evaluation, "Transformer", Watched)
    runs = {}
    for mask in ("causal", "full", "lookahead-1"):
        task = Fixed()
        model, _, cost = trained(task, mask, of(6), seed=1)
        runs[mask] = (task.indices, task.hidden, cost, model.state_dict())
    assert runs["causal"][:3] == runs["full"][:3] == runs["lookahead-1"][:3]
    assert same(initial[0], initial[1])
    assert same(initial[0], initial[2])
    assert not same(runs["causal"][3], runs["full"][3])  # but they learn other things
    trained(Fixed(), "causal", of(1), seed=2)
    assert not same(initial[0], initial[3])


def test_dropout_draws_do_not_depend_on_the_mask():
    """With one token an input every mask is the same, so the runs must be, dropout included."""
    task = RandomTokens(answer=lambda tokens: examples(tokens, targets=tokens), length=1)
    one, other = (trained(task, mask, of(5), dropout=0.4)[0].state_dict() for mask in ("causal", "full"))
    assert same(one, other)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_same_run_twice_is_identical_to_the_bit(dropout):
    first, history, cost = trained(RandomTokens(), "causal", of(8), dropout=dropout)
    torch.manual_seed(99)  # whatever was drawn before does not matter
    second, again, cost_again = trained(RandomTokens(), "causal", of(8), dropout=dropout)
    assert same(first.state_dict(), second.state_dict())
    assert history == again
    assert cost == cost_again
    assert not same(
        first.state_dict(), trained(RandomTokens(), "causal", of(8), seed=1, dropout=dropout)[0].state_dict()
    )


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_looking_at_validation_changes_nothing_that_is_learned(dropout):
    task, how = Fixed(), of(8)
    splits = task.splits(None)
    for validation, points in ((splits["validation"], 4), (splits["test"], 4), (splits["validation"][:3], 8)):
        model, _, _ = train(
            task, "causal", splits["train"], validation, shape_for(task, dropout=dropout), of(8, points=points), 0, str
        )
        assert same(model.state_dict(), trained(task, "causal", how, dropout=dropout)[0].state_dict())


def test_dropout_is_on_in_every_step_and_off_at_every_look(monkeypatch):
    on = []

    class Watched(Transformer):
        def forward(self, *given, **named):
            on.append(self.training)
            return super().forward(*given, **named)

    monkeypatch.setattr(evaluation, "Transformer", Watched)
    trained(RandomTokens(), "causal", of(8, points=4), dropout=0.3)
    assert on == [True, True, False] * 4


# --- another device ---------------------------------------------------------------------------------------------------


@pytest.fixture
def reduced(monkeypatch):
    """Training as on CUDA, with matrix products in bfloat16, on the processor."""
    monkeypatch.setattr(training, "reduced_precision", lambda _: torch.autocast("cpu", dtype=torch.bfloat16))


@pytest.mark.parametrize("positions", ["rotary", "learned"])
@pytest.mark.usefixtures("reduced")
def test_in_bfloat16_weights_stay_float32_and_the_same_is_learned(positions):
    model, history, cost = trained(RandomTokens(), "full", of(150), positions=positions)
    assert {(value.dtype, value.device.type) for value in model.state_dict().values()} == {(torch.float32, "cpu")}
    assert history[-1].nats < 0.3 * math.log(4)
    assert cost == trained(RandomTokens(), "causal", of(150), positions=positions)[2]


@pytest.mark.usefixtures("reduced")
def test_bfloat16_is_no_way_to_see_more():
    model, _, _ = trained(RandomTokens(), "causal", of(100))
    fresh = RandomTokens().draw(256, np.random.default_rng(77))
    assert score(log_probabilities(model, "causal", fresh), fresh).metrics()["nats"] > math.log(4) - 0.01


@pytest.mark.usefixtures("reduced")
def test_matrix_products_are_in_bfloat16_and_the_loss_is_not(monkeypatch):
    kinds = []

    class Watched(Transformer):
        def forward(self, *given, **named):
            logits = super().forward(*given, **named)
            kinds.append((self.training, logits.dtype))
            return logits

    cross_entropy = training.F.cross_entropy
    losses = []
    monkeypatch.setattr(evaluation, "Transformer", Watched)
    monkeypatch.setattr(
        training.F,
        "cross_entropy",
        lambda logits, targets: losses.append(logits.dtype) or cross_entropy(logits, targets),
    )
    trained(RandomTokens(), "causal", of(2, points=1))
    assert kinds == [(True, torch.bfloat16), (True, torch.bfloat16), (False, torch.float32)]  # and a look at the end
    assert losses == [torch.float32] * 2


# --- what is learned --------------------------------------------------------------------------------------------------


def nats(task, mask, how, **changes):
    """On new examples, after training."""
    model, _, _ = trained(task, mask, how, **changes)
    fresh = task.draw(256, np.random.default_rng(77))
    return score(log_probabilities(model, mask, fresh), fresh).metrics()["nats"]


def test_the_next_of_independent_tokens_cannot_be_learned_unless_it_is_seen():
    """Targets are neither shifted twice nor never: below ln V means that the model sees its answer."""
    task = RandomTokens()
    assert nats(task, "causal", of(150)) > math.log(4) - 0.01
    assert nats(task, "full", of(150)) < 0.3 * math.log(4)
    assert nats(task, "lookahead-1", of(150)) < 0.3 * math.log(4)


def own_token(tokens):
    return examples(tokens, targets=tokens)


def token_before(tokens):
    targets = np.roll(tokens, 1, axis=1)
    targets[:, 0] = NOT_SCORED
    return examples(tokens, targets=targets)


@pytest.mark.parametrize("answer", [own_token, token_before])
def test_answers_are_read_at_the_position_where_they_are_scored(answer):
    assert nats(RandomTokens(answer=answer), "causal", of(150)) < 0.1 * math.log(4)


def test_a_hand_written_alignment():
    """Two examples, padded, whose answers have nothing to do with their tokens but for their places."""
    taught = examples(
        [[0, 1, 2, 3], [3, 2, 0, 0]],
        targets=[[NOT_SCORED, 2, NOT_SCORED, 1], [0, NOT_SCORED, NOT_SCORED, NOT_SCORED]],
        lengths=[4, 2],
    )
    model, _, cost = train(
        Fixed(length=4), "causal", taught, taught, shape_for(Fixed(length=4)), of(60, batch=2), 0, report=str
    )
    masks = layer_masks("causal", 2, 4, lengths=torch.tensor([4, 2]))
    answers = model(torch.from_numpy(taught.tokens.astype(np.int64)), masks).argmax(-1)
    assert (answers[0, 1], answers[0, 3], answers[1, 0]) == (2, 1, 0)
    assert (cost.tokens_seen, cost.targets_seen) == (60 * 6, 60 * 3)


def test_a_few_examples_can_be_learned_by_heart():
    def nonsense(tokens):
        return examples(tokens, targets=np.random.default_rng(5).integers(0, 4, tokens.shape))

    task = Fixed(answer=nonsense)
    few = task.splits(None)["train"][:8]
    _, history, _ = train(task, "full", few, few, shape_for(task, width=32), of(150, batch=8), 0, report=str)
    assert history[-1].nats < 0.05
    assert history[-1].accuracy == 1


# --- learning curve ---------------------------------------------------------------------------------------------------


def test_the_curve_has_its_points_and_ends_with_the_model_that_is_returned():
    task = Fixed()
    how = of(10, points=4)
    model, history, cost = trained(task, "causal", how)
    assert [(row.step, row.split) for row in history] == [
        (step, split) for step in (2, 4, 6, 8, 10) for split in ("train", "validation")
    ]
    assert [row.tokens_seen for row in history[::2]] == [step * 16 * 8 for step in (2, 4, 6, 8, 10)]
    assert [row.learning_rate for row in history[::2]] == [
        how.learning_rate * how.rate_factor(step) for step in (2, 4, 6, 8, 10)
    ]
    validation = task.splits(None)["validation"]
    held_out = score(log_probabilities(model, "causal", validation), validation).metrics()
    assert (history[-1].nats, history[-1].accuracy) == (held_out["nats"], held_out["accuracy"])
    assert cost.steps == 10


def test_the_last_step_is_a_point_even_where_the_points_do_not_fit():
    _, history, _ = trained(Fixed(), "causal", of(7, points=3))
    assert [row.step for row in history if row.split == "train"] == [2, 4, 6, 7]


@pytest.fixture
def untaught(monkeypatch):
    """Steps that only note their factor: the model goes on giving all answers the same logit, and answer 0."""
    factors = []
    monkeypatch.setattr(
        training.MuonWithAdamW, "step", lambda optimizer, factor: factors.append(factor) or optimizer.model.zero_grad()
    )
    return factors


@pytest.mark.usefixtures("untaught")
def test_a_point_of_the_train_curve_is_the_mean_over_all_answers_since_the_last():
    def uneven(tokens):
        """1 to 4 answers an example; how many of them are 0 goes with how many there are."""
        targets = np.where(np.arange(8) <= tokens[:, :1], 0, NOT_SCORED)
        targets[:, 0] = 1
        return examples(tokens, targets=targets)

    task = Fixed(answer=uneven)
    _, history, _ = trained(task, "causal", of(4, batch=3, points=2))
    for steps, point in ((task.indices[:2], history[0]), (task.indices[2:], history[2])):
        targets = np.concatenate([task.splits(None)["train"].targets[index] for index in steps])
        assert point.split == "train"
        assert point.accuracy == pytest.approx((targets == 0).sum() / (targets != NOT_SCORED).sum())
        assert point.nats == pytest.approx(math.log(4))
    assert history[0].accuracy != history[2].accuracy


def test_the_first_point_is_of_a_model_that_knows_nothing():
    _, history, _ = trained(Fixed(), "full", of(1))
    assert history[0].nats == pytest.approx(math.log(4))
    assert history[1].nats != history[0].nats


def test_the_curve_fits_its_schema():
    _, history, _ = trained(Fixed(), "causal", of(4))
    table = pa.table(history_columns(history), schema=HISTORY)
    assert table.num_rows == len(history)
    assert table["split"].to_pylist() == [row.split for row in history]


def test_one_line_is_reported_at_each_point():
    lines = []
    task = Fixed()
    splits = task.splits(None)
    train(task, "causal", splits["train"], splits["validation"], shape_for(task), of(8), 0, report=lines.append)
    assert len(lines) == 4
    assert lines[0].startswith("step 2/8  train ")
    assert lines[-1].endswith("0 s left")


# --- cost -------------------------------------------------------------------------------------------------------------


def test_tokens_targets_and_flops_by_hand():
    """Four examples in batches of two: [3, 3] and [1, 5] tokens, or any other pairs."""
    lengths = [3, 3, 1, 5]
    scored = [1, 3, 1, 2]
    targets = np.where(np.arange(5) < np.array(scored)[:, None], 1, NOT_SCORED)
    taught = examples(np.zeros((4, 5)), targets=targets, lengths=lengths)
    task = Fixed(length=5)
    shape = shape_for(task, width=4, layers=3, heads=1)
    _, _, cost = train(task, "causal", taught, taught, shape, of(5, batch=2), 0, report=str)
    tokens = answers = flops = 0
    for index in task.indices:
        longest = max(lengths[row] for row in index)
        computed = len(index) * longest  # padding is computed too
        tokens += sum(lengths[row] for row in index)
        answers += sum(scored[row] for row in index)
        a_layer = computed * 2 * 12 * 4 * 4 + computed * 2 * 2 * longest * 4
        flops += 3 * (3 * a_layer + sum(scored[row] for row in index) * 2 * 4 * 4)
    assert len({max(lengths[row] for row in index) for index in task.indices}) > 1
    assert (cost.steps, cost.tokens_seen, cost.targets_seen, cost.train_flops) == (5, tokens, answers, flops)


def test_the_cost_does_not_depend_on_the_mask():
    costs = {trained(RandomTokens(), mask, of(3))[2] for mask in ("causal", "full", "prefix", "lookahead-2")}
    assert len(costs) == 1


# --- settings that are used, and failures -----------------------------------------------------------------------------


def test_every_step_has_its_own_rate(untaught):
    how = of(9, warmup=3, decay=0.5)
    trained(Fixed(), "causal", how)
    assert untaught == [how.rate_factor(step) for step in range(1, 10)]


def test_gradients_do_not_pile_up(monkeypatch):
    """After every step nothing is left that the next batch's gradient could be added to."""
    own_step, left = MuonWithAdamW.step, []

    def step(self, factor):
        assert self.model.answer.weight.grad is not None
        own_step(self, factor)
        left.extend(parameter.grad for parameter in self.model.parameters())

    monkeypatch.setattr(MuonWithAdamW, "step", step)
    trained(Fixed(), "causal", of(2))
    assert len(left) > 10
    assert all(gradient is None for gradient in left)


@pytest.mark.parametrize("steps", [1, 6])
def test_a_loss_that_is_no_number_stops_the_run_in_one_line(steps):
    with pytest.raises(StudyError, match=r"step \d+: the (train|validation) loss is (nan|inf)") as raised:
        trained(Fixed(), "causal", of(steps, learning_rate=1e38, adamw_learning_rate=1e38, warmup=0))
    assert "\n" not in str(raised.value)
    assert "learning rate" in str(raised.value)


def test_prefix_trains_with_the_conditions_of_its_examples():
    """The answer is the last token of the condition, scored at the first: only `prefix` and `full` can see it."""

    def last_of_condition(tokens):
        targets = np.full_like(tokens, NOT_SCORED)
        targets[:, 0] = tokens[:, 3]
        return examples(tokens, targets, condition_lengths=[4] * len(tokens))

    task = RandomTokens(answer=last_of_condition)
    assert nats(task, "prefix", of(100)) < 0.3 * math.log(4)
    assert nats(task, "causal", of(100)) > math.log(4) - 0.1


def test_next_token_examples_are_what_their_name_says():
    made = next_token([[5, 6, 7, 0]], lengths=[3])
    assert made.targets.tolist() == [[6, 7, NOT_SCORED, NOT_SCORED]]
    assert made.target_positions.tolist() == [[1, 2, NOWHERE, NOWHERE]]
