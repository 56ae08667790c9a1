/**
 * The list of items: pages loaded by cursor, changes pushed into rows.
 *
 * Nothing moves under a reader. New rows come in by themselves only while the page is at its top and nobody points
 * at, has focus in or selects from the list; otherwise a bar says how many there are. A row that no longer belongs
 * to the tab stays where it is, faded, and says why, until the list is read again.
 */

import { announce } from "./announce.js";
import { el, icon, setAttribute, setText } from "./dom.js";
import { hrefOf, matches, sameFilter } from "./route.js";
import { Row } from "./row.js";
import { absolute } from "./time.js";

const AT_ONCE = 25;
const GROWN = 500;
const GROUP = 100; // rows that the browser lays out, or leaves alone, together

export class List {
  /** @type {Map<string, Row>} */
  rows = new Map();
  /** Ids in the order of the list, newest first. */
  #order = [];
  #pending = new Map();
  #next = null;
  #grown = 0;
  #loading = 0;

  /**
   * @param {import("./api.js").Api} api
   * @param {object} on
   * @param {(page: any) => void} on.page a page of the API has come
   * @param {(error: Error) => void} on.error
   */
  constructor(api, on) {
    this.api = api;
    this.on = on;
    this.route = null;
    this.body = el("div", { class: "rows" });
    this.table = el("div", { role: "table", class: "table", "aria-label": "Work items", "aria-rowcount": "-1" }, heading(), this.body);
    this.news = el("button", { type: "button", class: "news", hidden: true });
    this.empty = el("div", { class: "empty", hidden: true });
    this.more = el("button", { type: "button", class: "more" }, "Load more");
    this.searched = el("span", { class: "searched" });
    this.foot = el("div", { class: "foot", hidden: true }, this.searched, this.more);
    this.root = el("section", { class: "list", "aria-label": "Items" }, el("div", { class: "news-place" }, this.news), this.table, this.empty, this.foot);
    this.news.addEventListener("click", () => this.#refresh());
    this.more.addEventListener("click", () => this.loadMore());
    this.body.addEventListener("pointerleave", () => this.#settle());
    addEventListener("scroll", () => this.#settle(), { passive: true });
  }

  /** Read the first page of what the route lists. */
  async load(route) {
    const other = this.route === null || !sameFilter(this.route, route);
    this.route = route;
    const turn = ++this.#loading;
    this.root.setAttribute("aria-busy", "true");
    try {
      const page = await this.api.items(route);
      if (turn !== this.#loading) return null;
      this.#clear();
      this.#take(page);
      return page;
    } catch (error) {
      if (turn === this.#loading) {
        if (other) this.#blank();
        this.on.error(error);
      }
      return null;
    } finally {
      if (turn === this.#loading) this.root.removeAttribute("aria-busy");
    }
  }

  async loadMore() {
    if (this.#next === null || this.root.hasAttribute("aria-busy")) return;
    const turn = ++this.#loading;
    this.root.setAttribute("aria-busy", "true");
    setText(this.more, "Loading…");
    const focused = document.activeElement === this.more;
    try {
      const page = await this.api.items(this.route, { after: this.#next, limit: 100 });
      if (turn !== this.#loading) return;
      this.#take(page);
      announce("list", `${page.items.length} more items`);
      if (focused && page.items.length) this.rows.get(page.items[0].id)?.link.focus();
    } catch (error) {
      if (turn === this.#loading) this.on.error(error);
    } finally {
      if (turn === this.#loading) {
        this.root.removeAttribute("aria-busy");
        setText(this.more, "Load more");
      }
    }
  }

  /** Take in an item's new state, from the stream or from an answer. */
  apply(item, fromStream = true) {
    const row = this.rows.get(item.id);
    if (row) {
      if (fromStream ? overtaken(row, item) : newer(row.item, item)) return;
      row.fetched = !fromStream;
      row.update(item);
      row.leave(matches(this.route, item) ? null : `now ${item.status}`);
    } else if (this.route && matches(this.route, item) && this.#inReach(item.id)) this.#pending.set(item.id, item);
    else this.#pending.delete(item.id);
  }

  /** Deleted items: rows stay and say so. */
  gone(ids) {
    for (const id of ids) {
      this.#pending.delete(id);
      const row = this.rows.get(id);
      if (!row) continue;
      row.root.dataset.status = "gone";
      row.mark.replaceChildren(icon("gone"));
      setText(row.status, "Deleted");
      row.leave("deleted");
    }
  }

  /** Show what a burst of changes left to show; called once after each. */
  settled() {
    this.#settle();
    this.#describe();
  }

  /** The row that has the focus. */
  get focused() {
    const root = document.activeElement?.closest?.(".row");
    return root ? this.rows.get(root.id.slice(4)) ?? null : null;
  }

  /** Move the focus by rows; past the last one lies the button for more. */
  step(by) {
    const focused = this.focused;
    const at = focused ? this.#order.indexOf(focused.id) : document.activeElement === this.more ? this.#order.length : by > 0 ? -1 : 0;
    const to = at + by;
    if (to >= this.#order.length && !this.foot.hidden && !this.more.hidden) return this.more.focus();
    this.focus(this.#order[Math.min(Math.max(0, to), this.#order.length - 1)]);
  }

  /** Put the focus on an item's row; false when it is not in the list. */
  focus(id) {
    const row = this.rows.get(id);
    row?.link.focus();
    row?.root.scrollIntoView({ block: "nearest" });
    return Boolean(row);
  }

  #clear() {
    this.rows.clear();
    this.#order = [];
    this.#pending.clear();
    this.#grown = 0;
    this.body.replaceChildren();
  }

  /** Show nothing rather than what belongs to other filters. */
  #blank() {
    this.#clear();
    for (const part of [this.table, this.empty, this.foot, this.news]) part.hidden = true;
  }

  #take(page) {
    for (const item of page.items) this.#insert(item).fetched = true;
    this.#next = page.next ?? null;
    this.searchedTo = page.searched_to ?? null;
    for (const item of page.items) this.#pending.delete(item.id);
    this.on.page(page);
    this.#describe();
  }

  /** Whether an unknown item would stand within the pages loaded so far. */
  #inReach(id) {
    return this.#next === null || this.#order.length === 0 || id > this.#order.at(-1);
  }

  #insert(item) {
    const known = this.rows.get(item.id);
    if (known) {
      if (!newer(known.item, item)) known.update(item);
      return known;
    }
    const row = new Row(item, (id) => hrefOf({ ...this.route, item: id }));
    const at = placeOf(this.#order, item.id);
    const before = at < this.#order.length ? this.rows.get(this.#order[at]).root : null;
    const group = before?.parentElement ?? this.#lastGroup();
    group.insertBefore(row.root, before);
    group.style.setProperty("--rows", String(group.childElementCount));
    this.#order.splice(at, 0, item.id);
    this.rows.set(item.id, row);
    return row;
  }

  /** Where the next row at the end goes. */
  #lastGroup() {
    const last = this.body.lastElementChild;
    if (last && last.childElementCount < GROUP) return last;
    return this.body.appendChild(el("div", { role: "rowgroup", class: "group" }));
  }

  /** Let new rows in where that disturbs nobody, else say how many there are. */
  #settle() {
    const count = this.#pending.size;
    const calm = count <= AT_ONCE && this.#grown + count <= GROWN && this.#atRest();
    if (count && calm) {
      for (const item of this.#pending.values()) setAttribute(this.#insert(item).root, "data-new", "yes");
      this.#grown += count;
      this.#pending.clear();
      announce("list", count === 1 ? "1 new item" : `${count} new items`);
      this.#describe();
    }
    const left = this.#pending.size;
    const words = left ? `${left.toLocaleString("en")} new` : "";
    if (words && words !== this.news.textContent) announce("list", `${words}, not shown yet`);
    setText(this.news, words);
    this.news.hidden = !left;
  }

  #atRest() {
    const selection = getSelection();
    return (
      !this.root.hidden && scrollY < 8 && !this.body.contains(document.activeElement) && !this.body.matches(":hover") &&
      (selection === null || selection.isCollapsed || !this.root.contains(selection.anchorNode))
    );
  }

  async #refresh() {
    await this.load(this.route);
    scrollTo({ top: 0 });
    this.settled();
    if (this.#order.length) this.focus(this.#order[0]);
  }

  #describe() {
    const none = this.#order.length === 0;
    this.table.hidden = none;
    this.foot.hidden = none && this.#next === null;
    this.more.hidden = this.#next === null;
    this.empty.hidden = !none || this.#next !== null;
    const filtered = this.route && (this.route.kinds.length > 0 || this.route.scope || this.route.statuses.length > 0);
    if (!this.empty.hidden) {
      this.empty.replaceChildren(
        el("p", { class: "big" }, filtered ? "No item matches" : "No work yet"),
        el("p", {}, filtered ? "Nothing in the queue has this status, kind and scope. New items appear here by themselves." : "Items appear here by themselves as soon as something is queued."),
      );
    }
    const count = `${this.#order.length.toLocaleString("en")} ${this.#order.length === 1 ? "item" : "items"}`;
    const searched = this.#next !== null && this.searchedTo ? `, searched back to ${absolute(Date.parse(this.searchedTo))}` : "";
    setText(this.searched, this.#next === null ? `${count}, all there are` : `${count} shown${searched}`);
  }
}

/** Whether a frame of the stream is older than what an answer has already shown; the stream will tell it again. */
function overtaken(row, item) {
  const lead = Date.parse(row.item.updated_at) - Date.parse(item.updated_at);
  return row.fetched && lead > 0 && lead < 10_000;
}

function newer(known, item) {
  return known.attempt > item.attempt || (known.attempt === item.attempt && Date.parse(known.updated_at) > Date.parse(item.updated_at));
}

/** Where an id belongs in ids that fall. */
function placeOf(order, id) {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order[middle] > id) low = middle + 1;
    else high = middle;
  }
  return low;
}

function heading() {
  const titles = ["Status", "Kind", "Requested", "Worker", "Progress"];
  return el("div", { role: "rowgroup", class: "head" },
    el("div", { role: "row", class: "row" }, ...titles.map((title) => el("div", { role: "columnheader", class: "cell" }, title))));
}
