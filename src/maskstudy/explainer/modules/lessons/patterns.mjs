// Lesson 2: masks side by side, the reader's own among them, and what a position reaches through the layers.

import { maskColour, palette, tint } from "../colours.mjs";
import { byId, drawing, element, mark, say } from "../dom.mjs";
import { SIDE, layers, layersNeeded, matrix, toText } from "../masks.mjs";
import { matrixIn, thumbnailIn } from "../matrix.mjs";
import { listed, several } from "../numbers.mjs";
import { playerIn } from "../player.mjs";
import { saveButtons, standalone } from "../save.mjs";
import { choose, chosen } from "../state.mjs";
import { named } from "../tokens.mjs";

const CARDS = [
  ["causal", "Causal", "itself and all before it"],
  ["full", "Full", "everything"],
  ["prefix", "Prefix", "all of the first tokens; after them, causal"],
  ["lookahead", "Look-ahead", "causal, and a few tokens of the future"],
  ["own", "Your own", "whatever you draw"],
];
const DEEPEST = 6; // layers of the picture
const [LOWEST, HIGHEST] = [62, 260]; // from one layer of it to the next

export function lesson() {
  const cards = CARDS.map(([mask, title, words]) => card(mask, title, words));
  byId("cards").append(...cards.map(({ made }) => made));
  byId("prefix").addEventListener("input", (event) => choose({ prefix: Number(event.target.value) }));
  byId("ahead").addEventListener("input", (event) => choose({ ahead: Number(event.target.value) }));
  byId("every").addEventListener("change", (event) => choose({ every: event.target.checked }));
  byId("position").addEventListener("input", (event) => choose({ position: Number(event.target.value) - 1 }));
  byId("own-clear").addEventListener("click", () => choose({ mask: "own", own: toText(matrix(() => false, SIDE)) }));
  byId("own-copy").addEventListener("click", () =>
    choose({ mask: "own", own: toText(matrix(layers(chosen, 1)[0], SIDE)) }),
  );
  const point = (row) => row !== chosen.position && choose({ position: row });
  const one = matrixIn(byId("one-layer"), { point, pick: toggle });
  const after = matrixIn(byId("after-layers"), { point });
  byId("network").after(
    saveButtons(
      () => "The ways through the layers",
      "network",
      () => standalone(byId("network").firstChild),
    ),
  );
  const player = playerIn(byId("depth-player"), {
    what: "the layers",
    get: () => chosen.depth,
    last: () => DEEPEST,
    set: (depth) => choose({ depth }),
  });

  return function render(view) {
    const { tokens, length } = view;
    const colour = maskColour(chosen.mask);
    const position = Math.min(chosen.position, length - 1);
    cards.forEach((made) => drawCard(made, length));
    drawChoices(length, position);
    const predicates = layers(chosen, DEEPEST);
    drawLayer(one, view, predicates[0], position, colour);
    const needed = layersNeeded(predicates, length);
    drawAccess(after, view, needed, position, colour);
    byId("network").replaceChildren(network(tokens, predicates.slice(0, chosen.depth), position, colour));
    const reached = needed[position].flatMap((depth, input) => (depth <= chosen.depth ? [input] : []));
    const future = reached.filter((input) => input > position).length;
    const ahead = future ? `, ${future === 1 ? "one of them" : `${future} of them`} in its future` : "";
    player.draw(
      `After ${several(chosen.depth, "layer")}, position ${position + 1} holds something of ${listed(reached.map((input) => named(tokens, input)))}${ahead}.`,
    );
    say(byId("network-words"), remark(needed, position));
  };
}

/** Clicking a cell of any mask makes it the reader's own. */
function toggle(row, column) {
  const cells = matrix(layers(chosen, 1)[0], SIDE);
  cells[row][column] = !cells[row][column];
  choose({ mask: "own", own: toText(cells) });
}

function card(mask, title, words) {
  const input = element("input", { type: "radio", name: "mask-card", value: mask, onchange: () => choose({ mask }) });
  const made = element(
    "label",
    { class: "card" },
    input,
    element("span", { class: "card-picture" }),
    element("span", { class: "card-title" }, title),
    element("span", { class: "card-words" }, words),
  );
  return { mask, made, input };
}

function drawCard({ mask, made, input }, length) {
  const colour = maskColour(mask);
  const cells = matrix(layers({ ...chosen, mask }, 1)[0], length);
  thumbnailIn(
    made.querySelector(".card-picture"),
    cells.map((row) => row.map((allowed) => (allowed ? colour : null))),
  );
  input.checked = chosen.mask === mask;
  mark(made, "data-chosen", input.checked ? "yes" : null);
  made.style.setProperty("--accent", colour);
}

function drawChoices(length, position) {
  byId("prefix-choice").hidden = chosen.mask !== "prefix";
  byId("ahead-choice").hidden = chosen.mask !== "lookahead";
  byId("prefix").value = chosen.prefix;
  byId("prefix").max = length;
  say(byId("prefix-value"), String(Math.min(chosen.prefix, length)));
  byId("ahead").value = chosen.ahead;
  byId("ahead").max = Math.max(1, length - 1);
  say(byId("ahead-value"), String(chosen.ahead));
  byId("every").checked = chosen.every;
  byId("position").max = length;
  byId("position").value = position + 1;
  say(byId("position-value"), String(position + 1));
}

