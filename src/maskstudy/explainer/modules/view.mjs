// What the reader looks at now, worked out once for all lessons: model, tokens, mask, layer, head.

import { both, layers, matrix } from "./masks.mjs";
import { find, pass } from "./models.mjs";
import { STOPS, chosen } from "./state.mjs";
import { hiddenToken, tokens } from "./tokens.mjs";

export const BLIND = 0; // the position that sees nothing, where that is chosen
export const EXAMPLES = { bytes: "causal masks", letters: "ABCABDABCABE" };
const MASK_NAMES = { causal: "causal", full: "full", prefix: "prefix", lookahead: "look-ahead", own: "your own" };

/** Where the text of a model stands among what is chosen. */
export function textField(description) {
  return description.alphabet === "bytes" ? "text" : "letters";
}

export function view() {
  const description = find(chosen.model);
  const { tokens: read, total, note } = readBy(description);
  const hidden = hiddenPlaces(read.length);
  const shown =
    description.hidden === null
      ? read
      : read.map((token, place) => (hidden.has(place) ? hiddenToken(description.hidden) : token));
  const predicates = layers(chosen, description.shape.layers);
  return {
    description,
    read, // as typed
    tokens: shown, // as the model reads them
    ids: shown.map((token) => token.id),
    length: shown.length,
    total,
    note,
    hidden,
    predicates,
    masks: predicates.map((predicate) => matrix(predicate, shown.length)),
    layer: Math.min(chosen.layer, description.shape.layers - 1),
    head: Math.min(chosen.head, description.shape.heads - 1),
    row: Math.min(chosen.row, shown.length - 1),
    maskName: maskName(),
  };
}

/** What lesson 1 tries out: a pass with a number in place of −∞, and with a position that sees nothing. */
export function tried(view) {
  const fill = { value: STOPS[chosen.fill], how: chosen.how };
  const predicates = view.predicates.map((predicate) =>
    chosen.blind ? both(predicate, (query) => query !== BLIND) : predicate,
  );
  const masks = predicates.map((predicate) => matrix(predicate, view.length));
  return { fill, predicates, masks, read: pass(view.description, view.ids, masks, fill) };
}

/** The reader's text as this model reads it: as many tokens as are chosen, or `count`. */
export function readBy(description, count = chosen.count) {
  const most = Math.min(count, description.shape.length);
  return tokens(chosen[textField(description)], description, most, EXAMPLES[description.alphabet]);
}

export function hiddenPlaces(length) {
  return new Set(
    chosen.hidden
      .split(",")
      .filter(Boolean)
      .map(Number)
      .filter((place) => place < length),
  );
}

/** The chosen mask in words, with its number. */
export function maskName() {
  if (chosen.mask === "prefix") return `prefix of ${chosen.prefix}`;
  if (chosen.mask === "lookahead") return `look-ahead ${chosen.ahead}`;
  return MASK_NAMES[chosen.mask];
}
