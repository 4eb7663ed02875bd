// One score as the sum that it is: the numbers of the query, those of the key, and their products.

import { palette, signed } from "./colours.mjs";
import { drawing, element, kept, mark, say } from "./dom.mjs";
import { shown } from "./numbers.mjs";
import { saveButtons, standalone } from "./save.mjs";

const WIDE = 480;
const [LEFT, RIGHT] = [66, 96]; // room for the names of the lanes, and for the sum
const [LANE, TALL] = [70, 30]; // height of a lane, and of the longest bar on either side of its middle
const NAMES = ["query", "key", "product"];

/**
 * The picture inside a `<figure>` with a caption, and the same as a table that unfolds.
 *
 * @returns `draw({ query, key, colour, words })`: two vectors, and a sentence for whoever does not see them.
 */
export function productIn(host) {
  const picture = drawing("svg", { role: "img" });
  const body = element("tbody");
  const heading = (words) => element("th", { scope: "col" }, words);
  const table = element(
    "table",
    { class: "plain" },
    element("thead", {}, element("tr", {}, heading("number"), ...NAMES.map(heading))),
    body,
  );
  const details = element("details", {}, element("summary", {}, "As numbers"), table);
  const caption = host.querySelector("figcaption");
  host.append(
    picture,
    saveButtons(
      () => caption.textContent,
      host.id,
      () => standalone(picture),
    ),
    details,
  );
  let vectors = [];
  let parts = null;
  const drawTable = () => {
    if (!details.open) return;
    const rows = kept(body, vectors[0].length, (place) =>
      element("tr", {}, element("th", { scope: "row" }, String(place + 1)), ...NAMES.map(() => element("td"))),
    );
    rows.forEach((row, place) => vectors.forEach((vector, lane) => say(row.cells[1 + lane], shown(vector[place]))));
  };
  details.addEventListener("toggle", drawTable);

  return {
    draw({ query, key, colour, words }) {
      const products = query.map((value, place) => value * key[place]);
      vectors = [query, key, products];
      if (parts?.bars[0].length !== query.length) parts = build(picture, query.length);
      const { ink, quiet, faint } = palette();
      mark(picture, "aria-label", words);
      const sum = products.reduce((total, value) => total + value, 0);
      const root = Math.sqrt(query.length);
      const sums = ["", "", `sum ${shown(sum)}`, `÷ √${query.length}`, `= ${shown(sum / root)}`];
      parts.texts.forEach((text, place) => {
        say(text, [...NAMES, ...sums.slice(2)][place]);
        mark(text, "fill", place < 2 ? quiet : ink);
      });
      parts.axes.forEach((axis) => mark(axis, "stroke", faint));
      const most = Math.max(...query.map(Math.abs), ...key.map(Math.abs));
      vectors.forEach((vector, lane) => {
        const top = lane < 2 ? most : Math.max(...products.map(Math.abs)) || 1;
        vector.forEach((value, place) => {
          const bar = parts.bars[lane][place];
          const tall = Math.max(0.5, (TALL * Math.abs(value)) / top);
          const middle = LANE * (lane + 0.5);
          mark(bar, "y", (value > 0 ? middle - tall : middle).toFixed(1));
          mark(bar, "height", tall.toFixed(1));
          mark(bar, "fill", signed(value < 0 ? -1 : 1, 1, colour));
          say(bar.firstChild, `${NAMES[lane]} ${place + 1}: ${shown(value)}`);
        });
      });
      drawTable();
    },
  };
}

function build(picture, count) {
  const across = (WIDE - LEFT - RIGHT) / count;
  const middle = (lane) => LANE * (lane + 0.5);
  const text = (x, y, anchor, weight = 400) =>
    drawing("text", { x, y, "text-anchor": anchor, "font-size": 15, "font-weight": weight });
  const end = WIDE - RIGHT + 10;
  const texts = [
    ...NAMES.map((_, lane) => text(LEFT - 6, middle(lane) + 5, "end")),
    text(end, middle(2) - 16, "start"),
    text(end, middle(2) + 5, "start"),
    text(end, middle(2) + 26, "start", 700),
  ];
  const axes = NAMES.map((_, lane) =>
    drawing("line", { x1: LEFT, x2: WIDE - RIGHT, y1: middle(lane), y2: middle(lane), "stroke-width": 1 }),
  );
  const bars = NAMES.map(() =>
    Array.from({ length: count }, (_, place) =>
      drawing("rect", { x: LEFT + across * (place + 0.12), width: across * 0.76 }, drawing("title")),
    ),
  );
  mark(picture, "viewBox", `0 0 ${WIDE} ${LANE * NAMES.length}`);
  picture.replaceChildren(...axes, ...bars.flat(), ...texts);
  return { texts, axes, bars };
}
