// Colours of masks and of numbers, in light and dark. Text on a coloured cell is black or white, whichever reads better:
// one of the two always has a contrast above 4.5.

const LIGHT = {
  page: "#ffffff",
  panel: "#f7f6f3",
  ink: "#222222",
  quiet: "#5c5c5c",
  faint: "#d9d9d9",
  hidden: "#e9e7e1",
};
const DARK = {
  page: "#16181d",
  panel: "#1e2127",
  ink: "#ececea",
  quiet: "#b0b4bb",
  faint: "#3c4049",
  hidden: "#2d313a",
};
const NEGATIVE = "#c2571a"; // of scores; positive ones have the colour of the mask
const LEAK = "#d0481c";
const SHADES = 40; // of a colour; few, so that cells of a small picture share them
const LEAST_CONTRAST = 4.6;
// On the dark page, a colour of less luminance than this turns nearly white, with that contrast.
const [NEARLY_BLACK, TURNED] = [0.03, 9];

let masks = {};
let dark = false;
let readableNow = new Map(); // shades for the present theme

export function setMaskColours(found) {
  masks = found;
}

/** Say which theme holds from now on: `auto`, `light` or `dark`. */
export function setTheme(name) {
  const before = dark;
  dark = name === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : name === "dark";
  if (dark !== before) readableNow = new Map();
}

export function palette() {
  return dark ? DARK : LIGHT;
}

/** The colour of a mask, light enough for the dark page and dark enough for the light one. */
export function maskColour(name) {
  const known = { lookahead: "lookahead-1", own: "own" }[name] ?? name;
  return readable(masks[known] ?? masks[known.replace(/-\d+$/, "-1")] ?? "#8c5a2b");
}

/** A shade of a colour that reads as text on the page and on its panels. */
export function readable(colour) {
  if (!readableNow.has(colour)) {
    const least = dark && luminance(colour) < NEARLY_BLACK ? TURNED : LEAST_CONTRAST;
    let found = colour;
    for (let part = 0; contrast(found, palette().panel) < least && part < 1; part += 0.04) {
      found = mixed(colour, dark ? "#ffffff" : "#000000", part);
    }
    readableNow.set(colour, found);
  }
  return readableNow.get(colour);
}

/** From the page's own colour (share 0) to `colour` (share 1), in so many steps as an eye can tell apart. */
export function tint(colour, share) {
  return mixed(palette().page, colour, Math.round(SHADES * Math.max(0, Math.min(1, share))) / SHADES);
}

/** The colour of a score: one hue for each sign. */
export function signed(value, most, colour) {
  const share = most === 0 ? 0 : Math.abs(value) / most;
  return tint(value < 0 ? NEGATIVE : colour, 0.85 * share);
}

/** The colour of a weight in a forbidden cell; also the smallest is seen. */
export function leak(weight) {
  return tint(LEAK, 0.12 + 0.88 * weight);
}

/** Black or white. */
export function textOn(colour) {
  return contrast("#000000", colour) >= contrast("#ffffff", colour) ? "#000000" : "#ffffff";
}

function contrast(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour) {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mixed(one, other, share) {
  const [from, to] = [channels(one), channels(other)];
  const parts = from.map((value, place) => Math.round(value + (to[place] - value) * share));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(colour) {
  return [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
}
