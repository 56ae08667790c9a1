/** One item in full: kept current by the stream, with its events and the reason why it waits read when those may have changed. */

import { announce } from "./announce.js";
import { Cancelling } from "./cancelling.js";
import { el, icon, setAttribute, setText } from "./dom.js";
import { Facts } from "./facts.js";
import { ProgressBar } from "./progress.js";
import { textOf, tree } from "./result.js";
import { Timeline } from "./timeline.js";
import { Waiting } from "./waiting.js";

const REREAD = 3000;

export class Detail {
  #turn = 0;
  #timer = null;
  #reading = false;

  /**
   * @param {import("./api.js").Api} api
   * @param {object} on
   * @param {() => void} on.back
   * @param {(item: any) => void} on.cancel
   * @param {(item: any) => void} on.item an item was read
   * @param {(error: Error) => void} on.error
   */
  constructor(api, on) {
    this.api = api;
    this.on = on;
    this.item = null;
    this.root = el("article", { class: "detail", hidden: true, "aria-label": "Work item" });
  }

  /** Show an item; what the list already knows of it stands there at once. */
  async show(id, route, known) {
    this.close();
    this.id = id;
    this.#build(route);
    this.root.hidden = false;
    if (known) this.#update({ ...known });
    else setText(this.title, "Loading…");
    this.title.focus({ preventScroll: true });
    scrollTo({ top: 0 });
    await this.read();
  }

  close() {
    this.#turn += 1;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.item = null;
    this.id = null;
    this.root.hidden = true;
    this.root.removeAttribute("data-status");
    this.root.replaceChildren();
  }

  /** Read the item with its events. */
  async read() {
    const turn = this.#turn;
    this.#reading = true;
    try {
      const item = await this.api.item(this.id);
      if (turn !== this.#turn) return;
      this.on.item(item);
      this.#update(item);
    } catch (error) {
      if (turn !== this.#turn) return;
      if (error.status === 404 || error.status === 422) this.#missing();
      else this.on.error(error);
    } finally {
      this.#reading = false;
      if (turn === this.#turn) this.#plan();
    }
  }

  /** Take in a newer state of an item. */
  apply(item) {
    if (item.id !== this.id || !this.item) return;
    const before = this.item;
    this.#update({ ...item, events: before.events, waiting: before.waiting });
    const turned = ["status", "attempt", "stalls", "cancel_requested_at"].some((name) => before[name] !== item[name]);
    if (before.status !== item.status) announce("detail", `This item is now ${item.status}`);
    if (turned && !this.#reading) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.read(), 200);
    }
  }

  gone(ids) {
    if (ids.includes(this.id)) this.#missing("This item was deleted while you looked at it.");
  }

  /** Say how a cancel was answered. */
  answer(text, refused) {
    setText(this.reply, text);
    setAttribute(this.reply, "data-refused", refused ? "yes" : null);
    this.reply.hidden = !text;
  }

  /** Events change without the row where a cancel is under way; what an item waits for changes by others. */
  #plan() {
    clearTimeout(this.#timer);
    const open = this.item && (this.item.status === "queued" || (this.item.status === "running" && this.item.cancel_requested_at));
    this.#timer = open ? setTimeout(() => (document.hidden ? this.#plan() : this.read()), REREAD) : null;
  }

  #build(route) {
    this.title = el("h1", { tabindex: "-1" });
    this.chip = el("span", { class: "chip" });
    this.ident = el("span", { class: "mono ident" });
    this.button = el("button", { type: "button", class: "cancel", hidden: true }, "Cancel…");
    this.reply = el("p", { class: "reply", role: "status", hidden: true });
    const back = el("button", { type: "button", class: "quiet back" }, icon("back"), "All items");
    back.addEventListener("click", () => this.on.back());
    this.button.addEventListener("click", () => this.on.cancel(this.item));
    this.bar = null;
    this.moving = el("section", { class: "panel moving", "aria-labelledby": "moving-title", hidden: true });
    this.waiting = new Waiting(route);
    this.cancelling = new Cancelling();
    this.outcome = el("section", { class: "panel outcome", "aria-labelledby": "outcome-title", hidden: true });
    this.timeline = new Timeline(route);
    this.facts = new Facts(route);
    this.shownOutcome = "";
    this.root.replaceChildren(
      back,
      el("header", { class: "top" }, el("div", { class: "name" }, this.title, this.chip), el("div", { class: "actions" }, this.button), this.ident),
      this.reply,
      el("div", { class: "columns" },
        el("div", { class: "main" }, this.waiting.root, this.moving, this.cancelling.root, this.outcome, this.facts.root),
        el("div", { class: "side" }, this.timeline.root)),
    );
  }

  #update(item) {
    this.item = item;
    setText(this.title, item.kind);
    setText(this.ident, item.id);
    const words = item.status === "running" && item.cancel_requested_at ? "cancelling" : item.status;
    if (this.chip.textContent !== words) this.chip.replaceChildren(icon(item.status), words);
    setAttribute(this.root, "data-status", item.status);
    const open = !item.finished_at;
    this.button.hidden = false;
    setText(this.button, open ? (item.cancel_requested_at ? "Ask again…" : "Cancel…") : "Cancel…");
    setAttribute(this.button, "data-late", open ? null : "yes");
    this.waiting.update(item);
    this.#progress(item);
    this.cancelling.update(item, item.events ?? []);
    this.#outcome(item);
    this.timeline.update(item, item.events ?? []);
    this.facts.update(item);
  }

  #progress(item) {
    this.moving.hidden = item.progress_done === null && item.status !== "running";
    if (this.moving.hidden) return;
    const title = item.status === "running" ? "Progress" : "Last progress";
    if (!this.bar) {
      this.bar = new ProgressBar(`Progress of ${item.kind}`);
      this.movingTitle = el("h2", { id: "moving-title" });
      this.moving.replaceChildren(this.movingTitle, this.bar.root);
    }
    setText(this.movingTitle, title);
    this.bar.update(item);
  }

  #outcome(item) {
    const shown = `${item.status} ${item.attempt} ${item.error} ${item.result !== null}`;
    if (shown === this.shownOutcome) return;
    this.shownOutcome = shown;
    this.outcome.hidden = item.error === null && item.result === null;
    if (item.error !== null) {
      this.outcome.replaceChildren(el("h2", { id: "outcome-title" }, "Error"), el("pre", { class: "error", tabindex: "0", role: "group", "aria-labelledby": "outcome-title" }, item.error));
    } else if (item.result !== null) {
      const head = el("h2", { id: "outcome-title" }, "Result ", item.partial ? el("span", { class: "badge partial" }, "partial") : null);
      const note = item.partial ? el("p", { class: "text" }, "What the run had done when it was cancelled.") : null;
      this.outcome.replaceChildren(...[head, note, this.#copy(item.result), tree(item.result)].filter(Boolean));
    }
  }

  #copy(result) {
    if (!navigator.clipboard) return null;
    const button = el("button", { type: "button", class: "quiet copy" }, "Copy JSON");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(textOf(result));
      setText(button, "Copied");
      announce("copy", "Copied");
    });
    return button;
  }

  #missing(words = "There is no such item. It may have been deleted by retention, or with the scope it belonged to.") {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.item) {
      this.button.hidden = true;
      this.answer(words, true);
      return;
    }
    setText(this.title, "No such item");
    setText(this.ident, this.id);
    this.answer(words, false);
  }
}
