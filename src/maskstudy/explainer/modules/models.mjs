// The trained models of the page, decoded when first needed, and what they were last asked.

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

export function nameOf(description) {
  return `${description.task}/${description.mask}`;
}

/** The description with this name, else the first. */
export function find(name) {
  return descriptions.find((description) => nameOf(description) === name) ?? descriptions[0];
}

/** "next byte · causal mask": a model in words. */
export function title(description) {
  const mask = { causal: "causal mask", full: "full attention" }[description.mask] ?? `mask ${description.mask}`;
  return `${description.task.replaceAll("_", " ")} · ${mask}${description.role === "control" ? " (control)" : ""}`;
}

export function model(description) {
  const name = nameOf(description);
  if (!built.has(name)) {
    const place = descriptions.indexOf(description);
    const text = document.getElementById(`weights-${place}`).textContent;
    built.set(name, new Transformer(description, decoded(text, description.precision)));
  }
  return built.get(name);
}

/** The parallel pass over tokens, remembered. Masks are matrices, one a layer. */
export function pass(description, ids, masks, fill = EXACT) {
  const key = JSON.stringify([
    nameOf(description),
    ids,
    masks.map((mask) => mask.map((row) => row.map(Number).join(""))),
    String(fill.value),
    fill.how,
  ]);
  if (!passes.has(key)) {
    if (passes.size >= REMEMBERED) passes.delete(passes.keys().next().value);
    passes.set(key, model(description).read(ids, masks, undefined, fill));
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
