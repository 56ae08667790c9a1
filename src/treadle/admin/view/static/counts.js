/** How many items are in each status: read now and then, and moved along with what the stream tells in between. */

import { announce } from "./announce.js";

const PAUSE = 10_000;

export class Counts {
  #timer = null;
  #read = 0;
  #known = new Map();

  /**
   * @param {import("./api.js").Api} api
   * @param {(counts: Record<string, {count: number, exact: boolean}>) => void} show
   * @param {(error: Error) => void} onError
   */
  constructor(api, show, onError) {
    this.api = api;
    this.show = show;
    this.onError = onError;
    this.counts = null;
  }

  /** Read them now. */
  async load() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#read = Date.now();
    try {
      const { as_of: _, ...counts } = await this.api.counts();
      this.counts = counts;
      this.show(counts);
    } catch (error) {
      this.onError(error);
    }
  }

  /** Remember the status that an item was read in. */
  seen(item) {
    this.#known.set(item.id, item.status);
  }

  /** Count a change of one item; the true figures are read soon after. */
  moved(item) {
    const before = this.#known.get(item.id);
    if (before === item.status) return;
    if (item.status === "queued" || item.status === "running") this.seen(item);
    else this.#known.delete(item.id);
    if (before !== undefined) this.#add(before, -1);
    if (before !== undefined || (item.status === "queued" && item.attempt === 0)) this.#add(item.status, +1);
    if (item.status === "failed") announce("failed", `${item.kind} failed`);
    if (this.counts) this.show(this.counts);
    this.soon();
  }

  /** Read them again when the last reading is old enough. */
  soon() {
    this.#timer ??= setTimeout(() => this.load(), Math.max(500, this.#read + PAUSE - Date.now()));
  }

  #add(status, step) {
    const entry = this.counts?.[status];
    if (entry?.exact) entry.count = Math.max(0, entry.count + step);
  }
}

/** A count for a tab: "12", "4,310", and "≈ 1.2M" where it is an estimate. */
export function countInWords({ count, exact }) {
  if (exact) return Number(count).toLocaleString("en");
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 2 });
  return `≈ ${compact.format(Number(count))}`;
}
