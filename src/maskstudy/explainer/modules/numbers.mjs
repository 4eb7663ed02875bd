// Numbers as the page writes them: a true minus, an exact 0 that looks different from a small number, −∞.

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** `0.5` -> "0.50", exactly 0 -> "0", 0.00004 -> "4e−5", −∞ -> "−∞". Only an exact 0 is ever written "0". */
export function shown(value, digits = 2) {
  if (value === 0) return "0";
  if (value === -Infinity) return "−∞";
  if (value === Infinity) return "∞";
  if (Math.abs(value) < 0.5 * 10 ** -(digits + 1)) return minus(value.toExponential(0));
  if (Math.abs(value) < 0.5 * 10 ** -digits) return minus(value.toFixed(digits + 1));
  if (Math.abs(value) >= 1000) return powers(value);
  return minus(value.toFixed(digits));
}

/** A number where there is little room: −0.5 -> "−.50", 0.00004 -> "≈0". Here too only an exact 0 is written "0". */
function brief(value, digits = 2) {
  return value !== 0 && Math.abs(value) < 0.0005 ? "≈0" : shown(value, digits).replace(/^(−?)0\./, "$1.");
}

/** A number in a cell: as `shown`, or as `brief` where the cells are narrow, there with `digits`. */
export function inCell(value, narrow, digits = 2) {
  return narrow ? brief(value, digits) : shown(value);
}

/** `0.374` -> "37 %", 0.042 -> "4.2 %"; an exact 0 is "0". */
export function percent(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return share === 0 ? "0" : `${minus((100 * share).toFixed(share < 0.1 ? 1 : 0))} %`;
}

/** A round number: −10000 -> "−10⁴", −2 -> "−2". */
export function powers(value) {
  if (Math.abs(value) < 1000 || !Number.isFinite(value)) return shown(value, 0);
  const [factor, exponent] = Math.abs(value).toExponential(1).split("e+");
  const raised = [...exponent].map((digit) => RAISED[digit]).join("");
  const begin = factor === "1.0" ? "" : `${factor}·`;
  return `${value < 0 ? "−" : ""}${begin}10${raised}`;
}

/** How far apart two numbers are, for a reader who wants to see that they are equal. */
export function difference(value) {
  return value === 0 ? "0" : minus(value.toExponential(0));
}

/** "one layer", "3 layers". */
export function several(count, what) {
  return `${count === 1 ? "one" : count} ${what}${count === 1 ? "" : "s"}`;
}

/** "a", "a and b", "a, b and c". */
export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function minus(text) {
  return text.replaceAll("-", "−");
}
