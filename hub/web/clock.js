/** Estimate the hub's clock, and draw the time that a turn has left. */

import { h, s } from "./dom.js";

const SETTLED_MS = 1500; // after opening, what arrives is new and its time is about now
const CATCH_UP_MS = 500; // after opening, events are those that were missed
const STALE_MS = 10_000; // and so are older ones
const RADIUS = 27;

export class HubClock {
  constructor() {
    this.ahead = 0; // ms that the hub's clock is ahead of this one, as far as is known
    this.openedAt = Infinity;
  }

  /** Hear that the stream was opened: older events come first. */
  opened() {
    this.openedAt = Date.now();
  }

  /** Learn from the time of an event that has just arrived. */
  hear(timestamp) {
    const ahead = timestamp - Date.now();
    const isNew = Date.now() - this.openedAt > SETTLED_MS;
    if (isNew || ahead > this.ahead) this.ahead = ahead;
  }

  /** Tell whether an event comes as it happens, not as part of what was missed. */
  isFresh(timestamp) {
    const isOpening = Date.now() - this.openedAt < CATCH_UP_MS;
    const isMissed = timestamp < this.openedAt + this.ahead; // though a slow machine reads it late
    return !isOpening && !isMissed && this.now() - timestamp < STALE_MS;
  }

  now() {
    return Date.now() + this.ahead;
  }
}

/** A ring that empties, around the seconds that are left. */
export class Ring {
  constructor() {
    this.arc = s("circle", { class: "ring-arc", cx: 32, cy: 32, r: RADIUS, pathLength: 100 });
    this.seconds = h("span", { class: "ring-seconds" });
    this.element = h(
      "div",
      { class: "ring", role: "timer", "aria-live": "off", "aria-label": "time left in this turn" },
      s(
        "svg",
        { viewBox: "0 0 64 64", "aria-hidden": "true" },
        s("circle", { class: "ring-track", cx: 32, cy: 32, r: RADIUS }),
        this.arc,
      ),
      this.seconds,
    );
  }

  /**
   * Show how much of a turn is left.
   * @param {number} left in ms
   * @param {number} whole in ms
   */
  show(left, whole) {
    const part = Math.min(Math.max(left / whole, 0), 1);
    this.arc.setAttribute("stroke-dashoffset", String(100 - part * 100));
    const seconds = Math.max(0, Math.ceil(left / 1000));
    if (this.seconds.textContent !== String(seconds)) this.seconds.textContent = String(seconds);
    this.element.classList.toggle("is-short", left < Math.min(whole * 0.25, 10_000));
  }
}
