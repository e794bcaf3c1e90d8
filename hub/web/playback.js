/** Move through a match's frames: follow it live, play, pause, step, seek. */

import { stays } from "./frames.js";
import { setTempo } from "./motion.js";

const CROWDED = 4; // frames behind from which on a live table hurries
const HIDDEN_BACKLOG = 12; // frames behind that a page in the background does not play

export class Playback {
  /**
   * @param {import("./types.js").Frame[]} frames grows while the match goes on
   * @param {(index: number, animate: boolean) => void} onShow
   */
  constructor(frames, onShow) {
    this.frames = frames;
    this.onShow = onShow;
    this.index = -1;
    this.speed = 1;
    /** @type {"live"|"playing"|"paused"} */
    this.mode = "live";
    this.shownAt = 0;
  }

  get last() {
    return this.frames.length - 1;
  }

  /** How many frames the newest one is ahead. */
  get behind() {
    return this.last - this.index;
  }

  /** Hear that frames were added. */
  grown() {
    if (
      this.mode === "live" &&
      (this.index < 0 || (document.hidden && this.behind > HIDDEN_BACKLOG))
    )
      this.#show(this.last, false);
    else if (this.mode === "paused") this.onShow(this.index, false);
    this.#schedule();
  }

  /** Follow the newest frame, at once. */
  goLive() {
    this.mode = "live";
    this.#show(this.last, false);
  }

  play() {
    const atEnd = this.index >= this.last;
    this.mode = "playing";
    this.#show(atEnd ? 0 : this.index, false);
    this.#schedule();
  }

  pause() {
    this.mode = "paused";
    this.#show(this.index, false);
  }

  /** Go to a frame and stay there. */
  seek(index) {
    this.mode = "paused";
    this.#show(index, false);
  }

  step(by) {
    this.mode = "paused";
    this.#show(this.index + by, by === 1);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.#schedule();
  }

  close() {
    clearTimeout(this.timer);
  }

  #show(index, animate) {
    clearTimeout(this.timer);
    if (this.last < 0) return;
    this.index = Math.min(Math.max(index, 0), this.last);
    this.shownAt = performance.now();
    setTempo(this.pace);
    this.onShow(this.index, animate);
  }

  #schedule() {
    clearTimeout(this.timer);
    if (this.mode === "paused" || this.index < 0) return;
    if (this.behind <= 0) {
      if (this.mode === "playing") this.pause();
      return;
    }
    const due = this.shownAt + stays(this.frames[this.index]) / this.pace;
    this.timer = setTimeout(
      () => {
        this.#show(this.index + 1, true);
        this.#schedule();
      },
      Math.max(0, due - performance.now()),
    );
  }

  /** How much faster than normal frames follow each other: a crowded live table hurries. */
  get pace() {
    return this.mode === "live" ? Math.max(1, this.behind / CROWDED) : this.speed;
  }
}
