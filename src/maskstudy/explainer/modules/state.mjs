// What the reader has chosen, in the page's address, so that a view can be linked. Only what differs from the beginning
// stands there. An address is typed by anybody: each entry is checked, and what is not understood is left at its default.

import { SIDE, matrix, toText } from "./masks.mjs";

const whole = (first, low, high) => ({
  first,
  read: (text) => (/^-?\d{1,6}$/.test(text) && text >= low && text <= high ? Number(text) : undefined),
});
const choice = (first, ...others) => ({
  first,
  read: (text) => ([first, ...others].includes(text) ? text : undefined),
});
const yesNo = (first) => ({ first, read: (text) => ({ 0: false, 1: true })[text] });
const words = (first, most) => ({ first, read: (text) => [...text].slice(0, most).join("") });
const pattern = (first, form) => ({ first, read: (text) => (form.test(text) ? text : undefined) });

export const LONGEST = 96; // characters of a text that go into the address
export const STOPS = [0, -1, -2, -5, -10, -20, -50, -100, -1e4, -1e9, -Infinity]; // of the slider that replaces −∞
export const TENTHS = 10; // of one, on the slider of the temperature
const OWN = toText(matrix((query, key) => key <= query && key > query - 3, SIDE)); // a window of three

const FIELDS = {
  text: words("causal masks", LONGEST),
  letters: words("", LONGEST),
  count: whole(6, 2, SIDE),
  model: words("", 80),
  hidden: pattern("2", /^(\d{1,2}(,\d{1,2}){0,11})?$/),
  mask: choice("causal", "full", "prefix", "lookahead", "own"),
  prefix: whole(3, 1, SIDE),
  ahead: whole(1, 1, SIDE - 1),
  every: yesNo(true),
  own: pattern(OWN, /^[0-9a-f]{36}$/),
  layer: whole(0, 0, 99),
  head: whole(0, 0, 99),
  row: whole(3, 0, SIDE - 1),
  column: whole(0, 0, SIDE - 1),
  step: whole(0, 0, SIDE + 2),
  fill: whole(STOPS.length - 1, 0, STOPS.length - 1),
  how: choice("add", "write"),
  blind: yesNo(false),
  position: whole(1, 0, SIDE - 1),
  depth: whole(1, 0, 6),
  target: words("masque", LONGEST),
  deep: whole(1, 0, 3),
  reading: whole(0, 0, SIDE - 1),
  attending: whole(2, 0, SIDE - 1),
  numbers: yesNo(true),
  word: words("", LONGEST),
  spoken: whole(SIDE, 0, SIDE),
  encoderHead: whole(0, 0, 999),
  decoderHead: whole(0, 0, 999),
  crossHead: whole(0, 0, 999),
  side: choice("right", "left", "none"),
  pads: whole(2, 1, 4),
  causality: yesNo(true),
  padmask: yesNo(true),
  moment: whole(0, 0, 99),
  sighted: yesNo(false),
  temperature: whole(0, 0, 2 * TENTHS), // in tenths
  draw: whole(1, 1, 999999),
  quiz: whole(1, 1, 999999),
  theme: choice("auto", "light", "dark"),
};

const values = Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, field.first]));
const listeners = [];

/** What is chosen now; read it, and change it through `choose`. */
export const chosen = new Proxy(values, { set: () => false });

export function choose(changes) {
  Object.assign(values, changes);
  listeners.forEach((listener) => listener());
  remember();
}

export function onChange(listener) {
  listeners.push(listener);
}

/** Take over what the address says; the rest goes back to its beginning. */
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, field] of Object.entries(FIELDS)) {
    const text = given.get(name);
    values[name] = text === null ? field.first : (field.read(text) ?? field.first);
  }
}

export function address() {
  const given = new URLSearchParams();
  for (const [name, field] of Object.entries(FIELDS)) {
    const value = typeof values[name] === "string" ? [...values[name]].slice(0, LONGEST).join("") : values[name];
    if (value !== field.first) given.set(name, typeof value === "boolean" ? Number(value) : value);
  }
  return `#${given}`;
}

let waiting;

/** Browsers allow few changes of the address in a row, so it follows a moment later. */
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, "", address()), 150);
}
