// Lesson 5: what the mask was worth in the study, drawn from its results.

import { maskColour, palette, readable } from "../colours.mjs";
import { byId, drawing, element, say } from "../dom.mjs";
import { shown } from "../numbers.mjs";
import { saveButtons, standalone } from "../save.mjs";

const HIGH = 300; // of a chart
const WIDE = { width: 560, left: 52, right: 105, top: 16, bottom: 44 };
const PHONE = { width: 380, left: 48, right: 16, top: 16, bottom: 44 }; // letters shrink with a wide picture
const SMALL = "(max-width: 640px)"; // screens

export function lesson(study) {
  byId("results-missing").hidden = study !== null;
  byId("results-body").hidden = study === null;
  if (study === null) return () => {};
  const count = `${study.size}.`;
  say(
    byId("results-size"),
    study.confirmatory
      ? count
      : `${count} Quick profile: too little training and too few seeds to claim anything; exploratory only.`,
  );
  say(byId("not-superior"), study.not_superior);
  byId("results-none").hidden = study.dose_response.length > 0 || study.comparisons.length > 0;
  let drawn = "";

  return function render() {
    const frame = matchMedia(SMALL).matches ? PHONE : WIDE;
    const now = `${palette().page} ${frame.width}`;
    if (drawn === now) return; // nothing here follows the reader's text
    drawn = now;
    byId("dose").replaceChildren(...study.dose_response.map((task) => dose(task, study, frame)));
    say(byId("forest-legend"), study.comparisons.length > 0 ? legendOf(study) : "");
    byId("forest").replaceChildren(...study.comparisons.map((row) => comparison(row, study)));
  };
}

function legendOf({ confidence }) {
  return `Each comparison: the point is the mean difference of paired seeds, the bar its ${Math.round(100 * confidence)} % interval, which may be narrower than the point. Inside the grey band the two masks count as equivalent.`;
}

function dose({ task, metric, cells }, study, frame) {
  const { ink, quiet, faint } = palette();
  const reaches = cells.map(({ lookahead }) => lookahead).filter((reach) => reach !== null);
  const beyond = Math.max(...reaches) + Math.max(1.5, 0.4 * Math.max(...reaches));
  const numbers = cells
    .flatMap((cell) => [...cell.values, cell.ceiling, cell.baseline, cell.low, cell.high])
    .filter((value) => value !== null);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const room = 0.08 * (high - low || 1);
  const x = (reach) => frame.left + 24 + ((reach ?? beyond) / beyond) * (frame.width - frame.left - frame.right - 24);
  const y = (value) =>
    HIGH - frame.bottom - ((value - low + room) / (high - low + 2 * room)) * (HIGH - frame.top - frame.bottom);
  const text = (left, top, words, anchor = "middle", fill = quiet) =>
    drawing("text", { x: left, y: top, "text-anchor": anchor, "font-size": 13, fill }, words);
  const parts = [
    drawing("line", {
      x1: frame.left,
      x2: frame.width - frame.right,
      y1: HIGH - frame.bottom,
      y2: HIGH - frame.bottom,
      stroke: faint,
    }),
  ];
  for (const tick of ticks(low, high))
    parts.push(
      drawing("line", {
        x1: frame.left,
        x2: frame.width - frame.right,
        y1: y(tick),
        y2: y(tick),
        stroke: faint,
        "stroke-dasharray": "2 4",
      }),
      text(frame.left - 8, y(tick) + 4, shown(tick), "end"),
    );
  const ceilings = cells.filter(({ ceiling }) => ceiling !== null);
  if (ceilings.length) {
    parts.push(
      drawing("polyline", {
        points: ceilings.map((cell) => `${x(cell.lookahead)},${y(cell.ceiling)}`).join(" "),
        fill: "none",
        stroke: ink,
        "stroke-width": 1.5,
      }),
    );
    const [end, anchor] = frame === WIDE ? [frame.width - frame.right + 14, "start"] : [frame.width - frame.right, "end"];
    parts.push(text(end, y(ceilings.at(-1).ceiling) - 8, "best possible", anchor, ink));
  }
  for (const cell of cells) {
    const [colour, at] = [maskColour(cell.mask), x(cell.lookahead)];
    cell.values.forEach((value, place) =>
      parts.push(
        drawing("circle", {
          cx: at - 9 + (18 * place) / Math.max(1, cell.values.length - 1),
          cy: y(value),
          r: 2,
          fill: colour,
          opacity: 0.45,
        }),
      ),
    );
    parts.push(drawing("circle", { cx: at, cy: y(cell.mean), r: 5, fill: colour }));
    if (cell.low !== null) parts.push(whisker(at, y(cell.low), y(cell.high), ink));
    if (cell.baseline !== null)
      parts.push(
        drawing("path", {
          d: `M${at} ${y(cell.baseline) - 5} l5 5 -5 5 -5 -5z`,
          fill: palette().page,
          stroke: quiet,
          "stroke-width": 1.5,
        }),
      );
    parts.push(text(at, HIGH - frame.bottom + 18, cell.lookahead === null ? "all" : String(cell.lookahead)));
  }
  parts.push(text((frame.left + frame.width - frame.right) / 2, HIGH - 6, "tokens of the future that a position may see"));
  const words = cells.map(
    (cell) =>
      `${cell.mask} ${shown(cell.mean, 3)}${cell.ceiling === null ? "" : `, best possible ${shown(cell.ceiling, 3)}`}`,
  );
  const picture = drawing(
    "svg",
    {
      viewBox: `0 0 ${frame.width} ${HIGH}`,
      role: "img",
      "aria-label": `${task}, ${study.metric_names[metric]} by look-ahead: ${words.join("; ")}.`,
    },
    ...parts,
  );
  const legend =
    "Large points are means over seeds, the bars on them their intervals, small points single seeds; the line is the best possible with that access, diamonds are a simple method with the same access (the baseline).";
  return element(
    "figure",
    { class: "chart" },
    element("figcaption", {}, `${task}: ${study.metric_names[metric]} on test data`),
    element(
      "div",
      {},
      picture,
      saveButtons(
        () => task,
        `look-ahead-${task}`,
        () => standalone(picture),
      ),
    ),
    element("div", {}, numbersTable(task, cells, study), element("p", { class: "quiet" }, legend)),
  );
}

