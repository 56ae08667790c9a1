/** An item's life, moment by moment: the ordinary ones from its row, the exceptional ones from its events. */

import { el, icon, setText, short } from "./dom.js";
import { hrefOf } from "./route.js";
import { Moment, duration } from "./time.js";

/**
 * @typedef {object} Entry
 * @property {string} what names icon and colour
 * @property {string} at ISO time
 * @property {string} title
 * @property {string} [text] more about it
 * @property {string} [item] another item to link to
 */

/**
 * The moments of an item's life, oldest first.
 * @returns {Entry[]}
 */
export function entriesOf(item, events) {
  const entries = [
    { what: "requested", at: item.requested_at, title: "Requested", text: item.requested_by === null ? "by the scheduler" : `by ${item.requested_by}` },
    ...events.map((event) => exceptional(item, event)),
  ];
  if (item.started_at) {
    entries.push({ what: "claimed", at: item.started_at, title: `Claimed, attempt ${item.attempt}`, text: item.claimed_by ? `by ${item.claimed_by}` : undefined });
  }
  if (item.cancel_requested_at) entries.push({ what: "cancel_requested", at: item.cancel_requested_at, title: "Cancel requested" });
  if (item.finished_at) entries.push(ending(item));
  // Where times are equal, the order above is the order of things.
  return entries.map((entry, at) => [Date.parse(entry.at), at, entry]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((sorted) => sorted[2]);
}

function exceptional(item, event) {
  const attempt = `attempt ${event.attempt}`;
  const by = event.detail ? `: ${event.detail}` : "";
  switch (event.event) {
    case "stalled":
      return { what: "stalled", at: event.at, title: `Stalled, ${attempt}`, text: `its lease ran out without a sign of life${by}` };
    case "released":
      return { what: "released", at: event.at, title: `Handed back, ${attempt}`, text: `the worker gave it back to the queue; no stall${by}` };
    case "refused":
      return { what: "refused", at: event.at, title: `Late write refused, ${attempt}`, text: `a worker that had lost its lease tried to write; the database turned it away${by}` };
    case "cancel_delivered":
      return { what: "cancel_delivered", at: event.at, title: `Cancel delivered, ${attempt}`, text: `a heartbeat brought it to the worker${by}` };
    case "superseded":
      return { what: "superseded", at: event.at, title: `Superseded, ${attempt}`, text: "a queued item with the same dedup key took over", item: item.superseded_by ?? undefined };
    default:
      return { what: "other", at: event.at, title: `${event.event}, ${attempt}`, text: event.detail ?? undefined };
  }
}

function ending(item) {
  const titles = { succeeded: "Succeeded", failed: "Failed", cancelled: "Cancelled" };
  const text = item.status === "failed" ? undefined : item.partial ? "with a partial result" : undefined;
  return { what: item.status, at: item.finished_at, title: titles[item.status], text };
}

export class Timeline {
  #shown = "";

  constructor(route) {
    this.route = route;
    this.list = el("ol", { class: "timeline" });
    this.root = el("section", { class: "panel", "aria-labelledby": "timeline-title" }, el("h2", { id: "timeline-title" }, "Timeline"), this.list);
  }

  update(item, events) {
    const entries = entriesOf(item, events);
    const open = { queued: "Waiting", running: "Running" }[item.status];
    const shown = JSON.stringify([entries, open]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const nodes = entries.map((entry, at) => this.#entry(entry, entries[at - 1]));
    if (open) {
      const since = new Moment("since").set(entries.at(-1).at);
      nodes.push(el("li", { class: `entry now ${item.status}` }, el("span", { class: "mark" }, icon(item.status)),
        el("div", {}, el("p", { class: "title" }, `${open} now`), el("p", { class: "when" }, "for ", since.root))));
    }
    this.list.replaceChildren(...nodes);
  }

  #entry(entry, before) {
    const after = before ? Date.parse(entry.at) - Date.parse(before.at) : null;
    const when = el("p", { class: "when" }, new Moment().set(entry.at).root);
    if (after !== null && after >= 50) when.append(el("span", { class: "after" }, `${duration(after)} later`));
    const text = entry.text ? el("p", { class: "text" }, entry.text) : null;
    const other = entry.item
      ? el("p", { class: "text" }, el("a", { href: hrefOf({ ...this.route, item: entry.item }), "data-route": true, class: "mono" }, `item ${short(entry.item)}`))
      : null;
    return el("li", { class: `entry ${entry.what}` }, el("span", { class: "mark" }, icon(entry.what)),
      el("div", {}, el("p", { class: "title" }, entry.title), when, text, other));
  }
}
