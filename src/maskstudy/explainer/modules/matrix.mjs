// A matrix on the page: a table that reads as one to a screen reader, is walked with the arrow keys, lights up a row, and
// is saved as SVG or PNG. Rows are queries, columns are keys.

import { palette, textOn } from "./colours.mjs";
import { drawing, element, kept, mark, say } from "./dom.mjs";
import { escaped, saveButtons } from "./save.mjs";
import { choose } from "./state.mjs";

const CORNER = 1.2; // columns that the headings of rows take
const NARROW = 40; // pixels of a cell below which numbers are cut short
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const UNIT = 44; // of a cell in a saved picture
const FAINT = 0.55; // opacity of a row that is not lit

/**
 * A matrix inside a `<figure>` that has an id and a `<figcaption>` with one.
 *
 * @param host the figure.
 * @param events `point(row, column)` when a cell is pointed at or focused, `pick(row, column)` when it is clicked, or
 *   Enter or Space is pressed on it. With `pick`, cells are said to be pressed or not, as buttons are.
 * @returns `draw`, `narrow`.
 */
export function matrixIn(host, events = {}) {
  const caption = host.querySelector("figcaption");
  const summary = element("p", { class: "unseen", id: `${host.id}-summary` });
  const body = element("tbody");
  const head = element("thead");
  const table = element(
    "table",
    { role: "grid", "aria-labelledby": caption.id, "aria-describedby": summary.id },
    head,
    body,
  );
  let shownNow = null;
  let textBefore = null;
  let at = [0, 0];
  let width = host.clientWidth;
  // Asking for a width in every render would lay out the page each time.
  new ResizeObserver(([{ contentRect }]) => {
    const before = shownNow && narrow(shownNow.columns.length);
    width = contentRect.width;
    if (shownNow && narrow(shownNow.columns.length) !== before) choose({});
  }).observe(host);

  host.append(
    table,
    summary,
    saveButtons(
      () => caption.textContent,
      host.id,
      () => pictureOf(shownNow, caption.textContent),
    ),
  );

  const place = (target) => {
    const cell = target.closest?.("td");
    return cell && [cell.parentNode.sectionRowIndex, cell.cellIndex - 1];
  };
  const walk = (row, column) => {
    const cell = body.rows[row]?.cells[column + 1];
    if (!cell) return;
    body.rows[at[0]]?.cells[at[1] + 1]?.setAttribute("tabindex", "-1");
    at = [row, column];
    cell.setAttribute("tabindex", "0");
    cell.focus();
  };
  body.addEventListener("pointerover", (event) => {
    const found = place(event.target);
    if (found) events.point?.(...found);
  });
  body.addEventListener("focusin", (event) => {
    const found = place(event.target);
    if (found) events.point?.(...found);
  });
  body.addEventListener("click", (event) => {
    const found = place(event.target);
    if (found) events.pick?.(...found);
  });
  body.addEventListener("keydown", (event) => {
    const [row, column] = place(event.target) ?? at;
    if (event.key in STEPS) walk(row + STEPS[event.key][0], column + STEPS[event.key][1]);
    else if (event.key === "Home") walk(row, 0);
    else if (event.key === "End") walk(row, shownNow.columns.length - 1);
    else if ((event.key === "Enter" || event.key === " ") && events.pick) events.pick(row, column);
    else return;
    event.preventDefault();
  });

  /**
   * @param given `rows`, `columns` (tokens), `cells` (rows of `{ text, fill, hidden, pressed, words }`), `summary`
   *   (for a screen reader), `row` (the one lit up, or null).
   */
  function draw(given) {
    shownNow = given;
    const { rows, columns, cells } = given;
    host.style.setProperty("--columns", columns.length);
    // Colours glide from step to step of one text; at another text they would be busy for longer than a key takes.
    const text = [...rows, null, ...columns].map((token) => token?.id).join();
    mark(host, "data-glides", text === textBefore && "yes");
    textBefore = text;
    say(summary, given.summary);
    resize(head, 1, columns.length, "th");
    resize(body, rows.length, columns.length, "td");
    at = [Math.min(at[0], rows.length - 1), Math.min(at[1], columns.length - 1)];
    const seen = (column) => given.row !== null && !cells[given.row]?.[column]?.hidden;
    columns.forEach((token, column) => {
      const cell = head.rows[0].cells[column + 1];
      label(cell, token, column);
      mark(cell, "data-lit", given.row === null ? null : seen(column) ? "yes" : "no");
    });
    rows.forEach((token, row) => {
      const line = body.rows[row];
      label(line.cells[0], token, row);
      mark(line, "data-lit", given.row === row ? "yes" : null);
      cells[row].forEach((entry, column) => {
        const cell = line.cells[column + 1];
        say(cell, entry.text);
        mark(cell, "aria-label", entry.words);
        mark(cell, "data-hidden", entry.hidden ? "yes" : null);
        mark(cell, "aria-pressed", null);
        mark(cell, "aria-selected", events.pick ? String(Boolean(entry.pressed)) : null);
        mark(cell, "tabindex", row === at[0] && column === at[1] ? "0" : "-1");
        cell.style.background = entry.fill ?? "";
        cell.style.color = entry.fill ? textOn(entry.fill) : "";
      });
    });
  }

  /** Whether cells are too small for two decimals of a score. */
  function narrow(columns) {
    return width / (columns + CORNER) < NARROW;
  }

  return { draw, narrow };
}

