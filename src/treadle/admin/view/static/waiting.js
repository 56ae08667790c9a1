/** "Why is this not running?", answered in words. */

import { el, short } from "./dom.js";
import { hrefOf } from "./route.js";

const UUID = /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/;

export class Waiting {
  #shown = "";

  /** @param {import("./route.js").Route} route */
  constructor(route) {
    this.route = route;
    this.words = el("p", { class: "why" });
    this.workers = el("ul", { class: "could" });
    this.root = el("section", { class: "panel waiting", "aria-labelledby": "waiting-title", hidden: true },
      el("h2", { id: "waiting-title" }, "Why is this not running?"), this.words, this.workers);
  }

  /** Show the reason that the API gives for a queued item. */
  update(item) {
    const { waiting } = item;
    this.root.hidden = item.status !== "queued" || !waiting;
    if (this.root.hidden) return;
    const shown = JSON.stringify(waiting);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.words.replaceChildren(...this.#linked(waiting.text));
    // Where all are busy the sentence has named them already.
    const workers = waiting.code === "workers_busy" ? [] : waiting.workers;
    this.workers.hidden = workers.length === 0;
    this.workers.replaceChildren(...workers.map((worker) => this.#worker(worker)));
  }

  /** A sentence in which ids have become links to the items. */
  #linked(text) {
    return text.split(UUID).map((part, at) => (at % 2 ? el("a", { href: hrefOf({ ...this.route, item: part }), "data-route": true, class: "mono" }, short(part)) : part));
  }

  #worker(worker) {
    const runs = worker.running.map(({ id, kind }) =>
      el("a", { href: hrefOf({ ...this.route, item: id }), "data-route": true }, kind ?? "an item", " ", el("span", { class: "mono" }, short(id))));
    return el("li", {}, el("span", { class: "mono" }, worker.claimed_by), runs.length ? " runs " : " is free", ...runs.flatMap((run, at) => (at ? [", ", run] : [run])));
  }
}
