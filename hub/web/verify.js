/**
 * Check a finished match's log by playing it again from the revealed seed.
 *
 * Nothing is believed but the agents' choices and the times: seats, notes, rolls, entropy,
 * settlements, totals, the winner and the HP are made anew and compared with what the log says.
 */

import { Fairness, commitment, fromHex, nextEntropy, openingEntropy, toHex } from "./fairness.js";
import { autoFace, hpMovement, notableTies, pay, settleCasino, standings, turnOrder } from "./rules.js";

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

/**
 * Check a log.
 * @param {import("./types.js").MatchEvent[]} events
 * @returns {Promise<Verdict[]>} one for each check; after the first failure the rest stay open
 *   unless they were done before it
 */
export async function verify(events) {
  const audit = new Audit(events);
  try {
    await audit.run();
  } catch (error) {
    if (error instanceof Wrong) audit.failure = error;
    else audit.failure = new Wrong(audit.at, `this event can't be read (${error.message})`);
  }
  return audit.verdicts();
}

class Audit {
  constructor(events) {
    this.events = events;
    this.check = "log";
    this.at = 0;
    this.done = new Map(Object.keys(CHECKS).map((check) => [check, 0]));
    this.failure = null;
  }

  verdicts() {
    return Object.entries(CHECKS).map(([check, title]) => {
      const times = this.done.get(check);
      if (this.failure && this.check === check) {
        return { check, title, status: "failed", detail: this.failure.message, seq: this.failure.seq };
      }
      const isSure = !this.failure || EARLY.has(check) && times > 0;
      return { check, title, status: isSure ? "ok" : "open", detail: isSure ? `${times} checked` : "not reached" };
    });
  }

  async run() {
    this.#envelopes();
    const opening = this.events[0];
    const closing = this.events.at(-1);
    this.#must("log", opening.type === "match_started", 1, "the log does not open with match_started");
    this.#must("log", closing.type === "match_finished", closing.seq, "the match has not finished: its seed is still secret");
    await this.#seed(opening, closing);
    await this.#seats(opening);
    await this.#replay(opening);
  }