/**
 * A small picture of a matrix in `host`: `cells` are rows of colours, null for a hidden cell; rows other than `lit` are
 * faint. Cells of one colour are one path: the page holds dozens of these pictures, and a browser counts elements.
 */
export function thumbnailIn(host, cells, lit = null) {
  const [high, wide] = [cells.length, cells[0].length];
  const { hidden } = palette();
  const paths = new Map();
  cells.forEach((row, y) =>
    row.forEach((fill, x) => {
      const key = `${fill ?? hidden} ${lit !== null && lit !== y ? FAINT : 1}`;
      paths.set(key, `${paths.get(key) ?? ""}M${10 * x + 0.6} ${10 * y + 0.6}h8.8v8.8h-8.8z`);
    }),
  );
  if (!host.firstChild) host.append(drawing("svg", { class: "thumbnail", "aria-hidden": "true" }));
  const picture = host.firstChild;
  mark(picture, "viewBox", `0 0 ${wide * 10} ${high * 10}`);
  const drawn = kept(picture, paths.size, () => drawing("path"));
  [...paths].forEach(([key, outline], place) => {
    const [fill, opacity] = key.split(" ");
    mark(drawn[place], "d", outline);
    mark(drawn[place], "fill", fill);
    mark(drawn[place], "opacity", opacity);
  });
}

function resize(section, rows, columns, kind) {
  while (section.rows.length > rows) section.lastElementChild.remove();
  while (section.rows.length < rows) {
    section.append(element("tr", {}, element("th", kind === "td" ? { scope: "row" } : { class: "corner" })));
  }
  if (kind === "th" && section.rows[0].cells[0].tagName === "TH" && !section.rows[0].cells[0].firstChild) {
    section.rows[0].cells[0].append(element("span", {}, "query ↓ key →"));
  }
  for (const line of section.rows) {
    while (line.cells.length > columns + 1) line.lastElementChild.remove();
    while (line.cells.length < columns + 1) line.append(element(kind, kind === "th" ? { scope: "col" } : {}));
  }
}

/** A token as the heading of a row or a column: its position small, its sign large. */
function label(cell, token, index) {
  const key = `${index} ${token.label} ${token.part}`;
  if (cell.dataset.key === key) return;
  cell.dataset.key = key;
  cell.title = token.title;
  cell.replaceChildren(
    element("span", { class: "place" }, String(index + 1)),
    element("span", { class: "sign", "data-long": [...token.label].length > 2 }, token.label),
  );
  if (token.part) cell.append(element("span", { class: "part" }, token.part));
}

/** The matrix as an SVG that stands by itself. */
export function pictureOf({ rows, columns, cells, row: lit }, title) {
  const { page, ink, quiet, hidden } = palette();
  const [left, top] = [52, 76];
  const [width, height] = [left + UNIT * columns.length + 8, top + UNIT * rows.length + 8];
  const whole = Math.max(width, 9 * title.length + 20);
  const text = (x, y, size, fill, words, anchor = "middle") =>
    `<text x="${x}" y="${y}" font-size="${size}" fill="${fill}" text-anchor="${anchor}">${escaped(words)}</text>`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${whole}" height="${height}" viewBox="0 0 ${whole} ${height}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="${page}"/>`,
    text(8, 22, 15, ink, title, "start"),
  ];
  const heading = ({ label: sign, part }) => `${sign}${part && ` ${part}`}`;
  columns.forEach((token, x) => {
    parts.push(
      text(left + UNIT * (x + 0.5), top - 24, 10, quiet, x + 1),
      text(left + UNIT * (x + 0.5), top - 8, 15, ink, heading(token)),
    );
  });
  rows.forEach((token, y) => {
    const middle = top + UNIT * (y + 0.5) + 5;
    parts.push(text(left - 34, middle, 10, quiet, y + 1), text(left - 16, middle, 15, ink, heading(token)));
    cells[y].forEach((cell, x) => {
      const fill = cell.fill ?? hidden;
      const frame = lit === y ? ` stroke="${ink}" stroke-width="1.5"` : "";
      parts.push(
        `<rect x="${left + UNIT * x + 1}" y="${top + UNIT * y + 1}" width="${UNIT - 2}" height="${UNIT - 2}" rx="3" fill="${fill}"${frame}/>`,
      );
      if (cell.text)
        parts.push(text(left + UNIT * (x + 0.5), middle, 12, cell.fill ? textOn(cell.fill) : quiet, cell.text));
    });
  });
  return `${parts.join("\n")}\n</svg>\n`;
}
