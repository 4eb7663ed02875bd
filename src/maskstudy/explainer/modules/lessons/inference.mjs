// Lesson 4: training sees all positions at once, inference one token after the other; under a causal mask the numbers are
// the same. Without the mask they are not, and a low loss means nothing.

import { maskColour, palette, tint } from "../colours.mjs";
import { byId, drawing, element, mark, say } from "../dom.mjs";
import { causal, full, matrix } from "../masks.mjs";
import { largest, nats, softmax } from "../model.mjs";
import { all, model, nameOf, pass, title } from "../models.mjs";
import { difference, percent, shown } from "../numbers.mjs";
import { playerIn } from "../player.mjs";
import { choose, chosen } from "../state.mjs";
import { named, spelled, tokens } from "../tokens.mjs";
import { EXAMPLES, readBy, textField } from "../view.mjs";

const WRITTEN = 32; // tokens that a model writes on
const PACE = 450; // milliseconds
const HIGHEST = 6; // nats of a full bar
const EQUAL = 1e-9;
const WINDOW = 40; // tokens that the control reads: much shorter ones it never met in training, and copies badly
const FILLER = {
  bytes: " and so the text goes on, as in training",
  letters: "ABCABDABCABEABCABDABCABFABCABDABCABEABCA",
};

export function lesson(study) {
  const generative = all().filter((description) => description.generative);
  byId("inference-missing").hidden = generative.length > 0;
  byId("inference-body").hidden = generative.length === 0;
  if (generative.length === 0) return () => {};
  let length = 0;
  const last = () => length + WRITTEN;
  const player = playerIn(byId("inference-player"), {
    what: "inference",
    get: () => Math.min(chosen.moment, last()),
    last,
    set: (moment) => choose({ moment }),
    pace: PACE,
  });
  byId("sighted").addEventListener("change", (event) => choose({ sighted: event.target.checked }));

  return function render(view) {
    const { honest, control } = pair(generative, view.description);
    byId("sighted").disabled = !control;
    byId("sighted").checked = chosen.sighted && Boolean(control);
    const off = byId("sighted").checked;
    const description = off ? control : honest;
    const window = windowOf(description);
    length = readBy(description).tokens.length;
    const ids = window.slice(0, length).map((token) => token.id);
    const moment = Math.min(chosen.moment, last());
    const colour = maskColour(off ? "full" : "causal");
    const trained = trainedOn(description, window, off, length);
    const steps = (off ? recomputed : cached)(description, ids, Math.min(moment, length));
    const written = writing(description, ids, off, Math.max(0, moment - length));

    say(byId("inference-model"), `Model: ${title(description)}.`);
    drawTable(window, trained, steps, colour);
    const place = off ? copyingHead(trained.layers, length) : { layer: 0, head: 0 };
    drawMatrices(length, moment, place, trained, steps, colour, off);
    drawCache(description, Math.min(moment, last()), length, colour, off);
    byId("written").replaceChildren(
      element("span", { class: "prompt" }, spelled(ids, description)),
      element("span", { class: "made", style: `color:${colour}` }, spelled(written, description)),
      element("span", { class: "cursor", "aria-hidden": "true" }, "▏"),
    );
    say(byId("inference-loss"), lossWords(trained, off ? trainedOn(honest, window, false, length) : null));
    say(byId("inference-words"), verdict(steps, off, moment, length));
    player.draw(momentWords(window, moment, length, written));
    drawStudy(study, honest);
  };
}

/** The tokens of a training window: the reader's text, beyond what is shown, and what fills it up. */
function windowOf(description) {
  const text = chosen[textField(description)];
  const most = Math.min(WINDOW, description.shape.length);
  const known = (typed) =>
    tokens(typed, description, most, EXAMPLES[description.alphabet] + FILLER[description.alphabet]).tokens;
  return known(readBy(description).total === 0 ? "" : text + FILLER[description.alphabet]);
}

/**
 * One parallel pass: `logits`, `layers`, `targets` and `losses` at the shown positions. Under the causal mask
 * what follows them makes no difference, so it is left out.
 */
function trainedOn(description, window, off, length) {
  const read = off ? window : window.slice(0, length);
  const { logits, layers } = pass(
    description,
    read.map((token) => token.id),
    everyLayer(description, off ? full : causal, read.length),
  );
  const targets = window.slice(1, length + 1).map((token) => token.id);
  return { logits, targets, layers, losses: targets.map((target, place) => nats(logits[place], target)) };
}

/** The model that was trained under a causal mask, and the control of the same task that was trained without one. */
function pair(generative, current) {
  const task = current.generative ? current.task : generative[0].task;
  const ofTask = generative.filter((description) => description.task === task);
  return {
    honest: ofTask.find(({ mask }) => mask === "causal") ?? ofTask[0],
    control: ofTask.find(({ mask }) => mask === "full"),
  };
}

function everyLayer(description, predicate, queries, keys = queries) {
  return Array.from({ length: description.shape.layers }, () => matrix(predicate, queries, keys));
}

