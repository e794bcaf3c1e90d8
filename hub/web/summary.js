/** Draw a finished match in one page: result, HP, rounds, ties. */

import { drawChart } from "./chart.js";
import { die, dice } from "./dice.js";
import { h } from "./dom.js";
import { chip } from "./notes.js";
import { ranked } from "./standings.js";
import { mark, who } from "./seats.js";
import { count, duration, money, signed } from "./text.js";

const TIES_SHOWN = 5;

/**
 * Draw the summary.
 * @param {import("./types.js").MatchEvent} finish the match_finished event
 * @param {import("./types.js").TableState} state the table at its end
 */
export function drawSummary(finish, state) {
  const { summary } = finish;
  return [
    panel("Result", "result", resultTable(finish, state)),
    panel("Money by round", "money", drawChart(summary.players, summary.rounds, state.rounds)),
    panel("Ties that cost a payout", "ties", ties(summary, state.players)),
    ...summary.rounds.map((result) => round(result, state.players)),
  ];
}

function panel(title, kind, ...content) {
  return h("section", { class: `panel summary-${kind}` }, h("h2", {}, title), content);
}

/** @param {any} finish */
function resultTable({ summary, finish_reason: reason }, state) {
  const rows = ranked(summary.players);
  const length = duration(summary.finished_at - summary.started_at);
  return [
    h(
      "p",
      { class: "lede" },
      reason === "no_actions"
        ? "No seat placed anything of its own, so every stake went back. "
        : [
            who(summary.players[summary.winner_seat]),
            " won ",
            h("strong", {}, money(summary.players[summary.winner_seat].money)),
            ". ",
          ],
      `${count(summary.rounds.length, "round")} in ${length}; pot ${state.pot_hp} HP.`,
    ),
    h(
      "div",
      { class: "wide-table", tabindex: 0, role: "region", "aria-label": "Result" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["", "Agent", "Money", "HP", "Notes", "Balance", "Thinking", "Auto"].map(head),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((player, place) => resultRow(player, place, summary)),
        ),
      ),
    ),
  ];
}

function head(title) {
  return h("th", { scope: "col" }, title);
}

function resultRow(player, place, summary) {
  const moved = summary.hp_movement.find(({ seat }) => seat === player.seat);
  const own = player.placements - player.auto_placements;
  const average = own ? `${(player.think_ms.total / own / 1000).toFixed(1)} s` : "–";
  return h(
    "tr",
    { class: player.seat === summary.winner_seat ? "is-winner" : "" },
    h("td", { class: "number" }, place + 1),
    h(
      "th",
      { scope: "row" },
      h("a", { href: `#/agent/${encodeURIComponent(player.agent_id)}` }, who(player)),
    ),
    h("td", { class: "number" }, money(player.money)),
    h(
      "td",
      { class: `number ${moved.movement > 0 ? "is-gain" : moved.movement < 0 ? "is-loss" : ""}` },
      signed(moved.movement),
    ),
    h("td", { class: "number" }, player.bills_won),
    h("td", { class: "number" }, moved.balance),
    h("td", { class: "number", title: "time from roll to placement, on average" }, average),
    h(
      "td",
      { class: "number", title: "placements made by the hub as time ran out" },
      player.auto_placements,
    ),
  );
}

function ties(summary, players) {
  const notable = summary.notable_ties.slice(0, TIES_SHOWN);
  if (!notable.length)
    return h("p", { class: "empty" }, "No tie cost anyone a note in this match.");
  return h(
    "ul",
    { class: "ties" },
    notable.map((tie) => tieLine(tie, players)),
  );
}

function tieLine({ round: number, casino, seats, count: each, bill_denied: denied }, players) {
  return h(
    "li",
    {},
    die(casino, "sign"),
    h(
      "span",
      {},
      seats.map((seat, index) => [index ? " and " : "", who(players[seat])]),
      ` tied with ${count(each, "die", "dice")} at casino ${casino} in round ${number} and missed `,
      chip(denied),
    ),
  );
}

function round(result, players) {
  return h(
    "details",
    { class: "panel summary-round" },
    h(
      "summary",
      {},
      h("h2", {}, `Round ${result.round}`),
      h(
        "span",
        { class: "round-money" },
        players.map((player) => h("span", {}, mark(player.seat), money(result.money[player.seat]))),
      ),
    ),
    h(
      "div",
      { class: "settlements" },
      result.casinos.map((casino) => settlement(casino, players)),
    ),
  );
}

function settlement(casino, players) {
  return h(
    "article",
    { class: "settlement" },
    h("h3", {}, die(casino.number, "sign"), `Casino ${casino.number}`),
    h(
      "ul",
      {},
      players.filter(({ seat }) => casino.dice[seat]).map((player) => fate(player, casino)),
    ),
    casino.discarded.length
      ? h("p", { class: "discarded" }, "Unclaimed: ", casino.discarded.map(chip))
      : null,
  );
}

function fate(player, casino) {
  const award = casino.awards.find(({ seat }) => seat === player.seat);
  const isTied = casino.cancelled.some((seats) => seats.includes(player.seat));
  return h(
    "li",
    { class: isTied ? "is-tied" : "" },
    who(player),
    h(
      "span",
      { class: "lane-dice" },
      dice(casino.number, casino.dice[player.seat], `seat-${player.seat}`),
    ),
    award
      ? chip(award.bill)
      : h("span", { class: isTied ? "tie" : "nothing" }, isTied ? "tie" : "–"),
  );
}
