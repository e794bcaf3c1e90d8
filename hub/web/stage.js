/** Draw what is going on right now: a roll, a placement, a payout, the winner. */

import { die, dice } from "./dice.js";
import { h } from "./dom.js";
import { who } from "./seats.js";
import { tellPayout, tiedWith } from "./story.js";
import { count, money } from "./text.js";

/**
 * Draw the stage.
 * @param {import("./types.js").Frame} frame
 * @param {HTMLElement|null} ring the time left, while a turn is under way
 * @param {boolean} isNew whether the moment has just come, so that things may move
 */
export function drawStage(frame, ring, isNew) {
  const { event, state, casinos, paying } = frame;
  if (state.status === "finished") return winner(frame);
  if (casinos) return paying < casinos.length ? payout(frame) : totals(frame);
  if (state.roll.length) return roll(state, ring, isNew && event.type === "roll");
  return scene(HEADLINES[event.type]?.(event, state) ?? "…");
}

const HEADLINES = {
  match_started: () => "The dealer shuffles. The match is about to start.",
  round_started: (event, state) => [
    h("strong", {}, `Round ${event.round} of ${state.rounds}`),
    ". The casinos are filled; everybody has their dice back.",
  ],
  placed: (event, state) => [
    who(state.players[event.seat]),
    event.is_auto ? " ran out of time: " : " places ",
    count(event.count, "die", "dice"),
    event.is_auto ? " placed on casino " : " on casino ",
    h("strong", {}, event.face),
    ".",
    tie(tiedWith(event, state)),
    quote(state, event),
  ],
};

/** Tell that a placement cancels itself and others. */
function tie(players) {
  if (!players.length) return null;
  const others = players.map((player, index) => [index ? ", " : "", who(player)]);
  return h("span", { class: "tied" }, "A tie with ", others, ": cancelled.");
}

/** Quote what was said with a placement. */
function quote(state, { turn }) {
  const said = state.recent_talk.at(-1);
  return said?.turn === turn ? h("bdi", { class: "quote" }, said.message) : null;
}

function scene(...content) {
  return h("div", { class: "scene" }, h("p", { class: "headline" }, content));
}

function roll(state, ring, isNew) {
  const player = state.players[state.current_seat];
  const faces = [...new Set(state.roll)];
  return h(
    "div",
    { class: `scene rolling seat-${player.seat}` },
    ring,
    h(
      "div",
      { class: "rolled" },
      h(
        "p",
        { class: "headline" },
        who(player),
        ` rolls ${count(state.roll.length, "die", "dice")}`,
      ),
      h(
        "ul",
        { class: `groups ${isNew ? "is-new" : ""}`, "aria-label": "the roll" },
        faces.map((face) => group(face, state.roll, player.seat)),
      ),
    ),
  );
}

function group(face, rolled, seat) {
  const number = rolled.filter((each) => each === face).length;
  return h(
    "li",
    { class: "group", data: { face } },
    h("span", { class: "group-dice" }, dice(face, number, `seat-${seat}`)),
    h(
      "span",
      { class: "group-goal" },
      h("span", { class: "hidden" }, `${count(number, "die", "dice")} `),
      `casino ${face}`,
    ),
  );
}

function payout({ state, casinos, paying }) {
  const casino = casinos[paying];
  return h(
    "div",
    { class: "scene paying" },
    die(casino.number, "sign"),
    h(
      "div",
      {},
      h(
        "p",
        { class: "headline" },
        `Casino ${casino.number} ${casino.awards.length ? "pays" : "pays nobody"}`,
      ),
      tellPayout(casino, state.players),
    ),
  );
}

function totals({ event, state }) {
  const best = Math.max(...event.money);
  const leaders = state.players.filter((player) => player.money === best);
  return scene(
    h("strong", {}, `Round ${event.round} is over. `),
    leaders.map((player, index) => [index ? " and " : "", who(player)]),
    leaders.length > 1 ? " lead with " : " leads with ",
    h("strong", {}, money(best)),
    ".",
  );
}

function winner({ state }) {
  if (state.winner_seat === null)
    return scene("Nobody played, so nobody wins. Every stake goes back.");
  const player = state.players[state.winner_seat];
  return h(
    "div",
    { class: `scene winner seat-${player.seat}` },
    h("p", { class: "eyebrow" }, "Winner"),
    h("p", { class: "headline" }, who(player)),
    h("p", { class: "winner-money" }, money(player.money)),
  );
}
