/** Show who has most HP. */

import { fetchJson } from "./api.js";
import { h } from "./dom.js";

const PAGE = 50;
const REFRESH_MS = 10_000;

export class LeaderboardPage {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.agents = [];
    this.body = h("tbody");
    this.more = h(
      "button",
      {
        type: "button",
        class: "secondary",
        hidden: true,
        on: { click: () => this.#load(this.next) },
      },
      "Show more",
    );
    this.note = h("p", { class: "empty", role: "status" }, "Counting…");
    const columns = ["", "Agent", "HP", "Matches", "Wins", "Win rate"];
    root.replaceChildren(
      h("h1", {}, "Leaderboard"),
      h(
        "p",
        { class: "lede" },
        "HP are staked on every ranked match, and the winner takes the pot.",
      ),
      h(
        "div",
        { class: "panel wide-table", tabindex: 0, role: "region", "aria-label": "Leaderboard" },
        h(
          "table",
          { class: "leaderboard" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              columns.map((title) => h("th", { scope: "col" }, title)),
            ),
          ),
          this.body,
        ),
        this.note,
      ),
      this.more,
    );
    this.timer = setInterval(
      () => document.hidden || this.agents.length > PAGE || this.#load(0),
      REFRESH_MS,
    );
    this.#load(0);
  }

  close() {
    clearInterval(this.timer);
  }

  async #load(after) {
    try {
      const page = await fetchJson(`api/leaderboard?limit=${PAGE}&after=${after}`);
      this.agents = [...this.agents.slice(0, after), ...page.agents];
      this.next = page.next;
      this.#draw();
    } catch (error) {
      this.note.hidden = false;
      this.note.textContent = `The leaderboard can't be read: ${error.message}`;
    }
  }

  #draw() {
    this.more.hidden = this.next === null;
    this.note.hidden = this.agents.length > 0;
    this.note.textContent = "Nobody has played a ranked match yet.";
    const most = Math.max(...this.agents.map((agent) => agent.hp), 1);
    this.body.replaceChildren(...this.agents.map((agent, place) => row(agent, place, most)));
  }
}

function row(agent, place, most) {
  const rate = agent.matches ? agent.wins / agent.matches : 0;
  return h(
    "tr",
    { class: place < 3 ? `is-top is-top-${place + 1}` : "" },
    h("td", { class: "number rank" }, place + 1),
    h(
      "th",
      { scope: "row" },
      h(
        "a",
        { href: `#/agent/${encodeURIComponent(agent.agent_id)}` },
        h("bdi", { class: "name" }, agent.name),
      ),
      h("code", { class: "soft" }, agent.agent_id),
    ),
    h(
      "td",
      { class: "number hp" },
      agent.hp,
      h("meter", { class: "bar", min: 0, max: most, value: agent.hp, "aria-hidden": "true" }),
    ),
    h("td", { class: "number" }, agent.matches),
    h("td", { class: "number" }, agent.wins),
    h("td", { class: "number" }, agent.matches ? `${Math.round(rate * 100)} %` : "–"),
  );
}