  #must(check, holds, seq, what) {
    this.check = check;
    this.at = seq;
    if (!holds) throw new Wrong(seq, what);
  }

  /** Compare what the log says with what must be; counts as one check done. */
  #same(check, seq, what, found, expected) {
    this.#must(check, equal(found, expected), seq, `${what}: the log says ${show(found)}, but it must be ${show(expected)}`);
    this.done.set(check, this.done.get(check) + 1);
  }

  #envelopes() {
    this.#must("log", this.events.length > 0, 0, "the log is empty");
    this.events.forEach((event, index) => {
      const before = this.events[Math.max(index - 1, 0)];
      this.#same("log", event.seq, "number of the event", event.seq, index + 1);
      this.#must("log", event.match_id === before.match_id, event.seq, "it is of another match");
      this.#must("log", event.ts >= before.ts, event.seq, "its time is before that of the event before it");
    });
  }

  async #seed(opening, closing) {
    const seed = fromHex(closing.server_seed);
    this.#must("seed", seed?.length === 32, closing.seq, "the revealed seed is not 32 bytes of hex");
    this.#same("seed", closing.seq, "hash of the revealed seed", opening.commitment, await commitment(seed));
    this.fairness = await Fairness.of(seed);
  }

  async #seats(opening) {
    const seated = opening.players.map((player) => player.agent_id);
    this.#same("seats", opening.seq, "numbers of the seats", opening.players.map((player) => player.seat), seated.map((_, seat) => seat));
    this.#same("seats", opening.seq, "seats", seated, await this.fairness.seating(opening.match_id, seated));
  }

  // ---- Event by event

  async #replay(opening) {
    const { players, config } = opening;
    this.config = config;
    this.opening = opening;
    this.entropy = await openingEntropy(opening.match_id, players.map((player) => player.client_seed));
    this.totals = { money: players.map(() => 0), billsWon: players.map(() => 0) };
    this.settled = [];
    this.acted = false;
    this.next = 1;
    let turn = 0;
    for (let round = 1; round <= config.rounds; round++) turn = await this.#round(round, turn);
    await this.#finish(this.#take("match_finished", "winner"));
    this.#must("log", this.next === this.events.length, this.next + 1, "the match goes on after its end");
  }

  /** Take the next event, which must be of this type. */
  #take(type, check) {
    const event = this.events[this.next];
    this.#must(check, event?.type === type, event?.seq ?? this.next, `expected ${type}, found ${event?.type ?? "the end"}`);
    this.next += 1;
    return event;
  }

  async #round(round, turnBefore) {
    const seats = this.totals.money.length;
    const order = turnOrder(seats, round);
    await this.#notes(this.#take("round_started", "notes"), round, order);
    const left = Array(seats).fill(this.config.dice);
    let turn = turnBefore;
    let seat = order[0];
    while (seat !== undefined) {
      turn += 1;
      await this.#turn(round, turn, seat, left);
      seat = following(seat, left);
    }
    this.#settle(this.#take("round_settled", "settlements"), round);
    return turn;
  }

  async #notes(event, round, order) {
    const dealt = await this.fairness.deal(this.entropy, round, this.config.casinos, this.config.fill_min);
    const expected = dealt.map((bills, place) => ({ number: place + 1, bills }));
    this.#same("notes", event.seq, `notes of round ${round}`, event.casinos, expected);
    this.#same("notes", event.seq, "round and turn order", [event.round, event.turn_order], [round, order]);
    this.casinos = expected.map(({ bills }) => ({ bills, dice: order.map(() => 0) }));
  }

  async #turn(round, turn, seat, left) {
    const roll = this.#take("roll", "rolls");
    const dice = await this.fairness.roll(this.entropy, turn, left[seat]);
    this.#same("rolls", roll.seq, `roll of turn ${turn}`, roll.dice, dice);
    this.#same("rolls", roll.seq, "round, turn and seat", [roll.round, roll.turn, roll.seat], [round, turn, seat]);
    const deadline = this.#deadline(roll);
    const placed = this.#placement();
    this.#legal(placed, { round, turn, seat, dice, left: left[seat] }, deadline);
    left[seat] -= placed.count;
    this.casinos[placed.face - 1].dice[seat] += placed.count;
    this.entropy = await nextEntropy(this.entropy, placed);
    this.#same("entropy", placed.seq, "entropy", placed.entropy, toHex(this.entropy));
  }

  /** Follow a turn's deadline, which may move to later only. */
  #deadline(roll) {
    let { deadline } = roll;
    this.#must("placements", deadline === roll.ts + roll.turn_ms, roll.seq, "the deadline is not a turn's length after the roll");
    while (this.events[this.next]?.type === "deadline_moved") {
      const moved = this.#take("deadline_moved", "placements");
      this.#must("placements", moved.deadline > deadline, moved.seq, "the deadline moved, but not to later");
      deadline = moved.deadline;
    }
    return deadline;
  }

  #placement() {
    const talk = this.events[this.next]?.type === "table_talk" ? this.#take("table_talk", "placements") : null;
    const placed = this.#take("placed", "placements");
    const talker = talk === null || (talk.seat === placed.seat && !placed.is_auto);
    this.#must("placements", talker, placed.seq, "the talk before it is another seat's");
    return placed;
  }

  #legal(placed, turn, deadline) {
    const { seq, face, is_auto: isAuto } = placed;
    this.#must("placements", turn.dice.includes(face), seq, `face ${face} was not rolled`);
    const count = turn.dice.filter((each) => each === face).length;
    const expected = [turn.round, turn.turn, turn.seat, count, turn.left - count];
    const found = [placed.round, placed.turn, placed.seat, placed.count, placed.dice_remaining];
    this.#same("placements", seq, "round, turn, seat, dice placed and left", found, expected);
    if (isAuto) {
      this.#same("placements", seq, "face placed automatically", face, autoFace(turn.dice));
      this.#must("placements", placed.ts >= deadline, seq, "it was placed automatically before the deadline");
    } else {
      this.#must("placements", placed.ts < deadline, seq, "it was placed after the deadline");
      this.acted = true;
    }
  }

  #settle(event, round) {
    const casinos = this.casinos.map(({ bills, dice }, place) => settleCasino(place + 1, bills, dice));
    casinos.forEach((casino, place) => {
      this.#same("settlements", event.seq, `casino ${place + 1} of round ${round}`, event.casinos[place], casino);
      this.totals = pay(this.totals, casino.awards);
    });
    this.#same("settlements", event.seq, `money after round ${round}`, event.money, this.totals.money);
    this.#same("settlements", event.seq, `notes after round ${round}`, event.bills_won, this.totals.billsWon);
    this.settled.push({ round, casinos, money: event.money, bills_won: event.bills_won });
  }

  async #finish(event) {
    const { seq, summary } = event;
    const order = standings(this.totals.money, this.totals.billsWon);
    const winner = this.acted ? order[0] : null;
    this.#same("winner", seq, "standings", event.standings, order);
    this.#same("winner", seq, "winner", [event.winner_seat, summary.winner_seat], [winner, winner]);
    this.#same("winner", seq, "reason", event.finish_reason, this.acted ? "completed" : "no_actions");
    this.#same("winner", seq, "money in the summary", summary.players.map((player) => player.money), this.totals.money);
    this.#same("winner", seq, "rounds in the summary", summary.rounds, this.settled);
    this.#same("winner", seq, "ties in the summary", summary.notable_ties, notableTies(this.settled));
    const terms = { seats: order.length, entryFee: this.opening.entry_fee_hp, feeBps: this.opening.platform_fee_bps, winner };
    this.#same("winner", seq, "HP movements", summary.hp_movement.map((moved) => moved.movement), hpMovement(terms));
    this.#same("entropy", seq, "last entropy", event.entropy, toHex(this.entropy));
  }
}

/** Checks that are over before the replay begins, so that a later failure leaves them sure. */
const EARLY = new Set(["log", "seed", "seats"]);

/** Find the next seat upwards, itself last, that has dice left. */
function following(seat, left) {
  const around = left.map((_, step) => (seat + step + 1) % left.length);
  return around.find((each) => left[each] > 0);
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
