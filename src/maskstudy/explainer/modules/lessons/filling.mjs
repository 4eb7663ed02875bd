// Lesson 3: padding is hidden for another reason than the future, and by a mask of its own.

import { maskColour, tint } from "../colours.mjs";
import { byId, say } from "../dom.mjs";
import { both, causal, full, matrix } from "../masks.mjs";
import { matrixIn } from "../matrix.mjs";
import { pass } from "../models.mjs";
import { difference, inCell, listed, shown } from "../numbers.mjs";
import { choose, chosen } from "../state.mjs";
import { named } from "../tokens.mjs";

export function lesson() {
  const figure = matrixIn(byId("padding-matrix"), { point: (row) => row !== chosen.row && choose({ row }) });
  for (const side of ["none", "left", "right"]) byId(`side-${side}`).addEventListener("change", () => choose({ side }));
  byId("pads").addEventListener("input", (event) => choose({ pads: Number(event.target.value) }));
  byId("causality").addEventListener("change", (event) => choose({ causality: event.target.checked }));
  byId("padmask").addEventListener("change", (event) => choose({ padmask: event.target.checked }));

  return function render(view) {
    drawControls();
    const { description, layer, head } = view;
    const count = chosen.side === "none" ? 0 : Math.min(chosen.pads, description.shape.length - view.length);
    const pad = {
      id: description.alphabet === "bytes" ? description.shape.vocabulary - 1 : 0,
      label: "∅",
      part: "",
      title: "padding",
    };
    const pads = Array.from({ length: count }, () => pad);
    const shift = chosen.side === "left" ? count : 0;
    const tokens = chosen.side === "left" ? [...pads, ...view.tokens] : [...view.tokens, ...pads];
    const order = chosen.causality ? causal : full;
    const isReal = (place) => place >= shift && place < shift + view.length;
    const mask = chosen.padmask ? both(order, (_, key) => isReal(key)) : order;
    const masks = Array.from({ length: description.shape.layers }, () => matrix(mask, tokens.length));
    const read = pass(
      description,
      tokens.map((token) => token.id),
      masks,
    );
    const weights = read.layers[layer][head].weights;
    const colour = maskColour(chosen.causality ? "causal" : "full");
    const narrow = figure.narrow(tokens.length);
    const cells = weights.map((line, i) =>
      line.map((weight, j) => {
        const allowed = mask(i, j);
        const why = reason(order(i, j), isReal(j));
        const text = inCell(weight, narrow);
        return {
          text,
          fill: allowed ? tint(colour, weight) : null,
          hidden: !allowed,
          words: `query ${named(tokens, i)}, key ${named(tokens, j)}: ${allowed ? "" : `forbidden (${why}), `}weight ${shown(weight, 4)}`,
        };
      }),
    );
    say(
      byId("padding-title"),
      `Weights with ${count === 0 ? "no padding" : `padding on the ${chosen.side}`} · layer ${layer + 1}, head ${head + 1}`,
    );
    const summary = tokens.map(
      (_, i) =>
        `Query ${named(tokens, i)} may see ${listed(tokens.flatMap((__, j) => (mask(i, j) ? [named(tokens, j)] : []))) || "nothing"}.`,
    );
    figure.draw({
      rows: tokens,
      columns: tokens,
      cells,
      row: Math.min(chosen.row, tokens.length - 1),
      summary: summary.join(" "),
    });
    say(byId("padding-words"), effect(view, read, order, shift, count));
    const blind = tokens.flatMap((_, i) => (tokens.some((__, j) => mask(i, j)) ? [] : [String(i + 1)]));
    say(
      byId("padding-blind"),
      blind.length
        ? `Nothing is allowed at position${blind.length > 1 ? "s" : ""} ${listed(blind)}: ${blind.length > 1 ? "these rows are" : "this row is"} 0 everywhere, not a number divided by 0.`
        : "",
    );
  };
}

function drawControls() {
  byId(`side-${chosen.side}`).checked = true;
  byId("pads").value = chosen.pads;
  say(byId("pads-value"), String(chosen.pads));
  byId("causality").checked = chosen.causality;
  byId("padmask").checked = chosen.padmask;
}

function reason(inOrder, real) {
  if (!inOrder && !real) return "future and padding";
  return inOrder ? "padding" : "future";
}

/** How far padding moves the answers at the real positions. */
function effect(view, padded, order, shift, count) {
  if (count === 0) return "Without padding the two masks are one.";
  const { description, ids, length } = view;
  const alone = pass(
    description,
    ids,
    Array.from({ length: description.shape.layers }, () => matrix(order, length)),
  );
  const moved = Math.max(
    ...alone.logits.map((row, place) =>
      Math.max(...row.map((logit, answer) => Math.abs(logit - padded.logits[place + shift][answer]))),
    ),
  );
  const begin = `Against the same text without padding, the model’s answers at the real positions move by ${moved === 0 ? "exactly 0" : `at most ${moved < 0.01 ? difference(moved) : shown(moved)}`}.`;
  if (moved === 0 && !chosen.padmask)
    return `${begin} The padding mask is off, but the causal mask happens to hide padding on the right: for every real position it lies in the future. Nothing else would hide it on the left, or without causality.`;
  if (moved === 0) return `${begin} What stands in padding has no effect.`;
  if (moved < 1e-6)
    return `${begin} That is rounding: all positions are shifted, and this model’s positions (rotary) know distances alone.`;
  if (chosen.padmask)
    return `${begin} The padding itself is hidden, but on the left it shifts every token, and this model learned its positions one by one.`;
  return `${begin} The padding mask is off, and padding is read as if it were text.`;
}
