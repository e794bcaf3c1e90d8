/** Show one match: live, or at any moment of it. */

import { NotFound, fetchJson } from "./api.js";
import { Chronicle } from "./chronicle.js";
import { HubClock } from "./clock.js";
import { ConnectionNotice } from "./connection.js";
import { h, redraw, s } from "./dom.js";
import { frameAt, toldUpTo } from "./frames.js";
import { MatchLog } from "./log.js";
import { Playback } from "./playback.js";
import { Stream } from "./socket.js";
import { changePlayer } from "./state.js";
import { speak } from "./story.js";
import { drawSummary } from "./summary.js";
import { TableView, sidePanel } from "./table.js";
import { shortId } from "./text.js";
import { Timeline } from "./timeline.js";
import { VerifyPanel } from "./verify-panel.js";

const TICK_MS = 200;
const SILENCE_MS = 15_000; // past a deadline without a word: the connection is dead

export class MatchPage {
  /**
   * @param {HTMLElement} root
   * @param {string} matchId
   * @param {number|null} seq the moment to show; null follows the match
   */
  constructor(root, matchId, seq) {
    this.matchId = matchId;
    this.wanted = seq;
    this.presence = new Map();
    this.spectators = null;
    this.clock = new HubClock();
    this.log = new MatchLog(matchId, (events) => this.#grow(events));
    this.playback = new Playback(this.log.frames, (index, animate) => this.#show(index, animate));
    this.table = new TableView();
    this.timeline = new Timeline(this.playback);
    this.chronicle = new Chronicle(matchId);
    this.notice = new ConnectionNotice(() => this.stream.renew());
    this.#lay(root);
    const path = () => `watch/${encodeURIComponent(matchId)}?after=${this.log.seq}`;
    this.stream = new Stream(
      path,
      (message) => this.#hear(message),
      (status) => this.#connected(status),
    );
    this.timer = setInterval(() => this.#tick(), TICK_MS);
    this.onKey = (event) => this.#key(event);
    document.addEventListener("keydown", this.onKey);
  }

  /** Take the page down. */
  close() {
    this.log.closed = true;
    this.stream.close();
    this.playback.close();
    this.notice.close();
    clearInterval(this.timer);
    document.removeEventListener("keydown", this.onKey);
  }

  /** Go to another moment of the match that is shown. */
  moveTo(seq) {
    this.wanted = seq;
    this.#goToWanted();
  }

  #lay(root) {
    this.head = h("div", { class: "match-head" });
    this.crowd = h("span", { class: "pill crowd", hidden: true });
    this.spoken = h("p", { class: "hidden", "aria-live": "polite" });
    this.summary = h("div", { class: "summary", hidden: true });
    this.verifySlot = h("div", {});
    const side = h(
      "div",
      { class: "side" },
      sidePanel("Standings", "standings-panel", this.table.standings),
      sidePanel("Table talk", "talk-panel", this.chronicle.talk.element),
      sidePanel("Events", "events-panel", this.chronicle.events.element),
    );
    this.body = h(
      "div",
      { class: "match is-loading" },
      h("div", { class: "play" }, this.table.felt, this.timeline.element),
      side,
    );
    root.replaceChildren(
      this.notice.element,
      this.head,
      this.body,
      this.summary,
      this.verifySlot,
      this.spoken,
    );
  }

  // ---- What the hub says

  #connected(status) {
    if (status.state === "open") {
      this.clock.opened();
      this.#askForCrowd();
    }
    this.notice.show(status);
    this.head.classList.toggle("is-cut", status.failures > 0);
    if (status.state === "waiting" && this.log.seq === 0) this.#askWhetherItExists();
  }

  async #askWhetherItExists() {
    try {
      await fetchJson(`api/matches/${encodeURIComponent(this.matchId)}`);
    } catch (error) {
      if (error instanceof NotFound && this.log.seq === 0) this.#missing();
    }
  }

