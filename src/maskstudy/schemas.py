"""Columns of every parquet file of the study, in one place; `files.write_table` checks them when it writes."""

import pyarrow as pa


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


_CELL = [_required("task", pa.string()), _required("mask", pa.string())]

TUNING = pa.schema(
    [
        *_CELL,
        _required("role", pa.string()),
        _required("scale", pa.float64()),  # of both learning rates that the config declares
        _required("seed", pa.int32()),  # none that the study reports
        _required("learning_rate", pa.float64()),
        _required("adamw_learning_rate", pa.float64()),
        pa.field("nats", pa.float64()),  # on validation data; null where the training diverged
        pa.field("accuracy", pa.float64()),
        pa.field("train_flops", pa.float64()),
        _required("chosen", pa.bool_()),
        _required("at_edge", pa.bool_()),  # of the chosen scale: whether a better one may lie outside the grid
    ]
)

EXAMPLES = pa.schema(
    [
        _required("group", pa.string()),  # what the split was made by: article, sequence, headword
        _required("tokens", pa.list_(pa.int16())),
        _required("targets", pa.list_(pa.int16())),  # -100 where nothing is scored
        _required("length", pa.int32()),
        _required("condition_length", pa.int32()),
        _required("target_positions", pa.list_(pa.int16())),  # where the answer stands in the input, -1 if nowhere
    ]
)

HISTORY = pa.schema(
    [
        _required("step", pa.int32()),
        _required("tokens_seen", pa.int64()),
        _required("split", pa.string()),  # train (mean since the last row) or validation
        _required("nats", pa.float64()),
        _required("accuracy", pa.float64()),
        _required("learning_rate", pa.float64()),
    ]
)

PREDICTIONS = pa.schema(  # examples.parquet of a run, references/{task}/{mask}.parquet: one row a test example
    [
        _required("example", pa.int32()),
        _required("scored", pa.int32()),
        _required("correct", pa.int32()),
        _required("nats", pa.float64()),  # summed over the scored positions
        _required("predictions", pa.list_(pa.int16())),  # the likeliest answer at each scored position, in order
        # Of tasks whose answers are written; at the first example of each word, 0 and nothing at its others.
        pa.field("words", pa.int32()),
        pa.field("wrong_words", pa.int32()),
        pa.field("phonemes", pa.int32()),  # of the nearest right answer
        pa.field("phoneme_errors", pa.int32()),  # edit distance to it
        pa.field("written", pa.list_(pa.int16())),
    ]
)

SAMPLES = pa.schema(  # examples.parquet of the study: some questions in words, one row a question and mask
    [
        _required("task", pa.string()),
        pa.field("dataset", pa.string()),  # the kind that the task reads; empty where it makes its own data
        _required("chosen", pa.string()),  # spread (evenly over the split) or ahead (of mask a before mask b)
        pa.field("mask_a", pa.string()),
        pa.field("mask_b", pa.string()),
        pa.field("ahead", pa.int32()),  # questions at which mask a is right under more seeds than mask b
        _required("questions", pa.int32()),  # of the whole test split
        _required("example", pa.int32()),
        pa.field("position", pa.int32()),  # empty where a whole answer is written
        _required("before", pa.string()),
        _required("place", pa.string()),
        _required("after", pa.string()),
        _required("truth", pa.string()),
        _required("mask", pa.string()),
        _required("seeds", pa.int32()),
        _required("right", pa.int32()),  # seeds whose answer is right
        _required("answer", pa.string()),  # what most seeds answered
        _required("agreeing", pa.int32()),  # seeds that answered so
        _required("nats", pa.float64()),  # mean over seeds, per scored position of the example
    ]
)

METRICS = pa.schema(
    [
        *_CELL,
        _required("role", pa.string()),
        _required("seed", pa.int32()),
        _required("metric", pa.string()),
        _required("value", pa.float64()),
        pa.field("baseline", pa.float64()),
        pa.field("ceiling", pa.float64()),
        _required("scored", pa.int64()),
        _required("parameters", pa.int64()),
        _required("steps", pa.int64()),
        _required("tokens_seen", pa.int64()),
        _required("targets_seen", pa.int64()),
        _required("train_flops", pa.float64()),
    ]
)

