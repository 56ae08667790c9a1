/** "Why is this not running?", answered in words. */

import { el, setText } from "./dom.js";
import { digits } from "./json.js";

export class Waiting {
  constructor() {
    this.words = el("p", { class: "why" });
    this.ahead = el("p", { class: "text" });
    this.workers = el("ul", { class: "could" });
    this.root = el("section", { class: "panel waiting", "aria-labelledby": "waiting-title", hidden: true },
      el("h2", { id: "waiting-title" }, "Why is this not running?"), this.words, this.ahead, this.workers);
  }

  update(item) {
    const { waiting } = item;
    this.root.hidden = item.status !== "queued" || !waiting;
    if (this.root.hidden) return;
    setText(this.words, waiting.text);
    this.root.dataset.code = waiting.code;
    const ahead = Number(String(waiting.ahead ?? 0));
    const many = `${digits(ahead)}${waiting.ahead_exact === false ? " or more" : ""}`;
    setText(this.ahead, ahead ? `${many} ${ahead === 1 ? "item" : "items"} ahead of it in the queue.` : "");
    const names = (waiting.workers ?? []).map((worker) => (typeof worker === "string" ? worker : worker.claimed_by));
    if (names.join("\n") !== this.shown) {
      this.shown = names.join("\n");
      this.workers.replaceChildren(...names.map((name) => el("li", { class: "mono" }, name)));
      this.workers.hidden = names.length === 0;
    }
  }
}
