/**
 * The shapes that modules pass to each other. Those of the wire are as in PROTOCOL.md.
 *
 * @typedef {{number: number, bills: number[], dice: number[]}} Casino
 * @typedef {{seat: number, agent_id: string, name: string, dice_remaining: number, money: number,
 *   bills_won: number, away: boolean, connected: boolean}} Player
 * @typedef {{round: number, turn: number, seat: number, message: string}} TalkLine
 * @typedef {{round: number, rounds: number, turn: number, turn_order: number[],
 *   current_seat: number|null, roll: number[], deadline: number|null, turn_ms: number|null,
 *   casinos: Casino[], players: Player[], entry_fee_hp: number, pot_hp: number,
 *   commitment: string, recent_talk: TalkLine[], status: "playing"|"finished",
 *   winner_seat: number|null}} TableState
 *
 * An event: `type`, `match_id`, `seq`, `ts` in ms, and what its type says.
 * @typedef {any} MatchEvent
 *
 * @typedef {{seat: number, bill: number}} Award
 * @typedef {{number: number, bills: number[], dice: number[], cancelled: number[][],
 *   awards: Award[], discarded: number[]}} Settlement
 *
 * A moment that the table can show: the state after an event, or one casino's part of a settlement
 * (`paying` is that casino's place in the list; it equals their number once all are paid).
 * @typedef {{event: MatchEvent, state: TableState, casinos: Settlement[]|null, paying: number}}
 *   Frame
 */

export {};
