/** The statuses as tabs with their counts: links, so that each opens in a new tab of the browser as well. */

import { countInWords } from "./counts.js";
import { el, icon, setAttribute, setText } from "./dom.js";
import { STATUSES, hrefOf } from "./route.js";

export class Tabs {
  constructor() {
    this.tabs = new Map(["", ...STATUSES].map((status) => [status, tab(status)]));
    this.root = el("nav", { class: "tabs", "aria-label": "Status" }, ...[...this.tabs.values()].map(({ link }) => link));
  }

  /** Point the tabs at the route's other filters and mark the one shown. */
  show(route) {
    for (const [status, { link }] of this.tabs) {
      const statuses = status ? [status] : [];
      link.href = hrefOf({ ...route, item: null, view: "items", statuses });
      const current = status ? route.statuses.includes(status) : route.statuses.length === 0;
      setAttribute(link, "aria-current", current && route.view === "items" ? "page" : null);
    }
  }

  count(counts) {
    for (const status of STATUSES) {
      const { count } = this.tabs.get(status);
      const known = counts[status];
      if (!known) continue;
      setText(count, countInWords(known));
      setAttribute(count, "title", known.exact ? null : "an estimate from the database's statistics");
      setAttribute(count, "data-some", Number(known.count) > 0);
    }
  }
}

function tab(status) {
  const count = el("span", { class: "count" });
  const name = status ? status[0].toUpperCase() + status.slice(1) : "All";
  const link = el("a", { class: `tab ${status}`, href: "", "data-route": true }, status ? icon(status) : null, el("span", {}, name), status ? count : null);
  return { link, count };
}
