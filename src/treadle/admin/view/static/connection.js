/** The indicator of whether what is shown is live, in words. */

import { announce } from "./announce.js";
import { setAttribute, setText } from "./dom.js";

const WORDS = {
  connecting: "Connecting…",
  live: "Live",
  away: "Database away",
  paused: "Paused",
  "signed-out": "Signed out",
  refused: "Not allowed",
  stopped: "Not connected",
};

export class Connection {
  #timer = null;
  #last = "";

  /** @param {HTMLElement} root has a .label @param {() => void} onRetry */
  constructor(root, onRetry) {
    this.root = root;
    this.label = root.querySelector(".label");
    root.addEventListener("click", onRetry);
  }

  /** @param {import("./stream.js").State} state */
  show(state) {
    clearTimeout(this.#timer);
    setAttribute(this.root, "data-state", state.name);
    setAttribute(this.root, "title", state.why ?? null);
    this.root.disabled = state.name !== "waiting";
    if (state.name === "waiting") this.#count(state.until);
    else setText(this.label, WORDS[state.name]);
    const said = state.name === "waiting" ? "Connection lost, trying again" : WORDS[state.name];
    if (state.name !== "connecting" && said !== this.#last) {
      if (this.#last || state.name !== "live") announce("connection", said);
      this.#last = said;
    }
  }

  #count(until) {
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    setText(this.label, `Reconnecting in ${seconds}s · now`);
    if (seconds > 0) this.#timer = setTimeout(() => this.#count(until), 250);
  }
}
