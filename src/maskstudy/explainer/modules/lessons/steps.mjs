// Lesson 1: scores, mask, softmax, values, with the numbers of a trained head.

import { leak, maskColour, signed, tint } from "../colours.mjs";
import { byId, drawMeter, drawing, element, kept, mark, meter, say } from "../dom.mjs";
import { matrixIn, thumbnailIn } from "../matrix.mjs";
import { softmax } from "../model.mjs";
import { likeliest, pass } from "../models.mjs";
import { difference, inCell, listed, percent, powers, shown } from "../numbers.mjs";
import { playerIn } from "../player.mjs";
import { STOPS, choose, chosen } from "../state.mjs";
import { madeToken, named } from "../tokens.mjs";
import { BLIND, tried } from "../view.mjs";

const SCORES = 0;
const MASKED = 1;
const SOFTMAX = 2; // and one step more for each row
const ANSWERS = 5;

export function lesson() {
  const figure = matrixIn(byId("steps-matrix"), {
    point: (row, column) => (row !== chosen.row || column !== chosen.column) && choose({ row, column }),
  });
  let length = 0;
  const last = () => SOFTMAX + length;
  const player = playerIn(byId("steps-player"), {
    what: "the three steps",
    get: () => Math.min(chosen.step, last()),
    last,
    set: (step) => choose({ step, ...follow(step, length) }),
  });
  const targets = [() => SCORES, () => MASKED, () => SOFTMAX + length - 1, last];
  const stages = targets.map((target, stage) =>
    stageButton(stage, () => choose({ step: target(), ...follow(target(), length) })),
  );
  byId("steps-stages").append(...stages.flatMap((stage, place) => (place ? [arrow(), stage] : [stage])));
  byId("fill").addEventListener("input", (event) => choose({ fill: Number(event.target.value) }));
  byId("blind").addEventListener("change", (event) => choose({ blind: event.target.checked }));
  for (const how of ["add", "write"]) byId(`how-${how}`).addEventListener("change", () => choose({ how }));

  return function render(view) {
    length = view.length;
    const step = Math.min(chosen.step, last());
    const { fill, predicates, masks, read } = tried(view);
    const head = read.layers[view.layer][view.head];
    const allowed = masks[view.layer];
    const colour = maskColour(chosen.mask);
    const most = Math.max(...head.scores.flat().map(Math.abs));
    const fills = {
      scores: head.scores.map((row) => row.map((score) => signed(score, most, colour))),
      masked: head.masked.map((row, i) =>
        row.map((value, j) =>
          allowed[i][j] || Number.isFinite(value) ? signed(clamped(value, most), most, colour) : null,
        ),
      ),
      weights: head.weights.map((row, i) =>
        row.map((weight, j) => (allowed[i][j] ? tint(colour, weight) : weight > 0 ? leak(weight) : null)),
      ),
      mixed: head.mixed.map((row) => spread(row, colour)),
    };

    drawStages(stages, step, length, fills, view.row);
    drawMatrix(figure, view, step, head, allowed, fills);
    player.draw(words(step, length, fill.value));
    drawRow(view, step, head, allowed[view.row], colour);
    drawAnswer(view, read, colour);
    drawFill(view, fill, head, masks, predicates);
  };
}

/** The story beside the matrix follows the row that softmax is at. */
function follow(step, length) {
  return step >= SOFTMAX && step < SOFTMAX + length ? { row: step - SOFTMAX } : {};
}

function words(step, length, value) {
  if (step === SCORES)
    return "1 · Scores. S = QKᵀ/√dₖ: every query is compared with every key, also with those it may not see.";
  if (step === MASKED)
    return `2 · Mask. M is added: 0 where the query may attend, ${value === -Infinity ? "−∞" : `here ${powers(value)} instead of −∞`} where it may not. Nothing else happens here.`;
  if (step < SOFTMAX + length)
    return `3 · Softmax, row ${step - 1} of ${length}. Each number x of the row becomes eˣ, divided by the sum of the row; e to the −∞ is exactly 0.`;
  return "4 · Values. What a position takes along is the sum of all values, weighted by its row: a weight of 0 takes nothing.";
}

