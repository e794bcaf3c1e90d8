/** Show a table: the casinos, the stage and the standings, and what moves between them. */

import { drawCasino } from "./casino.js";
import { Ring } from "./clock.js";
import { h, redraw } from "./dom.js";
import { comeFrom, flyTo, moves, paced, slide } from "./motion.js";
import { drawStage } from "./stage.js";
import { drawScores, drawStandings } from "./standings.js";

const LANDING_MS = 1200; // after a casino pays, its notes are with who takes them

/** @typedef {import("./types.js").Frame} Frame */

export class TableView {
  constructor() {
    this.ring = new Ring();
    this.stage = h("section", { class: "stage", "aria-label": "Now at the table" });
    this.board = h("div", { class: "board" });
    this.scores = h("ol", { class: "scores", "aria-hidden": "true" }); // the standings say the same
    const now = h("div", { class: "now" }, this.stage, this.scores);
    this.felt = h("div", { class: "felt" }, now, this.board);
    this.standings = h("ol", { class: "standings" });
    /** @type {Frame|null} */
    this.frame = null;
  }

  /**
   * Show a frame.
   * @param {Frame} frame
   * @param {{animate: boolean, timed: boolean}} how whether things move; whether the turn is live
   */
  show(frame, { animate, timed }) {
    const moving = animate && moves();
    const launch = moving ? this.#prepare(frame) : () => {};
    this.#drawBoard(frame);
    redraw(this.stage, [frame.event.seq, frame.paying, timed], () =>
      drawStage(frame, timed ? this.ring.element : null, moving),
    );
    this.frame = frame;
    launch();
    clearTimeout(this.landing);
    const count = () => this.#drawStandings(frame.state, moving);
    if (moving && isPayout(frame)) this.landing = setTimeout(count, paced(LANDING_MS));
    else count();
  }

  /** Show how much time the turn has left, by the hub's clock. */
  tick(now) {
    const state = this.frame?.state;
    if (state?.deadline) this.ring.show(state.deadline - now, state.turn_ms);
  }

  #drawBoard({ state, casinos, paying }) {
    this.board.classList.toggle("is-settling", Boolean(casinos));
    while (this.board.children.length > state.casinos.length) this.board.lastChild.remove();
    state.casinos.forEach((casino, place) => {
      const phase = casinos ? phaseOf(place, paying) : "";
      const card = this.board.children[place] ?? this.#addCard(casino.number);
      card.className = `casino ${phase ? `is-${phase}` : ""}`;
      redraw(card, [casino, phase, state.players.map((player) => player.name)], () =>
        drawCasino(casino, state.players, phase),
      );
    });
  }

  #addCard(number) {
    const card = h("article", {
      class: "casino",
      data: { casino: number },
      "aria-label": `Casino ${number}`,
    });
    this.board.append(card);
    return card;
  }

  #drawStandings(state, moving) {
    const arrange = moving ? slide([...this.standings.children], (row) => row.dataset.seat) : null;
    const shows = [state.players, state.current_seat, state.status, state.round];
    redraw(this.scores, shows, () => drawScores(state));
    if (redraw(this.standings, shows, () => drawStandings(state)))
      arrange?.([...this.standings.children]);
  }

  /** Note where things are before a frame, and return what lets them move after it. */
  #prepare(frame) {
    if (frame.event.type === "placed") return this.#preparePlacement(frame.event);
    if (isPayout(frame)) {
      return () => this.#payOut(frame.casinos[frame.paying]);
    }
    if (frame.event.type === "round_started") return () => this.#deal();
    return () => {};
  }

  #preparePlacement({ face, seat, count }) {
    const rolled = this.stage.querySelectorAll(`.group[data-face="${face}"] .die`);
    const from = [...rolled].map((each) => each.getBoundingClientRect());
    return () => {
      const card = this.board.children[face - 1];
      const placed = [...card.querySelectorAll(`.lane[data-seat="${seat}"] .die`)].slice(-count);
      placed.forEach(
        (each, index) => from[index] && comeFrom(each, from[index], { delay: index * 60 }),
      );
      if (card.querySelector(`.lane[data-seat="${seat}"].is-tied`)) shake(card);
    };
  }

  /** Let the notes of a casino fly to who takes them. */
  #payOut({ number, awards }) {
    const notes = this.board.children[number - 1].querySelectorAll(".note");
    awards.forEach(({ seat }, place) => {
      const timing = { delay: 500 + place * 250 };
      const target = (list, part) => list.querySelector(`.${part}[data-seat="${seat}"]`);
      // Of the two only one is in sight.
      flyTo(notes[place], target(this.scores, "score-money"), timing);
      if (!this.scores.offsetParent)
        flyTo(notes[place], target(this.standings, "standing-money"), timing);
    });
  }

  #deal() {
    const from = this.stage.getBoundingClientRect();
    const start = new DOMRect(from.left + from.width / 2, from.top, 40, 20);
    this.board
      .querySelectorAll(".note")
      .forEach((each, index) => comeFrom(each, start, { delay: index * 45 }));
  }
}

/** Draw a panel beside the table. */
export function sidePanel(title, kind, content) {
  return h("section", { class: `panel ${kind}`, "aria-label": title }, h("h2", {}, title), content);
}

function isPayout({ casinos, paying }) {
  return casinos !== null && paying < casinos.length;
}

function phaseOf(place, paying) {
  if (place === paying) return "paying";
  return place < paying ? "paid" : "";
}

function shake(card) {
  for (const lane of card.querySelectorAll(".lane.is-tied")) {
    const sway = [0, -3, 3, -2, 2, 0].map((x) => ({ transform: `translateX(${x}px)` }));
    lane.animate(sway, { duration: 380, delay: 620 });
  }
}
