// All heads of all layers at a glance, a line a layer, to choose one from.

import { byId, element, kept, mark } from "./dom.mjs";
import { thumbnailIn } from "./matrix.mjs";

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/**
 * Small pictures in the element `id`. They are one stop of the Tab key; the arrow keys walk from one to the next.
 *
 * @param what they are pictures of: "heads of the encoder".
 * @param pick called with layer and head when one is chosen.
 * @returns `draw(layers, layer, head)`: of each layer, of each head, rows of colours; and the chosen one.
 */
export function headsIn(id, what, pick) {
  const host = byId(id);
  host.classList.add("heads");
  mark(host, "role", "group");
  mark(host, "aria-label", what);
  const placeOf = (button) => [[...host.children].indexOf(button.parentNode), button.cellNumber];
  host.addEventListener("keydown", (event) => {
    const button = event.target.closest(".head");
    if (!button || !(event.key in STEPS)) return;
    event.preventDefault();
    const [layer, head] = placeOf(button);
    const [down, along] = STEPS[event.key];
    host.children[layer + down]?.querySelectorAll(".head")[head + along]?.focus();
  });

  return function draw(layers, chosenLayer, chosenHead) {
    mark(host, "style", `--heads:${layers[0].length}`);
    kept(host, layers.length, (layer) =>
      element("div", { class: "head-line" }, element("span", { class: "head-layer" }, `layer ${layer + 1}`)),
    ).forEach((line, layer) => {
      kept(line, 1 + layers[layer].length, (child) => headButton(layer, child - 1, pick))
        .slice(1)
        .forEach((button, head) => {
          const on = layer === chosenLayer && head === chosenHead;
          mark(button, "aria-pressed", String(on));
          mark(button, "tabindex", on ? "0" : "-1");
          thumbnailIn(button.firstChild, layers[layer][head]);
        });
    });
  };
}

function headButton(layer, head, pick) {
  const button = element(
    "button",
    {
      type: "button",
      class: "head",
      "aria-label": `Layer ${layer + 1}, head ${head + 1}`,
      onclick: () => pick(layer, head),
    },
    element("span", { class: "head-picture" }),
    element("span", { class: "head-name" }, `${layer + 1}.${head + 1}`),
  );
  button.cellNumber = head;
  return button;
}
