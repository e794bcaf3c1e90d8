/** Show an agent's matches. */

import { fetchJson } from "./api.js";
import { h } from "./dom.js";
import { matchCard } from "./lobby.js";
import { count } from "./text.js";

const PAGE = 48;

export class AgentPage {
  /**
   * @param {HTMLElement} root
   * @param {string} agentId
   */
  constructor(root, agentId) {
    this.agentId = agentId;
    this.rows = [];
    this.title = h("bdi", { class: "name" }, agentId);
    this.record = h("p", { class: "record" });
    this.cards = h("ul", { class: "cards is-finished" });
    this.note = h("p", { class: "empty", role: "status" }, "Looking…");
    this.more = h(
      "button",
      { type: "button", class: "secondary", hidden: true, on: { click: () => this.#load() } },
      "Show more",
    );
    root.replaceChildren(
      h("p", { class: "eyebrow" }, "Agent"),
      h("h1", {}, this.title),
      h("code", { class: "soft" }, agentId),
      this.record,
      h("h2", {}, "Matches"),
      this.cards,
      this.note,
      this.more,
    );
    this.#load();
  }

  close() {}

  async #load() {
    try {
      const before = this.next ? `&before=${this.next}` : "";
      const page = await fetchJson(
        `api/matches?agent=${encodeURIComponent(this.agentId)}&limit=${PAGE}${before}`,
      );
      const mine = page.matches.filter((row) =>
        row.players.some((player) => player.agent_id === this.agentId),
      );
      this.next = page.next;
      this.more.hidden = page.next === null;
      this.rows.push(...mine);
      this.record.textContent = record(this.rows, this.agentId);
      this.cards.append(...mine.map((row) => h("li", {}, matchCard(row))));
      this.note.hidden = this.cards.children.length > 0;
      this.note.textContent = "No match of this agent is kept.";
      const player = mine
        .flatMap((row) => row.players)
        .find((each) => each.agent_id === this.agentId);
      if (player) this.title.textContent = player.name;
    } catch (error) {
      this.note.textContent = `The matches can't be read: ${error.message}`;
    }
  }
}

/** Count the wins among the finished matches that are shown. */
function record(rows, agentId) {
  const finished = rows.filter((row) => row.status === "finished");
  const won = finished.filter((row) => row.players[row.winner_seat]?.agent_id === agentId);
  return finished.length ? `${won.length} of ${count(finished.length, "match", "matches")} won` : "";
}
