// Pictures to keep: an SVG as a file, or drawn into a PNG.

import { palette } from "./colours.mjs";
import { element } from "./dom.mjs";

const SCALE = 3; // pixels of a PNG for each unit of the SVG

/**
 * Two buttons that save a picture.
 *
 * @param title of the picture now, a function.
 * @param name of the file without its ending.
 * @param picture the SVG now, a function.
 */
export function saveButtons(title, name, picture) {
  const button = (kind, action) => {
    const made = element("button", { type: "button", class: "small", onclick: () => action(picture(), name) }, kind);
    made.addEventListener("focus", () => made.setAttribute("aria-label", `Save as ${kind}: ${title()}`));
    made.setAttribute("aria-label", `Save as ${kind}: ${title()}`);
    return made;
  };
  return element("div", { class: "save" }, button("SVG", saveSvg), button("PNG", savePng));
}

/** A drawing of the page as an SVG that stands by itself. */
export function standalone(drawn) {
  const copy = drawn.cloneNode(true);
  const [left, top, width, height] = drawn.getAttribute("viewBox").split(" ").map(Number);
  for (const [name, value] of Object.entries({
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height,
    "font-family": "system-ui, sans-serif",
  }))
    copy.setAttribute(name, value);
  copy.removeAttribute("style");
  const sheet = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x: left, y: top, width, height, fill: palette().page }))
    sheet.setAttribute(name, value);
  copy.prepend(sheet);
  return new XMLSerializer().serializeToString(copy);
}

function saveSvg(text, name) {
  download(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
}

async function savePng(text, name) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * SCALE;
  canvas.height = picture.height * SCALE;
  const context = canvas.getContext("2d");
  context.scale(SCALE, SCALE);
  context.drawImage(picture, 0, 0);
  canvas.toBlob((blob) => download(blob, `${name}.png`), "image/png");
}

/** Text that may stand in SVG. */
export function escaped(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(text).replace(/[&<>"]/g, (sign) => names[sign]);
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
