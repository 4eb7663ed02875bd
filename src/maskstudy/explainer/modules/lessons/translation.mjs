// Lesson 2, the third family: encoder and decoder, with three matrices where the others have one.

import { maskColour, tint } from "../colours.mjs";
import { byId, element, mark, say } from "../dom.mjs";
import { causal, full } from "../masks.mjs";
import { matrixIn } from "../matrix.mjs";
import { attend, dot } from "../model.mjs";
import { listed, several, shown } from "../numbers.mjs";
import { playerIn } from "../player.mjs";
import { generator, normal } from "../random.mjs";
import { choose, chosen } from "../state.mjs";
import { named, tokens } from "../tokens.mjs";

const BYTES = { alphabet: "bytes", symbols: 256 };
const LAYERS = 3;
const WIDTH = 16; // of the random heads
// Which positions of which side attend to which: its title, who asks, who is asked, and the mask.
const PARTS = [
  { id: "encoder-self", title: "Encoder: source to source, full", queries: "source", keys: "source", mask: full },
  { id: "decoder-self", title: "Decoder: target to target, causal", queries: "target", keys: "target", mask: causal },
  {
    id: "decoder-cross",
    title: "Cross-attention: target to source, full",
    queries: "target",
    keys: "source",
    mask: full,
  },
];

export function lesson() {
  const point = (row) => row !== chosen.attending && choose({ attending: row });
  const figures = PARTS.map((part) => ({
    ...part,
    figure: matrixIn(byId(part.id), part.queries === "target" ? { point } : {}),
  }));
  byId("target").addEventListener("input", (event) => choose({ target: event.target.value }));
  byId("numbers").addEventListener("change", (event) => choose({ numbers: event.target.checked }));
  const player = playerIn(byId("deep-player"), {
    what: "the layers of encoder and decoder",
    get: () => chosen.deep,
    last: () => LAYERS,
    set: (deep) => choose({ deep }),
  });

  return function render() {
    const sides = {
      source: tokens(chosen.text, BYTES, chosen.count, "source").tokens,
      target: tokens(chosen.target, BYTES, chosen.count, "target").tokens,
    };
    const watched = Math.min(chosen.attending, sides.target.length - 1);
    const colour = maskColour("encoder-decoder");
    if (document.activeElement !== byId("target")) byId("target").value = chosen.target;
    byId("numbers").checked = chosen.numbers;
    figures.forEach(({ id, title, figure, queries, keys, mask }, place) => {
      const [rows, columns] = [sides[queries], sides[keys]];
      const weights = chosen.numbers ? randomWeights(rows, columns, mask, place) : null;
      say(byId(`${id}-title`), title);
      const cells = rows.map((_, i) =>
        columns.map((__, j) =>
          cell(rows, columns, i, j, mask(i, j), weights?.[i][j], colour, figure.narrow(columns.length)),
        ),
      );
      const summary = rows.map(
        (_, i) =>
          `Query ${i + 1} may attend to ${listed(columns.flatMap((__, j) => (mask(i, j) ? [String(j + 1)] : [])))}.`,
      );
      figure.draw({
        rows,
        columns,
        cells,
        row: queries === "target" ? watched : null,
        summary: `${title}. ${summary.join(" ")}`,
      });
    });
    drawReach(sides, watched, colour);
    player.draw(reachWords(sides, watched));
  };
}

function cell(rows, columns, i, j, allowed, weight, colour, narrow) {
  const who = `query ${named(rows, i)}, key ${named(columns, j)}`;
  if (weight === undefined)
    return {
      text: allowed ? "✓" : "–",
      fill: allowed ? colour : null,
      hidden: !allowed,
      words: `${who}: ${allowed ? "may attend" : "forbidden"}`,
    };
  const text = narrow ? shown(weight).replace(/^0\./, ".") : shown(weight);
  return {
    text,
    fill: allowed ? tint(colour, weight) : null,
    hidden: !allowed,
    words: `${who}: weight ${shown(weight, 4)} (random)`,
  };
}

/** Attention between random vectors: what the page shows while no trained encoder–decoder stands in it. */
function randomWeights(rows, columns, mask, seed) {
  const vector = (kind, token, place) => {
    const draw = generator(1 + token.id + 257 * (place + 13 * (kind + 2 * seed)));
    return Array.from({ length: WIDTH }, () => normal(draw));
  };
  const keys = columns.map((token, place) => vector(0, token, place));
  return rows.map((token, i) => {
    const query = vector(1, token, i);
    return attend(
      keys.map((key) => dot(query, key) / Math.sqrt(WIDTH)),
      columns.map((_, j) => mask(i, j)),
    ).weights;
  });
}

/** What target position `watched` holds after so many layers of encoder and decoder. */
function reached({ source, target }, watched) {
  if (chosen.deep === 0) return { source: [], target: [watched] };
  return {
    source: source.map((_, place) => place),
    target: target.flatMap((_, place) => (causal(watched, place) ? [place] : [])),
  };
}

function drawReach(sides, watched, colour) {
  const lit = reached(sides, watched);
  for (const side of ["source", "target"]) {
    const chips = sides[side].map((token, place) => {
      const chip = element("span", { class: "chip", title: token.title }, token.label);
      const on = lit[side].includes(place);
      mark(chip, "data-lit", on ? "yes" : null);
      mark(chip, "data-watched", side === "target" && place === watched ? "yes" : null);
      chip.style.setProperty("--accent", colour);
      return chip;
    });
    byId(`${side}-chips`).replaceChildren(...chips);
  }
}

function reachWords(sides, watched) {
  const lit = reached(sides, watched);
  const where = `After ${several(chosen.deep, "layer")} of both, target position ${named(sides.target, watched)} holds`;
  if (chosen.deep === 0) return `${where} its own token alone.`;
  const future = sides.target.length - lit.target.length;
  return `${where} all ${several(lit.source.length, "source token")} and ${several(lit.target.length, "target token")}${future ? `; the ${future} after it stay hidden` : ""}.`;
}
