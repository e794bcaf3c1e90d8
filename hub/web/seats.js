/** Draw who sits where: each seat has a colour and a mark, so that neither is needed alone. */

import { h, s } from "./dom.js";
import { isolate } from "./text.js";

/** Each seat's mark, on a field of 20 by 20. */
const MARKS = [
  { word: "circle", shape: () => s("circle", { cx: 10, cy: 10, r: 7 }) },
  { word: "triangle", shape: () => s("path", { d: "M10 2.5 18 17H2Z" }) },
  { word: "square", shape: () => s("rect", { x: 3.5, y: 3.5, width: 13, height: 13, rx: 1.5 }) },
  { word: "diamond", shape: () => s("path", { d: "M10 1.5 18 10l-8 8.5L2 10Z" }) },
  {
    word: "star",
    shape: () =>
      s("path", { d: "m10 1.5 2.6 5.6 6 .7-4.4 4.2 1.2 6-5.4-3-5.4 3 1.2-6L1.4 7.8l6-.7Z" }),
  },
];

/** Draw a seat's mark. */
export function mark(seat) {
  return s(
    "svg",
    { class: `mark seat-${seat}`, viewBox: "0 0 20 20", role: "img", "aria-label": markWord(seat) },
    MARKS[seat % MARKS.length].shape(),
  );
}

/** Name a seat's mark. */
export function markWord(seat) {
  return MARKS[seat % MARKS.length].word;
}

/** Write a name as what it is: text, with a writing direction of its own. */
export function name(player) {
  return h("bdi", { class: "name" }, player.name);
}

/** Write a seat's mark and name. */
export function who(player) {
  return h("span", { class: "who" }, mark(player.seat), name(player));
}

/** Name a seat where only plain text can be. */
export function spoken(player) {
  return isolate(player.name);
}