function stageButton(stage, action) {
  const titles = ["Scores", "Mask", "Softmax", "Values"];
  const formulas = ["S = QKᵀ/√dₖ", "S + M", "A = softmax(S + M)", "A · V"];
  return element(
    "button",
    { type: "button", class: "stage", onclick: action },
    element("span", { class: "stage-title" }, `${stage + 1} ${titles[stage]}`),
    element("span", { class: "stage-picture" }),
    element("span", { class: "formula" }, formulas[stage]),
  );
}

function arrow() {
  return element("span", { class: "arrow", "aria-hidden": "true" }, "→");
}

function drawStages(stages, step, length, fills, row) {
  const now = step <= MASKED ? step : step < SOFTMAX + length ? 2 : 3;
  const weights = fills.weights.map((line, i) => (step >= SOFTMAX + i ? line : line.map(() => null)));
  const pictures = [
    fills.scores,
    step >= MASKED ? fills.masked : null,
    step >= SOFTMAX ? weights : null,
    now === 3 ? fills.mixed : null,
  ];
  stages.forEach((stage, place) => {
    mark(stage, "aria-pressed", String(place === now));
    const empty = fills.scores.map((line) => line.map(() => null));
    mark(stage, "data-reached", pictures[place] ? "yes" : null);
    thumbnailIn(stage.querySelector(".stage-picture"), pictures[place] ?? empty, place < 3 ? row : null);
  });
}

function drawMatrix(figure, view, step, head, allowed, fills) {
  const narrow = figure.narrow(view.length);
  const ofScore = (value) => inCell(value, narrow, 1);
  const cells = view.tokens.map((_, i) =>
    view.tokens.map((__, j) => {
      const who = `query ${named(view.tokens, i)}, key ${named(view.tokens, j)}`;
      const hidden = !allowed[i][j];
      if (step === SCORES)
        return {
          text: ofScore(head.scores[i][j]),
          fill: fills.scores[i][j],
          words: `${who}: score ${shown(head.scores[i][j])}`,
        };
      if (step >= SOFTMAX + i) {
        const weight = head.weights[i][j];
        return {
          text: inCell(weight, narrow),
          fill: fills.weights[i][j],
          hidden: hidden && weight === 0,
          words: `${who}: ${hidden ? "forbidden, " : ""}weight ${shown(weight, 4)}`,
        };
      }
      const value = head.masked[i][j];
      return {
        text: ofScore(value),
        fill: fills.masked[i][j],
        hidden: hidden && value === -Infinity,
        words: `${who}: ${hidden ? "forbidden" : "allowed"}, ${shown(value)}`,
      };
    }),
  );
  const title = ["Scores S", "Scores with the mask, S + M"][step] ?? "Attention weights A";
  say(byId("steps-title"), `${title} · ${view.maskName} mask · layer ${view.layer + 1}, head ${view.head + 1}`);
  const sees = view.tokens.map((_, i) => {
    const parts = allowed[i].flatMap((yes, j) =>
      yes ? [`${named(view.tokens, j)} ${shown(step >= SOFTMAX ? head.weights[i][j] : head.scores[i][j])}`] : [],
    );
    return `Query ${named(view.tokens, i)} may see ${parts.length ? listed(parts) : "nothing"}.`;
  });
  figure.draw({
    rows: view.tokens,
    columns: view.tokens,
    cells,
    row: view.row,
    summary: `${title}. ${sees.join(" ")}`,
  });
}