/** Token by token with a cache: what each step computes, logits and the newest row of attention. */
function cached(description, ids, count) {
  const transformer = model(description);
  const cache = transformer.emptyCache();
  return ids.slice(0, count).map((id, place) => {
    const read = transformer.read([id], everyLayer(description, causal, 1, place + 1), cache);
    return { logits: read.logits[0], layers: read.layers };
  });
}

/** Without a causal mask a new token changes what the former ones hold, so each step reads everything again. */
function recomputed(description, ids, count) {
  return ids.slice(0, count).map((_, place) => {
    const read = pass(description, ids.slice(0, place + 1), everyLayer(description, full, place + 1));
    return { logits: read.logits[place], layers: read.layers };
  });
}

let remembered = { key: "", made: [], next: null };

/** What the model writes after the text, always its likeliest token. */
function writing(description, ids, off, count) {
  const key = `${nameOf(description)} ${ids} ${off}`;
  if (remembered.key !== key)
    remembered = { key, made: [], next: off ? reread(description, ids) : continued(description, ids) };
  while (remembered.made.length < count) remembered.made.push(remembered.next(remembered.made));
  return remembered.made.slice(0, count);
}

/** With a cache: the text is read at once, then each token by itself. */
function continued(description, ids) {
  const transformer = model(description);
  const cache = transformer.emptyCache();
  return (made) => {
    const fresh = made.length === 0 ? ids : [made.at(-1)];
    const keys = cache[0].keys.length + fresh.length;
    return largest(transformer.read(fresh, everyLayer(description, causal, fresh.length, keys), cache).logits.at(-1));
  };
}

/** Without one: all of it is read again for each token. */
function reread(description, ids) {
  return (made) => {
    const whole = [...ids, ...made].slice(1 - description.shape.length);
    return largest(
      model(description)
        .read(whole, everyLayer(description, full, whole.length))
        .logits.at(-1),
    );
  };
}

function drawTable(window, trained, steps, colour) {
  const rows = trained.targets.map((target, place) => {
    const step = steps[place];
    const after = step ? nats(step.logits, target) : null;
    const apart = step ? gap(step.logits, trained.logits[place]) : null;
    const cells = [
      element("th", { scope: "row" }, String(place + 1)),
      element("td", { class: "sign" }, window[place].label),
      element("td", { class: "sign" }, window[place + 1].label),
      meter(trained.losses[place], trained.logits[place], target, colour),
      meter(after, step?.logits, target, colour),
      element(
        "td",
        { class: apart === null ? "" : apart < EQUAL ? "equal" : "apart" },
        apart === null ? "" : apart < EQUAL ? `✓ ${difference(apart)}` : `✗ ${shown(apart, 1)}`,
      ),
    ];
    return element("tr", { "data-now": steps.length - 1 === place ? "yes" : null }, ...cells);
  });
  byId("inference-table").tBodies[0].replaceChildren(...rows);
}

function meter(loss, logits, target, colour) {
  if (loss === null) return element("td", { class: "loss" }, "");
  const bar = element(
    "span",
    { class: "meter", "aria-hidden": "true" },
    element("span", { style: `width:${Math.min(100, (100 * loss) / HIGHEST)}%;background:${colour}` }),
  );
  return element(
    "td",
    { class: "loss", title: `probability of the target: ${percent(softmax(logits)[target])}` },
    element("span", { class: "number" }, shown(loss)),
    bar,
  );
}

function gap(one, other) {
  return Math.max(...one.map((value, place) => Math.abs(value - other[place])));
}

/** The head that looks most at the next token: the one that copies the answer. */
function copyingHead(layers, length) {
  const found = layers.flatMap((heads, layer) =>
    heads.map(({ weights }, head) => ({
      layer,
      head,
      sum: weights.slice(0, length).reduce((sum, row, i) => sum + (row[i + 1] ?? 0), 0),
    })),
  );
  return found.reduce((best, other) => (other.sum > best.sum ? other : best));
}

/** Two small pictures: the matrix of training, computed whole, and its newest row, computed alone. */
function drawMatrices(length, moment, { layer, head }, trained, steps, colour, off) {
  const { weights } = trained.layers[layer][head];
  const stepWeights = steps.map(({ layers }) => layers[layer][head].weights.at(-1));
  say(
    byId("pictures-words"),
    off
      ? `Layer ${layer + 1}, head ${head + 1}: of all heads, the one that looks most at the next token, right of the diagonal.`
      : "Layer 1, head 1.",
  );
  const { hidden, ink } = palette();
  const picture = (fill, label) => {
    const made = drawing("svg", {
      viewBox: `-1 -1 ${length * 12 + 2} ${length * 12 + 2}`,
      role: "img",
      "aria-label": label,
    });
    for (let i = 0; i < length; i += 1)
      for (let j = 0; j < length; j += 1) {
        const shade = fill(i, j);
        made.append(
          drawing("rect", {
            x: j * 12,
            y: i * 12,
            width: 11,
            height: 11,
            rx: 1.5,
            fill: shade?.fill ?? hidden,
            stroke: shade?.now ? ink : null,
            opacity: shade?.old ? 0.45 : 1,
          }),
        );
      }
    return made;
  };
  const parallel = (i, j) => (off || j <= i ? { fill: tint(colour, weights[i][j]) } : null);
  const step = (i, j) =>
    j < (stepWeights[i]?.length ?? 0)
      ? { fill: tint(colour, stepWeights[i][j]), now: i === moment - 1, old: i < moment - 1 }
      : null;
  byId("training-picture").replaceChildren(picture(parallel, `Training: all ${length} rows of attention in one pass.`));
  byId("inference-picture").replaceChildren(
    picture(step, `Inference: ${Math.min(moment, length)} of ${length} rows so far, one a step.`),
  );
}