/** An interval that is seen also where it is narrower than its point. */
function whisker(at, low, high, ink) {
  const half = 4; // of the bars at both ends
  return drawing("path", {
    d: `M${at - half} ${high}h${2 * half}m${-half} 0V${low}m${-half} 0h${2 * half}`,
    stroke: ink,
    "stroke-width": 1.5,
    fill: "none",
  });
}

function numbersTable(task, cells, study) {
  const head = ["mask", "mean", `${Math.round(100 * study.confidence)} % interval`, "best possible", "baseline"];
  const three = (value) => (value === null ? "not known" : shown(value, 3));
  const span = ({ low, high }) => (low === null ? "one seed has none" : `${shown(low, 4)} to ${shown(high, 4)}`);
  const rows = cells.map((cell) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, cell.mask),
      ...[three(cell.mean), span(cell), three(cell.ceiling), three(cell.baseline)].map((words) =>
        element("td", {}, words),
      ),
    ),
  );
  const table = element(
    "table",
    { class: "plain" },
    element("thead", {}, element("tr", {}, ...head.map((words) => element("th", { scope: "col" }, words)))),
    element("tbody", {}, ...rows),
  );
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `The numbers of ${task}` },
    table,
  );
}

function comparison(row, study) {
  const { faint, quiet, ink } = palette();
  const reach =
    1.15 *
    Math.max(
      ...study.comparisons
        .filter(({ task, metric }) => task === row.task && metric === row.metric)
        .flatMap(({ low, high, margin }) => [Math.abs(low), Math.abs(high), margin ?? 0]),
    );
  const [wide, high, edge] = [300, 44, 8];
  const x = (value) => edge + ((value + reach) / (2 * reach)) * (wide - 2 * edge);
  const colour = maskColour(row.mask_a);
  const parts = [drawing("line", { x1: x(0), x2: x(0), y1: 2, y2: 30, stroke: quiet })];
  if (row.margin !== null)
    parts.unshift(
      drawing("rect", {
        x: x(-row.margin),
        width: x(row.margin) - x(-row.margin),
        y: 4,
        height: 26,
        fill: faint,
        opacity: 0.6,
      }),
    );
  parts.push(
    drawing("line", { x1: x(row.low), x2: x(row.high), y1: 17, y2: 17, stroke: colour, "stroke-width": 3 }),
    drawing("circle", { cx: x(row.effect), cy: 17, r: 5, fill: colour }),
  );
  for (const value of [-reach / 1.15, 0, reach / 1.15])
    parts.push(
      drawing("text", { x: x(value), y: 42, "text-anchor": "middle", "font-size": 11, fill: quiet }, shown(value)),
    );
  const label = `${row.mask_a} minus ${row.mask_b}: ${shown(row.effect, 3)}, from ${shown(row.low, 3)} to ${shown(row.high, 3)}`;
  return element(
    "li",
    {},
    element(
      "div",
      {},
      element("strong", {}, row.task),
      ` · ${row.mask_a} − ${row.mask_b}, ${study.metric_names[row.metric]}`,
      drawing("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": label }, ...parts),
    ),
    element(
      "div",
      {},
      element("p", {}, `${row.declared ? "" : "Exploratory: "}${row.finding}.`),
      element(
        "p",
        { class: "quiet", style: `border-left-color:${readable(row.equal_access ? "#12806a" : "#b05cc0")}` },
        element("strong", { style: `color:${ink}` }, row.access.split(": ")[0]),
        `: ${row.access.split(": ")[1]}.`,
      ),
    ),
  );
}

/** Round numbers between two numbers, about five. */
function ticks(low, high) {
  const rough = (high - low || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-12; tick += step) found.push(tick);
  return found;
}
