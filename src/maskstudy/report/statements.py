"""The sentences of the study: what each number lets one say, and no more.

Every sentence about two masks says whether their access is equal (a difference is about learning or inductive bias)
or unequal (a difference is first of all about information).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from maskstudy.comparisons import ABOVE_CEILING, CLOSE_TO_CEILING, NOT_LEARNED
from maskstudy.figures.results import Settings
from maskstudy.statistics import HIGHER_IS_BETTER

NOT_SUPERIOR = "A difference in access is not, by itself, evidence of a superior architecture."
ACCESS = {
    True: "equal access: both masks see the same tokens at the scored positions, so a difference is about learning "
    "or inductive bias",
    False: "unequal access: the masks see different tokens at the scored positions, so a difference is first of all "
    "about information",
}
# Who has read positions off models that were told none, and where.
READ_BEFORE = (
    "Haviv et al. (2022), “Transformer Language Models without Positional Encodings Still Learn Positional "
    "Information”, and Kazemnejad et al. (2023), “The Impact of Positional Encoding on Length Generalization in "
    "Transformers”"
)
UNITS = {
    "accuracy": "in accuracy",
    "nats": "nats per answer",
    "per": "in phoneme error rate",
    "wer": "in word error rate",
}
_UNUSUAL = {"percentile": " (percentile interval, as BCa degenerates)", "constant": " (all seeds agree)"}

Row = Mapping[str, Any]


# --- numbers ----------------------------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 3) -> str:
    """A number with a true minus sign; empty where there is none. `number(-0.0304) == "−0.030"`."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def digits_for(low: float | None, high: float | None) -> int:
    """Decimals that show the width of an interval with two figures: 3 at least, 4 at most."""
    if low is None or high is None or low == high:
        return 3
    return int(np.clip(1 - np.floor(np.log10(high - low)), 3, 4))


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """`[0.647, 0.652]`; empty where there is none."""
    return "" if low is None else f"[{number(low, digits)}, {number(high, digits)}]"


def probability(value: float) -> str:
    """`p = 0.004`, or `p < 0.001`, with spaces that do not break."""
    return "p\u00a0<\u00a00.001" if value < 0.001 else f"p\u00a0=\u00a0{value:.3f}"


def percent(share: float) -> str:
    """`95 %`, with a space that does not break."""
    return f"{100 * share:g}\u00a0%"


def count(value: float) -> str:
    """A whole number with its thousands apart: `819 200` with narrow spaces."""
    return f"{round(value):,}".replace(",", "\u202f")


def power_of_ten(value: float) -> str:
    """`4.6 × 10¹¹`."""
    if value == 0:
        return "0"
    exponent = int(np.floor(np.log10(abs(value))))
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10.0**exponent:.1f} × 10{raised}"


def size(settings: Settings) -> str:
    """`2 tasks, 7 cells, 10 seeds a cell`."""
    tasks, cells = _several(len(settings.tasks), "task"), _several(len(settings.cells), "cell")
    return f"{tasks}, {cells}, {settings.seeds_of_a_cell}"


# --- comparisons ------------------------------------------------------------------------------------------------------


def finding(row: Row, alpha: float) -> str:
    """What a comparison found: effect, interval, p and verdict; nothing about access.

    Args:
        row: columns of `schemas.COMPARISONS`.
        alpha: level of its tests.
    """
    a, b, unit = row["mask_a"], row["mask_b"], UNITS[row["metric"]]
    digits = digits_for(row["low"], row["high"])
    p = probability(row["p"] if row["p_holm"] is None else row["p_holm"])
    margin = "" if row["margin"] is None else f"±{row['margin']:g}"
    spread = interval(row["low"], row["high"], digits) + _UNUSUAL.get(row["method"], "")
    difference = f"{number(row['effect'], digits)} {unit} {spread}"
    if row["verdict"] in ("a", "b"):
        winner, loser, sign = (a, b, 1) if row["verdict"] == "a" else (b, a, -1)
        sign = sign if HIGHER_IS_BETTER[row["metric"]] else -sign
        low, high = sorted((sign * row["low"], sign * row["high"]))
        spread = interval(low, high, digits) + _UNUSUAL.get(row["method"], "")
        small = margin and row["p_equivalence"] <= alpha
        aside = f", a difference inside the declared margin of {margin}" if small else ""
        return f"{winner} is better than {loser} by {number(sign * row['effect'], digits)} {unit} {spread}, {p}{aside}"
    if row["verdict"] == "equivalent":
        equivalence = probability(row["p_equivalence"])
        return f"{a} and {b} are equivalent within {margin}: {a} − {b} is {difference}, {equivalence} for equivalence"
    missing = f"neither a difference nor equivalence within {margin}" if margin else "no difference"
    return f"inconclusive: {a} − {b} is {difference}, {p}; {missing} is shown"


