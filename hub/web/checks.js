/** Keep account of what has been checked of a log, and of the first thing that is wrong with it. */

/** The first thing that is wrong: what, and in which event. */
class Wrong extends Error {
  constructor(seq, what) {
    super(what);
    this.seq = seq;
  }
}

export const CHECKS = Object.freeze({
  log: "The log is whole: no event is missing, times are in order",
  seed: "The revealed seed is the one the hub committed to before the first roll",
  terms: "It was played with the numbers of the rules: rounds, dice, casinos and their minimum",
  seats: "The seats were drawn as the seed says",
  notes: "The banknotes were dealt as the seed and the entropy say",
  rolls: "Every roll is what the seed and the entropy say",
  placements: "Every placement was legal and in time; automatic ones took the right face",
  entropy: "The players' choices were mixed into the entropy each time",
  settlements: "Every casino paid out by the rules, and the totals add up",
  winner: "The standings, the winner and the HP follow from it",
});

/**
 * @typedef {{check: string, title: string, status: "ok"|"failed"|"open", detail: string,
 *   seq?: number}} Verdict
 */

/** Checks that are over before the replay begins, so that a later failure leaves them sure. */
const EARLY = new Set(["log", "seed", "terms", "seats"]);

/** What has been checked so far, and how often. */
export class Checks {
  constructor() {
    this.check = "log";
    this.at = 0;
    this.done = new Map(Object.keys(CHECKS).map((check) => [check, 0]));
    /** @type {Wrong|null} */
    this.failure = null;
  }

  /** Go on only if something holds; throws Wrong, naming the event, if it does not. */
  must(check, holds, seq, what) {
    this.check = check;
    this.at = seq;
    if (!holds) throw new Wrong(seq, what);
  }

  /** Compare what the log says with what must be; counts as one check done. */
  same(check, seq, what, found, expected) {
    const words = `${what}: the log says ${show(found)}, but it must be ${show(expected)}`;
    this.must(check, equal(found, expected), seq, words);
    this.done.set(check, this.done.get(check) + 1);
  }

  /** Note what ended the checking; an error of another kind means an event that can't be read. */
  fail(error) {
    const isWrong = error instanceof Wrong;
    this.failure = isWrong
      ? error
      : new Wrong(this.at, `this event can't be read (${error.message})`);
  }

  /** @returns {Verdict[]} */
  verdicts() {
    return Object.entries(CHECKS).map(([check, title]) => this.#verdict(check, title));
  }

  /** @returns {Verdict} */
  #verdict(check, title) {
    if (this.failure && this.check === check) {
      const { message, seq } = this.failure;
      return { check, title, status: "failed", detail: message, seq };
    }
    const times = this.done.get(check);
    const isSure = !this.failure || (EARLY.has(check) && times > 0);
    if (isSure) return { check, title, status: "ok", detail: `${times} checked` };
    return { check, title, status: "open", detail: "not reached" };
  }
}

function equal(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const keys = Object.keys(b);
  return Object.keys(a).length === keys.length && keys.every((key) => equal(a[key], b[key]));
}

function show(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