function drawLayer(figure, view, predicate, position, colour) {
  const { tokens } = view;
  say(byId("one-layer-title"), `One layer, ${view.maskName} mask: click a cell to change it`);
  const allowed = matrix(predicate, tokens.length);
  const cells = allowed.map((row, i) =>
    row.map((yes, j) => ({
      text: yes ? "✓" : "–",
      fill: yes ? colour : null,
      hidden: !yes,
      pressed: yes,
      words: `query ${named(tokens, i)}, key ${named(tokens, j)}: ${yes ? "may attend" : "forbidden"}`,
    })),
  );
  const summary = allowed.map(
    (row, i) =>
      `Query ${i + 1} may attend to ${listed(row.flatMap((yes, j) => (yes ? [String(j + 1)] : []))) || "nothing"}.`,
  );
  figure.draw({
    rows: tokens,
    columns: tokens,
    cells,
    row: position,
    summary: `The mask of one layer. ${summary.join(" ")}`,
  });
}

function drawAccess(figure, view, needed, position, colour) {
  const { tokens } = view;
  say(byId("after-layers-title"), `Access after ${several(chosen.depth, "layer")}: how many layers it takes`);
  const cells = needed.map((row, i) =>
    row.map((depth, j) => {
      const yes = depth <= chosen.depth;
      const words = `position ${named(tokens, i)}, input ${named(tokens, j)}: ${yes ? (depth === 0 ? "its own token" : `reached after ${several(depth, "layer")}`) : "not reached"}`;
      return {
        text: yes ? String(depth) : "",
        fill: yes ? tint(colour, depth === 0 ? 1 : 1 / (0.35 + 0.75 * depth)) : null,
        hidden: !yes,
        words,
      };
    }),
  );
  const summary = needed.map(
    (row, i) =>
      `Position ${i + 1} knows of ${listed(row.flatMap((depth, j) => (depth <= chosen.depth ? [String(j + 1)] : [])))}.`,
  );
  figure.draw({
    rows: tokens,
    columns: tokens,
    cells,
    row: position,
    summary: `After ${several(chosen.depth, "layer")}. ${summary.join(" ")}`,
  });
}

/** Positions side by side, layers above each other; lines that lead to the watched position stand out. */
function network(tokens, predicates, position, colour) {
  const { quiet, faint, ink, page } = palette();
  const depth = predicates.length;
  const [across, foot] = [56, 44];
  const wanted = Math.round((0.7 * across * tokens.length) / Math.max(1, depth));
  const up = Math.max(LOWEST, Math.min(HIGHEST, wanted));
  const x = (place) => 28 + across * place;
  const y = (layer) => 20 + up * (depth - layer);
  const on = Array.from({ length: depth + 1 }, () => new Set());
  on[depth].add(position);
  const [thin, thick] = [[], []];
  for (let layer = depth - 1; layer >= 0; layer -= 1) {
    tokens.forEach((_, query) =>
      tokens.forEach((__, key) => {
        const own = query === key;
        if (!own && !predicates[layer](query, key)) return;
        const leads = on[layer + 1].has(query);
        if (leads) on[layer].add(key);
        const line = {
          x1: x(key),
          y1: y(layer),
          x2: x(query),
          y2: y(layer + 1),
          stroke: leads ? colour : faint,
          "stroke-width": leads ? 2.2 : 1,
          "stroke-dasharray": own && !predicates[layer](query, key) ? "3 3" : null,
        };
        (leads ? thick : thin).push(drawing("line", line));
      }),
    );
  }
  const nodes = tokens.flatMap((token, place) =>
    on.map((lit, layer) =>
      drawing("circle", {
        cx: x(place),
        cy: y(layer),
        r: lit.has(place) ? 9 : 6,
        fill: lit.has(place) ? colour : page,
        stroke: lit.has(place) ? colour : quiet,
        "stroke-width": 1.5,
      }),
    ),
  );
  const names = tokens.flatMap((token, place) => [
    drawing(
      "text",
      {
        x: x(place),
        y: y(0) + 32,
        "text-anchor": "middle",
        fill: on[0].has(place) ? ink : quiet,
        "font-weight": on[0].has(place) ? 700 : 400,
        "font-size": Math.max(16, 2 * tokens.length), // the picture is made to fit, and so are they
      },
      token.label,
    ),
  ]);
  const size = { width: across * tokens.length, height: 20 + up * depth + foot };
  return drawing(
    "svg",
    {
      viewBox: `0 0 ${size.width} ${size.height}`,
      role: "img",
      "aria-label": `Lines from the inputs, below, through ${several(depth, "layer")} to position ${position + 1}: it is reached by ${listed([...on[0]].sort((a, b) => a - b).map((place) => named(tokens, place)))}.`,
      style: `max-width:${size.width * 1.25}px`,
    },
    ...thin,
    ...thick,
    ...nodes,
    ...names,
  );
}

function remark(needed, position) {
  if (chosen.mask === "lookahead" && chosen.every)
    return `Each layer looks ${chosen.ahead} further, so look-ahead adds up: ${chosen.ahead} in every layer is ${2 * chosen.ahead} after two. A study that wants exactly ${chosen.ahead} looks ahead in the first layer alone.`;
  if (chosen.mask === "lookahead")
    return `Only the first layer looks ahead, as in this study: it stays at exactly ${chosen.ahead}, however many layers follow.`;
  if (chosen.mask === "causal")
    return "Causal layers stay causal, however many there are: no way leads from the future into the past.";
  if (chosen.mask === "full")
    return "One layer is enough to see everything. More layers add no access, only more work on it.";
  if (chosen.mask === "prefix")
    return "Inside the prefix everybody sees everybody, as under full attention; after it, the mask is causal.";
  const furthest = Math.max(...needed[position].filter(Number.isFinite));
  return `Under your mask, position ${position + 1} needs up to ${several(furthest, "layer")} for all that it can ever know. Dashed lines are the residual path: a position keeps what it holds.`;
}
