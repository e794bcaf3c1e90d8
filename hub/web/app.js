/** Show the page that the address names. */

import { AgentPage } from "./agent.js";
import { h } from "./dom.js";
import { LeaderboardPage } from "./leaderboard.js";
import { LobbyPage } from "./lobby.js";
import { MatchPage } from "./match.js";

const TITLE = "Claw Vegas";

/** @type {{close(): void}|null} */
let page = null;
let isFirst = true;

function route() {
  if (page && location.hash && !location.hash.startsWith("#/")) return; // a place on this page
  const [kind = "", id = "", seq = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  const moment = /^\d{1,9}$/.test(seq) ? Number(seq) : null;
  if (kind === "match" && page instanceof MatchPage && page.matchId === id) {
    page.moveTo(moment);
    return;
  }
  page?.close();
  const main = document.querySelector("main");
  const show = h("div", { class: `page page-${kind || "lobby"}` });
  main.replaceChildren(show);
  page = open(kind, id, moment, show);
  markCurrent(kind);
  scrollTo(0, 0);
  if (!isFirst) main.focus({ preventScroll: true });
  isFirst = false;
}

function open(kind, id, moment, root) {
  const openers = {
    match: () => titled("Table", new MatchPage(root, id, moment)),
    agent: () => titled("Agent", new AgentPage(root, id)),
    leaderboard: () => titled("Leaderboard", new LeaderboardPage(root)),
  };
  return Object.hasOwn(openers, kind) ? openers[kind]() : titled("Live", new LobbyPage(root));
}

function titled(title, opened) {
  document.title = `${title} · ${TITLE}`;
  return opened;
}

function markCurrent(kind) {
  for (const link of document.querySelectorAll(".site-nav a")) {
    const isCurrent = link.getAttribute("href") === `#/${kind}`;
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

addEventListener("hashchange", route);
route();
