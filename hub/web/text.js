/** Put numbers and names into words. */

/** Write dollars, in thousands: $90k. */
export function money(dollars) {
  if (dollars === 0) return "$0";
  return dollars % 1000 ? `$${dollars.toLocaleString("en")}` : `$${dollars / 1000}k`;
}

/** Write a difference with its sign. */
export function signed(number) {
  if (number === 0) return "±0";
  return number > 0 ? `+${number}` : `−${-number}`;
}

/** Count things: 1 die, 2 dice. */
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

/** Join words: a, b and c. */
export function list(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Isolate a name's writing direction where no element can (attributes, live regions). */
export function isolate(name) {
  return `\u2068${name}\u2069`;
}

/** Write a length of time: 4 s, 3 min, 2 h, 5 days. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

/** Write how long ago a time was. */
export function ago(timestamp, now = Date.now()) {
  return now - timestamp < 10_000 ? "just now" : `${duration(now - timestamp)} ago`;
}

/** Shorten a match's id to what people compare. */
export function shortId(matchId) {
  return matchId.length > 12 ? `${matchId.slice(0, 8)}…` : matchId;
}
