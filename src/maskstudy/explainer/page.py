"""The page as one file: template, style, script, data and weights put together. Pure: equal parts, equal bytes."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from maskstudy.checkpoints import Checkpoint
from maskstudy.errors import StudyError
from maskstudy.explainer import FOLDER, models
from maskstudy.explainer.scripts import combined
from maskstudy.figures.style import MASK_COLOURS

LIMIT = 2_000_000  # bytes of the page


def page(chosen: Sequence[Checkpoint], study: Mapping[str, Any] | None = None, names: Sequence[str] = ()) -> str:
    """The whole page.

    All models stand in it with the most bits a weight, of `models.PRECISIONS`, with which they fit; those at the end of
    the list that do not fit with the fewest are left out, which the page says.

    Args:
        chosen: the models of the page, the most important ones first; at least one that reads bytes or letters.
        study: what `study.collected` gives, or None for a page without results.
        names: what the tokens of an encoder–decoder stand for.

    Raises:
        StudyError: there is no model that reads bytes or letters, or not even the first fits.
    """
    # The lessons are about a model that reads a text; an encoder–decoder has a part of one of them.
    reader = first_reader(chosen)
    chosen = [reader, *(model for model in chosen if model is not reader)]
    for precision in models.PRECISIONS:
        made = [models.embedded(model, precision, names) for model in chosen]
        if len(assembled(made, study, []).encode()) <= LIMIT:
            return assembled(made, study, [])
    names = ["/".join((model.cell["task"], model.cell["mask"])) for model in chosen]
    for count in range(len(made) - 1, 0, -1):
        text = assembled(made[:count], study, names[count:])
        if len(text.encode()) <= LIMIT:
            return text
    raise StudyError(
        f"explain: {names[0]} alone makes the page larger than {LIMIT:,} bytes; the page is for models of up to about "
        "600 000 parameters"
    )


def first_reader(chosen: Sequence[Checkpoint]) -> Checkpoint:
    """The first model that reads bytes or letters.

    Raises:
        StudyError: there is none.
    """
    for model in chosen:
        if model.cell["mask"] != models.ENCODER_DECODER:
            return model
    raise StudyError("explain: the page needs at least one model that reads bytes or letters; add it to --weights")


def assembled(shown: Sequence[models.EmbeddedModel], study: Mapping[str, Any] | None, left_out: Sequence[str]) -> str:
    """The page with these models, whatever its size."""
    script = combined({
        path.relative_to(FOLDER / "modules").with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((FOLDER / "modules").rglob("*.mjs"))
    })  # fmt: skip
    script = f'"use strict";\n{script}\n'
    data = {
        "models": [model.description for model in shown],
        "study": study,
        "colours": MASK_COLOURS,
        "left_out": list(left_out),
    }
    parts = {
        "POLICY": _policy(script),
        "STYLE": (FOLDER / "style.css").read_text(encoding="utf-8"),
        "SCRIPT": script,
        "DATA": _json(data),
        "WEIGHTS": "\n".join(
            f'<script type="text/plain" id="weights-{place}">{model.weights}</script>'
            for place, model in enumerate(shown)
        ),
    }
    text = (FOLDER / "template.html").read_text(encoding="utf-8")
    before, *rest = text.split("{{")
    pieces = [before]
    for piece in rest:
        name, _, after = piece.partition("}}")
        pieces += [parts[name], after]
    return "".join(pieces)


def _json(value: Any) -> str:
    """JSON that may stand inside a script element: no `<` that could end it."""
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")


def _policy(script: str) -> str:
    """A content security policy: this script alone runs, and nothing is loaded from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
