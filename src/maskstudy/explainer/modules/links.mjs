// One head as lines from queries to keys: the wider a line, the larger the weight; what is masked has none.

import { leak, palette } from "./colours.mjs";
import { drawing, mark, say } from "./dom.mjs";
import { listed, shown } from "./numbers.mjs";
import { saveButtons, standalone } from "./save.mjs";
import { named } from "./tokens.mjs";

const WIDE = 410;
const [LINE, TOP] = [30, 38]; // height of a token, and of the headings
const [LEFT, RIGHT] = [96, 250]; // where lines begin and end
const WIDEST = 9; // of a line
const STEPS = { ArrowUp: -1, ArrowDown: 1 };

/**
 * The lines inside a `<figure>` with a caption.
 *
 * @param point called with a position when it is pointed at, focused, or walked to with the arrow keys.
 * @returns `draw({ tokens, weights, allowed, row, colour })`.
 */
export function linksIn(host, point) {
  const picture = drawing("svg", { role: "group" });
  const caption = host.querySelector("figcaption");
  host.append(
    picture,
    saveButtons(
      () => caption.textContent,
      host.id,
      () => standalone(picture),
    ),
  );
  let parts = null;
  const queryOf = (target) => parts.queries.indexOf(target.closest?.("[role=button]"));
  for (const kind of ["pointerover", "focusin"])
    picture.addEventListener(kind, (event) => {
      const query = queryOf(event.target);
      if (query >= 0) point(query);
    });
  picture.addEventListener("keydown", (event) => {
    const from = queryOf(event.target);
    if (from < 0) return;
    const to = { Home: 0, End: parts.queries.length - 1 }[event.key] ?? from + (STEPS[event.key] ?? NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    parts.queries[to]?.focus();
  });

  return {
    draw({ tokens, weights, allowed, row, colour }) {
      if (parts?.queries.length !== tokens.length) parts = build(picture, tokens.length);
      const { ink, quiet, panel } = palette();
      mark(
        picture,
        "aria-label",
        `Lines from each query to the keys that it looks at. ${story(tokens, weights, allowed, row)}`,
      );
      parts.headings.forEach((heading) => mark(heading, "fill", quiet));
      mark(parts.band, "y", TOP + LINE * row);
      mark(parts.band, "fill", panel);
      tokens.forEach((token, query) => {
        const lit = query === row;
        const name = parts.queries[query];
        say(name.lastChild, `${query + 1}  ${signOf(token)}`);
        mark(name.lastChild, "font-size", sizeOf(token));
        mark(name.lastChild, "fill", lit ? ink : quiet);
        mark(name.lastChild, "font-weight", lit ? 700 : 400);
        mark(name, "aria-pressed", String(lit));
        mark(name, "tabindex", lit ? "0" : "-1");
        mark(name, "aria-label", story(tokens, weights, allowed, query));
        weights[query].forEach((weight, key) => {
          const line = parts.lines[query][key];
          mark(line, "visibility", weight > 0 ? null : "hidden");
          if (weight === 0) return;
          mark(line, "stroke", allowed[query][key] ? colour : leak(1));
          mark(line, "stroke-width", (0.6 + WIDEST * weight).toFixed(2));
          mark(line, "stroke-opacity", ((0.25 + 0.75 * weight) * (lit ? 1 : 0.22)).toFixed(3));
        });
      });
      tokens.forEach((token, key) => {
        const [name, share] = parts.keys[key];
        const masked = !allowed[row][key];
        say(name, `${key + 1}  ${signOf(token)}`);
        mark(name, "font-size", sizeOf(token));
        mark(name, "fill", masked ? quiet : ink);
        mark(name, "text-decoration", masked ? "line-through" : null);
        say(share, masked && weights[row][key] === 0 ? "masked" : shown(weights[row][key]));
        mark(share, "fill", masked ? quiet : ink);
      });
    },
  };
}

/** A position in words: whom it looks at, how much, and whom it may not see. */
function story(tokens, weights, allowed, row) {
  const seen = tokens.flatMap((_, key) =>
    allowed[row][key] ? [`${named(tokens, key)} ${shown(weights[row][key])}`] : [],
  );
  const masked = tokens.flatMap((_, key) => (allowed[row][key] ? [] : [named(tokens, key)]));
  const tail = masked.length ? `; masked: ${listed(masked)}` : "";
  return `Position ${named(tokens, row)} looks at ${listed(seen) || "nothing"}${tail}.`;
}

function signOf({ label, part }) {
  return part ? `${label} ${part}` : label;
}

/** A byte of a longer character has a long name, and no more room than the others. */
function sizeOf(token) {
  return signOf(token).length > 2 ? 12 : 16;
}

function build(picture, length) {
  const middle = (place) => TOP + LINE * (place + 0.5);
  const text = (x, y, anchor, size = 16) => drawing("text", { x, y, "text-anchor": anchor, "font-size": size });
  const headings = [
    [LEFT - 12, "end", "query"],
    [RIGHT + 12, "start", "key"],
    [WIDE - 6, "end", "weight"],
  ].map(([x, anchor, words]) => drawing("text", { x, y: 20, "text-anchor": anchor, "font-size": 14 }, words));
  const band = drawing("rect", { x: 0, width: LEFT - 4, height: LINE, rx: 4 });
  const each = Array.from({ length }, (_, place) => place);
  const bend = (LEFT + RIGHT) / 2;
  const lines = each.map((query) =>
    each.map((key) =>
      drawing("path", {
        d: `M${LEFT} ${middle(query)} C${bend} ${middle(query)} ${bend} ${middle(key)} ${RIGHT} ${middle(key)}`,
        fill: "none",
        "stroke-linecap": "round",
      }),
    ),
  );
  const queries = each.map((place) =>
    drawing(
      "g",
      { role: "button" },
      drawing("rect", { x: 0, y: TOP + LINE * place, width: LEFT, height: LINE, fill: "transparent" }),
      text(LEFT - 12, middle(place) + 6, "end"),
    ),
  );
  const keys = each.map((place) => [
    text(RIGHT + 12, middle(place) + 6, "start"),
    text(WIDE - 6, middle(place) + 6, "end", 14),
  ]);
  mark(picture, "viewBox", `0 0 ${WIDE} ${TOP + LINE * length + 6}`);
  picture.replaceChildren(band, ...headings, ...lines.flat(), ...queries, ...keys.flat());
  return { band, headings, lines, queries, keys };
}
