"""The paper: everything that it says, collected in one JSON value, and the template that sets it.

`collect` gathers words and numbers; `compile_pdf` sets them with Typst. The template holds prose that is true of every
study of this kind and no number; whatever depends on results is made here.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typst
from polars import DataFrame

from maskstudy import figures
from maskstudy.errors import StudyError
from maskstudy.figures import style
from maskstudy.figures.results import Settings, verdict_words
from maskstudy.report import statements
from maskstudy.report.statements import count, interval, number, percent, power_of_ten
from maskstudy.samples import spread
from maskstudy.statistics import smallest_p

_ANSWERED, _WRITTEN = ("accuracy", "nats"), ("per", "wer")  # metrics of one table each
_PROMPTS, _CHARACTERS = 2, 160  # texts of a task that are shown, and how much of each
_MEASURES = {"position": 2, "left": 2, "right": 2, "effective_rank": 1, "cka": 2}  # of a layer, with their decimals
TEMPLATE = Path(__file__).with_name("paper.typ")

MASKS = {
    "causal": "a position sees itself and all before it",
    "full": "every position sees every position",
    "prefix": "all of the condition is seen by every position; after it, causal",
    "lookahead": "causal, and exactly {reach} of the future: only the first layer looks ahead, for look-ahead adds up "
    "over layers",
    "encoder-decoder": "full over the source, causal over the target, cross-attention between them; weights of its own",
}
OWN_MASK = "a mask of this study’s own; its grid shows what it admits"


def collect(settings: Settings, tables: Mapping[str, DataFrame], drawn: Sequence[str]) -> dict[str, Any]:
    """All that the paper says, as JSON: words and formatted numbers.

    Args:
        settings: the part of the config that says what the study holds.
        tables: those of `tables.applying`.
        drawn: the figures that the paper shows.
    """
    metrics, comparisons = (tables[name].to_dicts() for name in ("metrics", "comparisons"))
    declared = [row for row in comparisons if row["declared"]]
    return {
        "confirmatory": settings.confirmatory,
        "seeds": settings.seeds_of_a_cell,
        "most_seeds": str(max(settings.seeds.values())),
        "size": statements.size(settings),
        "confidence": percent(settings.confidence),
        "resamples": count(settings.resamples),
        "alpha": f"{settings.alpha:g}",
        "smallest_p": f"{smallest_p(max(settings.seeds.values())):.2g}",
        "not_superior": statements.NOT_SUPERIOR,
        "answer": _answer(declared, settings),
        "ceilings": statements.ceilings(metrics),
        "baselines": statements.baselines(metrics),
        "tuning": statements.tuning(tables["tuning"].to_dicts(), settings.tuning),
        "audits": statements.audits(tables["audit"].to_dicts()),
        "masks": _masks([cell.mask for cell in settings.cells]),
        "questions": [
            {"task": task, "question": settings.questions[task]}
            for task in settings.tasks
            if task in settings.questions
        ],
        "results": _results(metrics, _ANSWERED),
        "written": _results(metrics, _WRITTEN),
        "decoding": _decoding(tables["decoding"].to_dicts()) if "decoding" in tables else None,
        "published": [
            {
                "task": task,
                **{name: shown if isinstance(shown, str) else number(shown, 4) for name, shown in row.items()},
            }
            for task in settings.tasks
            for row in settings.published.get(task, [])
        ],
        "comparisons": {
            "declared": [_comparison(row) for row in declared],
            "exploratory": [_comparison(row) for row in comparisons if not row["declared"]],
        },
        "supervision": _supervision(tables["supervision"].to_dicts()) if "supervision" in tables else None,
        "texts": _texts(tables["texts"].to_dicts()) if "texts" in tables else [],
        "swaps": _swaps(tables["swaps"].to_dicts()) if "swaps" in tables else None,
        "representations": _representations(tables["representations"].to_dicts(), settings)
        if "representations" in tables
        else None,
        "cost": _cost(tables["cost"]),
        "figures": [
            {"name": name, "title": module.SUMMARY, "caption": module.CAPTION}
            for name, module in ((name, figures.named(name)) for name in drawn)
        ],
        "limits": _limits(metrics, comparisons),
    }


def compile_pdf(document: Mapping[str, Any], drawings: Path) -> bytes:
    """Set the paper; equal documents and drawings give equal bytes.

    Args:
        document: what `collect` gives.
        drawings: the folder with an SVG of every figure in `document["figures"]`.

    Raises:
        StudyError: a figure is missing.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for figure in document["figures"]:
            drawing = drawings / f"{figure['name']}.svg"
            if not drawing.is_file():
                raise StudyError(f"{drawing}: no such file; draw it first: snakemake {drawing}")
            shutil.copyfile(drawing, folder / drawing.name)
        (folder / "paper.json").write_text(json.dumps(document, sort_keys=True, allow_nan=False), encoding="utf-8")
        shutil.copyfile(TEMPLATE, folder / TEMPLATE.name)
        # Only the fonts that come with Typst: the paper looks the same on every machine.
        return typst.compile(folder / TEMPLATE.name, root=folder, format="pdf", ignore_system_fonts=True)


