/** Show the lobby: what is being played, what was, and who waits. */

import { fetchJson } from "./api.js";
import { ConnectionNotice } from "./connection.js";
import { die } from "./dice.js";
import { h, redraw } from "./dom.js";
import { FeaturedTable } from "./featured.js";
import { Stream } from "./socket.js";
import { ranked } from "./standings.js";
import { mark, name } from "./seats.js";
import { ago, count, money, shortId } from "./text.js";

const POLL_MS = 3000; // rounds, money and crowds: the stream tells only of starts and ends
const LIVE_SHOWN = 60;
const FINISHED_SHOWN = 24;
const ROUNDS = 4;

const RULES_IN_SHORT =
  "Four agents, eight dice each, six casinos. On your turn you roll all you have left and place " +
  "every die of one face on that casino. When all dice are down, most dice take the biggest " +
  "note, but equal counts cancel each other out. Most money after four rounds wins.";

/** @typedef {{match_id: string, status: string, round: number, turn: number, players: any[],
 *   entry_fee_hp: number, started_at: number, finished_at: number|null,
 *   winner_seat: number|null, spectators: number}} Row */

export class LobbyPage {
  /** @param {HTMLElement} root */
  constructor(root) {
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    this.waiting = 0;
    this.featured = new FeaturedTable();
    this.notice = new ConnectionNotice(() => this.stream.renew());
    this.#lay(root);
    this.stream = new Stream(
      () => "watch",
      (message) => this.#hear(message),
      (status) => this.notice.show(status),
    );
    this.timer = setInterval(() => document.hidden || this.#poll(), POLL_MS);
    this.onVisible = () => document.hidden || this.#poll();
    document.addEventListener("visibilitychange", this.onVisible);
    this.#poll();
  }

  /** Take the page down. */
  close() {
    this.stream.close();
    this.notice.close();
    this.featured.close();
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.onVisible);
  }

  #lay(root) {
    this.count = h("p", { class: "counts" });
    this.live = h("ul", { class: "cards" });
    this.finished = h("ul", { class: "cards is-finished" });
    this.empty = h("div", { hidden: true }, emptyState());
    root.replaceChildren(
      this.notice.element,
      h("div", { class: "lobby-head" }, h("h1", {}, "The floor"), this.count),
      h("p", { class: "lede" }, RULES_IN_SHORT),
      this.empty,
      this.featured.element,
      h(
        "section",
        { "aria-label": "Live tables" },
        (this.liveTitle = h("h2", { hidden: true }, "Live tables")),
        this.live,
      ),
      h(
        "section",
        { "aria-label": "Finished matches" },
        (this.finishedTitle = h("h2", { hidden: true }, "Just finished")),
        this.finished,
      ),
    );
  }

  #hear(message) {
    if (message.type === "lobby") {
      this.waiting = message.waiting;
      this.heard = true;
      for (const [id, row] of this.rows) if (row.status === "playing") this.rows.delete(id);
      this.#take(message.live);
    } else if (message.type === "match_listed" || message.type === "match_closed") {
      this.#take([message.match]);
    }
  }

  async #poll() {
    try {
      const [playing, finished] = await Promise.all([
        fetchJson(`api/matches?status=playing&limit=${LIVE_SHOWN}`),
        fetchJson(`api/matches?status=finished&limit=${FINISHED_SHOWN}`),
      ]);
      this.waiting = playing.waiting;
      this.#take([...playing.matches, ...finished.matches]);
    } catch {
      // The stream says so if the hub is away; the next poll will tell.
    }
  }

  /** Take rows in; a match that has finished does not come back to life through an older row. */
  #take(rows) {
    for (const row of rows) {
      const isOld = this.rows.get(row.match_id)?.status === "finished" && row.status !== "finished";
      if (!isOld) this.rows.set(row.match_id, row);
    }
    this.#draw();
  }

  #draw() {
    const all = [...this.rows.values()];
    const live = all
      .filter((row) => row.status === "playing")
      .sort((a, b) => b.started_at - a.started_at);
    const finished = all
      .filter((row) => row.status === "finished")
      .sort((a, b) => b.finished_at - a.finished_at);
    for (const row of finished.splice(FINISHED_SHOWN)) this.rows.delete(row.match_id);
    redraw(this.count, [live.length, this.waiting], () => counts(live.length, this.waiting));
    this.empty.hidden = live.length > 0 || !this.heard;
    this.liveTitle.hidden = live.length === 0;
    this.finishedTitle.hidden = finished.length === 0;
    this.featured.choose(live);
    update(this.live, live.slice(0, LIVE_SHOWN), liveCard);
    update(this.finished, finished, finishedCard);
  }
}

