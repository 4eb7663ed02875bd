// Lesson 6: questions about the mask as it is now, answered by clicking, explained at once.

import { byId, element, mark, say } from "../dom.mjs";
import { layers, layersNeeded, route } from "../masks.mjs";
import { listed, several } from "../numbers.mjs";
import { generator } from "../random.mjs";
import { choose, chosen } from "../state.mjs";

const DEEPEST = 3;
const LEAST = 3; // positions that a question is about, however short the text

export function lesson() {
  const score = { right: 0, asked: 0 };
  let current = { key: "" };
  byId("question-next").addEventListener("click", () => choose({ quiz: chosen.quiz + 1 }));
  const answer = (given) => {
    if (current.given !== undefined) return;
    current.given = given;
    score.asked += 1;
    score.right += given === current.right ? 1 : 0;
    draw(current, score, answer);
  };

  return function render(view) {
    const length = Math.max(LEAST, view.length);
    const key = JSON.stringify([
      chosen.quiz,
      chosen.mask,
      chosen.prefix,
      chosen.ahead,
      chosen.every,
      chosen.own,
      length,
      view.description.shape.layers,
    ]);
    if (current.key === key) return;
    current = { key, ...question(chosen.quiz, length, view) };
    draw(current, score, answer);
  };
}

function draw(current, score, answer) {
  say(byId("question-words"), current.words);
  byId("question-choices").replaceChildren(
    ...current.choices.map((choice) =>
      element(
        "button",
        {
          type: "button",
          class: "choice",
          "aria-disabled": current.given !== undefined && "true",
          "data-state": stateOf(choice, current),
          onclick: () => answer(choice),
        },
        choice,
      ),
    ),
  );
  const done = current.given !== undefined;
  const chosenOne = [...byId("question-choices").children].find((button) => button.textContent === current.given);
  if (done) chosenOne.focus({ preventScroll: true });
  const verdict = current.given === current.right ? "Right. " : "Not so. ";
  say(byId("question-why"), done ? verdict + current.why : "");
  mark(byId("question-why"), "data-state", done ? (current.given === current.right ? "right" : "wrong") : null);
  say(byId("question-score"), score.asked ? `${score.right} of ${score.asked} right` : "");
}

function stateOf(choice, { given, right }) {
  if (given === undefined) return null;
  if (choice === right) return "right";
  return choice === given ? "wrong" : null;
}

/** One question; equal numbers give equal questions. */
export function question(number, length, view) {
  const draw = generator(number);
  const pick = (count) => Math.floor(draw() * count);
  draw();
  const kinds = [direct, deep, count, weight, change];
  return kinds[number % kinds.length](length, pick, view);
}

const yesOrNo = (yes) => ({ choices: ["Yes", "No"], right: yes ? "Yes" : "No" });

function direct(length, pick, view) {
  const [query, key] = [pick(length), pick(length)];
  const yes = layers(chosen, 1)[0](query, key);
  return {
    words: `Mask “${view.maskName}”, one layer: may position ${query + 1} attend to position ${key + 1}?`,
    ...yesOrNo(yes),
    why: reason(query, key, yes),
  };
}

function deep(length, pick, view) {
  const depth = 2 + pick(DEEPEST - 1);
  const [output, input] = [pick(length), pick(length)];
  const predicates = layers(chosen, depth);
  const way = route(predicates, length, output, input);
  const yes = way !== null;
  return {
    words: `Mask “${view.maskName}”, ${several(depth, "layer")}: can position ${output + 1} know anything of token ${input + 1} in the end?`,
    ...yesOrNo(yes),
    why: yes
      ? wayWords(way)
      : `There is no way from ${input + 1} to ${output + 1}: in no layer does anybody who holds something of ${input + 1} pass it on to a position that reaches ${output + 1}.`,
  };
}

