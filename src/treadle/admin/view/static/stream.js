/**
 * Live events: a stream read by fetch, because only fetch can carry the token in a header.
 *
 * The cursor moves only with a frame that carries an id, after everything before it has been handled. Whatever cuts
 * the connection, the next one resumes from there, so nothing is missed; what is told twice is a whole snapshot and
 * does no harm.
 */

import { Problem, Refused, SignedOut } from "./api.js";
import { parse } from "./json.js";
import { EventParser } from "./sse.js";

const SILENCE = 40_000; // the server's heartbeats come every 15 s
const LONGEST_WAIT = 30_000;
const PAUSED = Symbol("paused");
const HIDDEN_PATIENCE = 60_000; // a hidden tab gives its connection back: browsers have six per server

/**
 * @typedef {object} State
 * @property {"connecting" | "live" | "away" | "waiting" | "paused" | "signed-out" | "refused" | "stopped"} name
 *   "away": connected, but the server cannot reach its database
 * @property {number} [until] of "waiting": when the next attempt is, in milliseconds of this browser's clock
 * @property {string} [why]
 */

export class Stream {
  #since = null;
  #last = null;
  #turn = 0;
  #connection = null;
  #began = 0;
  #wake = null;
  #failures = 0;
  #base = 1000;
  #hiddenTimer = null;

  /**
   * @param {import("./api.js").Api} api
   * @param {object} on
   * @param {(event: string, data: any) => void} on.event
   * @param {(state: State) => void} on.state
   */
  constructor(api, on) {
    this.api = api;
    this.on = on;
    this.state = { name: "stopped" };
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => this.#visibility());
  }

  /** Follow from the state that a list was read at. */
  start(since) {
    this.#since = since;
    this.#last = null;
    this.resume();
  }

  /** Follow on from the last event seen. */
  resume() {
    this.#connection?.abort();
    this.retry();
    this.#failures = 0;
    this.#turn += 1;
    this.#run(this.#turn);
  }

  /** End the wait before the next attempt. */
  retry() {
    this.#wake?.();
  }

  get started() {
    return this.#since !== null;
  }

  async #run(turn) {
    while (turn === this.#turn) {
      this.#tell({ name: "connecting" });
      const ended = await this.#connect();
      if (turn !== this.#turn) return;
      if (ended.name === "paused") {
        this.#tell(ended);
        await this.#sleep(null);
      } else if (ended.name === "waiting") {
        const wait = Math.min(LONGEST_WAIT, this.#base * 2 ** this.#failures) * (0.75 + Math.random() / 2);
        this.#failures += 1;
        this.#tell({ ...ended, until: Date.now() + wait });
        await this.#sleep(wait);
      } else if (ended.name !== "again") return this.#tell(ended);
    }
  }

  /** One connection from its beginning to its end; says what to do next. */
  async #connect() {
    const connection = new AbortController();
    this.#connection = connection;
    this.#began = performance.now();
    let silence = null;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => connection.abort(new Error("nothing was heard for too long")), SILENCE);
    };
    try {
      heard();
      const path = this.#last === null && this.#since ? `/events?since=${encodeURIComponent(this.#since)}` : "/events";
      const headers = { Accept: "text/event-stream", ...(this.#last === null ? {} : { "Last-Event-ID": this.#last }) };
      const response = await this.api.open(path, { headers, signal: connection.signal });
      return await this.#read(response.body, connection.signal, heard);
    } catch (error) {
      if (connection.signal.reason === PAUSED) return { name: "paused" };
      return this.#afterError(error);
    } finally {
      clearTimeout(silence);
      connection.abort();
    }
  }

  async #read(body, signal, heard) {
    let ended = null;
    const parser = new EventParser({
      retry: (milliseconds) => (this.#base = Math.max(100, milliseconds)),
      frame: (frame) => {
        if (ended) return;
        ended = this.#handle(frame);
        if (frame.id !== null) this.#last = frame.id;
      },
    });
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return { name: "waiting", why: "the connection ended" };
      heard();
      this.#failures = 0;
      if (this.state.name === "connecting") this.#tell({ name: "live" });
      parser.push(decoder.decode(value, { stream: true }));
      if (ended) return ended;
    }
  }

  /** Handle a frame; anything but null ends the connection. */
  #handle(frame) {
    const data = frame.data ? parse(frame.data) : null;
    if (frame.event === "end") {
      const lasted = performance.now() - this.#began > 1000; // else a clock is wrong, and we would spin
      return data.reason === "expired" && lasted ? { name: "again" } : { name: "waiting", why: "the server is restarting" };
    }
    if (frame.event === "status") this.#tell({ name: data.database === "away" ? "away" : "live" });
    this.on.event(frame.event, data);
    if (frame.event === "reload") return { name: "stopped" };
    return null;
  }

  #afterError(error) {
    if (error instanceof SignedOut) return { name: "signed-out", why: error.message };
    if (error instanceof Refused) return { name: "refused", why: error.message };
    if (error instanceof Problem && [400, 410, 422].includes(error.status)) {
      this.on.event("reload", { reason: error.message });
      return { name: "stopped" };
    }
    return { name: "waiting", why: error.message };
  }

  #visibility() {
    clearTimeout(this.#hiddenTimer);
    if (document.hidden) this.#hiddenTimer = setTimeout(() => this.#connection?.abort(PAUSED), HIDDEN_PATIENCE);
    else this.retry();
  }

  /** Sleep until the time is over or somebody wakes us; null: only the latter. */
  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? null : setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #tell(state) {
    this.state = state;
    this.on.state(state);
  }
}
