/** Hold a match's events in order, each once, whatever way they come. */

import { fetchLog } from "./api.js";
import { framesOf } from "./frames.js";

const REFILL_RETRY_MS = 2000;

export class MatchLog {
  /**
   * @param {string} matchId
   * @param {(events: import("./types.js").MatchEvent[]) => void} onEvents hears of what was added
   */
  constructor(matchId, onEvents) {
    this.matchId = matchId;
    this.onEvents = onEvents;
    /** @type {import("./types.js").MatchEvent[]} */
    this.events = [];
    /** @type {import("./types.js").Frame[]} */
    this.frames = [];
    this.early = new Map();
    this.closed = false;
    this.refilling = false;
  }

  /** The number of the newest event that is here without a gap. */
  get seq() {
    return this.events.length;
  }

  /** The event that ended the match, if it has ended. */
  get finish() {
    const last = this.events.at(-1);
    return last?.type === "match_finished" ? last : null;
  }

  /** Take a message of the stream: an event, or a snapshot where events were spared. */
  take(message) {
    if (typeof message.seq !== "number") return;
    if (message.type !== "snapshot") this.add([message]);
    if (message.seq > this.seq) this.#refill(message.seq);
  }

  /** Add events; those that are here already are ignored, those that come early wait. */
  add(events) {
    for (const event of events) if (event.seq > this.seq) this.early.set(event.seq, event);
    const added = [];
    for (let next; (next = this.early.get(this.seq + 1)); added.push(next)) this.#append(next);
    if (added.length) this.onEvents(added);
  }

  #append(event) {
    this.early.delete(event.seq);
    this.events.push(event);
    this.frames.push(...framesOf(this.frames.at(-1), event));
  }

  /** Read from the hub what the stream has left out up to event `seq`. */
  async #refill(seq) {
    if (this.refilling) return;
    this.refilling = true;
    try {
      this.add(await fetchLog(this.matchId));
    } catch {
      await new Promise((resolve) => setTimeout(resolve, REFILL_RETRY_MS));
    }
    this.refilling = false;
    const wanted = Math.max(seq, ...this.early.keys());
    if (wanted > this.seq && !this.closed) this.#refill(wanted);
  }
}
