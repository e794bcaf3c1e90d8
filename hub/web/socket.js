/** Keep a stream of the hub's messages open: reconnect by itself, resume, say how it stands. */

const SUBPROTOCOL = "vegas.v1.json";
const BACKOFF_MS = 500; // the longest wait after one failure; doubles with each more in a row,
const BACKOFF_DOUBLINGS = 5; // this often: up to 16 s
const OPENING_MS = 10_000; // for a connection to open; then it is tried anew
const ENDED = 1000;
const FINAL_CODES = new Set([1003, 1008, 1009]); // it would be the same again (PROTOCOL.md)

/**
 * @typedef {{state: "connecting"|"open"|"waiting"|"ended", retryAt?: number, failures: number}}
 *   StreamStatus
 */

export class Stream {
  /**
   * @param {() => string} path gives the path and query to open, anew for each connection
   * @param {(message: any) => void} onMessage
   * @param {(status: StreamStatus) => void} onStatus
   */
  constructor(path, onMessage, onStatus) {
    this.path = path;
    this.onMessage = onMessage;
    this.onStatus = onStatus;
    this.failures = 0;
    this.retryNow = () => this.timer && this.#open();
    window.addEventListener("online", this.retryNow);
    this.#open();
  }

  /** Close for good. */
  close() {
    window.removeEventListener("online", this.retryNow);
    this.#drop();
    this.closed = true;
  }

  /** Open a new connection in the place of one that may be dead. */
  renew() {
    if (!this.closed) this.#open();
  }

  #open() {
    this.#drop();
    this.bye = null;
    this.onStatus({ state: "connecting", failures: this.failures });
    const socket = new WebSocket(address(this.path()), SUBPROTOCOL);
    this.socket = socket;
    const hurry = setTimeout(() => socket.close(), OPENING_MS);
    socket.onopen = () => {
      clearTimeout(hurry);
      this.failures = 0;
      this.onStatus({ state: "open", failures: 0 });
    };
    socket.onmessage = ({ data }) => this.#read(JSON.parse(data));
    socket.onclose = ({ code }) => {
      clearTimeout(hurry);
      this.#recover(code);
    };
  }

  #drop() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.socket) {
      this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
      this.socket.close();
      this.socket = null;
    }
  }

  #read(message) {
    if (message.type === "bye") this.bye = message;
    else this.onMessage(message);
  }

  #recover(code) {
    const over = this.bye ? !this.bye.reconnect : code === ENDED || FINAL_CODES.has(code);
    if (over) {
      this.close();
      this.onStatus({ state: "ended", failures: this.failures });
      return;
    }
    // All of the wait is random, so that a dead hub's spectators come back spread out.
    const limit = BACKOFF_MS * 2 ** Math.min(this.failures, BACKOFF_DOUBLINGS);
    const wait = this.bye ? this.bye.retry_ms : Math.random() * limit;
    this.failures += 1;
    this.timer = setTimeout(() => this.#open(), wait);
    this.onStatus({ state: "waiting", retryAt: Date.now() + wait, failures: this.failures });
  }
}

function address(path) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}
