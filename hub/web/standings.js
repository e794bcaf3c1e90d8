/** Draw the standings: who leads, by how much, who is to act. */

import { h } from "./dom.js";
import { standings } from "./rules.js";
import { who } from "./seats.js";
import { count, money } from "./text.js";

/** List the players from first to last. */
export function ranked(players) {
  const order = standings(
    players.map((player) => player.money),
    players.map((player) => player.bills_won),
  );
  return order.map((seat) => players[seat]);
}

/**
 * Draw one row for each player, the leader first.
 * @param {import("./types.js").TableState} state
 */
export function drawStandings(state) {
  const order = ranked(state.players);
  const best = Math.max(order[0].money, 1);
  return order.map((player, place) => row(player, place, order, best, state));
}

function row(player, place, order, best, state) {
  const acts = player.seat === state.current_seat;
  const won = state.status === "finished" && player.seat === state.winner_seat;
  return h(
    "li",
    {
      class: `standing seat-${player.seat}${acts ? " is-acting" : ""}${won ? " is-winner" : ""}`,
      data: { seat: player.seat },
    },
    h("span", { class: "rank" }, place + 1),
    h("span", { class: "standing-who" }, who(player), flags(player, acts, won)),
    h("span", { class: "standing-money", data: { seat: player.seat } }, money(player.money)),
    h("meter", { class: "bar", min: 0, max: best, value: player.money, "aria-hidden": "true" }),
    h(
      "span",
      { class: "standing-more" },
      h("span", {}, lead(player, place, order)),
      h("span", {}, `${count(player.bills_won, "note")} won`),
      state.status === "playing" ? diceLeft(player, state) : null,
    ),
  );
}

/** Draw the seats in their order with no more than their money, for screens with little room. */
export function drawScores({ players, current_seat: acting }) {
  const best = Math.max(1, ...players.map((player) => player.money));
  return players.map((player) => score(player, player.seat === acting, player.money === best));
}

function score(player, acts, isFirst) {
  return h(
    "li",
    { class: `score seat-${player.seat} ${acts ? "is-acting" : ""} ${isFirst ? "is-first" : ""}` },
    who(player),
    h("span", { class: "score-money", data: { seat: player.seat } }, money(player.money)),
  );
}

/** Show how many of a round's dice a seat has yet to place. */
function diceLeft(player, state) {
  const placed = state.casinos.reduce((sum, casino) => sum + casino.dice[player.seat], 0);
  const all = Array.from({ length: player.dice_remaining + placed }, (_, index) =>
    h("i", { class: index < player.dice_remaining ? "is-left" : "" }),
  );
  const words = `${count(player.dice_remaining, "die", "dice")} left`;
  return h("span", { class: "dice-left", role: "img", "aria-label": words, title: words }, all);
}

function flags(player, acts, won) {
  return [
    acts ? h("span", { class: "flag" }, "to act") : null,
    won ? h("span", { class: "flag is-gold" }, "winner") : null,
    player.away
      ? h(
          "span",
          { class: "flag is-alert", title: "has not acted lately: its turns are short" },
          "away",
        )
      : null,
    player.connected ? null : h("span", { class: "flag is-alert" }, "offline"),
  ];
}

function lead(player, place, order) {
  if (order.every(({ money: held }) => held === order[0].money)) return "level";
  if (place > 0) {
    const behind = order[0].money - player.money;
    return behind ? `${money(behind)} behind` : "level";
  }
  const ahead = player.money - order[1].money;
  return ahead ? `leads by ${money(ahead)}` : "level";
}
