/**
 * Make dice, notes and seats from a secret seed and public entropy.
 * Source: RULES.md, Randomness.
 */

import { BANKNOTES, CASINOS } from "./rules.js";

const FAIR_BYTES = 256 - (256 % CASINOS); // bytes from here up would favour the low faces
const TWO_BYTES = 2 ** 16;

const utf8 = new TextEncoder();

/** Tell whether this page may use the browser's cryptography: on https and localhost only. */
export function canVerify() {
  return Boolean(globalThis.crypto?.subtle);
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Read hex; null if it is none. */
export function fromHex(text) {
  if (!/^([0-9a-f]{2})*$/i.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Hash a seed into the commitment to it, in hex. */
export async function commitment(seed) {
  return toHex(await sha256(seed));
}

/** Mix the match's id and the agents' seeds, in seat order: the entropy of turn 1. */
export function openingEntropy(matchId, clientSeeds) {
  return sha256(utf8.encode([matchId, ...clientSeeds].join("|")));
}

/** Mix a placement into the entropy. */
export function nextEntropy(entropy, { turn, seat, face, nonce }) {
  return sha256(join(entropy, utf8.encode(`${turn}|${seat}|${face}|${nonce}`)));
}

/** All that one match's secret seed decides. */
export class Fairness {
  /** @param {BufferSource} seed */
  static async of(seed) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return new Fairness(await crypto.subtle.importKey("raw", seed, algorithm, false, ["sign"]));
  }

  constructor(key) {
    this.key = key;
  }

  /** Roll `count` dice for a turn, ascending. */
  async roll(entropy, turn, count) {
    const stream = this.#stream(entropy, `roll:${turn}`);
    const faces = [];
    while (faces.length < count) {
      const byte = await stream();
      if (byte < FAIR_BYTES) faces.push((byte % CASINOS) + 1);
    }
    return faces.sort((a, b) => a - b);
  }

  /** Shuffle the deck and fill a round's casinos with at least `fillMin` each, notes descending. */
  async deal(entropy, round, casinos, fillMin) {
    const deck = [...BANKNOTES];
    await shuffle(deck, this.#stream(entropy, `bills:${round}`));
    return Array.from({ length: casinos }, () => fill(deck, fillMin));
  }

  /** Draw the seats: element k of the agents' ids has seat k. */
  async seating(matchId, agentIds) {
    const seats = [...agentIds].sort(byCodePoint);
    await shuffle(seats, this.#stream(await sha256(utf8.encode(matchId)), "seats"));
    return seats;
  }

  #stream(entropy, label) {
    let block = 0;
    let bytes = new Uint8Array();
    let next = 0;
    return async () => {
      if (next === bytes.length) {
        const message = join(entropy, utf8.encode(`${label}:${block++}`));
        bytes = new Uint8Array(await crypto.subtle.sign("HMAC", this.key, message));
        next = 0;
      }
      return bytes[next++];
    };
  }
}

function fill(deck, fillMin) {
  const notes = [];
  let held = 0;
  while (held < fillMin && deck.length) {
    notes.push(deck.pop());
    held += notes.at(-1);
  }
  return notes.sort((a, b) => b - a);
}

async function shuffle(items, stream) {
  for (let last = items.length - 1; last > 0; last--) {
    const other = await below(last + 1, stream);
    [items[last], items[other]] = [items[other], items[last]];
  }
}

async function below(limit, stream) {
  const fair = TWO_BYTES - (TWO_BYTES % limit);
  for (;;) {
    const value = (await stream()) * 256 + (await stream());
    if (value < fair) return value % limit;
  }
}

function join(a, b) {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

/** Compare by code point; the agents' ids are ASCII, where code units are the same. */
function byCodePoint(a, b) {
  return a < b ? -1 : Number(a > b);
}
