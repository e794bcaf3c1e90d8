/** Say how the connection to the hub stands. */

import { h } from "./dom.js";

const QUIET_MS = 600; // a connection that comes back this fast is not worth a word
const COUNT_MS = 250;

export class ConnectionNotice {
  /** @param {() => void} retry asked to connect now */
  constructor(retry) {
    this.text = h("span", { role: "status" });
    this.element = h(
      "div",
      { class: "connection", hidden: true },
      h("span", { class: "spinner", "aria-hidden": "true" }),
      this.text,
      h("button", { type: "button", on: { click: retry } }, "Try now"),
    );
  }

  /** @param {import("./socket.js").StreamStatus} status */
  show(status) {
    this.status = status;
    clearInterval(this.timer);
    if (status.state === "open" || status.state === "ended") {
      this.element.hidden = true;
      this.since = null;
      return;
    }
    this.since ??= Date.now();
    this.timer = setInterval(() => this.#draw(), COUNT_MS);
    this.#draw();
  }

  close() {
    clearInterval(this.timer);
  }

  #draw() {
    const { state, retryAt, failures } = this.status;
    if (Date.now() - this.since < QUIET_MS) return;
    this.element.hidden = false;
    const seconds = Math.ceil((retryAt - Date.now()) / 1000);
    const next = state === "waiting" && seconds > 0 ? `next try in ${seconds} s` : "trying now";
    const lost = failures ? "Connection to the hub lost. Reconnecting" : "Connecting to the hub";
    const text = `${lost}: ${next}. Nothing will be missed.`;
    if (this.text.textContent !== text) this.text.textContent = text;
  }
}
