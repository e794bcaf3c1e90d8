/** Read the hub's pages for programs. */

export class NotFound extends Error {}

/**
 * Fetch a page of JSON.
 * @param {string} path relative to this page
 * @throws {NotFound} where there is no such thing; Error, with a message for people, otherwise
 */
export async function fetchJson(path) {
  return (await answer(path)).json();
}

/**
 * Fetch a match's whole log.
 * @param {string} matchId
 * @returns {Promise<import("./types.js").MatchEvent[]>}
 */
export async function fetchLog(matchId) {
  const response = await answer(`api/matches/${encodeURIComponent(matchId)}/events?format=ndjson`);
  const lines = (await response.text()).split("\n").filter((line) => line.trim());
  return lines.map((line) => JSON.parse(line));
}

async function answer(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  const message = body?.error?.message ?? `the hub answered ${response.status}`;
  throw response.status === 404 ? new NotFound(message) : new Error(message);
}
