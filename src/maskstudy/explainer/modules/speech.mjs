// What an encoder–decoder makes of a word: written token by token, and the same target read at once.

import { SIDE } from "./masks.mjs";
import { model, nameOf } from "./models.mjs";
import { wordTokens } from "./tokens.mjs";

const EXAMPLE = "attention";
let remembered = { key: null };

/**
 * @returns `source`, of `wordTokens`; `ids` of the target, the first sign included and the end not; `stepwise`, the
 *   logits that each was answered by when it was the newest, and `logits`, the same of one parallel pass; `encoder` and
 *   `decoder`, the heads of each layer; `ended`, whether the model came to an end in the room that there is.
 */
export function spoken(description, word) {
  const key = `${nameOf(description)} ${word}`;
  if (remembered.key !== key) remembered = { key, ...asked(description, word) };
  return remembered;
}

/** The word that is asked for: the reader's own, or the first one of the text. */
export function wordOf({ word, text }) {
  return word.trim() || (text.trim().split(/\s+/)[0] ?? "");
}

function asked(description, word) {
  const transformer = model(description);
  const source = wordTokens(word, description, SIDE, EXAMPLE);
  const { layers: encoder, sources } = transformer.encode(source.tokens.map(({ id }) => id));
  const { ids, logits: stepwise, ended } = transformer.write(sources, description.start, description.end, SIDE);
  const { layers: decoder, logits } = transformer.decode(ids, sources);
  return { source, ids, stepwise, logits, encoder, decoder, ended };
}
