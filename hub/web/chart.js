/** Draw how each seat's money grew over the rounds. */

import { h, s } from "./dom.js";
import { mark, who } from "./seats.js";
import { money } from "./text.js";

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 56;
const RIGHT = 24;
const TOP = 16;
const BOTTOM = 34;
const STEPS = [50_000, 100_000, 200_000, 500_000, 1_000_000]; // between grid lines, in dollars

/**
 * Draw the chart.
 * @param {import("./types.js").Player[]} players
 * @param {{round: number, money: number[]}[]} settled the rounds so far
 * @param {number} rounds how many a match has
 */
export function drawChart(players, settled, rounds) {
  const totals = [players.map(() => 0), ...settled.map((result) => result.money)];
  const most = Math.max(100_000, ...totals.flat());
  const step = STEPS.find((each) => most / each <= 5) ?? STEPS.at(-1);
  const top = Math.ceil(most / step) * step;
  const x = (round) => LEFT + (round / rounds) * (WIDTH - LEFT - RIGHT);
  const y = (dollars) => HEIGHT - BOTTOM - (dollars / top) * (HEIGHT - TOP - BOTTOM);
  return h(
    "figure",
    { class: "chart" },
    s(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: "img",
        "aria-label": spokenChart(players, totals),
      },
      gridLines(top, step, y),
      roundLabels(rounds, x),
      players.map((player) => line(player.seat, totals, x, y)),
    ),
    h("figcaption", { class: "legend" }, players.map(who)),
  );
}

function gridLines(top, step, y) {
  const values = Array.from({ length: top / step + 1 }, (_, index) => index * step);
  return values.map((value) => [
    s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    s("text", { class: "axis is-money", x: LEFT - 8, y: y(value) + 4 }, money(value)),
  ]);
}

function roundLabels(rounds, x) {
  return Array.from({ length: rounds }, (_, index) =>
    s("text", { class: "axis is-round", x: x(index + 1), y: HEIGHT - 10 }, `Round ${index + 1}`),
  );
}

function line(seat, totals, x, y) {
  const points = totals.map((each, round) => [x(round), y(each[seat])]);
  return s(
    "g",
    { class: `line seat-${seat}` },
    s("polyline", { points: points.map((point) => point.join(",")).join(" ") }),
    points.slice(1).map(([cx, cy]) => point(seat, cx, cy)),
  );
}

function point(seat, cx, cy) {
  const shape = mark(seat);
  for (const [name, value] of Object.entries({ x: cx - 7, y: cy - 7, width: 14, height: 14 })) {
    shape.setAttribute(name, String(value));
  }
  return shape;
}

function spokenChart(players, totals) {
  const rows = players.map(
    (player) =>
      `seat ${player.seat + 1}: ${totals
        .slice(1)
        .map((each) => money(each[player.seat]))
        .join(", ")}`,
  );
  return `Money after each round. ${rows.join(". ")}`;
}
