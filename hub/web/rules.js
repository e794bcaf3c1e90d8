/** The rules of RULES.md that a spectator needs: who is paid what, and how a match is checked. */

/** RULES.md, Constants: how many notes of each value, in dollars, ascending. */
const NOTES = [
  [10_000, 6],
  [20_000, 8],
  [30_000, 8],
  [40_000, 6],
  [50_000, 6],
  [60_000, 5],
  [70_000, 5],
  [80_000, 5],
  [90_000, 5],
];

export const BANKNOTES = NOTES.flatMap(([value, copies]) => Array(copies).fill(value));
export const CASINOS = 6;

/** RULES.md, Constants: what is the same in every match. */
export const STANDARD = Object.freeze({ rounds: 4, dice: 8, casinos: CASINOS, fill_min: 50_000 });

/** Order the seats for a round: each round starts one seat further on. */
export function turnOrder(seats, round) {
  return Array.from({ length: seats }, (_, place) => (round - 1 + place) % seats);
}

/**
 * Pay out one casino: equal counts of dice cancel each other, the rest take one note each.
 * @param {number} number
 * @param {number[]} bills descending
 * @param {number[]} dice by seat
 * @returns {import("./types.js").Settlement}
 */
export function settleCasino(number, bills, dice) {
  const groups = groupsOf(dice);
  const awards = groups
    .filter((seats) => seats.length === 1)
    .slice(0, bills.length)
    .map(([seat], place) => ({ seat, bill: bills[place] }));
  return {
    number,
    bills,
    dice,
    cancelled: groups.filter((seats) => seats.length > 1),
    awards,
    discarded: bills.slice(awards.length),
  };
}

/** Group the seats that have dice by how many, most dice first. */
function groupsOf(dice) {
  const counts = [...new Set(dice.filter((count) => count > 0))].sort((a, b) => b - a);
  return counts.map((count) => dice.flatMap((n, seat) => (n === count ? [seat] : [])));
}

/** Add a casino's awards to each seat's money and number of notes. */
export function pay(totals, awards) {
  const money = [...totals.money];
  const billsWon = [...totals.billsWon];
  for (const { seat, bill } of awards) {
    money[seat] += bill;
    billsWon[seat] += 1;
  }
  return { money, billsWon };
}

/** Order the seats: most money, then most notes, then the lowest seat. */
export function standings(money, billsWon) {
  return money
    .map((_, seat) => seat)
    .sort((a, b) => money[b] - money[a] || billsWon[b] - billsWon[a] || a - b);
}

/** Choose the face that is placed when a deadline passes: the most rolled, ties to the higher. */
export function autoFace(dice) {
  const rolled = (face) => dice.filter((die) => die === face).length;
  return [...new Set(dice)].sort((a, b) => rolled(b) - rolled(a) || b - a)[0];
}

/**
 * List the ties that cancelled a payout, biggest note denied first.
 * @param {{round: number, casinos: import("./types.js").Settlement[]}[]} rounds
 */
export function notableTies(rounds) {
  const ties = rounds.flatMap(({ round, casinos }) =>
    casinos.flatMap((casino) => casino.cancelled.flatMap((seats) => tie(round, casino, seats))),
  );
  return ties.sort((a, b) => b.bill_denied - a.bill_denied);
}

function tie(round, casino, seats) {
  const count = casino.dice[seats[0]];
  const paidFirst = casino.awards.filter(({ seat }) => casino.dice[seat] > count).length;
  if (paidFirst >= casino.bills.length) return [];
  return [{ round, casino: casino.number, seats, count, bill_denied: casino.bills[paidFirst] }];
}

/** What a match does to each seat's HP: the winner takes the pot less the platform's fee. */
export function hpMovement({ seats, entryFee, winner, feeBps }) {
  if (winner === null) return Array(seats).fill(0);
  const pot = entryFee * seats;
  const prize = pot - Math.floor((pot * feeBps) / 10_000);
  return Array.from({ length: seats }, (_, seat) => (seat === winner ? prize : 0) - entryFee);
}