/** The story of one row: each key with its score, what the mask adds, and the weight that is left. */
function drawRow(view, step, head, allowed, colour) {
  const { row, tokens, length } = view;
  const seen = tokens.flatMap((_, j) => (allowed[j] ? [j] : []));
  say(byId("row-title"), `Position ${named(tokens, row)}`);
  const tail =
    seen.length === length ? "" : ` ${length - seen.length} ${length - seen.length === 1 ? "is" : "are"} forbidden.`;
  say(
    byId("row-words"),
    `It may see ${seen.length === 0 ? "nothing" : `${seen.length} of ${length} positions`}.${tail}`,
  );
  const known = step >= SOFTMAX + row;
  const top = Math.max(...head.masked[row]);
  const raised = head.masked[row].map((value) => (top === -Infinity ? 0 : Math.exp(value - top)));
  const sum = raised.reduce((total, value) => total + value, 0);
  const lines = kept(byId("row-table").tBodies[0], length, (j) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `${j + 1} `, element("span", { class: "sign" })),
      ...Array.from({ length: 4 }, () => element("td")),
      element("td", { class: "bar" }, element("span")),
    ),
  );
  lines.forEach((line, j) => {
    const weight = head.weights[row][j];
    const [name, score, added, power, share, bar] = line.cells;
    say(name.lastChild, tokens[j].label);
    say(score, shown(head.scores[row][j]));
    say(added, step >= MASKED ? (allowed[j] ? "0" : powers(STOPS[chosen.fill])) : "·");
    say(power, known ? shown(raised[j], 3) : "·");
    say(share, known ? shown(weight, 3) : "·");
    drawMeter(bar, known ? weight : 0, allowed[j] ? colour : leak(1));
    mark(line, "data-hidden", allowed[j] ? null : "yes");
  });
  say(
    byId("row-sum"),
    known
      ? sum === 0
        ? "Nothing is allowed, so there is nothing to divide: the weights are 0."
        : `Here x is S + M, and the largest x of the row is taken off first, which changes nothing but keeps eˣ small. Their sum is ${shown(sum, 3)}; each divided by it is A.`
      : "",
  );
  const last = step === SOFTMAX + length;
  byId("row-values").hidden = !last;
  if (last) drawValues(view, head, colour);
}

/** The weighted sum as strips of colour: one a value that is taken along, and their sum. */
function drawValues(view, head, colour) {
  const { row, tokens } = view;
  const strips = tokens.flatMap((token, j) => {
    const weight = head.weights[row][j];
    return weight === 0
      ? []
      : [strip(`${shown(weight)} · V of ${j + 1} ‘${token.label}’`, head.values[j], colour, Math.sqrt(weight))];
  });
  byId("row-strips").replaceChildren(
    ...strips,
    strip(
      strips.length ? "= what the position takes along" : "nothing is seen: the sum is exactly 0",
      head.mixed[row],
      colour,
      1,
    ),
  );
}

function strip(title, vector, colour, opacity) {
  const most = Math.max(1e-12, ...vector.map(Math.abs));
  const bars = Array.from(vector, (value, place) =>
    drawing("rect", {
      x: place * 10,
      y: 0,
      width: 9,
      height: 12,
      fill: signed(value, most, colour),
      opacity: Math.max(0.15, opacity),
    }),
  );
  const picture = drawing(
    "svg",
    { viewBox: `0 0 ${vector.length * 10} 12`, class: "strip", "aria-hidden": "true" },
    ...bars,
  );
  return element("div", { class: "strip-line" }, element("span", {}, title), picture);
}

function drawAnswer(view, read, colour) {
  const { description, row } = view;
  const shares = softmax(read.logits[row]);
  const asked =
    {
      next_byte: "the next byte",
      masked_byte: "the hidden byte",
      markov_next: "the next symbol",
      hmm_tagging: "the hidden state",
    }[description.kind] ?? "its answer";
  say(
    byId("answer-title"),
    `After all layers: what the model takes for ${asked} at position ${named(view.tokens, row)}`,
  );
  const best = likeliest(shares, ANSWERS);
  const lines = kept(byId("answer-list"), best.length, () =>
    element("li", {}, element("span", { class: "sign" }), meter(), element("span")),
  );
  lines.forEach(({ children: [sign, bar, share] }, place) => {
    say(sign, madeToken(best[place].id, description).label);
    drawMeter(bar, best[place].share, colour);
    say(share, percent(best[place].share));
  });
  const foreign =
    description.mask !== chosen.mask &&
    !(chosen.mask === "lookahead" && description.mask === `lookahead-${chosen.ahead}`);
  say(
    byId("foreign"),
    foreign
      ? `This model was trained under the mask “${description.mask}”. Under “${view.maskName}” it is in a situation that it never met in training.`
      : "",
  );
}

