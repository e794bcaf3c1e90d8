/** Play a match again, event by event, and compare what must be with what its log says. */

import { nextEntropy, openingEntropy, toHex } from "./fairness.js";
import {
  autoFace,
  hpMovement,
  notableTies,
  pay,
  settleCasino,
  standings,
  turnOrder,
} from "./rules.js";

export class Retrace {
  /**
   * @param {import("./checks.js").Checks} checks
   * @param {import("./types.js").MatchEvent[]} events from match_started on
   * @param {import("./fairness.js").Fairness} fairness what the match's seed decides
   */
  constructor(checks, events, fairness) {
    this.checks = checks;
    this.events = events;
    this.fairness = fairness;
    this.next = 1;
    this.opening = events[0];
    const nothing = this.opening.players.map(() => 0);
    this.totals = { money: nothing, billsWon: nothing };
    this.settled = [];
    this.acted = false;
    this.turn = 0;
  }

  async run() {
    const { match_id: matchId, players, config } = this.opening;
    const clientSeeds = players.map((player) => player.client_seed);
    this.entropy = await openingEntropy(matchId, clientSeeds);
    for (let round = 1; round <= config.rounds; round++) await this.#round(round);
    this.#finish(this.#take("match_finished", "winner"));
    const isOver = this.next === this.events.length;
    this.checks.must("log", isOver, this.next + 1, "the match goes on after its end");
  }

  /** Look at the next event's type. */
  get #coming() {
    return this.events[this.next]?.type;
  }

  /** Take the next event, which must be of this type. */
  #take(type, check) {
    const event = this.events[this.next];
    const what = `expected ${type}, found ${event?.type ?? "the end"}`;
    this.checks.must(check, event?.type === type, event?.seq ?? this.next, what);
    this.next += 1;
    return event;
  }

  async #round(round) {
    const order = turnOrder(this.opening.players.length, round);
    await this.#notes(this.#take("round_started", "notes"), round, order);
    const left = order.map(() => this.opening.config.dice);
    for (let seat = order[0]; seat !== undefined; seat = following(seat, left)) {
      this.turn += 1;
      await this.#play(round, seat, left);
    }
    this.#settle(this.#take("round_settled", "settlements"), round);
  }

  async #notes({ seq, round: found, turn_order: foundOrder, casinos }, round, order) {
    const { casinos: number, fill_min: fillMin } = this.opening.config;
    const dealt = await this.fairness.deal(this.entropy, round, number, fillMin);
    const expected = dealt.map((bills, place) => ({ number: place + 1, bills }));
    this.checks.same("notes", seq, `notes of round ${round}`, casinos, expected);
    this.checks.same("notes", seq, "round and order", [found, foundOrder], [round, order]);
    this.casinos = dealt.map((bills) => ({ bills, dice: order.map(() => 0) }));
  }

  async #play(round, seat, left) {
    const dice = await this.fairness.roll(this.entropy, this.turn, left[seat]);
    const roll = this.#take("roll", "rolls");
    const found = [roll.round, roll.turn, roll.seat];
    this.checks.same("rolls", roll.seq, `roll of turn ${this.turn}`, roll.dice, dice);
    this.checks.same("rolls", roll.seq, "round, turn and seat", found, [round, this.turn, seat]);
    const deadline = this.#deadline(roll);
    const placed = this.#placement();
    this.#legal(placed, { round, seat, dice, left: left[seat] });
    this.#timely(placed, dice, deadline);
    left[seat] -= placed.count;
    this.casinos[placed.face - 1].dice[seat] += placed.count;
    this.entropy = await nextEntropy(this.entropy, placed);
    this.checks.same("entropy", placed.seq, "entropy", placed.entropy, toHex(this.entropy));
  }

  /** Follow a turn's deadline, which may move to later only. */
  #deadline({ seq, ts, turn_ms: turnMs, deadline: first }) {
    const isWhole = first === ts + turnMs;
    this.checks.must("placements", isWhole, seq, "the deadline is not a turn after the roll");
    let deadline = first;
    while (this.#coming === "deadline_moved") {
      const moved = this.#take("deadline_moved", "placements");
      const isLater = moved.deadline > deadline;
      this.checks.must("placements", isLater, moved.seq, "the deadline moved, but not to later");
      deadline = moved.deadline;
    }
    return deadline;
  }

  #placement() {
    const talks = this.#coming === "table_talk";
    const talk = talks ? this.#take("table_talk", "placements") : null;
    const placed = this.#take("placed", "placements");
    const isOwn = talk === null || (talk.seat === placed.seat && !placed.is_auto);
    this.checks.must("placements", isOwn, placed.seq, "the talk before it is another seat's");
    return placed;
  }

  #legal({ seq, face, ...placed }, { round, seat, dice, left }) {
    this.checks.must("placements", dice.includes(face), seq, `face ${face} was not rolled`);
    const count = dice.filter((each) => each === face).length;
    const expected = [round, this.turn, seat, count, left - count];
    const found = [placed.round, placed.turn, placed.seat, placed.count, placed.dice_remaining];
    this.checks.same("placements", seq, "round, turn, seat, dice, dice left", found, expected);
  }

  #timely({ seq, ts, face, is_auto: isAuto }, dice, deadline) {
    const { checks } = this;
    if (isAuto) {
      checks.same("placements", seq, "face placed automatically", face, autoFace(dice));
      checks.must("placements", ts >= deadline, seq, "it was automatic before the deadline");
    } else {
      checks.must("placements", ts < deadline, seq, "it was placed after the deadline");
      this.acted = true;
    }
  }

  #settle({ seq, casinos: found, money, bills_won: billsWon }, round) {
    const casinos = this.casinos.map(({ bills, dice }, at) => settleCasino(at + 1, bills, dice));
    for (const casino of casinos) {
      const what = `casino ${casino.number} of round ${round}`;
      this.checks.same("settlements", seq, what, found[casino.number - 1], casino);
      this.totals = pay(this.totals, casino.awards);
    }
    this.checks.same("settlements", seq, `money after round ${round}`, money, this.totals.money);
    this.checks.same("settlements", seq, "notes won", billsWon, this.totals.billsWon);
    this.settled.push({ round, casinos, money, bills_won: billsWon });
  }

  #finish(event) {
    const { money, billsWon } = this.totals;
    const { summary } = event;
    const order = standings(money, billsWon);
    const winner = this.acted ? order[0] : null;
    const reason = this.acted ? "completed" : "no_actions";
    const same = (what, found, expected) =>
      this.checks.same("winner", event.seq, what, found, expected);
    same("standings", event.standings, order);
    same("winner", [event.winner_seat, summary.winner_seat], [winner, winner]);
    same("reason", event.finish_reason, reason);
    same("money", pluck(summary.players, "money"), money);
    same("rounds of the summary", summary.rounds, this.settled);
    same("ties of the summary", summary.notable_ties, notableTies(this.settled));
    same("HP movements", pluck(summary.hp_movement, "movement"), this.#movements(winner));
    this.checks.same("entropy", event.seq, "last entropy", event.entropy, toHex(this.entropy));
  }

  #movements(winner) {
    const { entry_fee_hp: entryFee, platform_fee_bps: feeBps, players } = this.opening;
    return hpMovement({ seats: players.length, entryFee, feeBps, winner });
  }
}

/** Find the next seat upwards, itself last, that has dice left. */
function following(seat, left) {
  const around = left.map((_, step) => (seat + step + 1) % left.length);
  return around.find((each) => left[each] > 0);
}

function pluck(items, field) {
  return items.map((item) => item[field]);
}