def _answer(declared: Sequence[dict[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """The declared comparisons by kind of access: an overview, then a finding each."""
    groups = []
    for equal_access in (False, True):
        rows = [row for row in declared if row["equal_access"] == equal_access]
        if rows:
            findings = [{"task": row["task"], "finding": statements.finding(row, settings.alpha)} for row in rows]
            what, outcome = statements.overview(rows, equal_access)
            groups.append({"what": what, "outcome": outcome, "findings": findings})
    return groups


def _masks(masks: Sequence[str]) -> list[dict[str, str]]:
    colours = style.colours(masks)
    rows = []
    for mask in style.ordered(masks):
        reach = style.lookahead(mask)
        known = "lookahead" if mask.startswith("lookahead-") and reach is not None else mask
        tokens = "" if reach is None else "one token" if reach == 1 else f"{reach:g} tokens"
        words = MASKS.get(known, OWN_MASK).format(reach=tokens)
        rows.append({"mask": mask, "colour": colours[mask], "words": words})
    return rows


def _results(metrics: Sequence[dict[str, Any]], shown: Sequence[str]) -> list[dict[str, Any]]:
    """One row a cell that has one of the metrics, for a table of results, grouped by task."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in metrics:
        if row["metric"] in shown:
            cells.setdefault((row["task"], row["mask"]), []).append(row)
    colours = style.colours(mask for _, mask in cells)
    rows: list[dict[str, Any]] = []
    for (task, mask), of_cell in cells.items():
        by_metric = {row["metric"]: row for row in of_cell}
        values = []
        for metric in shown:
            if metric in by_metric:
                row = by_metric[metric]
                values += [number(row["mean"]), interval(row["low"], row["high"])]
                values += [number(row["baseline"]), number(row["ceiling"])]
            else:
                values += [""] * 4
        swatch = _swatch(mask, of_cell[0]["role"], colours)
        rows.append({"task": task, **swatch, "values": values, "reading": statements.reading(of_cell)})
    return rows


def _swatch(mask: str, role: str, colours: Mapping[str, str]) -> dict[str, str]:
    """The name of a cell and its colour, as rows of tables begin."""
    return {"mask": style.cell_name(mask, role), "colour": style.cell_colour(mask, role, colours)}


def _comparison(row: Mapping[str, Any]) -> dict[str, str]:
    digits = statements.digits_for(row["low"], row["high"])
    corrected = row["p"] if row["p_holm"] is None else row["p_holm"]
    return {
        "task": row["task"],
        "metric": row["metric"],
        "masks": f"{row['mask_a']} − {row['mask_b']}",
        "access": "equal" if row["equal_access"] else "unequal",
        "effect": number(row["effect"], digits),
        "interval": interval(row["low"], row["high"], digits),
        "hierarchical": interval(row["hierarchical_low"], row["hierarchical_high"], digits),
        "superiority": number(row["superiority"], 2),
        "p": statements.probability(corrected).removeprefix("p\u00a0=\u00a0").removeprefix("p\u00a0"),
        "margin": "" if row["margin"] is None else f"±{row['margin']:g}",
        "verdict": verdict_words(row["verdict"], row["mask_a"], row["mask_b"]),
    }


def _cost(cost: DataFrame) -> list[dict[str, str]]:
    """One row for all cells of a task that were given the same."""
    given = ["task", "parameters", "steps", "tokens_seen", "targets_seen", "train_flops"]
    rows = []
    for (task, parameters, steps, tokens, targets, flops), cells in cost.group_by(given, maintain_order=True):
        seconds = cells["train_seconds"].to_list()
        shown = [number(min(seconds), 1), number(max(seconds), 1)]
        rows.append(
            {
                "task": task,
                "masks": ", ".join(cells["mask"]),
                "parameters": count(parameters),
                "steps": count(steps),
                "tokens": count(tokens),
                "targets": count(targets),
                "flops": power_of_ten(flops),
                "seconds": shown[0] if shown[0] == shown[1] else "–".join(shown),
            }
        )
    return rows


def _decoding(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row a cell: errors by greedy choice and by beam search; and what holds of all of them."""
    colours = style.colours(row["mask"] for row in rows)
    shown = [
        {
            "task": row["task"],
            "mask": row["mask"],
            "colour": colours[row["mask"]],
            "values": [number(row[f"{search}_{metric}"]) for metric in _WRITTEN for search in ("greedy", "beam")],
            "difference": power_of_ten(row["parallel_minus_stepwise"]),
        }
        for row in rows
    ]
    words = max(row["words"] for row in rows)
    return {"rows": shown, "words": count(words), "width": str(rows[0]["beam_width"])}


def _texts(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a task and prompt, of a few prompts spread evenly: the true text, then that of each cell."""
    colours = style.colours(row["mask"] for row in rows)
    by_prompt: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        by_prompt.setdefault(row["task"], {}).setdefault(row["example"], []).append(row)
    shown = []
    for task, prompts in by_prompt.items():
        every = list(prompts.values())
        for place in spread(len(every), _PROMPTS):
            of_prompt = every[place]
            true = of_prompt[0]["true"]
            written = [{"mask": "true text", "colour": style.INK, "text": _cut(true)}]
            for row in of_prompt:
                written.append(_swatch(row["mask"], row["role"], colours) | {"text": _cut(row["sampled"])})
            shown.append({"task": task, "prompt": _cut(of_prompt[0]["prompt"]), "written": written})
    return shown


def _cut(text: str) -> str:
    """The beginning of a text, with what cannot be seen made visible."""
    return style.visible(text[:_CHARACTERS]) + ("…" if len(text) > _CHARACTERS else "")


def _supervision(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row a cell: its scores on the final positions beside what it trained on; and the baseline there."""
    cells: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["task"], row["mask"]), {})[row["metric"]] = row
    colours = style.colours(mask for _, mask in cells)
    shown = []
    for (task, mask), by_metric in cells.items():
        of_metrics = [by_metric[metric] for metric in _ANSWERED]
        given = of_metrics[0]
        shown.append(
            {
                "task": task,
                "mask": mask,
                "colour": colours[mask],
                "values": [
                    text for row in of_metrics for text in (number(row["mean"]), interval(row["low"], row["high"]))
                ],
                "steps": count(given["steps"]),
                "tokens": count(given["tokens_seen"]),
                "targets": count(given["targets_seen"]),
                "flops": power_of_ten(given["train_flops"]),
            }
        )
    baseline = {row["metric"]: number(row["baseline"]) for row in rows}
    return {"rows": shown, "scored": count(rows[0]["scored"]), "baseline": baseline}


def _swaps(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row a trained and tested mask: both scores and what the swap costs, in accuracy and in nats."""
    pairs: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["task"], row["trained_mask"], row["tested_mask"]), {})[row["metric"]] = row
    colours = style.colours(mask for _, *masks in pairs for mask in masks)
    shown = []
    for (task, trained, tested), by_metric in pairs.items():
        one = by_metric["accuracy"]
        values = []
        for row in (by_metric[metric] for metric in _ANSWERED):
            digits = statements.digits_for(row["low"], row["high"])
            values += [number(row["own_mean"]), number(row["mean"]), number(row["cost"], digits)]
            values.append(interval(row["low"], row["high"], digits))
        shown.append(
            {
                "task": task,
                **_swatch(trained, one["role"], colours),
                "tested": tested,
                "access": "equal" if one["equal_access"] else "unequal",
                "leaks": one["leaks"],
                "values": values,
            }
        )
    return {"rows": shown, "summary": statements.swaps(rows)}


def _representations(rows: Sequence[dict[str, Any]], settings: Settings) -> dict[str, Any]:
    """One row a cell: every measure of its last layer, trained and with random weights.

    Its similarity is that to the first mask of its task, which has none itself.
    """
    last = {row["task"]: row["layer"] for row in sorted(rows, key=lambda row: row["layer"])}
    first = {cell.task: cell.mask for cell in reversed(settings.cells) if cell.mask in {row["mask"] for row in rows}}
    cells: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for row in rows:
        to_another = row["measure"] == "cka"
        if row["layer"] == last[row["task"]] and not (to_another and row["mask"] != first[row["task"]]):
            mask = row["other_mask"] if to_another else row["mask"]
            cells.setdefault((row["task"], mask), {})[row["measure"], row["weights"]] = row["mean"]
    roles = {(cell.task, cell.mask): cell.role for cell in settings.cells}
    colours = style.colours(mask for _, mask in cells)
    shown = []
    for (task, mask), measures in cells.items():
        shown.append(
            {
                "task": task,
                **_swatch(mask, roles[task, mask], colours),
                "values": [
                    number(measures.get((measure, weights)), digits)
                    for measure, digits in _MEASURES.items()
                    for weights in ("trained", "random")
                ],
            }
        )
    told = [statements.unordered(rows, task) for task in settings.unordered]
    return {"rows": shown, "unordered": " ".join(told).strip(), "before": statements.READ_BEFORE}


def _limits(metrics: Sequence[Mapping[str, Any]], comparisons: Sequence[Mapping[str, Any]]) -> list[str]:
    """What these results in particular leave open."""
    study = [row for row in metrics if row["role"] == "study"]
    cells = {(row["task"], row["mask"]) for row in study}
    known = {(row["task"], row["mask"]) for row in study if row["learning"] is not None}
    limits = [
        f"For {len(cells) - len(known)} of {len(cells)} cells the best possible result is not known: there, what a "
        "model did not learn cannot be told from what its mask does not let it see."
    ] if len(known) < len(cells) else []  # fmt: skip
    unclear = [row for row in comparisons if row["declared"] and row["verdict"] == "inconclusive"]
    if unclear:
        limits.append(
            f"{len(unclear)} declared comparison{'s' if len(unclear) > 1 else ''} stayed inconclusive. That is not "
            "evidence of no difference."
        )
    exploratory = sum(not row["declared"] for row in comparisons)
    if exploratory:
        limits.append(
            f"{exploratory} exploratory comparisons were made beside the declared ones. Their p values are not "
            "corrected for being many; they suggest what to test next and establish nothing."
        )
    return limits
