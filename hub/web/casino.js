/** Draw a casino: its notes, each seat's dice, and who would be paid what. */

import { die, dice } from "./dice.js";
import { h } from "./dom.js";
import { chip, note } from "./notes.js";
import { settleCasino } from "./rules.js";
import { mark, name } from "./seats.js";
import { count, money } from "./text.js";

/**
 * Draw the inside of a casino's card.
 * @param {import("./types.js").Casino} casino
 * @param {import("./types.js").Player[]} players
 * @param {""|"paying"|"paid"} phase how far its settlement is
 */
export function drawCasino(casino, players, phase) {
  const outcome = settleCasino(casino.number, casino.bills, casino.dice);
  const total = casino.bills.reduce((sum, bill) => sum + bill, 0);
  return [
    h(
      "header",
      { class: "casino-head" },
      die(casino.number, "sign"),
      h("h3", {}, h("span", { class: "casino-word" }, "Casino "), casino.number),
      h("span", { class: "casino-total", title: "on the table here" }, money(total)),
    ),
    h(
      "div",
      { class: "notes", role: "img", "aria-label": spokenNotes(casino) },
      drawNotes(outcome, phase),
    ),
    h(
      "ul",
      { class: "lanes" },
      players.map((player) => lane(player, outcome, phase)),
    ),
  ];
}

function drawNotes({ bills, awards }, phase) {
  return bills.map((bill, place) => {
    const award = awards[place];
    const seat = award && phase ? award.seat : null;
    return note(bill, { seat, faded: Boolean(phase) && !award });
  });
}

function spokenNotes(casino) {
  return `${count(casino.bills.length, "note")}: ${casino.bills.map(money).join(", ")}`;
}

/** One seat's dice at a casino, and what they are good for as it stands. */
function lane(player, { number, dice: counts, cancelled, awards }, phase) {
  const here = counts[player.seat];
  const isTied = cancelled.some((seats) => seats.includes(player.seat));
  const award = awards.find(({ seat }) => seat === player.seat);
  const state = here === 0 ? "is-empty" : isTied ? "is-tied" : award ? "is-paid" : "is-short";
  return h(
    "li",
    { class: `lane seat-${player.seat} ${state}`, data: { seat: player.seat } },
    mark(player.seat),
    h("span", { class: "lane-name" }, name(player)),
    h("span", { class: "lane-dice" }, dice(number, here)),
    h(
      "span",
      { class: "lane-count" },
      here ? [here, h("span", { class: "hidden" }, " dice")] : null,
    ),
    h("span", { class: "verdict" }, here ? verdict(isTied, award, phase) : null),
  );
}

function nothing() {
  return h(
    "span",
    { class: "nothing", title: "no note is left for this seat" },
    h("span", { "aria-hidden": "true" }, "–"),
    h("span", { class: "hidden" }, " gets nothing"),
  );
}

function verdict(isTied, award, phase) {
  if (isTied) return h("span", { class: "tie" }, "tie");
  if (!award) return nothing();
  const word = phase ? " takes " : " in line for ";
  return [h("span", { class: "hidden" }, word), chip(award.bill)];
}
