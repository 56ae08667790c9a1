/** An item's columns in words. */

import { el, setAttribute, setText } from "./dom.js";
import { hrefOf } from "./route.js";
import { requester } from "./row.js";
import { Moment, duration } from "./time.js";

export class Facts {
  constructor(route) {
    this.route = route;
    this.values = new Map();
    this.list = el("dl", { class: "facts" });
    this.root = el("section", { class: "panel facts-panel", "aria-labelledby": "facts-title" }, el("h2", { id: "facts-title" }, "Facts"), this.list);
    this.moments = new Map();
  }

  update(item) {
    if (!this.values.has("Requested by")) this.#once(item);
    this.#moment("Scheduled for", item.slot);
    this.#moment("Requested", item.requested_at);
    this.#span("Waited", item.started_at && Date.parse(item.started_at) - Date.parse(item.requested_at), item.attempt > 1 ? "until the last attempt" : "");
    this.#moment("Started", item.started_at);
    this.#moment("Finished", item.finished_at);
    this.#span("Ran", item.started_at && item.finished_at && Date.parse(item.finished_at) - Date.parse(item.started_at), "");
    this.#text("Attempt", String(item.attempt || "none yet"));
    this.#text("Stalls", String(item.stalls));
    this.#text("Worker", item.claimed_by, true);
    this.#moment("Last heartbeat", item.status === "running" ? item.updated_at : null);
    this.#moment("Lease ends", item.lease_until);
  }

  #once(item) {
    this.#node("Requested by", requester(item));
    const scope = item.scope_id
      ? el("a", { href: hrefOf({ ...this.route, item: null, scope: item.scope_id }), "data-route": true, class: "mono" }, item.scope_id)
      : "none: any worker that knows the kind";
    this.#node("Scope", scope);
    this.#node("Kind", el("a", { href: hrefOf({ ...this.route, item: null, kinds: [item.kind] }), "data-route": true }, item.kind));
  }

  #slot(name) {
    let slot = this.values.get(name);
    if (!slot) {
      slot = { value: el("dd"), root: el("div", { class: "fact" }, el("dt", {}, name)) };
      slot.root.append(slot.value);
      this.values.set(name, slot);
      this.list.append(slot.root);
    }
    return slot;
  }

  #node(name, node) {
    this.#slot(name).value.replaceChildren(node);
  }

  #text(name, text, mono = false) {
    const { root, value } = this.#slot(name);
    root.hidden = !text;
    setText(value, text ?? "");
    setAttribute(value, "class", mono ? "mono" : null);
  }

  #span(name, span, note) {
    this.#text(name, span === null || span === undefined ? null : [duration(span), note].filter(Boolean).join(" "));
  }

  #moment(name, iso) {
    const { root, value } = this.#slot(name);
    root.hidden = !iso;
    if (!this.moments.has(name)) {
      const pair = { ago: new Moment(), exact: el("span", { class: "exact" }) };
      this.moments.set(name, pair);
      value.append(pair.ago.root, pair.exact);
    }
    const { ago, exact } = this.moments.get(name);
    ago.set(iso);
    setText(exact, iso ? ago.root.dataset.absolute : "");
  }
}