def comparison(row: Row, confidence: float, alpha: float) -> str:
    """A comparison in full: what kind of claim it is, what was found, how, and what that is about."""
    kind, corrected = ("Declared", "after Holm’s correction") if row["declared"] else ("Exploratory", "not corrected")
    how = f"{percent(confidence)} interval over {row['seeds']} paired seeds, p {corrected}"
    return f"{kind}, {row['task']}: {finding(row, alpha)} ({how}). {_sentence(ACCESS[row['equal_access']])}"


def overview(rows: Sequence[Row], equal_access: bool) -> tuple[str, str]:
    """How the declared comparisons of one kind of access came out: what they are, and the outcome in numbers.

    Args:
        rows: the declared comparisons with this access; at least one.
        equal_access: whether their access is equal.
    """
    verdicts = [row["verdict"] for row in rows]
    better = sum(verdict in ("a", "b") for verdict in verdicts)
    parts = [f"one mask is better in {better}"]
    parts += [f"the masks are equivalent in {equivalent}"] if (equivalent := verdicts.count("equivalent")) else []
    parts += [f"{unclear} stay inconclusive"] if (unclear := verdicts.count("inconclusive")) else []
    kind, meaning = ACCESS[equal_access].split(": ")
    what = f"{_several(len(rows), 'declared comparison')} with {kind}"
    return what, f"{_sentence(meaning)} Of these comparisons, {_listed(parts)}."


# --- cells ------------------------------------------------------------------------------------------------------------


def ceilings(rows: Iterable[Row]) -> str:
    """Which cells came close to their ceiling, and by how much the others fall short.

    Args:
        rows: columns of `tables.metrics`.
    """
    known = [row for row in rows if row["learning"] is not None and row["role"] == "study"]
    if not known:
        return "For no task of this study is the best possible result known, so none of its models has a ceiling."
    sentences = []
    for metric in HIGHER_IS_BETTER:
        of_metric = [row for row in known if row["metric"] == metric]
        short = [row for row in of_metric if row["learning"] == NOT_LEARNED]
        above = [row for row in of_metric if row["learning"] == ABOVE_CEILING]
        if not of_metric:
            continue
        close = len(of_metric) - len(short) - len(above)
        text = (
            f"In {metric}, {close} of {len(of_metric)} cells with a known ceiling come within {CLOSE_TO_CEILING:g} of "
            "the best possible under their access"
        )
        if short:
            text += f"; not learned: {_by_task(short, _gap)}"
        if above:
            text += f"; above their ceiling, which is a fault of model or ceiling: {_by_task(above, _gap)}"
        sentences.append(text + ".")
    return " ".join(sentences)


def baselines(rows: Iterable[Row]) -> str:
    """Which transformers lose to the simple method with the same access.

    Args:
        rows: columns of `tables.metrics`.
    """
    judged = [row for row in rows if row["role"] == "study" and row["against_baseline"] is not None]
    if not judged:
        return "No cell of this study has a baseline."
    losing = [row for row in judged if row["against_baseline"] == "loses"]
    level = [row for row in judged if row["against_baseline"] == "no better"]
    text = "No transformer loses to its baseline, the simple method with the same access"
    if losing:
        names = _by_task(losing, lambda row: f"{number(row['mean'])} against {number(row['baseline'])}")
        text = f"The transformer loses to its baseline, the simple method with the same access, in {names}"
    if level:
        text += f"; it is not clearly better in {_by_task(level, None)}"
    return text + "."


def reading(rows: Iterable[Row]) -> str:
    """What to think of one cell, from its rows of `tables.metrics`, in a few words; empty where all is well."""
    of_cell = list(rows)
    if of_cell[0]["role"] == "control":
        return "control: leaks, never ranked"
    words = []
    for learning, what in ((NOT_LEARNED, "not learned"), (ABOVE_CEILING, "above its ceiling")):
        where = [f"{row['metric']} ({_gap(row)})" for row in of_cell if row["learning"] == learning]
        words += [f"{what}: {_listed(where)}"] if where else []
    where = [row["metric"] for row in of_cell if row["against_baseline"] == "loses"]
    words += [f"loses to its baseline: {_listed(where)}"] if where else []
    return "; ".join(words)


