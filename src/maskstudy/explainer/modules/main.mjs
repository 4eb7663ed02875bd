// The page: controls that all lessons share, and one render of everything after each change.

import { maskColour, setMaskColours, setTheme, tint } from "./colours.mjs";
import { byId, element, mark, say } from "./dom.mjs";
import { matrix, ofStudy } from "./masks.mjs";
import { all, find, hold, model, nameOf, pass, readers, title, translator } from "./models.mjs";
import { thumbnailIn } from "./matrix.mjs";
import { choose, chosen, onChange, readAddress } from "./state.mjs";
import { spoken } from "./speech.mjs";
import { tokens } from "./tokens.mjs";
import { textField, view } from "./view.mjs";
import { lesson as steps } from "./lessons/steps.mjs";
import { heads, links, product } from "./lessons/looking.mjs";
import { lesson as patterns } from "./lessons/patterns.mjs";
import { lesson as translation } from "./lessons/translation.mjs";
import { lesson as filling } from "./lessons/filling.mjs";
import { lesson as inference } from "./lessons/inference.mjs";
import { lesson as results } from "./lessons/results.mjs";
import { lesson as hiding } from "./lessons/hiding.mjs";
import { lesson as questions } from "./lessons/questions.mjs";

const NEAR = 200; // pixels around the screen
const PAUSE = 60; // milliseconds: parts that are out of sight wait for a pause in typing
let later;

const data = JSON.parse(byId("data").textContent);
hold(data.models);
setMaskColours({ ...data.colours, ...data.study?.colours });
readAddress();
setUpControls();
// Each part of the page with the element that it stands in.
const parts = [
  ["hero", () => drawHero],
  ["lesson-1", steps],
  ["links", links],
  ["product", product],
  ["heads", heads],
  ["patterns", patterns],
  ["translation", translation],
  ["lesson-3", filling],
  ["lesson-4", inference],
  ["results-body", results],
  ["hiding", hiding],
  ["lesson-6", questions],
].map(([id, lesson]) => ({ host: byId(id), draw: lesson(data.study), near: true }));
// What is out of sight is drawn in a pause, or as soon as it comes near, whichever is first.
const postponed = new Set();
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const part = parts.find(({ host }) => host === target);
      part.near = isIntersecting;
      if (isIntersecting && postponed.delete(part)) part.draw(view());
    }
  },
  { rootMargin: `${NEAR}px` },
);
parts.forEach(({ host }) => watcher.observe(host));
drawAbout();
render();

onChange(render);
window.addEventListener("hashchange", () => {
  readAddress();
  render();
});
window.addEventListener("resize", render);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);

/** For tests, and for whoever wants the numbers: what a model of the page says of a text under a mask of the study. */
window.maskstudy = {
  models: () => readers().map(nameOf),
  choose,
  /** What the encoder–decoder makes of a word: null where none stands in the page. */
  translate(word) {
    if (translator() === null) return null;
    const { source, ids, stepwise, logits, encoder, decoder } = spoken(translator(), word);
    const plain = (layers, name) => layers.map((heads) => heads.map((head) => head[name]));
    const parts = { encoder, self: decoder.map(({ self }) => self), cross: decoder.map(({ cross }) => cross) };
    return {
      source: source.tokens.map(({ id }) => id),
      target: ids,
      stepwise: stepwise.map((row) => Array.from(row)),
      logits: logits.map((row) => Array.from(row)),
      scores: Object.fromEntries(Object.entries(parts).map(([part, layers]) => [part, plain(layers, "scores")])),
      weights: Object.fromEntries(Object.entries(parts).map(([part, layers]) => [part, plain(layers, "weights")])),
    };
  },
  ask(name, text, count, mask) {
    const description = find(name);
    const ids = tokens(text, description, count, "A").tokens.map((token) => token.id);
    const masks = ofStudy(mask, description.shape.layers).map((predicate) => matrix(predicate, ids.length));
    const { layers, logits } = model(description).read(ids, masks);
    const plain = (name) => layers.map((heads) => heads.map((head) => head[name]));
    return { ids, scores: plain("scores"), weights: plain("weights"), logits: logits.map((row) => Array.from(row)) };
  },
};

/** Draw what is on the screen at once, and the rest of the page as soon as that has been shown. */
function render() {
  setTheme(chosen.theme);
  mark(document.documentElement, "data-theme", chosen.theme === "auto" ? null : chosen.theme);
  document.documentElement.style.setProperty("--accent", maskColour(chosen.mask));
  const seen = view();
  drawControls(seen);
  for (const part of parts) {
    if (part.near) part.draw(seen);
    else postponed.add(part);
  }
  clearTimeout(later);
  later = setTimeout(() => {
    postponed.forEach(({ draw }) => draw(seen));
    postponed.clear();
  }, PAUSE);
}

function setUpControls() {
  const field = byId("text");
  // Another text has not been written on yet: what the model wrote after the former one is not asked for again.
  field.addEventListener("input", () =>
    choose({ [textField(find(chosen.model))]: field.value, moment: Math.min(chosen.moment, chosen.count) }),
  );
  byId("count").addEventListener("input", (event) =>
    choose({ count: Number(event.target.value), moment: Math.min(chosen.moment, Number(event.target.value)) }),
  );
  byId("model").append(
    ...readers().map((description) => element("option", { value: nameOf(description) }, title(description))),
  );
  byId("model").addEventListener("change", (event) => choose({ model: event.target.value }));
  byId("mask").addEventListener("change", (event) => choose({ mask: event.target.value }));
  byId("theme").addEventListener("change", (event) => choose({ theme: event.target.value }));
  for (const link of document.querySelectorAll('nav a, a[href="#lessons"]')) {
    // The address holds the view, so a link inside the page must not replace it.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.querySelector(link.getAttribute("href"));
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
  }
}

function drawControls(seen) {
  const field = byId("text");
  const text = chosen[textField(seen.description)];
  if (document.activeElement !== field && field.value !== text) field.value = text;
  byId("count").value = chosen.count;
  say(byId("count-value"), String(chosen.count));
  byId("model").value = nameOf(seen.description);
  byId("mask").value = chosen.mask;
  byId("theme").value = chosen.theme;
  say(byId("note"), seen.note);
}

/** The chosen head at the top of the page, as a picture of what it is about. */
function drawHero(seen) {
  const mask = seen.masks[seen.layer];
  const { weights } = pass(seen.description, seen.ids, seen.masks).layers[seen.layer][seen.head];
  const colour = maskColour(chosen.mask);
  thumbnailIn(
    byId("hero"),
    weights.map((row, i) => row.map((weight, j) => (mask[i][j] ? tint(colour, 0.08 + 0.92 * weight) : null))),
  );
  say(
    byId("hero-words"),
    `A head of the model on “${seen.tokens.map(({ label }) => label).join("")}”: each row a position, each column what it looks at. Grey is forbidden.`,
  );
}

function drawAbout() {
  const rows = all().map((description) => {
    const { shape } = description;
    const size = description.tensors.reduce(
      (sum, [, sides]) => sum + sides.reduce((product, side) => product * side, 1),
      0,
    );
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, title(description)),
      ...[
        description.question,
        `${shape.layers} layers, ${shape.heads} heads, width ${shape.width}, ${shape.positions} positions`,
        size.toLocaleString("en"),
        description.precision,
      ].map((words) => element("td", {}, words)),
    );
  });
  byId("about-table").tBodies[0].replaceChildren(...rows);
  say(
    byId("left-out"),
    data.left_out.length ? `Left out, for the page would be too large: ${data.left_out.join(", ")}.` : "",
  );
}
