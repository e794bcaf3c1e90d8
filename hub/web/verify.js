/**
 * Check a finished match's log by playing it again from the revealed seed.
 *
 * Nothing is believed but the agents' choices and the times: seats, notes, rolls, entropy,
 * settlements, totals, the winner and the HP are made anew and compared with what the log says.
 */

import { Checks } from "./checks.js";
import { Fairness, commitment, fromHex } from "./fairness.js";
import { Retrace } from "./retrace.js";
import { STANDARD } from "./rules.js";

const SEED_BYTES = 32;

/**
 * Check a log.
 * @param {import("./types.js").MatchEvent[]} events
 * @returns {Promise<import("./checks.js").Verdict[]>} one for each check; after the first failure
 *   the rest stay open unless they were done before it
 */
export async function verify(events) {
  const checks = new Checks();
  try {
    checkEnvelopes(checks, events);
    const opening = events[0];
    const fairness = await openSeed(checks, opening, events.at(-1));
    checkTerms(checks, opening);
    await checkSeats(checks, opening, fairness);
    await new Retrace(checks, events, fairness).run();
  } catch (error) {
    checks.fail(error);
  }
  return checks.verdicts();
}

function checkEnvelopes(checks, events) {
  checks.must("log", events.length > 0, 0, "the log is empty");
  events.forEach(({ seq, match_id: id, ts }, index) => {
    const before = events[Math.max(index - 1, 0)];
    checks.same("log", seq, "number of the event", seq, index + 1);
    checks.must("log", id === before.match_id, seq, "it is of another match");
    checks.must("log", ts >= before.ts, seq, "its time is before that of the event before it");
  });
  const { type, seq } = events.at(-1);
  checks.must("log", events[0].type === "match_started", 1, "it is not the start of a match");
  checks.must("log", type === "match_finished", seq, "the match goes on: its seed is secret");
}

async function openSeed(checks, opening, { seq, server_seed: text }) {
  const seed = fromHex(text);
  const isWhole = seed?.length === SEED_BYTES;
  checks.must("seed", isWhole, seq, `the revealed seed is not ${SEED_BYTES} bytes of hex`);
  const hash = await commitment(seed);
  checks.same("seed", seq, "hash of the revealed seed", opening.commitment, hash);
  return Fairness.of(seed);
}

/** How long a turn is may differ, nothing else. */
function checkTerms(checks, { seq, config }) {
  for (const [term, value] of Object.entries(STANDARD)) {
    checks.same("terms", seq, term, config[term], value);
  }
}

async function checkSeats(checks, { seq, match_id: matchId, players }, fairness) {
  const seated = players.map((player) => player.agent_id);
  const numbers = players.map((player) => player.seat);
  checks.same("seats", seq, "numbers of the seats", numbers, [...numbers.keys()]);
  checks.same("seats", seq, "seats", seated, await fairness.seating(matchId, seated));
}