def tuning(rows: Iterable[Row], given: Mapping[str, Any]) -> str:
    """How the learning rates were chosen, what came out, and which cells chose the edge of the grid.

    Args:
        rows: columns of `tables.tuning`.
        given: the entry `tuning` of config.yaml.
    """
    tried = list(rows)
    if not tried:
        return "Every cell trains with the learning rates that its task declares: nothing was tuned."
    scales = _listed([f"{scale:g}" for scale in sorted({row["scale"] for row in tried})])
    seeds = given.get("seeds", 1)
    text = (
        "Before its first run each cell chose its learning rates from the same grid, on validation data and with "
        f"{_several(seeds, 'seed')} that the study never reports: {scales} times the rates that its task declares, for "
        f"{percent(given.get('steps', 1))} of the steps of a run."
    )
    chosen = [row for row in tried if row["chosen"]]
    moved = [row for row in chosen if row["scale"] != 1]
    text += f" {len(chosen) - len(moved)} of {len(chosen)} cells stayed at the declared rates"
    if tolerance := given.get("tolerance"):
        text += f", than which no other was better by more than {tolerance:g} nats"
    text += f"; the other{'s' * (len(moved) > 1)} took {_by_task(moved, _times)}." if moved else "."
    edge = [row for row in chosen if row["at_edge"]]
    if edge:
        names = _by_task(edge, None)
        text += f" The rate lies at the edge of the grid, and a better one may lie outside, in {names}."
    return text


def swaps(rows: Iterable[Row]) -> str:
    """How swapping masks at test time came out, in accuracy, where neither mask shows the answer.

    Args:
        rows: columns of `tables.swaps`.
    """
    fair = [row for row in rows if row["metric"] == "accuracy" and row["role"] == "study" and not row["leaks"]]
    if not fair:
        return "Every mask that could be swapped in shows the answer, or takes the place of one that does."
    worse = [row for row in fair if row["low"] is not None and row["low"] > 0]
    better = [row for row in fair if row["high"] is not None and row["high"] < 0]
    text = (
        f"Of {_several(len(fair), 'swap')} between masks that do not show the answer, {len(worse)} cost accuracy (the "
        f"whole interval is above 0), {len(better)} gain some, and {len(fair) - len(worse) - len(better)} show neither."
    )
    if not worse:
        return text
    most = max(worse, key=lambda row: row["cost"])
    return (
        f"{text} The dearest is {most['task']}: models trained under {most['trained_mask']} have an accuracy of "
        f"{number(most['own_mean'])}, and under {most['tested_mask']} one of {number(most['mean'])}."
    )


def unordered(rows: Iterable[Row], task: str) -> str:
    """How much of the position can be read off models that are told none, after their last block.

    Args:
        rows: columns of `tables.representations`.
        task: one whose models have no position encoding.
    """
    of_task = [row for row in rows if row["task"] == task and row["measure"] == "position"]
    last = max((row["layer"] for row in of_task), default=0)
    found = {(row["mask"], row["weights"]): row for row in of_task if row["layer"] == last}
    parts = [
        f"{number(row['mean'], 2)} under {mask} (random weights: {number(found[mask, 'random']['mean'], 2)})"
        for (mask, weights), row in found.items()
        if weights == "trained"
    ]
    if not parts:
        return ""
    return (
        f"The models of {task} are told no positions. The share of the position’s variance that can be read after "
        f"their last block is {_listed(parts)}."
    )


def audits(rows: Iterable[Row]) -> str:
    """How the audit came out, in one or two sentences.

    Args:
        rows: columns of `schemas.AUDIT`.
    """
    cells = list(rows)
    leaking = [row for row in cells if row["leaks"]]
    clean = f"In {len(cells) - len(leaking)} of {len(cells)} cells no scored position sees its own answer"
    if not leaking:
        return f"{clean}."
    names = _listed([f"{row['task']} under {row['mask']}" for row in leaking])
    return f"{clean}. The answer leaks in {names}, on purpose: these are controls, and they are never ranked."


def _times(row: Row) -> str:
    return f"{row['scale']:g}\u00a0×"


def _gap(row: Row) -> str:
    return number(row["gap"])


def _by_task(rows: Sequence[Row], detail: Callable[[Row], str] | None) -> str:
    """`hmm_tagging (causal −0.012, full −0.010) and …`, with the metric where the rows have several."""
    several = len({row.get("metric") for row in rows}) > 1
    cells: dict[str, list[str]] = {}
    for row in rows:
        name = f"{row['task']}, {row['metric']}" if several else str(row["task"])
        cells.setdefault(name, []).append(f"{row['mask']} {detail(row)}" if detail else row["mask"])
    return _listed([f"{name} ({', '.join(masks)})" for name, masks in cells.items()])


def _several(how_many: int, what: str) -> str:
    return f"{how_many} {what}{'' if how_many == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
