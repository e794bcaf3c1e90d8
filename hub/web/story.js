/** Tell what happened in a sentence: for the eye as nodes, for the ear as text. */

import { h } from "./dom.js";
import { chip } from "./notes.js";
import { spoken, who } from "./seats.js";
import { count, list, money } from "./text.js";

/** @typedef {import("./types.js").MatchEvent} MatchEvent */
/** @typedef {import("./types.js").Player} Player */

/** Tell an event as nodes; null if there is nothing to tell. */
export function tell(event, players) {
  return TALES[event.type]?.(event, (seat) => who(players[seat])) ?? null;
}

const TALES = {
  match_started: (event) => ["The match starts. The pot holds ", event.pot_hp, " HP."],
  round_started: (event) => ["Round ", event.round, ": the casinos are filled."],
  placed: (event, seat) => [
    seat(event.seat),
    event.is_auto ? " let the time pass: " : " places ",
    count(event.count, "die", "dice"),
    event.is_auto ? " placed on casino " : " on casino ",
    event.face,
    ".",
  ],
  deadline_moved: (_, seat) => ["Time lost to an outage is given back to ", seat(_.seat), "."],
  round_settled: (event, seat) => [
    "Round ",
    event.round,
    " is paid out: ",
    event.money.map((total, index) => [index ? ", " : "", seat(index), " ", money(total)]),
    ".",
  ],
  match_finished: (event, seat) =>
    event.winner_seat === null
      ? ["The match is over. Nobody played, so nobody wins."]
      : [seat(event.winner_seat), " wins the match."],
};

/** List the players that a placement has tied with: all of them are cancelled. */
export function tiedWith({ face, seat }, { casinos, players }) {
  const { dice } = casinos[face - 1];
  return players.filter((player) => player.seat !== seat && dice[player.seat] === dice[seat]);
}

/**
 * Tell how one casino was paid out, as a list of nodes.
 * @param {import("./types.js").Settlement} casino
 * @param {Player[]} players
 */
export function tellPayout(casino, players) {
  /** @type {any[][]} */
  const lines = casino.awards.map(({ seat, bill }) => [
    who(players[seat]),
    ` takes `,
    chip(bill),
    ` with ${count(casino.dice[seat], "die", "dice")}`,
  ]);
  for (const seats of casino.cancelled) {
    lines.push([
      seats.map((seat, index) => [index ? " = " : "", who(players[seat])]),
      ` ${count(casino.dice[seats[0]], "die", "dice")} each: `,
      h("strong", { class: "tie" }, "cancelled"),
    ]);
  }
  const unpaid = casino.discarded.length;
  if (unpaid) lines.push([count(unpaid, "note"), " unclaimed: ", casino.discarded.map(chip)]);
  return h(
    "ul",
    { class: "payout" },
    lines.map((line) => h("li", {}, line)),
  );
}

/**
 * Tell a frame in plain words for a screen reader; "" if there is nothing to say.
 * @param {import("./types.js").Frame} frame
 */
export function speak({ event, state, casinos, paying }) {
  const seat = (index) => spoken(state.players[index]);
  if (casinos && paying < casinos.length) return speakPayout(casinos[paying], seat);
  switch (event.type) {
    case "roll":
      return `${seat(event.seat)} rolls ${event.dice.join(", ")}.`;
    case "table_talk":
      return `${seat(event.seat)} says: ${event.message}`;
    case "placed": {
      const what = count(event.count, "die", "dice");
      const how = event.is_auto ? ", automatically" : "";
      const tied = tiedWith(event, state).map(spoken);
      const tie = tied.length ? ` A tie with ${list(tied)}: cancelled.` : "";
      return `${seat(event.seat)} places ${what} on casino ${event.face}${how}.${tie}`;
    }
    case "round_started":
      return `Round ${event.round} starts.`;
    case "round_settled":
      return `After round ${event.round}: ${speakTotals(event.money, seat)}.`;
    case "match_finished":
      return event.winner_seat === null
        ? "The match ends without a winner."
        : `${seat(event.winner_seat)} wins.`;
    default:
      return "";
  }
}

function speakTotals(totals, seat) {
  return list(totals.map((total, index) => `${seat(index)} ${money(total)}`));
}

function speakPayout(casino, seat) {
  const parts = casino.awards.map(
    (award) => `${seat(award.seat)} takes ${money(award.bill)} with ${casino.dice[award.seat]}`,
  );
  for (const seats of casino.cancelled) {
    parts.push(`${list(seats.map(seat))} tie with ${casino.dice[seats[0]]} and are cancelled`);
  }
  return `Casino ${casino.number}: ${parts.join("; ") || "nobody is paid"}.`;
}