SUPERVISION = pa.schema(  # scored at the final position of each test window alone
    [
        *_CELL,
        _required("seed", pa.int32()),
        _required("metric", pa.string()),
        _required("value", pa.float64()),
        _required("baseline", pa.float64()),
        _required("scored", pa.int64()),
        _required("parameters", pa.int64()),
        _required("steps", pa.int64()),
        _required("tokens_seen", pa.int64()),
        _required("targets_seen", pa.int64()),
        _required("train_flops", pa.float64()),
    ]
)

SWAPS = pa.schema(  # every model under every other mask of its task, on the test split; exploratory
    [
        _required("task", pa.string()),
        _required("trained_mask", pa.string()),
        _required("tested_mask", pa.string()),
        _required("role", pa.string()),  # of the cell that was trained
        _required("seed", pa.int32()),
        _required("metric", pa.string()),
        _required("value", pa.float64()),  # under the tested mask
        _required("own_value", pa.float64()),  # of the same run under its own mask
        _required("equal_access", pa.bool_()),  # whether both masks let the scored positions see the same
        _required("leaks", pa.bool_()),  # whether the tested mask shows answers
    ]
)

REPRESENTATIONS = pa.schema(  # what the residual stream of a model holds, by layer, on test examples; exploratory
    [
        *_CELL,
        _required("role", pa.string()),
        _required("seed", pa.int32()),
        _required("weights", pa.string()),  # trained, or random: the control of each measure
        _required("layer", pa.int32()),  # how many blocks the stream has passed; 0 for the embedding
        _required("measure", pa.string()),  # position, left, right, effective_rank, cka
        pa.field("other_mask", pa.string()),  # of cka alone: the mask of the task that is compared with
        _required("value", pa.float64()),
        pa.field("chance", pa.float64()),  # of a probe that knows nothing of the stream
    ]
)

TIMING = pa.schema(
    [
        *_CELL,
        _required("seed", pa.int32()),
        _required("train_seconds", pa.float64()),
        _required("cpu_seconds", pa.float64()),
        _required("peak_memory_bytes", pa.int64()),
    ]
)

COMPARISONS = pa.schema(
    [
        _required("task", pa.string()),
        _required("metric", pa.string()),
        _required("mask_a", pa.string()),
        _required("mask_b", pa.string()),
        _required("declared", pa.bool_()),
        _required("equal_access", pa.bool_()),
        _required("seeds", pa.int32()),
        _required("effect", pa.float64()),
        _required("low", pa.float64()),
        _required("high", pa.float64()),
        _required("method", pa.string()),
        _required("p", pa.float64()),
        pa.field("p_holm", pa.float64()),  # empty where undeclared: Holm corrects the declared family only
        _required("smallest_p", pa.float64()),
        pa.field("margin", pa.float64()),
        pa.field("p_equivalence", pa.float64()),
        _required("verdict", pa.string()),
    ]
)

EFFECTS = pa.schema(  # beside each row of `COMPARISONS`, in the same order
    [
        _required("task", pa.string()),
        _required("metric", pa.string()),
        _required("mask_a", pa.string()),
        _required("mask_b", pa.string()),
        _required("low", pa.float64()),  # hierarchical interval, over seeds and test examples
        _required("high", pa.float64()),
        _required("method", pa.string()),
        _required("superiority", pa.float64()),  # probability that mask a is the better one under the same seed
        _required("standardised_effect", pa.float64()),  # d_z of mask a minus mask b
    ]
)

CEILING_GAPS = pa.schema(  # synthetic tasks: model minus ideal observer, on the same test positions
    [
        *_CELL,
        _required("metric", pa.string()),
        _required("seeds", pa.int32()),
        _required("value", pa.float64()),
        _required("ceiling", pa.float64()),
        _required("gap", pa.float64()),  # signed so that above 0 means better than the ceiling
        _required("low", pa.float64()),
        _required("high", pa.float64()),
        _required("method", pa.string()),
        _required("verdict", pa.string()),
    ]
)

AUDIT = pa.schema(
    [
        *_CELL,
        _required("role", pa.string()),
        _required("leaks", pa.bool_()),
        pa.field("measured_leaks", pa.bool_()),
        pa.field("position", pa.int32()),
        pa.field("path", pa.string()),
    ]
)
