// Who may attend to whom. A mask is a predicate: may this query position attend to this key position?
// true = may attend. Positions count from 0 here, and from 1 on the page.

export const causal = (query, key) => key <= query;
export const full = () => true;
export const lookahead = (future) => (query, key) => key <= query + future;
export const prefix = (length) => (query, key) => key <= query || key < length;
export const both = (one, other) => (query, key) => one(query, key) && other(query, key);

export const SIDE = 12; // positions of a mask that the reader draws
const DIGIT = 4; // cells in one hexadecimal digit

/** The matrix of a predicate. Where there are more keys than queries, the queries are the last positions. */
export function matrix(predicate, queries, keys = queries) {
  return Array.from({ length: queries }, (_, row) =>
    Array.from({ length: keys }, (_, key) => predicate(keys - queries + row, key)),
  );
}

/** The predicates of all layers for what the reader chose: `{ mask, prefix, ahead, every, own }`. */
export function layers(chosen, count) {
  const first = {
    causal,
    full,
    prefix: prefix(chosen.prefix),
    lookahead: lookahead(chosen.ahead),
    own: fromText(chosen.own),
  }[chosen.mask];
  // Look-ahead in every layer adds up; the study's masks look ahead in the first layer alone.
  const later = chosen.mask === "lookahead" && !chosen.every ? causal : first;
  return Array.from({ length: count }, (_, layer) => (layer === 0 ? first : later));
}

/** The predicates of all layers of a mask of the study, by its name; null for one that the page does not know. */
export function ofStudy(name, count) {
  const [, reach] = /^lookahead-(\d+)$/.exec(name) ?? [];
  if (reach) return layers({ mask: "lookahead", ahead: Number(reach), every: false, prefix: 0, own: "" }, count);
  return name === "causal" || name === "full" ? layers({ mask: name, prefix: 0, own: "" }, count) : null;
}

/**
 * How many layers it takes until position i can know anything of position j: 0 for itself, Infinity for never.
 * A layer adds to what a position already holds, so nothing that was seen is lost.
 */
export function layersNeeded(predicates, length) {
  let seen = matrix((query, key) => query === key, length);
  const needed = seen.map((row) => row.map((own) => (own ? 0 : Infinity)));
  predicates.forEach((predicate, layer) => {
    seen = seen.map((row, query) =>
      row.map((already, input) => already || seen.some((held, key) => predicate(query, key) && held[input])),
    );
    seen.forEach((row, query) =>
      row.forEach((yes, input) => {
        if (yes) needed[query][input] = Math.min(needed[query][input], layer + 1);
      }),
    );
  });
  return needed;
}

/** What position i can see after all layers: `layersNeeded` is finite. */
export function access(predicates, length) {
  return layersNeeded(predicates, length).map((row) => row.map(Number.isFinite));
}

/** The way of input `input` to output `output`: its position before the first layer and after each, or null. */
export function route(predicates, length, output, input) {
  const depth = predicates.length;
  const ways = Array.from({ length: depth + 1 }, () => new Array(length).fill(false));
  ways[depth][output] = true; // ways[d][p]: what p holds after d layers can still reach the output
  for (let layer = depth - 1; layer >= 0; layer -= 1) {
    for (let key = 0; key < length; key += 1) {
      ways[layer][key] = ways[layer + 1].some((on, query) => on && (query === key || predicates[layer](query, key)));
    }
  }
  if (!ways[0][input]) return null;
  const taken = [input];
  for (let layer = 0; layer < depth; layer += 1) {
    const from = taken[layer];
    const steps = ways[layer + 1].map((on, query) => on && (query === from || predicates[layer](query, from)));
    taken.push(steps[from] ? from : steps.indexOf(true));
  }
  return taken;
}

/** A drawn mask as text, four cells a hexadecimal digit. */
export function toText(cells) {
  const bits = cells
    .flat()
    .map((allowed) => (allowed ? "1" : "0"))
    .join("");
  return bits
    .match(/.{4}/g)
    .map((digit) => parseInt(digit, 2).toString(16))
    .join("");
}

/** The predicate of a drawn mask. */
export function fromText(text) {
  return (query, key) => {
    const cell = query * SIDE + key;
    return ((parseInt(text[Math.floor(cell / DIGIT)], 16) >> (DIGIT - 1 - (cell % DIGIT))) & 1) === 1;
  };
}
