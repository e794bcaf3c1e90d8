/**
 * Keep a table's state up to date from its events. Pure: states share what has not changed.
 * Source: PROTOCOL.md, `state`.
 */

const TALK_KEPT = 20; // lines, as in a snapshot

/** @typedef {import("./types.js").TableState} TableState */

/**
 * Return the table as it is after an event; events of an unknown type change nothing.
 * @param {TableState|null} state null before match_started
 * @param {import("./types.js").MatchEvent} event
 * @returns {TableState}
 */
export function applyEvent(state, event) {
  const apply = CHANGES[event.type];
  return apply ? apply(state, event) : state;
}

/** Tell whether an event's type is known. */
export function isKnown(event) {
  return Object.hasOwn(CHANGES, event.type);
}

const IDLE = { current_seat: null, roll: [], deadline: null, turn_ms: null };

const CHANGES = Object.freeze({
  match_started: (_, event) => ({
    ...IDLE,
    round: 0,
    rounds: event.config.rounds,
    turn: 0,
    turn_order: [],
    casinos: [],
    players: event.players.map((entrant) => seated(entrant, event.config.dice)),
    entry_fee_hp: event.entry_fee_hp,
    pot_hp: event.pot_hp,
    commitment: event.commitment,
    recent_talk: [],
    status: "playing",
    winner_seat: null,
  }),

  round_started: (state, event) => ({
    ...state,
    round: event.round,
    turn_order: event.turn_order,
    players: state.players.map((player) => takeBack(player, state.casinos)),
    casinos: event.casinos.map((casino) => ({ ...casino, dice: state.players.map(() => 0) })),
  }),

  roll: (state, event) => ({
    ...state,
    turn: event.turn,
    current_seat: event.seat,
    roll: event.dice,
    deadline: event.deadline,
    turn_ms: event.turn_ms,
  }),

  deadline_moved: (state, event) => ({ ...state, deadline: event.deadline }),

  placed: (state, event) => ({
    ...changePlayer(state, event.seat, {
      dice_remaining: event.dice_remaining,
      away: event.away ?? false,
    }),
    ...IDLE,
    casinos: state.casinos.map((casino) =>
      casino.number === event.face ? addDice(casino, event) : casino,
    ),
  }),

  table_talk: (state, { round, turn, seat, message }) => ({
    ...state,
    recent_talk: [...state.recent_talk, { round, turn, seat, message }].slice(-TALK_KEPT),
  }),

  round_settled: (state, event) => withTotals(state, event.money, event.bills_won),

  match_finished: (state, event) => ({
    ...state,
    ...IDLE,
    status: "finished",
    winner_seat: event.winner_seat,
  }),
});

/** Return the table with each seat's money and notes. */
export function withTotals(state, money, billsWon) {
  const players = state.players.map((player) => ({
    ...player,
    money: money[player.seat],
    bills_won: billsWon[player.seat],
  }));
  return { ...state, players };
}

/** Return the table with some of a seat's fields changed. */
export function changePlayer(state, seat, change) {
  const players = state.players.map((player) =>
    player.seat === seat ? { ...player, ...change } : player,
  );
  return { ...state, players };
}

function seated({ seat, agent_id, name }, dice) {
  const fresh = { money: 0, bills_won: 0, away: false, connected: true };
  return { seat, agent_id, name, dice_remaining: dice, ...fresh };
}

function takeBack(player, casinos) {
  const committed = casinos.reduce((sum, casino) => sum + casino.dice[player.seat], 0);
  return { ...player, dice_remaining: player.dice_remaining + committed };
}

function addDice(casino, { seat, count }) {
  return { ...casino, dice: casino.dice.map((n, i) => (i === seat ? n + count : n)) };
}
