/** A progress bar: share done, rate and time left; without a total it says how much is done and that the end is unknown. */

import { el, setAttribute, setText } from "./dom.js";
import { asNumber, digits } from "./json.js";
import { Pace, leftInWords, rateInWords } from "./pace.js";

export class ProgressBar {
  #attempt = null;
  #pace = new Pace();

  /** @param {string} label what progresses, for those who do not see the row around it */
  constructor(label) {
    this.fill = el("div", { class: "fill" });
    this.bar = el("div", { class: "bar", role: "progressbar", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "100" }, this.fill);
    this.percent = el("span", { class: "percent", "aria-hidden": "true" });
    this.words = el("span", { class: "words" });
    this.note = el("span", { class: "note" });
    this.root = el("div", { class: "progress" }, this.bar, this.percent, el("div", { class: "caption" }, this.words, this.note));
  }

  /** Show an item's latest snapshot. */
  update(item) {
    const done = asNumber(item.progress_done);
    const total = asNumber(item.progress_total);
    const running = item.status === "running";
    if (item.attempt !== this.#attempt) {
      this.#attempt = item.attempt;
      this.#pace = new Pace();
    }
    if (running && done !== null) this.#pace.sample(done, Date.parse(item.updated_at), Date.parse(item.started_at));
    const share = total === null || done === null ? null : total === 0 ? 1 : Math.min(1, done / total);
    const percent = share === null ? null : Math.floor(share * 100);
    const words = this.#inWords(item, running, total);
    setAttribute(this.root, "data-known", share === null ? "no" : "yes");
    setAttribute(this.root, "data-moving", running ? "yes" : "no");
    this.fill.style.setProperty("--share", share === null ? "1" : String(share));
    setAttribute(this.bar, "aria-valuenow", percent);
    setAttribute(this.bar, "aria-valuetext", [percent === null ? null : `${percent} percent`, ...words, item.progress_note].filter(Boolean).join(", "));
    setText(this.percent, percent === null ? "" : `${percent}%`);
    setText(this.words, words.join(" · "));
    setText(this.note, item.progress_note ?? "");
    setAttribute(this.note, "title", item.progress_note || null);
  }

  #inWords(item, running, total) {
    if (item.progress_done === null) return [running ? "started, nothing reported yet" : "nothing reported"];
    const amount = total === null ? `${digits(item.progress_done)} done` : `${digits(item.progress_done)} of ${digits(item.progress_total)}`;
    if (!running) return [amount];
    const { rate } = this.#pace;
    const left = this.#pace.left(total);
    return [amount, rate === null ? null : rateInWords(rate), left === null ? null : leftInWords(left)].filter(Boolean);
  }
}
