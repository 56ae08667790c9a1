/** What the address says the page should show; every view and filter has an address. */

/**
 * @typedef {object} Route
 * @property {"items" | "workers"} view
 * @property {string | null} item an item's id: its detail
 * @property {string[]} statuses
 * @property {string[]} kinds
 * @property {string} scope
 */

export const STATUSES = ["queued", "running", "succeeded", "failed", "cancelled"];

/** @returns {Route} */
export function parseRoute(search) {
  const query = new URLSearchParams(search);
  return {
    view: query.get("view") === "workers" ? "workers" : "items",
    item: query.get("item"),
    statuses: STATUSES.filter((status) => query.getAll("status").includes(status)),
    kinds: [...new Set(query.getAll("kind").filter(Boolean))],
    scope: query.get("scope") ?? "",
  };
}

/** The address of a route, relative to the page. */
export function hrefOf(route) {
  const query = filterQuery(route);
  if (route.view === "workers") query.append("view", "workers");
  if (route.item) query.append("item", route.item);
  const text = query.toString();
  return text ? `?${text}` : location.pathname;
}

/** The filter part of a route as query parameters, under the names of the address. */
function filterQuery(route) {
  const query = new URLSearchParams();
  for (const status of route.statuses) query.append("status", status);
  for (const kind of route.kinds) query.append("kind", kind);
  if (route.scope) query.append("scope", route.scope);
  return query;
}

/** Whether an item belongs to what the route lists. */
export function matches(route, item) {
  return (
    (route.statuses.length === 0 || route.statuses.includes(item.status)) &&
    (route.kinds.length === 0 || route.kinds.includes(item.kind)) &&
    (!route.scope || route.scope.toLowerCase() === item.scope_id)
  );
}

/** Whether two routes list the same. */
export function sameFilter(one, other) {
  return filterQuery(one).toString() === filterQuery(other).toString();
}

/** Follows the address: links inside the page, the back button, and its own moves. */
export class Router {
  /** @param {(route: Route, before: Route | null) => void} show */
  constructor(show) {
    this.show = show;
    this.route = parseRoute(location.search);
    this.depth = 0;
  }

  start() {
    addEventListener("popstate", () => this.#move(parseRoute(location.search)));
    document.addEventListener("click", (event) => this.#click(event));
    this.show(this.route, null);
  }

  /** Go to a route that differs from the current one as told. */
  go(change, { replace = false } = {}) {
    const route = { ...this.route, ...change };
    const href = hrefOf(route);
    if (replace) history.replaceState(null, "", href);
    else history.pushState(null, "", href);
    if (!replace) this.depth += 1;
    this.#move(route);
  }

  /** To the list: by the back button where that leads there, so that the history stays short. */
  back() {
    if (this.depth > 0) {
      this.depth -= 1;
      history.back();
    } else this.go({ item: null, view: "items" }, { replace: true });
  }

  #move(route) {
    const before = this.route;
    this.route = route;
    this.show(route, before);
  }

  #click(event) {
    const link = event.target.closest("a[data-route]");
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    this.go(parseRoute(new URL(link.href).search));
  }
}
