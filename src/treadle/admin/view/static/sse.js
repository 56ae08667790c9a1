/** Server-Sent Events from text, by the rules of the HTML standard, comments included. */

/**
 * @typedef {object} Frame
 * @property {string} event its type, "message" when the server named none
 * @property {string} data lines joined by newlines
 * @property {string | null} id what the frame itself carried; null: none, the last one stays
 */

export class EventParser {
  #rest = "";
  #event = "";
  #data = [];
  #id = null;

  /**
   * @param {object} on
   * @param {(frame: Frame) => void} on.frame
   * @param {(milliseconds: number) => void} [on.retry]
   * @param {(text: string) => void} [on.comment]
   */
  constructor(on) {
    this.on = on;
  }

  /** Take the next piece of the stream, wherever it was cut. */
  push(chunk) {
    this.#rest += chunk;
    // A carriage return at the very end may be half of a line break.
    const breaks = /\r\n|\n|\r(?=.)/gs;
    let start = 0;
    for (let found = breaks.exec(this.#rest); found; found = breaks.exec(this.#rest)) {
      this.#line(this.#rest.slice(start, found.index));
      start = breaks.lastIndex;
    }
    this.#rest = this.#rest.slice(start);
  }

  #line(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return this.on.comment?.(line.slice(1).trimStart());
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.on.retry?.(Number(value));
  }

  #dispatch() {
    const frame = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    const carries = this.#data.length > 0 || this.#id !== null;
    this.#event = "";
    this.#data = [];
    this.#id = null;
    if (carries) this.on.frame(frame);
  }
}