function counts(live, waiting) {
  return [
    h("span", { class: `pill ${live ? "is-live" : ""}` }, count(live, "live table")),
    h("span", { class: "pill" }, `${count(waiting, "agent")} waiting for a seat`),
  ];
}

/** Make a list show these rows, keeping the elements of those that stay (and the focus in them). */
function update(list, rows, draw) {
  const have = new Map([...list.children].map((item) => [item.dataset.id, item]));
  const items = rows.map((row) => {
    const item = have.get(row.match_id) ?? h("li", { data: { id: row.match_id } });
    redraw(item, [row, row.finished_at ? ago(row.finished_at) : ""], () => draw(row));
    return item;
  });
  const isSame =
    items.length === list.children.length &&
    items.every((item, index) => item === list.children[index]);
  if (!isSame) list.replaceChildren(...items);
}

/** Draw a finished or live match as a card that leads to it. */
export function matchCard(row) {
  return row.status === "playing" ? liveCard(row) : finishedCard(row);
}

function liveCard(row) {
  const dots = Array.from({ length: ROUNDS }, (_, index) =>
    h("i", { class: index < row.round ? "is-done" : "" }),
  );
  return card(
    row,
    h(
      "span",
      { class: "card-head" },
      h("span", { class: "pill is-live" }, `Round ${row.round}`),
      h("span", { class: "round-dots", "aria-hidden": "true" }, dots),
      h("span", { class: "soft" }, `turn ${row.turn}`),
    ),
    players(row),
    h(
      "span",
      { class: "card-foot" },
      h("code", {}, shortId(row.match_id)),
      h("span", {}, row.spectators ? `${row.spectators.toLocaleString("en")} watching` : ""),
      h("span", {}, fee(row)),
    ),
  );
}

function finishedCard(row) {
  return card(
    row,
    h(
      "span",
      { class: "card-head is-final" },
      h("span", { class: "pill" }, "Final"),
      h("span", { class: "soft" }, row.finished_at ? ago(row.finished_at) : ""),
    ),
    players(row),
    h(
      "span",
      { class: "card-foot" },
      h("code", {}, shortId(row.match_id)),
      h("span", {}, fee(row)),
    ),
  );
}

function card(row, ...content) {
  return h("a", { class: "card", href: `#/match/${encodeURIComponent(row.match_id)}` }, content);
}

function fee(row) {
  return row.entry_fee_hp ? `${row.entry_fee_hp} HP each` : "unranked";
}

function players(row) {
  const withNotes = row.players.map((player) => ({ bills_won: 0, ...player }));
  const order = ranked(withNotes);
  const best = Math.max(order[0].money, 1);
  return h(
    "span",
    { class: "card-players" },
    order.map((player, place) =>
      h(
        "span",
        {
          class: `card-player seat-${player.seat} ${isFirst(row, player, place) ? "is-first" : ""}`,
        },
        mark(player.seat),
        name(player),
        h("span", { class: "card-money" }, money(player.money)),
        h("meter", { class: "bar", min: 0, max: best, value: player.money, "aria-hidden": "true" }),
      ),
    ),
  );
}

function isFirst(row, player, place) {
  return row.status === "finished"
    ? player.seat === row.winner_seat
    : place === 0 && player.money > 0;
}

function emptyState() {
  return h(
    "section",
    { class: "panel blank" },
    h(
      "p",
      {},
      [1, 2, 3, 4, 5, 6].map((face) => die(face, "sign")),
    ),
    h("h2", {}, "The tables are open. Nobody is playing yet."),
    h(
      "p",
      {},
      "Four agents make a match. To fill a table with bots of the house, start the hub with",
    ),
    h("pre", {}, "scripts/run --house-bots 4"),
    h("p", {}, "or connect your own to /play. This page shows a match the moment it starts."),
  );
}
