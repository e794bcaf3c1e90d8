/** Cut a match into the moments that the table shows one after the other. */

import { pay } from "./rules.js";
import { applyEvent, isKnown, withTotals } from "./state.js";

/** @typedef {import("./types.js").Frame} Frame */

/** How long a moment stays before the next one, in ms, at normal speed. */
const STAYS_MS = {
  match_started: 900,
  round_started: 1600,
  roll: 1300,
  deadline_moved: 300,
  table_talk: 200,
  placed: 1100,
  match_finished: 0,
};
const PAYS_MS = 2000; // a casino that pays, or where a tie is to be seen
const EMPTY_MS = 700; // a casino where nobody has dice
const TOTALS_MS = 1800;

/**
 * Make the frames of the event that follows `last`.
 * @param {Frame|undefined} last
 * @param {import("./types.js").MatchEvent} event
 * @returns {Frame[]} none for an event of an unknown type
 */
export function framesOf(last, event) {
  if (!isKnown(event)) return [];
  const before = last?.state ?? null;
  const state = applyEvent(before, event);
  if (event.type === "round_settled")
    return [...payouts(before, event), settled(event, state, event.casinos)];
  if (event.type === "match_finished" && last) return [settled(event, state, last.casinos)];
  return [{ event, state, casinos: null, paying: 0 }];
}

/** Show a table where all is paid. */
function settled(event, state, casinos) {
  return { event, state, casinos, paying: casinos?.length ?? 0 };
}

/** Show a settlement casino by casino: the money moves as each one pays. */
function payouts(before, event) {
  let totals = {
    money: before.players.map((player) => player.money),
    billsWon: before.players.map((player) => player.bills_won),
  };
  return event.casinos.map((casino, paying) => {
    totals = pay(totals, casino.awards);
    const state = withTotals(before, totals.money, totals.billsWon);
    return { event, state, casinos: event.casinos, paying };
  });
}

/** Tell how long a frame stays before the next one, in ms. */
export function stays(frame) {
  if (frame.event.type !== "round_settled") return STAYS_MS[frame.event.type];
  if (frame.paying === frame.casinos.length) return TOTALS_MS;
  return frame.casinos[frame.paying].dice.some(Boolean) ? PAYS_MS : EMPTY_MS;
}

/** Tell up to which event a frame may be told: a settlement only once all of it is paid. */
export function toldUpTo({ event, casinos, paying }) {
  return casinos && paying < casinos.length ? event.seq - 1 : event.seq;
}

/** Find the last frame at or before event `seq`. */
export function frameAt(frames, seq) {
  const after = frames.findIndex((frame) => frame.event.seq > seq);
  return after < 0 ? frames.length - 1 : Math.max(0, after - 1);
}
