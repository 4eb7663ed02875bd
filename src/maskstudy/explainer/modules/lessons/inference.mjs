// Lesson 4: training sees all positions at once, inference one token after the other; under a causal mask the numbers are
// the same. Without the mask they are not, and a low loss means nothing.

import { maskColour, palette, tint } from "../colours.mjs";
import { byId, drawMeter, drawing, element, kept, mark, meter, say } from "../dom.mjs";
import { causal, full, matrix } from "../masks.mjs";
import { EXACT, gap, largest, nats, softmax } from "../model.mjs";
import { likeliest, model, nameOf, pass, readers, title } from "../models.mjs";
import { difference, percent, shown } from "../numbers.mjs";
import { playerIn } from "../player.mjs";
import { generator } from "../random.mjs";
import { TENTHS, choose, chosen } from "../state.mjs";
import { madeToken, named, spelled, tokens } from "../tokens.mjs";
import { EXAMPLES, readBy, textField } from "../view.mjs";

const WRITTEN = 32; // tokens that a model writes on
const PACE = 450; // milliseconds
const LIKELY = 6; // next tokens that are shown
const SKIPPED = 8; // first numbers of a generator, which are alike for seeds that are near each other
const HIGHEST = 6; // nats of a full bar
const EQUAL = 1e-9;
const WINDOW = 40; // tokens that the control reads: much shorter ones it never met in training, and copies badly
const FILLER = {
  bytes: " and so the text goes on, as in training",
  letters: "ABCABDABCABEABCABDABCABFABCABDABCABEABCA",
};

export function lesson(study) {
  const generative = readers().filter((description) => description.generative);
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
  byId("temperature").addEventListener("input", (event) => choose({ temperature: Number(event.target.value) }));
  byId("draw-again").addEventListener("click", () => chosen.temperature > 0 && choose({ draw: chosen.draw + 1 }));

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
    const written = writing(description, ids, off, moment < length ? 0 : moment - length + 1);
    const made = written.made.slice(0, Math.max(0, moment - length));

    say(byId("inference-model"), `Model: ${title(description)}.`);
    drawTable(window, trained, steps, colour);
    const place = off ? copyingHead(trained.layers, length) : { layer: 0, head: 0 };
    drawMatrices(length, moment, place, trained, steps, colour, off);
    drawNext(description, moment, length, window, written, steps, colour);
    drawCache(description, Math.min(moment, last()), length, colour, off);
    byId("written").replaceChildren(
      element("span", { class: "prompt" }, spelled(ids, description)),
      element("span", { class: "made", style: `color:${colour}` }, spelled(made, description)),
      element("span", { class: "cursor", "aria-hidden": "true" }, "▏"),
    );
    say(byId("inference-loss"), lossWords(trained, off ? trainedOn(honest, window, false, length) : null));
    say(byId("inference-words"), verdict(steps, off, moment, length));
    player.draw(momentWords(window, moment, length, made));
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
    EXACT,
    [0, length],
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
    const masks = everyLayer(description, full, place + 1);
    const read = pass(description, ids.slice(0, place + 1), masks, EXACT, [place, place + 1]);
    return { logits: read.logits[0], layers: read.layers };
  });
}

let remembered = { key: "", made: [], logits: [], next: null };

/** What the model writes after the text: `made`, `count` tokens, and the `logits` that each was drawn from. */
function writing(description, ids, off, count) {
  const key = `${nameOf(description)} ${ids} ${off} ${chosen.temperature} ${chosen.draw}`;
  if (remembered.key !== key)
    remembered = { key, made: [], logits: [], next: off ? reread(description, ids) : continued(description, ids) };
  const { made, logits, next } = remembered;
  while (made.length < count) {
    logits.push(next(made));
    made.push(drawn(logits.at(-1), made.length));
  }
  return { made: made.slice(0, count), logits };
}

/** A token of the distribution that the temperature makes of the logits; at temperature 0 the likeliest. */
function drawn(logits, place) {
  if (chosen.temperature === 0) return largest(logits);
  const draw = generator(1 + place + 997 * chosen.draw);
  for (let skipped = 0; skipped < SKIPPED; skipped += 1) draw();
  let rest = draw();
  const shares = tempered(logits);
  const found = shares.findIndex((share) => (rest -= share) < 0);
  return found < 0 ? largest(logits) : found; // rounding may leave a rest
}

