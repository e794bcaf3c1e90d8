/** Draw dice. */

import { s } from "./dom.js";

const LOW = 6;
const MID = 12;
const HIGH = 18;

/** Where the pips of each face are. */
const PIPS = {
  1: [[MID, MID]],
  2: [
    [LOW, HIGH],
    [HIGH, LOW],
  ],
  3: [
    [LOW, HIGH],
    [MID, MID],
    [HIGH, LOW],
  ],
  4: [
    [LOW, LOW],
    [LOW, HIGH],
    [HIGH, LOW],
    [HIGH, HIGH],
  ],
  5: [
    [LOW, LOW],
    [LOW, HIGH],
    [MID, MID],
    [HIGH, LOW],
    [HIGH, HIGH],
  ],
  6: [
    [LOW, LOW],
    [LOW, MID],
    [LOW, HIGH],
    [HIGH, LOW],
    [HIGH, MID],
    [HIGH, HIGH],
  ],
};

/**
 * Draw one die.
 * @param {number} face
 * @param {string} [look] more classes: a seat's colour, a size
 */
export function die(face, look = "") {
  return s(
    "svg",
    { class: `die ${look}`, viewBox: "0 0 24 24", "aria-hidden": "true", "data-face": face },
    s("rect", { class: "die-body", x: 1, y: 1, width: 22, height: 22, rx: 5 }),
    PIPS[face].map(([x, y]) => s("circle", { class: "pip", cx: x, cy: y, r: 2.3 })),
  );
}

/** Draw several dice of one face. */
export function dice(face, count, look = "") {
  return Array.from({ length: count }, () => die(face, look));
}
