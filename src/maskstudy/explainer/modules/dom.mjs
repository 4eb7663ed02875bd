// Elements, made without ever parsing text as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** `element("p", { class: "note" }, "text", otherElement)`; an attribute that is null or false is left out. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function drawing(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

/** The `count` children of an element, which are made once and then filled again and again. */
export function kept(host, count, make) {
  while (host.children.length > count) host.lastElementChild.remove();
  while (host.children.length < count) host.append(make(host.children.length));
  return [...host.children];
}

/** A bar whose length is a share; `draw(bar, share, colour)` sets it. */
export function meter() {
  return element("span", { class: "meter", "aria-hidden": "true" }, element("span"));
}

export function drawMeter(bar, share, colour) {
  mark(bar.firstChild, "style", `width:${Math.round(1000 * Math.min(1, share)) / 10}%;background:${colour}`);
}

/** Set text only where it differs: an untouched live region stays silent. */
export function say(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/** Set an attribute only where it differs. */
export function mark(where, name, value) {
  if (value === null || value === false) where.removeAttribute(name);
  else if (where.getAttribute(name) !== String(value)) where.setAttribute(name, value);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
