// Lesson 1, from other sides: a head as lines between tokens, one score as a sum, and all heads at a glance.

import { maskColour, tint } from "../colours.mjs";
import { byId, say } from "../dom.mjs";
import { headsIn } from "../heads.mjs";
import { linksIn } from "../links.mjs";
import { dot } from "../model.mjs";
import { pass } from "../models.mjs";
import { shown } from "../numbers.mjs";
import { productIn } from "../product.mjs";
import { choose, chosen } from "../state.mjs";
import { named } from "../tokens.mjs";
import { tried } from "../view.mjs";

export function links() {
  const figure = linksIn(byId("links"), (row) => row !== chosen.row && choose({ row }));

  return function render(view) {
    const { tokens, row, layer, head } = view;
    const { masks, read } = tried(view);
    say(byId("links-title"), `Who looks at whom · layer ${layer + 1}, head ${head + 1}`);
    const { weights } = read.layers[layer][head];
    figure.draw({ tokens, weights, allowed: masks[layer], row, colour: maskColour(chosen.mask) });
  };
}

/** The score of the watched row and the key that was last pointed at. */
export function product() {
  const figure = productIn(byId("product"));

  return function render(view) {
    const { tokens, row, layer, head } = view;
    const column = Math.min(chosen.column, view.length - 1);
    const { queries, keys, scores } = tried(view).read.layers[layer][head];
    const [query, key] = [queries[row], keys[column]];
    say(byId("product-title"), `The score of query ${named(tokens, row)} and key ${named(tokens, column)}`);
    const words = `The query’s ${query.length} numbers times the key’s, summed, are ${shown(dot(query, key))}; divided by √${query.length} = ${shown(Math.sqrt(query.length))} that is the score ${shown(scores[row][column])}.`;
    say(byId("row-product"), words);
    figure.draw({ query, key, colour: maskColour(chosen.mask), words });
  };
}

export function heads() {
  const draw = headsIn("heads", "All heads of all layers", (layer, head) => choose({ layer, head }));

  return function render({ description, ids, masks, layer: chosenLayer, head: chosenHead }) {
    const { layers } = pass(description, ids, masks);
    const colour = maskColour(chosen.mask);
    const pictures = layers.map((ofLayer, layer) =>
      ofLayer.map(({ weights }) =>
        weights.map((row, i) => row.map((weight, j) => (masks[layer][i][j] ? tint(colour, weight) : null))),
      ),
    );
    draw(pictures, chosenLayer, chosenHead);
  };
}
