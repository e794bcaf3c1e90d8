/** Let a spectator check a finished match in the browser, and show each check. */

import { fetchLog } from "./api.js";
import { h } from "./dom.js";
import { canVerify } from "./fairness.js";
import { verify } from "./verify.js";

const SIGNS = { ok: "✓", failed: "✗", open: "·" };
const WORDS = { ok: "holds", failed: "does not hold", open: "not checked" };

const PITCH =
  "The hub committed itself to a secret seed before the first roll, and the players' own choices " +
  "were mixed into every roll after it. Your browser can play the whole match again from the log " +
  "and compare every die, note and payout.";

const NEEDS_HTTPS =
  "Browsers offer the cryptography for this (WebCrypto) on https and on localhost only. " +
  "Open this page there, or run scripts/verify on the match's log.";

export class VerifyPanel {
  /** @param {string} matchId */
  constructor(matchId) {
    this.matchId = matchId;
    this.button = h(
      "button",
      { class: "primary", type: "button", on: { click: () => this.run() } },
      "Verify this match",
    );
    this.result = h("div", { class: "verify-result", role: "status" });
    this.element = h(
      "section",
      { class: "panel verify", id: "verify", "aria-label": "Verify" },
      h("h2", {}, "Don't trust the dice. Check them."),
      h("p", { class: "lede" }, PITCH),
      canVerify() ? this.button : h("p", { class: "warning" }, NEEDS_HTTPS),
      this.result,
    );
  }

  /** Fetch the log and check it. */
  async run() {
    this.button.disabled = true;
    this.result.replaceChildren(h("p", {}, "Playing the match again…"));
    try {
      const events = await fetchLog(this.matchId);
      this.result.replaceChildren(...this.#draw(await verify(events), events.length));
      this.element.scrollIntoView({ block: "start" });
    } catch (error) {
      this.result.replaceChildren(
        h("p", { class: "warning" }, `The log can't be read: ${error.message}`),
      );
    }
    this.button.disabled = false;
    this.button.textContent = "Verify again";
  }

  #draw(verdicts, events) {
    const failed = verdicts.find((verdict) => verdict.status === "failed");
    const headline = failed
      ? `This log does not hold. Event ${failed.seq}: ${failed.detail}.`
      : `All of it holds: ${events} events, replayed in your browser.`;
    return [
      h("p", { class: `verify-headline ${failed ? "is-failed" : "is-ok"}` }, headline),
      h(
        "ol",
        { class: "checks" },
        verdicts.map((verdict) => this.#check(verdict)),
      ),
    ];
  }

  #check({ check, title, status, detail, seq }) {
    const where = seq
      ? h("a", { href: `#/match/${encodeURIComponent(this.matchId)}/${seq}` }, `Event ${seq}`)
      : null;
    return h(
      "li",
      { class: `check is-${status}`, data: { check, status } },
      h("span", { class: "check-sign", role: "img", "aria-label": WORDS[status] }, SIGNS[status]),
      h("span", { class: "check-title" }, title),
      h("span", { class: "check-detail" }, where, where ? ": " : "", detail),
    );
  }
}