function count(length, pick, view) {
  const query = pick(length);
  const predicate = layers(chosen, 1)[0];
  const seen = Array.from({ length }, (_, key) => key).filter((key) => predicate(query, key));
  const others = [query + 1, length, seen.length + 1, Math.max(0, seen.length - 1)].filter(
    (number) => number !== seen.length && number <= length,
  );
  const choices = [...new Set([seen.length, ...others])]
    .slice(0, 4)
    .sort((one, other) => one - other)
    .map(String);
  return {
    words: `Mask “${view.maskName}”, ${length} tokens: how many positions may position ${query + 1} attend to in one layer?`,
    choices,
    right: String(seen.length),
    why: `It may attend to ${listed(seen.map((key) => String(key + 1))) || "nothing"}${seen.includes(query) ? "; its own position counts" : ""}.`,
  };
}

function weight(length, pick, view) {
  const [query, key] = [pick(length), pick(length)];
  const yes = layers(chosen, 1)[0](query, key);
  const alone = Array.from({ length }, (_, other) => layers(chosen, 1)[0](query, other)).filter(Boolean).length === 1;
  const right = !yes ? "exactly 0" : alone ? "exactly 1" : "between 0 and 1";
  const why = {
    "exactly 0": "That cell is forbidden: M is −∞ there, and e to the −∞ is exactly 0, whatever the score.",
    "exactly 1": "It is the only position allowed in its row, and a row adds up to 1.",
    "between 0 and 1":
      "The cell is allowed, and so are others in its row: softmax gives each of them something, and together 1.",
  };
  return {
    words: `Mask “${view.maskName}”, one layer, after softmax: what can you say of the weight that position ${query + 1} gives to position ${key + 1}, without knowing any score?`,
    choices: ["exactly 0", "between 0 and 1", "exactly 1"],
    right,
    why: why[right],
  };
}

function change(length, pick, view) {
  const depth = view.description.shape.layers;
  const [output, input] = [pick(length), pick(length)];
  const predicates = layers(chosen, depth);
  const yes = Number.isFinite(layersNeeded(predicates, length)[output][input]);
  const way = yes ? route(predicates, length, output, input) : null;
  return {
    words: `Mask “${view.maskName}”, a model of ${several(depth, "layer")}: token ${input + 1} is replaced by another one. Can the answer at position ${output + 1} change?`,
    ...yesOrNo(yes),
    why: yes
      ? wayWords(way)
      : `Position ${output + 1} has no access to token ${input + 1}, so nothing that happens there can reach its answer.`,
  };
}

function reason(query, key, yes) {
  const [i, j] = [query + 1, key + 1];
  if (chosen.mask === "full") return "Under full attention every position may attend to every position.";
  if (chosen.mask === "causal")
    return yes
      ? `${j} is not after ${i}: a causal mask allows the position itself and all before it.`
      : `${j} comes after ${i}: that is the future, which a causal mask forbids.`;
  if (chosen.mask === "prefix")
    return key < chosen.prefix
      ? `${j} belongs to the prefix, the first ${chosen.prefix}, which everybody may see.`
      : yes
        ? `${j} is not after ${i}.`
        : `${j} is after ${i} and not in the prefix, the first ${chosen.prefix}.`;
  if (chosen.mask === "lookahead")
    return `Look-ahead ${chosen.ahead} allows everything up to position ${i} + ${chosen.ahead} = ${i + chosen.ahead}; ${j} is ${yes ? "not " : ""}beyond it.`;
  return `In your mask the cell in row ${i}, column ${j} is ${yes ? "allowed" : "forbidden"}.`;
}

function wayWords(way) {
  if (way.every((place) => place === way[0]))
    return "It is its own token, and a position keeps what it holds (the residual path).";
  const steps = way
    .slice(1)
    .flatMap((place, layer) =>
      place === way[layer] ? [] : [`in layer ${layer + 1} position ${place + 1} attends to ${way[layer] + 1}`],
    );
  return `A way: ${listed(steps)}.`;
}
