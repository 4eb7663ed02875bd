// The trained models of the page, decoded when first needed, and what they were last asked.

import { EncoderDecoder } from "./encoder_decoder.mjs";
import { EXACT, Transformer, decoded } from "./model.mjs";

const REMEMBERED = 64; // passes

let descriptions = [];
const built = new Map();
const passes = new Map();

export function hold(found) {
  descriptions = found;
}

export function all() {
  return descriptions;
}

/** Those that read the reader's text as it stands: all but an encoder–decoder. */
export function readers() {
  return descriptions.filter(({ alphabet }) => alphabet !== "names");
}

/** The encoder–decoder, null where none stands in the page. */
export function translator() {
  return descriptions.find(({ alphabet }) => alphabet === "names") ?? null;
}

export function nameOf(description) {
  return `${description.task}/${description.mask}`;
}

/** The reader of text with this name, else the first. */
export function find(name) {
  return readers().find((description) => nameOf(description) === name) ?? readers()[0];
}

/** "next byte · causal mask": a model in words. */
export function title(description) {
  const known = { causal: "causal mask", full: "full attention", "encoder-decoder": "encoder–decoder" };
  const mask = known[description.mask] ?? `mask ${description.mask}`;
  return `${description.task.replaceAll("_", " ")} · ${mask}${description.role === "control" ? " (control)" : ""}`;
}

export function model(description) {
  const name = nameOf(description);
  if (!built.has(name)) {
    const place = descriptions.indexOf(description);
    const text = document.getElementById(`weights-${place}`).textContent;
    const kind = description.alphabet === "names" ? EncoderDecoder : Transformer;
    built.set(name, new kind(description, decoded(text, description.precision)));
  }
  return built.get(name);
}

/** The parallel pass over tokens, remembered. Masks are matrices, one a layer; `wanted` is that of `Transformer.read`. */
export function pass(description, ids, masks, fill = EXACT, wanted = [0, ids.length]) {
  const key = JSON.stringify([
    nameOf(description),
    ids,
    masks.map((mask) => mask.map((row) => row.map(Number).join(""))),
    String(fill.value),
    fill.how,
    wanted,
  ]);
  if (!passes.has(key)) {
    if (passes.size >= REMEMBERED) passes.delete(passes.keys().next().value);
    passes.set(key, model(description).read(ids, masks, undefined, fill, wanted));
  }
  return passes.get(key);
}

/** The likeliest answers after a position: `[{ id, share }]`. */
export function likeliest(shares, count) {
  return shares
    .map((share, id) => ({ id, share }))
    .sort((one, other) => other.share - one.share)
    .slice(0, count);
}