  /** Ask how many watch: the stream says so only when it changes. */
  async #askForCrowd() {
    this.spectators = null;
    try {
      const row = await fetchJson(`api/matches/${encodeURIComponent(this.matchId)}`);
      if (this.spectators === null && row.spectators) this.#drawCrowd(row.spectators);
    } catch {
      // The next change will tell.
    }
  }

  #drawCrowd(spectators) {
    this.spectators = spectators;
    this.crowd.hidden = Boolean(this.log.finish);
    redraw(this.crowd, spectators, () => [
      eye(),
      spectators.toLocaleString("en"),
      h("span", { class: "crowd-word" }, " watching"),
    ]);
  }

  #missing() {
    this.close();
    this.notice.element.hidden = true;
    this.body.replaceChildren(
      h(
        "div",
        { class: "panel blank" },
        h("h1", {}, "There is no such match"),
        h("p", {}, "It may have been played too long ago to be kept, or the link is not whole."),
        h("a", { class: "primary", href: "#/" }, "See what is being played"),
      ),
    );
    this.body.className = "";
  }

  #hear(message) {
    if (message.type === "presence") {
      this.presence.set(message.seat, message.connected);
      if (this.playback.index >= 0) this.#show(this.playback.index, false);
    } else if (message.type === "crowd") {
      this.#drawCrowd(message.spectators);
    } else {
      this.log.take(message);
    }
  }

  #grow(events) {
    this.clock.hear(events.at(-1).ts);
    this.heardAt = Date.now();
    this.chronicle.add(events);
    clearTimeout(this.soon);
    // A whole log comes in one go: draw it once, when its last part is here.
    this.soon = setTimeout(() => this.#settleIn(), 0);
  }

  #settleIn() {
    this.body.classList.remove("is-loading");
    if (this.wanted !== null && this.wanted <= this.log.seq) this.#goToWanted();
    else if (this.#isCatchingUp()) this.playback.goLive();
    else this.playback.grown();
    if (this.log.finish) this.#conclude(this.log.finish);
  }

  /** What was missed while nothing was connected is not played again. */
  #isCatchingUp() {
    return this.playback.mode === "live" && !this.clock.isFresh(this.log.events.at(-1).ts);
  }

  #goToWanted() {
    if (this.wanted === null) this.playback.goLive();
    else this.playback.seek(frameAt(this.log.frames, this.wanted));
    this.wanted = null;
  }

  #conclude(finish) {
    if (this.verify) return;
    this.verify = new VerifyPanel(this.matchId);
    this.verifySlot.replaceChildren(this.verify.element);
    this.summary.replaceChildren(...drawSummary(finish, this.log.frames.at(-1).state));
  }

  // ---- What is shown

  #show(index, animate) {
    const frame = this.#present(this.log.frames[index], index);
    const isLast = index === this.playback.last;
    const timed = this.playback.mode === "live" && !this.log.finish;
    this.table.show(frame, { animate, timed });
    this.chronicle.show(toldUpTo(frame));
    this.timeline.show(Boolean(this.log.finish));
    this.#drawHead(frame.state);
    this.#showEnd(isLast);
    this.#keepLink(frame.event.seq, isLast);
    if (animate || this.playback.mode === "live") this.spoken.textContent = speak(frame);
    this.#tick();
  }

  /** Add to the newest frame who is connected, which no event tells. */
  #present(frame, index) {
    if (index < this.playback.last || frame.state.status === "finished") return frame;
    const state = [...this.presence].reduce(
      (table, [seat, connected]) => changePlayer(table, seat, { connected }),
      frame.state,
    );
    return { ...frame, state };
  }

  #drawHead(state) {
    const isOver = Boolean(this.log.finish);
    const rounds = Array.from({ length: state.rounds }, (_, i) =>
      h("i", { class: i < state.round ? "is-done" : "" }),
    );
    redraw(this.head, [state.round, state.turn, isOver], () => [
      h("h1", {}, "Table ", h("code", { title: this.matchId }, shortId(this.matchId))),
      h("span", { class: `pill ${isOver ? "" : "is-live"}` }, isOver ? "Final" : "Live"),
      isOver ? null : this.crowd,
      h(
        "p",
        { class: "progress" },
        h("span", { class: "round-dots", "aria-hidden": "true" }, rounds),
        `Round ${state.round} of ${state.rounds}`,
        h("span", { class: "soft" }, ` · turn ${state.turn} · pot ${state.pot_hp} HP`),
      ),
      isOver
        ? h(
            "button",
            { class: "primary verify-button", type: "button", on: { click: () => this.#verify() } },
            "Verify",
          )
        : null,
    ]);
  }

  #verify() {
    this.verify.run();
  }

  /** The result stays out of sight while an earlier moment is shown. */
  #showEnd(isLast) {
    if (this.log.finish && isLast) this.summary.hidden = false;
  }

  /** Keep the address a link to what is shown. */
  #keepLink(seq, isLast) {
    const base = `#/match/${encodeURIComponent(this.matchId)}`;
    const link = this.playback.mode === "paused" && !isLast ? `${base}/${seq}` : base;
    if (location.hash !== link) history.replaceState(null, "", link);
  }

  #tick() {
    const now = this.clock.now();
    this.table.tick(now);
    const deadline = this.log.frames.at(-1)?.state.deadline;
    const isSilent =
      deadline && now > deadline + SILENCE_MS && Date.now() - this.heardAt > SILENCE_MS;
    if (isSilent) {
      this.heardAt = Date.now();
      this.stream.renew();
    }
  }

  #key(event) {
    const isFree =
      event.target === document.body || event.target.closest?.("main") === event.target;
    if (!isFree || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      " ": () => this.timeline.toggle(),
      ArrowRight: () => this.playback.step(1),
      ArrowLeft: () => this.playback.step(-1),
      End: () => this.playback.goLive(),
    };
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  }
}

function eye() {
  return s(
    "svg",
    { class: "eye", viewBox: "0 0 24 24", "aria-hidden": "true" },
    s("path", { d: "M1.5 12S5.5 5 12 5s10.5 7 10.5 7-4 7-10.5 7S1.5 12 1.5 12Z" }),
    s("circle", { cx: 12, cy: 12, r: 3.2 }),
  );
}
