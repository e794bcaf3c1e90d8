/** Keep two lists beside the table: what was said, and what happened. */

import { h } from "./dom.js";
import { who } from "./seats.js";
import { tell } from "./story.js";

const NEAR_END_PX = 40; // a list that is scrolled this close to its end follows it

/** A list that grows at its end and follows it, unless the reader has scrolled away. */
class Scroll {
  constructor(label, empty) {
    this.list = h("ol", { class: "lines", tabindex: 0, "aria-label": label });
    this.empty = h("p", { class: "empty" }, empty);
    this.element = h("div", { class: "scroll" }, this.list, this.empty);
  }

  /**
   * Make the list show exactly the first lines of what it could show.
   * @param {number} length how many
   * @param {(index: number) => Node} draw
   */
  show(length, draw) {
    const { list } = this;
    const follows = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
    while (list.children.length > length) list.lastChild.remove();
    for (let index = list.children.length; index < length; index++) list.append(draw(index));
    this.empty.hidden = length > 0;
    if (follows) list.scrollTop = list.scrollHeight;
  }
}

export class Chronicle {
  /** @param {string} matchId */
  constructor(matchId) {
    this.matchId = matchId;
    this.talk = new Scroll("Table talk", "Nobody has said anything yet.");
    this.events = new Scroll("Events", "Nothing has happened yet.");
    this.talked = [];
    this.told = [];
  }

  /** Take in new events of the log. */
  add(events) {
    for (const event of events) {
      if (event.type === "match_started") this.players = event.players;
      if (event.type === "table_talk") this.talked.push(event);
      else if (tell(event, this.players)) this.told.push(event);
    }
  }

  /** Show what was said and done up to event `seq`. */
  show(seq) {
    this.talk.show(upTo(this.talked, seq), (index) => this.#talkLine(this.talked[index]));
    this.events.show(upTo(this.told, seq), (index) => this.#eventLine(this.told[index]));
  }

  #talkLine({ seat, message, round, seq }) {
    return h(
      "li",
      { class: `talk seat-${seat}` },
      h("a", { class: "moment", href: this.#link(seq), title: "Go to this moment" }, `R${round}`),
      who(this.players[seat]),
      h("bdi", { class: "message" }, message),
    );
  }

  #eventLine(event) {
    return h(
      "li",
      { class: `event is-${event.type}` },
      h(
        "a",
        { class: "moment", href: this.#link(event.seq), title: "Go to this moment" },
        event.seq,
      ),
      h("span", { class: "event-text" }, tell(event, this.players)),
    );
  }

  #link(seq) {
    return `#/match/${encodeURIComponent(this.matchId)}/${seq}`;
  }
}

function upTo(events, seq) {
  const after = events.findIndex((event) => event.seq > seq);
  return after < 0 ? events.length : after;
}