/** softmax(logits / T). As T goes to 0, all goes to the likeliest. */
function tempered(logits) {
  if (chosen.temperature === 0) return Array.from(logits, (_, id) => Number(id === largest(logits)));
  return softmax(logits.map((logit) => logit / (chosen.temperature / TENTHS)));
}

/** With a cache: the text is read at once, then each token by itself. */
function continued(description, ids) {
  const transformer = model(description);
  const cache = transformer.emptyCache();
  return (made) => {
    const fresh = made.length === 0 ? ids : [made.at(-1)];
    const keys = cache[0].keys.length + fresh.length;
    return transformer.read(fresh, everyLayer(description, causal, fresh.length, keys), cache).logits.at(-1);
  };
}

/** Without one: all of it is read again for each token. */
function reread(description, ids) {
  return (made) => {
    const whole = [...ids, ...made].slice(1 - description.shape.length);
    const masks = everyLayer(description, full, whole.length);
    return model(description).read(whole, masks, undefined, EXACT, [whole.length - 1, whole.length]).logits[0];
  };
}

function drawTable(window, trained, steps, colour) {
  const rows = kept(byId("inference-table").tBodies[0], trained.targets.length, (place) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, String(place + 1)),
      element("td", { class: "sign" }),
      element("td", { class: "sign" }),
      element("td", { class: "loss" }, element("span", { class: "number" }), meter()),
      element("td", { class: "loss" }, element("span", { class: "number" }), meter()),
      element("td"),
    ),
  );
  rows.forEach((row, place) => {
    const [, input, target, training, inference, apart] = row.cells;
    const answer = trained.targets[place];
    const step = steps[place];
    const distance = step ? gap(step.logits, trained.logits[place]) : null;
    say(input, window[place].label);
    say(target, window[place + 1].label);
    drawLoss(training, trained.logits[place], answer, colour);
    drawLoss(inference, step?.logits, answer, colour);
    const equal = distance !== null && distance < EQUAL;
    say(apart, distance === null ? "" : equal ? `✓ ${difference(distance)}` : `✗ ${shown(distance, 1)}`);
    mark(apart, "class", distance === null ? null : equal ? "equal" : "apart");
    mark(row, "data-now", steps.length - 1 === place ? "yes" : null);
  });
}

function drawLoss(cell, logits, target, colour) {
  const [number, bar] = cell.children;
  mark(bar, "hidden", logits ? null : "");
  say(number, logits ? shown(nats(logits, target)) : "");
  mark(cell, "title", logits ? `probability of the target: ${percent(softmax(logits)[target])}` : null);
  if (logits) drawMeter(bar, nats(logits, target) / HIGHEST, colour);
}

/** What the newest position makes of the next token, at the chosen temperature and at temperature 1. */
function drawNext(description, moment, length, window, { made, logits: ofMade }, steps, colour) {
  const logits = moment === 0 ? null : moment < length ? steps[moment - 1].logits : ofMade[moment - length];
  byId("temperature").value = chosen.temperature;
  const heat = shown(chosen.temperature / TENTHS, 1);
  say(byId("temperature-value"), heat);
  mark(byId("temperature"), "aria-valuetext", heat);
  mark(byId("draw-again"), "aria-disabled", chosen.temperature === 0 && "true");
  byId("next-list").hidden = logits === null;
  if (logits === null) {
    say(byId("next-words"), "Nothing has been read yet, so nothing is asked for.");
    return;
  }
  const shares = tempered(logits);
  const plain = softmax(logits);
  const taken = moment < length ? window[moment].id : made[moment - length];
  const best = likeliest(plain, LIKELY).map(({ id }) => id);
  if (!best.includes(taken)) best.splice(-1, 1, taken);
  const lines = kept(byId("next-list"), best.length, () =>
    element(
      "li",
      {},
      element("span", { class: "sign" }),
      meter(),
      element("span"),
      element("span", { class: "taken" }),
    ),
  );
  lines.forEach((line, place) => {
    const [sign, bar, share, note] = line.children;
    const id = best[place];
    say(sign, madeToken(id, description).label);
    drawMeter(bar, shares[id], colour);
    bar.style.setProperty("--plain", `${100 * plain[id]}%`);
    say(share, percent(shares[id]));
    say(note, id !== taken ? "" : moment < length ? "◀ stands in your text" : "◀ is written");
  });
  say(byId("next-words"), nextWords(heat));
}

