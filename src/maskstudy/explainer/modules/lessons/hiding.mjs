// Lesson 5, to try: one hidden token, and what models under different masks take it for.

import { maskColour } from "../colours.mjs";
import { byId, element, mark, say } from "../dom.mjs";
import { SIDE, matrix, ofStudy } from "../masks.mjs";
import { softmax } from "../model.mjs";
import { all, likeliest, pass } from "../models.mjs";
import { percent } from "../numbers.mjs";
import { choose, chosen } from "../state.mjs";
import { hiddenToken, madeToken, named } from "../tokens.mjs";
import { hiddenPlaces, readBy } from "../view.mjs";

const ANSWERS = 4;

export function lesson() {
  const readers = all().filter((description) => description.hidden !== null && ofStudy(description.mask, 1));
  byId("hiding").hidden = readers.length === 0;
  if (readers.length === 0) return () => {};

  return function render(view) {
    const task = view.description.hidden === null ? readers[0].task : view.description.task;
    const shown = readers.filter((description) => description.task === task);
    const { tokens } = readBy(shown[0], SIDE);
    const hidden = hiddenPlaces(tokens.length);
    drawStrip(tokens, hidden);
    const places = [...hidden].sort((one, other) => one - other);
    const rows = places.flatMap((place) => shown.map((description) => row(description, tokens, hidden, place)));
    byId("hiding-table").tBodies[0].replaceChildren(...rows);
    say(byId("hiding-words"), places.length ? "" : "Nothing is hidden. Click a token above.");
  };
}

function drawStrip(tokens, hidden) {
  const strip = byId("hiding-strip");
  while (strip.children.length > tokens.length) strip.lastElementChild.remove();
  while (strip.children.length < tokens.length) {
    const place = strip.children.length;
    strip.append(element("button", { type: "button", class: "chip", onclick: () => toggle(place) }));
  }
  tokens.forEach((token, place) => {
    const chip = strip.children[place];
    say(chip, hidden.has(place) ? "▢" : token.label);
    mark(chip, "aria-label", `Hide token ${named(tokens, place)}`);
    mark(chip, "aria-pressed", String(hidden.has(place)));
  });
}

function toggle(place) {
  const hidden = new Set(chosen.hidden.split(",").filter(Boolean).map(Number));
  if (!hidden.delete(place)) hidden.add(place);
  choose({ hidden: [...hidden].sort((one, other) => one - other).join(",") });
}

function row(description, tokens, hidden, place) {
  const ids = tokens.map((token, at) => (hidden.has(at) ? hiddenToken(description.hidden).id : token.id));
  const masks = ofStudy(description.mask, description.shape.layers).map((mask) => matrix(mask, ids.length));
  const shares = softmax(pass(description, ids, masks).logits[place]);
  const colour = maskColour(description.mask);
  const guesses = likeliest(shares, ANSWERS).map(({ id, share }) =>
    element(
      "span",
      { class: "guess" },
      element("span", { class: "sign" }, madeToken(id, description).label),
      ` ${percent(share)}`,
    ),
  );
  const right = shares[tokens[place].id];
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, `${place + 1} ‘${tokens[place].label}’`),
    element("td", {}, element("span", { class: "mask-name", style: `color:${colour}` }, description.mask)),
    element("td", {}, ...guesses),
    element(
      "td",
      { class: "loss" },
      element("span", { class: "number" }, percent(right)),
      element(
        "span",
        { class: "meter", "aria-hidden": "true" },
        element("span", { style: `width:${100 * right}%;background:${colour}` }),
      ),
    ),
  );
}
