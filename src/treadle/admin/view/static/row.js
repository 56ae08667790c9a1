/** One item as a row of the list; built once, then only what changed is written. */

import { el, icon, setAttribute, setText, short } from "./dom.js";
import { ProgressBar } from "./progress.js";
import { Moment, duration } from "./time.js";

export class Row {
  /** @param {any} item @param {(id: string) => string} href address of an item's detail */
  constructor(item, href) {
    this.id = item.id;
    this.status = el("span", { class: "word" });
    this.mark = el("span", { class: "mark" });
    this.since = new Moment("since");
    this.took = el("span");
    this.link = el("a", { href: href(item.id), "data-route": true, class: "row-link", title: item.id }, item.kind);
    this.requested = new Moment();
    this.worker = el("span", { class: "worker-name clip" });
    this.tries = el("span", { class: "tries" });
    this.stalls = el("span", { class: "stalls" });
    this.outcome = el("div", { role: "cell", class: "cell outcome" });
    this.bar = new ProgressBar(`Progress of ${item.kind} ${short(item.id)}`);
    this.sentence = el("span", { class: "sentence clip" });
    this.left = el("span", { class: "left-note" });
    const scope = item.scope_id
      ? el("span", { class: "mono", title: item.scope_id }, `scope ${short(item.scope_id)}`)
      : null;
    this.root = el("div", { role: "row", class: "row", id: `row-${item.id}` },
      el("div", { role: "cell", class: "cell status" }, el("div", { class: "line" }, this.mark, this.status), el("div", { class: "under" }, this.took, this.since.root)),
      el("div", { role: "cell", class: "cell kind" }, el("div", { class: "line clip" }, this.link), el("div", { class: "under clip" }, el("span", { class: "mono" }, short(item.id)), scope)),
      el("div", { role: "cell", class: "cell asked" }, el("div", { class: "line clip" }, requester(item)), el("div", { class: "under" }, this.requested.root)),
      el("div", { role: "cell", class: "cell worker" }, el("div", { class: "line clip" }, this.worker), el("div", { class: "under" }, this.tries, this.stalls)),
      this.outcome);
    this.requested.set(item.requested_at);
    this.update(item);
  }

  /** Show the item as it is now. */
  update(item) {
    this.item = item;
    const cancelling = item.status === "running" && item.cancel_requested_at;
    if (this.root.dataset.status !== item.status) {
      this.root.dataset.status = item.status;
      this.mark.replaceChildren(icon(item.status));
    }
    setText(this.status, cancelling ? "Cancelling" : item.status[0].toUpperCase() + item.status.slice(1));
    const [word, since, took] = lasting(item);
    setText(this.took, took === null ? word : `${word} ${duration(took)}`);
    this.since.set(since);
    setText(this.worker, item.claimed_by ?? "–");
    setAttribute(this.worker, "title", item.claimed_by);
    setAttribute(this.worker, "data-none", item.claimed_by ? null : "yes");
    setText(this.tries, item.attempt ? `attempt ${item.attempt}` : "");
    if (item.stalls !== this.shownStalls) {
      this.shownStalls = item.stalls;
      this.stalls.replaceChildren(...(item.stalls ? [icon("stalled"), `${item.stalls} ${item.stalls === 1 ? "stall" : "stalls"}`] : []));
    }
    this.#outcome(item);
  }

  #outcome(item) {
    const progressed = item.status === "running" || (item.status !== "queued" && item.progress_done !== null);
    setText(this.sentence, sentence(item));
    setAttribute(this.sentence, "title", item.error);
    if (progressed) this.bar.update(item);
    const wanted = [
      progressed && item.status !== "succeeded" ? this.bar.root : null,
      this.sentence.textContent ? this.sentence : null,
      item.partial ? (this.partial ??= el("span", { class: "badge partial" }, "partial")) : null,
      this.left.textContent ? this.left : null,
    ].filter(Boolean);
    const shown = [...this.outcome.children];
    if (shown.length !== wanted.length || shown.some((child, at) => child !== wanted[at])) this.outcome.replaceChildren(...wanted);
  }

  /** Mark the row as no longer part of the list, in place and in words; null takes the mark away. */
  leave(words) {
    setAttribute(this.root, "data-left", words ? "yes" : null);
    setText(this.left, words ?? "");
    this.#outcome(this.item);
  }
}

/** Who asked, in words. */
export function requester(item) {
  return item.requested_by === null
    ? el("span", { class: "scheduled" }, icon("clock"), "scheduled")
    : el("span", { class: "clip", title: item.requested_by }, item.requested_by);
}

/** The word before a span of time, and either the moment it counts from or the span. */
function lasting(item) {
  if (item.status === "queued") return ["for ", item.requested_at, null];
  if (item.status === "running") return ["for ", item.started_at, null];
  if (!item.started_at) return ["never ran", null, null];
  return [item.status === "failed" ? "after" : "took", null, Date.parse(item.finished_at) - Date.parse(item.started_at)];
}

/** What stands where a bar would, or under it. */
function sentence(item) {
  if (item.status === "failed") return item.error;
  if (item.status === "succeeded") return summary(item);
  if (item.status === "cancelled" && item.superseded_by) return "superseded by a queued twin";
  if (item.status === "cancelled" && item.progress_done === null) return "cancelled before anything was reported";
  if (item.status === "queued") return item.attempt ? "back in the queue, waits for a worker" : "waits for a worker";
  return "";
}

/** A succeeded item in one line: its note, or the plain values of its result. */
function summary(item) {
  const { result } = item;
  if (result === null || typeof result !== "object") return result === null ? item.progress_note ?? "" : String(result);
  const plain = Object.entries(result).filter(([, value]) => value === null || typeof value !== "object" || "text" in value);
  return plain.slice(0, 6).map(([key, value]) => `${key} ${value}`).join(" · ") || (item.progress_note ?? "");
}
