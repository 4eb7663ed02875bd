// Play, pause, back, step: the same buttons for everything that moves on the page.

import { element, mark, say } from "./dom.mjs";

const UNHURRIED = 1100; // milliseconds a step, while playing

/**
 * Buttons inside `host`.
 *
 * @param what is stepped through, for a screen reader: "the three steps".
 * @param get the step now.
 * @param last the last step now.
 * @param set go to a step.
 * @param pace milliseconds a step, while playing.
 * @returns `draw(words)`: show the step in words.
 */
export function playerIn(host, { what, get, last, set, pace = UNHURRIED }) {
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
  };
  const go = (step) => set(Math.max(0, Math.min(last(), step)));
  const byHand = (step) => () => {
    stop();
    go(step());
  };
  const toggle = () => {
    if (timer !== null) stop();
    else {
      if (get() >= last()) go(0);
      timer = setInterval(() => (get() < last() ? go(get() + 1) : (stop(), go(get()))), pace);
    }
    go(get());
  };
  const button = (words, sign, action, name) =>
    element(
      "button",
      { type: "button", class: name, "aria-label": `${words}: ${what}`, title: words, onclick: action },
      sign,
    );
  const first = button(
    "To the beginning",
    "|◀",
    byHand(() => 0),
    "first",
  );
  const back = button(
    "Back",
    "◀ Back",
    byHand(() => get() - 1),
    "back",
  );
  const play = button("Play", "▶ Play", toggle, "play");
  const step = button(
    "Step",
    "Step ▶",
    byHand(() => get() + 1),
    "step",
  );
  const end = button("To the end", "▶|", byHand(last), "end");
  const bar = element("input", { type: "range", min: 0, "aria-label": `Step of ${what}` });
  bar.addEventListener(
    "input",
    byHand(() => Number(bar.value)),
  );
  const words = element("p", { class: "now", "aria-live": "polite" });
  host.classList.add("player");
  host.append(element("div", { class: "buttons" }, first, back, play, step, end, bar), words);
  // A page that is not looked at does not go on.
  document.addEventListener("visibilitychange", () => document.hidden && stop());

  return {
    draw(text) {
      const playing = timer !== null;
      say(play, playing ? "❚❚ Pause" : "▶ Play");
      mark(play, "aria-label", `${playing ? "Pause" : "Play"}: ${what}`);
      mark(play, "title", playing ? "Pause" : "Play");
      // Not `disabled`: a button that switches itself off would take the keyboard focus away with it.
      for (const button of [first, back]) mark(button, "aria-disabled", get() <= 0 && "true");
      for (const button of [step, end]) mark(button, "aria-disabled", get() >= last() && "true");
      bar.max = last();
      bar.value = get();
      mark(bar, "aria-valuetext", text);
      mark(words, "aria-live", playing ? "off" : "polite");
      say(words, text);
    },
  };
}
