// Lesson 2, the third family: encoder and decoder, with three matrices where the others have one.

import { maskColour, tint } from "../colours.mjs";
import { byId, drawMeter, element, kept, mark, meter, say } from "../dom.mjs";
import { headsIn } from "../heads.mjs";
import { causal, full } from "../masks.mjs";
import { matrixIn } from "../matrix.mjs";
import { attend, dot, gap, softmax } from "../model.mjs";
import { likeliest, model, title, translator } from "../models.mjs";
import { difference, inCell, listed, percent, several, shown } from "../numbers.mjs";
import { playerIn } from "../player.mjs";
import { generator, normal } from "../random.mjs";
import { spoken, wordOf } from "../speech.mjs";
import { choose, chosen } from "../state.mjs";
import { madeToken, named, tokens } from "../tokens.mjs";

const BYTES = { alphabet: "bytes", symbols: 256 };
const WIDTH = 16; // of the random heads
const DEEPEST = 3; // layers, where no model says how many there are
const ANSWERS = 4;
// Which positions of which side attend to which: who asks, who is asked, the mask, and where the chosen head stands.
const PARTS = [
  { id: "encoder-self", title: "Encoder: source to source, full", queries: "source", keys: "source", mask: full },
  { id: "decoder-self", title: "Decoder: target to target, causal", queries: "target", keys: "target", mask: causal },
  { id: "decoder-cross", title: "Cross-attention: target to source", queries: "target", keys: "source", mask: full },
];
const CHOSEN = { "encoder-self": "encoderHead", "decoder-self": "decoderHead", "decoder-cross": "crossHead" };
const LAYERS_OF = {
  "encoder-self": ({ encoder }) => encoder,
  "decoder-self": ({ decoder }) => decoder.map(({ self }) => self),
  "decoder-cross": ({ decoder }) => decoder.map(({ cross }) => cross),
};

export function lesson() {
  const trained = translator();
  const point = {
    source: (reading) => reading !== chosen.reading && choose({ reading }),
    target: (attending) => attending !== chosen.attending && choose({ attending }),
  };
  const figures = PARTS.map((part) => ({
    ...part,
    figure: matrixIn(byId(part.id), { point: point[part.queries] }),
    heads: trained && headsOf(part, trained.shape.heads),
  }));
  let last = 0;
  const player =
    trained &&
    playerIn(byId("writing-player"), {
      what: "writing",
      get: () => Math.min(chosen.spoken, last),
      last: () => last,
      set: (step) => choose({ spoken: step, attending: step }),
    });
  const deepest = trained ? model(trained).decoding : DEEPEST;
  const deepPlayer = playerIn(byId("deep-player"), {
    what: "the layers of encoder and decoder",
    get: () => Math.min(chosen.deep, deepest),
    last: () => deepest,
    set: (deep) => choose({ deep }),
  });
  byId("target").addEventListener("input", (event) => choose({ target: event.target.value }));
  byId("word").addEventListener("input", (event) => choose({ word: event.target.value }));
  byId("numbers").addEventListener("change", (event) => choose({ numbers: event.target.checked }));
  byId("writing").hidden = byId("word-field").hidden = !trained;
  byId("target-field").hidden = Boolean(trained);
  say(
    byId("translation-model"),
    trained
      ? `The numbers are those of a trained one, ${title(trained)}: it reads the letters of a word and writes its sounds, as phonemes of the CMU dictionary (AO as in law, ZH as in vision).`
      : "No trained encoder–decoder stands in this page. The numbers are those of untrained, random heads: they show where numbers may stand, and mean nothing.",
  );

  return function render() {
    const colour = maskColour("encoder-decoder");
    const said = trained && spoken(trained, wordOf(chosen));
    const sides = said ? sidesOf(trained, said) : typedSides();
    last = sides.target.length - 1;
    const step = trained ? Math.min(chosen.spoken, last) : last;
    const watched = Math.min(chosen.attending, step);
    const lit = { source: Math.min(chosen.reading, sides.source.length - 1), target: watched };
    for (const field of ["target", "word"])
      if (document.activeElement !== byId(field)) byId(field).value = chosen[field];
    mark(byId("word"), "placeholder", wordOf({ ...chosen, word: "" }));
    byId("numbers").checked = chosen.numbers;
    figures.forEach((part, place) => drawPart(part, place, { sides, said, step, lit, colour }));
    drawReach(sides, watched, colour, Math.min(chosen.deep, deepest));
    deepPlayer.draw(reachWords(sides, watched, Math.min(chosen.deep, deepest)));
    if (!trained) return;
    say(byId("word-note"), said.source.note);
    drawWriting(trained, said, step, colour);
    player.draw(writingWords(trained, said, sides, step));
  };
}

function headsOf(part, count) {
  const pick = (layer, head) => choose({ [CHOSEN[part.id]]: layer * count + head });
  return headsIn(`${part.id}-heads`, `All heads of ${part.title}`, pick);
}

function sidesOf(description, { source, ids }) {
  return { source: source.tokens, target: ids.map((id) => madeToken(id, description)) };
}

/** Source and target where there is no model: whatever was typed. */
function typedSides() {
  return {
    source: tokens(chosen.text, BYTES, chosen.count, "source").tokens,
    target: tokens(chosen.target, BYTES, chosen.count, "target").tokens,
  };
}

