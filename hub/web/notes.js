/** Draw banknotes, each value in its colours. */

import { h } from "./dom.js";
import { mark } from "./seats.js";
import { money } from "./text.js";

/**
 * Draw a banknote.
 * @param {number} bill in dollars
 * @param {{seat?: number|null, faded?: boolean}} [fate] who has it, or whether nobody will
 */
export function note(bill, { seat = null, faded = false } = {}) {
  const thousands = bill / 1000;
  return h(
    "span",
    { class: `note note-${thousands}${faded ? " is-faded" : ""}`, data: { bill } },
    h("span", { class: "note-value" }, money(bill)),
    seat === null ? null : h("span", { class: "note-owner" }, mark(seat)),
  );
}

/** Write an amount as a chip in its note's colours. */
export function chip(bill) {
  return h("span", { class: `chip note-${bill / 1000}` }, money(bill));
}