/** What happens where a number stands in for −∞. */
function drawFill(view, fill, head, masks, predicates) {
  byId("fill").value = chosen.fill;
  const name = fill.value === -Infinity ? "−∞" : powers(fill.value);
  mark(byId("fill"), "aria-valuetext", name);
  say(byId("fill-value"), name);
  byId("blind").checked = chosen.blind;
  byId(`how-${fill.how}`).checked = true;
  const leaked = head.weights.flatMap((row, i) =>
    row.filter((_, j) => !masks[view.layer][i][j] && !(chosen.blind && i === BLIND)),
  );
  const parts = [];
  const biggest = Math.max(0, ...leaked);
  if (leaked.length === 0) parts.push("Under this mask no cell is forbidden, so nothing stands in M but 0.");
  else if (fill.value === -Infinity) parts.push("Every forbidden weight is exactly 0, whatever the scores are.");
  else if (biggest === 0)
    parts.push(
      `With ${name} every forbidden weight of these rows is 0 as well: e to the ${name} is smaller than any number in single precision.`,
    );
  else
    parts.push(
      `With ${name} forbidden weights are up to ${shown(biggest, 4)}: ${biggest > 1e-3 ? "a visible leak" : "small, but not 0"}.`,
    );
  if (chosen.blind) parts.push(blindWords(fill, name, head.weights[BLIND]));
  say(byId("fill-words"), parts.join(" "));
  say(byId("fill-leak"), leakWords(view, fill, masks, predicates));
}

function blindWords(fill, name, weights) {
  const list = listed(weights.map((weight) => shown(weight)));
  if (fill.value === -Infinity)
    return "Row 1 has nothing allowed. Softmax of nothing but −∞ is 0/0; this study gives such a row the weights 0, so that it takes nothing along.";
  const uniform = weights.every((weight) => Math.abs(weight - weights[0]) < 1e-6);
  if (uniform && weights.length > 1)
    return `Row 1 has nothing allowed, and instead of 0 it becomes a uniform average over everything it must not see: ${shown(weights[0])} each.`;
  return `Row 1 has nothing allowed. Adding ${name} to all of its numbers moves them together, so it cancels: the row is what it would be without any mask, ${list}. Written over the scores, ${name} gives a uniform average instead.`;
}

/** Another last token: does the answer at the first position move? */
function leakWords(view, fill, masks, predicates) {
  const { ids, length, description } = view;
  if (length < 2) return "";
  const other = [...ids.slice(0, -1), (ids.at(-1) + 1) % description.symbols];
  const before = pass(description, ids, masks, fill).logits[0];
  const after = pass(description, other, masks, fill).logits[0];
  const moved = Math.max(...before.map((logit, place) => Math.abs(logit - after[place])));
  const may = view.predicates.some((_, layer) => predicates[layer](0, length - 1));
  const what = `Replace the last token by another: the answers at position 1 move by ${moved === 0 ? "exactly 0" : `up to ${moved < 0.01 ? difference(moved) : shown(moved)}`}`;
  return `${what}${may ? " (this mask lets it see that token)" : moved === 0 ? "" : ": position 1 knows of a token that is forbidden"}.`;
}

function clamped(value, most) {
  return Math.max(-most, Math.min(most, value));
}

function spread(row, colour) {
  const most = Math.max(1e-12, ...row.map(Math.abs));
  return Array.from(row, (value) => signed(value, most, colour));
}