function nextWords(heat) {
  const rest = "The thin line is the share at temperature 1.";
  if (chosen.temperature === 0) return `At temperature 0 the likeliest is always written. ${rest}`;
  const effect = {
    "-1": "what is likely becomes likelier",
    0: "they stay as they are",
    1: "they come closer together",
  };
  return `All logits are divided by ${heat} before the softmax: ${effect[Math.sign(chosen.temperature - TENTHS)]}. Then one token is drawn. ${rest}`;
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
  const parallel = (i, j) => (off || j <= i ? { fill: tint(colour, weights[i][j]) } : null);
  const step = (i, j) =>
    j < (stepWeights[i]?.length ?? 0)
      ? { fill: tint(colour, stepWeights[i][j]), now: i === moment - 1, old: i < moment - 1 }
      : null;
  drawGrid(byId("training-picture"), length, parallel, `Training: all ${length} rows of attention in one pass.`);
  const sofar = `Inference: ${Math.min(moment, length)} of ${length} rows so far, one a step.`;
  drawGrid(byId("inference-picture"), length, step, sofar);
}

/** A square of small squares; `shade(row, column)` is `{ fill, now, old }`, or null for one that is not there. */
function drawGrid(host, length, shade, label) {
  const { hidden, ink } = palette();
  const [made] = drawnFor(host, length, () =>
    drawing(
      "svg",
      { viewBox: `-1 -1 ${length * 12 + 2} ${length * 12 + 2}`, role: "img" },
      ...Array.from({ length: length * length }, (_, cell) => {
        const [x, y] = [12 * (cell % length), 12 * Math.floor(cell / length)];
        return drawing("rect", { x, y, width: 11, height: 11, rx: 1.5 });
      }),
    ),
  );
  mark(made, "aria-label", label);
  [...made.children].forEach((rect, cell) => {
    const found = shade(Math.floor(cell / length), cell % length);
    mark(rect, "fill", found?.fill ?? hidden);
    mark(rect, "stroke", found?.now ? ink : null);
    mark(rect, "opacity", found?.old ? 0.45 : 1);
  });
}

/** The children of `host`, which are made again only where `key` is another. */
function drawnFor(host, key, make) {
  if (host.dataset.key !== String(key)) {
    host.dataset.key = key;
    host.replaceChildren(make());
  }
  return host.children;
}

/** Keys and values that are kept, one square a token, newest outlined. */
function drawCache(description, moment, length, colour, off) {
  const { ink, hidden } = palette();
  const total = length + WRITTEN;
  const count = off ? 0 : Math.min(moment, total);
  const side = 9;
  const lines = Array.from({ length: description.shape.layers }, (_, layer) => [
    `K${layer + 1}`,
    `V${layer + 1}`,
  ]).flat();
  const [made] = drawnFor(byId("cache-picture"), `${total} ${lines.length}`, () =>
    drawing(
      "svg",
      { viewBox: `0 0 ${30 + side * total} ${lines.length * 14}`, role: "img" },
      ...lines.map((name, line) => drawing("text", { x: 0, y: line * 14 + 10, "font-size": 10 }, name)),
      ...lines.flatMap((_, line) =>
        Array.from({ length: total }, (__, place) =>
          drawing("rect", { x: 26 + place * side, y: line * 14 + 2, width: side - 1.5, height: 10, rx: 1 }),
        ),
      ),
    ),
  );
  const held = `The cache holds keys and values of ${count} tokens in ${description.shape.layers} layers.`;
  mark(made, "aria-label", off ? "No cache." : held);
  [...made.children].forEach((part, number) => {
    const place = (number - lines.length) % total;
    mark(part, "fill", number < lines.length ? ink : place < count ? colour : hidden);
    if (number >= lines.length) mark(part, "opacity", place === count - 1 ? 1 : 0.65);
  });
  const numbers = 2 * description.shape.layers * description.shape.width;
  say(
    byId("cache-words"),
    off
      ? "Without a causal mask there is nothing to keep: every new token changes what all former positions hold, and each step reads the whole text again."
      : `The cache holds ${count === 1 ? "one token" : `${count} tokens`}: ${(count * numbers).toLocaleString("en")} numbers, ${numbers} more with each token. No former position is computed again.`,
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
