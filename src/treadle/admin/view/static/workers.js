/** The workers that are alive, what they can do and what they run. */

import { el, setText, short } from "./dom.js";
import { hrefOf } from "./route.js";
import { Moment } from "./time.js";

const PAUSE = 5000;

export class Workers {
  #timer = null;
  #shown = "";
  #seen = new Map();

  /**
   * @param {import("./api.js").Api} api
   * @param {object} on
   * @param {(workers: any[]) => void} on.workers
   * @param {(error: Error) => void} on.error
   */
  constructor(api, on) {
    this.api = api;
    this.on = on;
    this.rows = el("ul", { class: "workers" });
    this.empty = el("div", { class: "empty", hidden: true }, el("p", { class: "big" }, "No worker is alive"),
      el("p", {}, "Items wait in the queue until a worker that knows their kind and serves their scope gives a sign of life."));
    this.root = el("section", { class: "workers-view", hidden: true, "aria-labelledby": "workers-title" },
      el("h1", { id: "workers-title", tabindex: "-1" }, "Workers"), this.rows, this.empty);
  }

  /** Read them now, and keep reading while they are on the page. */
  async load() {
    clearTimeout(this.#timer);
    try {
      const workers = (await this.api.workers()).sort((a, b) => b.alive - a.alive || (a.claimed_by < b.claimed_by ? -1 : 1));
      this.on.workers(workers);
      this.#update(workers);
    } catch (error) {
      this.on.error(error);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.load(), this.root.hidden || document.hidden ? 6 * PAUSE : PAUSE);
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #update(workers) {
    this.empty.hidden = workers.length > 0;
    const shown = JSON.stringify(workers.map(({ seen_at: _, ...rest }) => rest));
    if (shown !== this.#shown) {
      this.#shown = shown;
      this.#seen.clear();
      this.rows.replaceChildren(...workers.map((worker) => this.#worker(worker)));
    }
    for (const worker of workers) this.#seen.get(worker.claimed_by).set(worker.seen_at);
  }

  #worker(worker) {
    const seen = new Moment();
    this.#seen.set(worker.claimed_by, seen);
    const runs = worker.running.length
      ? worker.running.map((id) => el("a", { href: hrefOf({ view: "items", item: id, statuses: [], kinds: [], scope: "" }), "data-route": true, class: "mono" }, short(id)))
      : [worker.alive ? "nothing: it is free" : "nothing"];
    const scopes = worker.scopes?.length ? worker.scopes.map((scope) => el("span", { class: "mono", title: scope }, short(scope))) : [worker.scopes === null ? "every scope" : "unscoped items only"];
    const { alive } = worker;
    return el("li", { class: `panel worker-card ${alive ? "alive" : "lost"}` },
      el("h2", { class: "mono" }, worker.claimed_by),
      el("p", { class: "life" }, el("span", { class: "dot", "aria-hidden": "true" }), alive ? "alive, seen " : "not heard of since ", seen.root, ", up since ", new Moment().set(worker.started_at).root),
      el("dl", { class: "facts" },
        fact("Runs", ...runs), fact("Serves", ...scopes),
        fact("Knows", ...[...worker.kinds].sort().map((kind) => el("span", { class: "badge" }, kind)))));
  }
}

function fact(name, ...values) {
  return el("div", { class: "fact" }, el("dt", {}, name), el("dd", { class: "many" }, ...values));
}
