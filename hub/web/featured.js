/** Show one live table in the lobby, so that there is something to see at once. */

import { h } from "./dom.js";
import { Chronicle } from "./chronicle.js";
import { HubClock } from "./clock.js";
import { toldUpTo } from "./frames.js";
import { MatchLog } from "./log.js";
import { Playback } from "./playback.js";
import { Stream } from "./socket.js";
import { TableView, sidePanel } from "./table.js";

const TICK_MS = 200;
const LINGER_MS = 8000; // a match that has ended is left on show this long

export class FeaturedTable {
  constructor() {
    this.slot = h("div", { class: "match" });
    this.link = h("a", { class: "primary", href: "#/" }, "Watch this table");
    this.element = h(
      "section",
      { class: "featured", hidden: true, "aria-label": "A table being played" },
      h("div", { class: "featured-head" }, h("h2", {}, "Now playing"), this.link),
      this.slot,
    );
    this.timer = setInterval(() => this.table?.tick(this.clock.now()), TICK_MS);
  }

  /**
   * Show the liveliest of the live matches, and stay with it while it lasts.
   * @param {{match_id: string, spectators: number, round: number}[]} live newest first
   */
  choose(live) {
    const stays =
      this.matchId && (live.some((row) => row.match_id === this.matchId) || this.lingers);
    if (stays) return;
    const liveliest = [...live].sort((a, b) => b.spectators - a.spectators)[0];
    if (liveliest) this.#open(liveliest.match_id);
    else this.#end();
  }

  close() {
    this.#end();
    clearInterval(this.timer);
  }

  #open(matchId) {
    this.#end();
    this.matchId = matchId;
    this.link.setAttribute("href", `#/match/${encodeURIComponent(matchId)}`);
    this.clock = new HubClock();
    this.table = new TableView();
    this.chronicle = new Chronicle(matchId);
    this.log = new MatchLog(matchId, (events) => this.#grow(events));
    this.playback = new Playback(this.log.frames, (index, animate) => this.#show(index, animate));
    const path = () => `watch/${encodeURIComponent(matchId)}?after=${this.log.seq}`;
    this.stream = new Stream(
      path,
      (message) => this.log.take(message),
      ({ state }) => {
        if (state === "open") this.clock.opened();
      },
    );
  }

  #grow(events) {
    this.clock.hear(events.at(-1).ts);
    this.chronicle.add(events);
    clearTimeout(this.soon);
    const isFresh = this.clock.isFresh(events.at(-1).ts);
    this.soon = setTimeout(() => (isFresh ? this.playback.grown() : this.playback.goLive()), 0);
  }

  #show(index, animate) {
    const frame = this.log.frames[index];
    this.table.show(frame, { animate, timed: true });
    this.chronicle.show(toldUpTo(frame));
    if (this.element.hidden || !this.slot.hasChildNodes()) this.#appear();
    if (frame.state.status === "finished" && !this.lingers) {
      this.lingers = setTimeout(() => (this.lingers = null), LINGER_MS);
    }
  }

  #appear() {
    const side = h(
      "div",
      { class: "side" },
      sidePanel("Standings", "standings-panel", this.table.standings),
      sidePanel("Table talk", "talk-panel", this.chronicle.talk.element),
    );
    this.slot.replaceChildren(h("div", { class: "play" }, this.table.felt), side);
    this.element.hidden = false;
  }

  #end() {
    if (!this.matchId) return;
    this.stream.close();
    this.playback.close();
    this.log.closed = true;
    clearTimeout(this.soon);
    clearTimeout(this.lingers);
    this.matchId = this.lingers = null;
    this.element.hidden = true;
    this.slot.replaceChildren();
  }
}