/** Keys and values that are kept, one square a token, newest outlined. */
function drawCache(description, moment, length, colour, off) {
  const { ink, hidden } = palette();
  const total = length + WRITTEN;
  const kept = off ? 0 : Math.min(moment, total);
  const side = 9;
  const lines = Array.from({ length: description.shape.layers }, (_, layer) => [
    `K${layer + 1}`,
    `V${layer + 1}`,
  ]).flat();
  const made = drawing("svg", {
    viewBox: `0 0 ${30 + side * total} ${lines.length * 14}`,
    role: "img",
    "aria-label": off
      ? "No cache."
      : `The cache holds keys and values of ${kept} tokens in ${description.shape.layers} layers.`,
  });
  lines.forEach((name, line) => {
    made.append(drawing("text", { x: 0, y: line * 14 + 10, "font-size": 10, fill: ink }, name));
    for (let place = 0; place < total; place += 1) {
      made.append(
        drawing("rect", {
          x: 26 + place * side,
          y: line * 14 + 2,
          width: side - 1.5,
          height: 10,
          rx: 1,
          fill: place < kept ? colour : hidden,
          opacity: place === kept - 1 ? 1 : 0.65,
        }),
      );
    }
  });
  byId("cache-picture").replaceChildren(made);
  const numbers = 2 * description.shape.layers * description.shape.width;
  say(
    byId("cache-words"),
    off
      ? "Without a causal mask there is nothing to keep: every new token changes what all former positions hold, and each step reads the whole text again."
      : `The cache holds ${kept === 1 ? "one token" : `${kept} tokens`}: ${(kept * numbers).toLocaleString("en")} numbers, ${numbers} more with each token. No former position is computed again.`,
  );
}

function lossWords({ losses }, masked) {
  const mean = (list) => list.reduce((sum, loss) => sum + loss, 0) / list.length;
  const begin = `Mean loss at these positions, all at once: ${shown(mean(losses))} nats`;
  if (masked === null) return `${begin}.`;
  const lower = mean(losses) < mean(masked.losses);
  return `${begin}, against ${shown(mean(masked.losses))} with the mask. ${lower ? "It is lower because every position sees its own answer: the answer is the next token, and the next token stands in the input." : "On this text even the copying fails, so unlike is it to what the control was trained on."}`;
}

function verdict(steps, off, moment, length) {
  if (moment === 0) return "Press Step to feed the first token.";
  if (off)
    return "Step by step the future is not there yet. The answers of training, given with the future in sight, do not come back, and what the model learned, to copy, has nothing to copy.";
  return `At ${moment >= length ? "all" : "the first"} ${steps.length} position${steps.length === 1 ? "" : "s"}, one token at a time gives the same numbers as all at once: no earlier position ever saw a later one, so it makes no difference that the later ones are not there yet.`;
}

function momentWords(window, moment, length, written) {
  if (moment === 0)
    return "Nothing has been read yet. On the left, training has already scored every position in one pass.";
  if (moment <= length)
    return `Step ${moment}: token ${named(window, moment - 1)} goes in. Context: ${moment === 1 ? "one token" : `${moment} tokens`}.`;
  return `Step ${moment}: the model’s own token ${written.length} goes in. Context: ${moment} tokens.`;
}

function inLine(text) {
  return text.replace(/\s*\n\s*/g, " ⏎ ");
}

/** What the study measured on these two models, over all seeds. */
function drawStudy(study, honest) {
  const found = study?.leaks.find(({ task }) => task === honest.task);
  byId("inference-study").hidden = !found;
  if (!found) return;
  const judge =
    found.judge === "ceiling" ? "the ideal observer of the source" : "an n-gram model that sees the past alone";
  say(
    byId("inference-study-words"),
    `Over all seeds and the whole test data, in nats a token. “Surprise” is how improbable ${judge} finds what the model writes by itself; true text has ${shown(found.true_judged_nats)}.`,
  );
  const rows = found.cells.map(({ mask, role, nats: loss, judged_nats: surprise, sample }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `${mask}${role === "control" ? " (control)" : ""}`),
      element("td", {}, shown(loss)),
      element("td", {}, shown(surprise)),
      element(
        "td",
        { class: "quote" },
        element("span", { class: "prompt" }, inLine(sample.prompt.slice(-24))),
        inLine(sample.sampled.slice(0, 120)),
      ),
    ),
  );
  const table = byId("inference-study-table").tBodies[0];
  if (table.dataset.task !== honest.task) {
    table.dataset.task = honest.task;
    table.replaceChildren(...rows);
  }
  mark(table, "data-task", honest.task);
}
