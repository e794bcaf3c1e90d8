/** Draw the controls that move through a match. */

import { h, s } from "./dom.js";
import { speak } from "./story.js";

const SPEEDS = [0.5, 1, 2, 4, 8];

const ICONS = {
  back: "M15 4v16L6 12Z M4 4h2v16H4Z",
  play: "M6 3.5v17L20 12Z",
  pause: "M6 4h4.5v16H6Z M13.5 4H18v16h-4.5Z",
  next: "M9 4v16l9-8Z M18 4h2v16h-2Z",
};

function icon(name) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
    s("path", { d: ICONS[name] }),
  );
}

export class Timeline {
  /** @param {import("./playback.js").Playback} playback */
  constructor(playback) {
    this.playback = playback;
    this.playButton = button("play", "Play", () => this.toggle());
    this.slider = h("input", {
      type: "range",
      class: "slider",
      min: 0,
      max: 0,
      value: 0,
      "aria-label": "Moment of the match",
      on: { input: () => playback.seek(Number(this.slider.value)) },
    });
    this.liveButton = h("button", {
      class: "live",
      type: "button",
      on: { click: () => playback.goLive() },
    });
    this.rounds = h("div", { class: "round-marks", role: "group", "aria-label": "Go to a round" });
    this.element = h(
      "section",
      { class: "timeline", "aria-label": "Replay" },
      button("back", "One step back", () => playback.step(-1)),
      this.playButton,
      button("next", "One step on", () => playback.step(1)),
      h("div", { class: "track" }, this.slider, this.rounds),
      this.#speedSelect(),
      this.liveButton,
    );
  }

  /** Play, or pause what plays. */
  toggle() {
    if (this.playback.mode === "playing") this.playback.pause();
    else if (this.playback.mode === "live" && this.playback.behind > 0) this.playback.pause();
    else this.playback.play();
  }

  /**
   * Show where the match stands.
   * @param {boolean} isOver whether no more frames will come
   */
  show(isOver) {
    const { frames, index, last, mode } = this.playback;
    this.slider.max = String(Math.max(last, 0));
    this.slider.value = String(index);
    this.slider.setAttribute("aria-valuetext", spokenPosition(frames[index]));
    this.#setPlaying(mode === "playing");
    this.liveButton.hidden = isOver;
    this.liveButton.setAttribute("aria-pressed", String(mode === "live"));
    this.liveButton.textContent = mode === "live" ? "Live" : "Back to live";
    this.#markRounds(frames);
  }

  #setPlaying(isPlaying) {
    const label = isPlaying ? "Pause" : "Play";
    if (this.playButton.getAttribute("aria-label") === label) return;
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
    this.playButton.replaceChildren(icon(isPlaying ? "pause" : "play"));
  }

  /** Draw a button where each round starts. */
  #markRounds(frames) {
    const starts = frames.flatMap(({ event }, index) =>
      event.type === "round_started" ? [index] : [],
    );
    if (starts.length === this.rounds.children.length && this.length === frames.length) return;
    this.length = frames.length;
    this.rounds.replaceChildren(
      ...starts.map((start, place) => {
        const go = () => this.playback.seek(start);
        const mark = h(
          "button",
          {
            type: "button",
            class: "round-mark",
            title: `Go to round ${place + 1}`,
            on: { click: go },
          },
          `R${place + 1}`,
        );
        mark.style.setProperty("--at", String(start / Math.max(frames.length - 1, 1)));
        return mark;
      }),
    );
  }

  #speedSelect() {
    const choose = ({ target }) => this.playback.setSpeed(Number(target.value));
    return h(
      "label",
      { class: "speed" },
      h("span", { class: "hidden" }, "Speed"),
      h(
        "select",
        { on: { change: choose } },
        SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed}×`)),
      ),
    );
  }
}

function button(name, label, click) {
  return h(
    "button",
    { type: "button", class: "control", title: label, "aria-label": label, on: { click } },
    icon(name),
  );
}

function spokenPosition(frame) {
  return frame ? `Round ${frame.state.round}, turn ${frame.state.turn}. ${speak(frame)}` : "";
}