function drawPart(part, place, { sides, said, step, lit, colour }) {
  const { id, figure, heads, queries, keys, mask } = part;
  const [rows, columns] = [sides[queries], sides[keys]];
  const isRead = (row) => queries === "source" || row <= step;
  let [weights, head] = [null, ""];
  if (said) {
    const layers = LAYERS_OF[id](said);
    const count = layers[0].length;
    const at = Math.min(chosen[CHOSEN[id]], layers.length * count - 1);
    const [layer, number] = [Math.floor(at / count), at % count];
    weights = layers[layer][number].weights;
    head = ` · layer ${layer + 1}, head ${number + 1}`;
    const shade = (row, i) => row.map((weight, j) => (mask(i, j) && isRead(i) ? tint(colour, weight) : null));
    heads(
      layers.map((ofLayer) => ofLayer.map((one) => one.weights.map(shade))),
      layer,
      number,
    );
  } else if (chosen.numbers) {
    weights = randomWeights(rows, columns, mask, place);
    head = " · random";
  }
  say(byId(`${id}-title`), part.title + head);
  const narrow = figure.narrow(columns.length);
  const cells = rows.map((_, i) =>
    columns.map((__, j) => {
      const who = `query ${named(rows, i)}, key ${named(columns, j)}`;
      if (!isRead(i)) return { text: "", fill: null, hidden: true, words: `${who}: not read yet` };
      return cell(who, mask(i, j), chosen.numbers ? weights[i][j] : null, said === null, colour, narrow);
    }),
  );
  const summary = rows.map(
    (_, i) =>
      `Query ${i + 1} ${isRead(i) ? `may attend to ${listed(columns.flatMap((__, j) => (mask(i, j) ? [String(j + 1)] : [])))}` : "is not read yet"}.`,
  );
  figure.draw({ rows, columns, cells, row: lit[queries], summary: `${part.title}. ${summary.join(" ")}` });
}

function cell(who, allowed, weight, random, colour, narrow) {
  if (weight === null)
    return {
      text: allowed ? "✓" : "–",
      fill: allowed ? colour : null,
      hidden: !allowed,
      words: `${who}: ${allowed ? "may attend" : "forbidden"}`,
    };
  return {
    text: inCell(weight, narrow),
    fill: allowed ? tint(colour, weight) : null,
    hidden: !allowed,
    words: `${who}: ${allowed ? "" : "forbidden, "}weight ${shown(weight, 4)}${random ? " (random)" : ""}`,
  };
}

/** What was written up to a step, what comes next, and that both ways to compute it agree. */
function drawWriting(description, { ids, stepwise, logits }, step, colour) {
  const label = (id) => madeToken(id, description).label;
  const parts = ids.slice(0, step + 1).map((id) => element("span", { class: "made" }, `${label(id)} `));
  byId("spoken").replaceChildren(...parts, element("span", { class: "cursor", "aria-hidden": "true" }, "▏"));
  const apart = Math.max(...stepwise.map((row, place) => gap(row, logits[place])));
  say(
    byId("spoken-equal"),
    `It was written token by token, with a cache. One parallel pass over the same target gives the same: all logits of all ${several(ids.length, "position")} are ${apart === 0 ? "exactly equal" : `apart by at most ${difference(apart)}`}.`,
  );
  say(byId("spoken-title"), `The likeliest after ${label(ids[step])}`);
  const best = likeliest(softmax(stepwise[step]), ANSWERS);
  const lines = kept(byId("spoken-list"), best.length, () =>
    element("li", {}, element("span", { class: "sign" }), meter(), element("span")),
  );
  lines.forEach(({ children: [sign, bar, share] }, place) => {
    say(sign, label(best[place].id));
    drawMeter(bar, best[place].share, colour);
    say(share, percent(best[place].share));
  });
}

function writingWords(description, { ids, stepwise, ended }, { target }, step) {
  const [{ id, share }] = likeliest(softmax(stepwise[step]), 1);
  const next =
    step < ids.length - 1 || !ended
      ? `‘${madeToken(id, description).label}’ is the likeliest`
      : "the end (⊣) is the likeliest";
  const cut = step === ids.length - 1 && !ended ? " There is room for no more here." : "";
  return `Step ${step + 1}: ${step === 0 ? "the sign ⊢ that every target begins with" : `‘${target[step].label}’`} goes in; of ${stepwise[step].length} answers ${next}, with ${percent(share)}.${cut}`;
}

/** Attention between random vectors: what the page shows where no trained encoder–decoder stands in it. */
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
function reached({ source, target }, watched, deep) {
  if (deep === 0) return { source: [], target: [watched] };
  return {
    source: source.map((_, place) => place),
    target: target.flatMap((_, place) => (causal(watched, place) ? [place] : [])),
  };
}

function drawReach(sides, watched, colour, deep) {
  const lit = reached(sides, watched, deep);
  for (const side of ["source", "target"]) {
    const chips = kept(byId(`${side}-chips`), sides[side].length, () => element("span", { class: "chip" }));
    chips.forEach((chip, place) => {
      say(chip, sides[side][place].label);
      mark(chip, "title", sides[side][place].title);
      mark(chip, "data-lit", lit[side].includes(place) ? "yes" : null);
      mark(chip, "data-watched", side === "target" && place === watched ? "yes" : null);
      mark(chip, "style", `--accent:${colour}`);
    });
  }
}

function reachWords(sides, watched, deep) {
  const lit = reached(sides, watched, deep);
  const where = `After ${several(deep, "layer")} of both, target position ${named(sides.target, watched)} holds`;
  if (deep === 0) return `${where} its own token alone.`;
  const future = sides.target.length - lit.target.length;
  return `${where} all ${several(lit.source.length, "source token")} and ${several(lit.target.length, "target token")}${future ? `; the ${future} after it stay hidden` : ""}.`;
}
