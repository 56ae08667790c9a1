/** Puts the page together: the address says what to show, the stream keeps it true. */

import { announce } from "./announce.js";
import { Api, Problem, Refused, SignedOut } from "./api.js";
import { Auth } from "./auth.js";
import { Connection } from "./connection.js";
import { Counts } from "./counts.js";
import { Detail } from "./detail.js";
import { askToCancel, showHelp } from "./dialogs.js";
import { el, setAttribute, setText } from "./dom.js";
import { Filters } from "./filters.js";
import { listenToKeys } from "./keys.js";
import { List } from "./list.js";
import { Router, STATUSES, hrefOf, sameFilter } from "./route.js";
import { SignIn } from "./sign_in.js";
import { Stream } from "./stream.js";
import { Tabs } from "./tabs.js";
import { themeSwitch } from "./theme_switch.js";
import { showAbsolute, startTicking } from "./time.js";
import { Workers } from "./workers.js";

const AGAIN = 4000;

class Page {
  #scroll = 0;
  #cleared = false;

  constructor(config) {
    this.title = document.title;
    this.auth = new Auth(config.sign_in, () => this.#whoChanged());
    this.api = new Api(config.api, this.auth);
    const error = (what) => this.#trouble(what);
    this.counts = new Counts(this.api, (counts) => this.#showCounts(counts), error);
    this.list = new List(this.api, { page: (page) => this.#learn(page.items), error });
    this.detail = new Detail(this.api, {
      back: () => this.router.back(),
      cancel: (item) => this.#cancel(item),
      item: (item) => this.list.apply(item, false),
      error,
    });
    this.workers = new Workers(this.api, { workers: (workers) => this.#showWorkers(workers), error });
    this.tabs = new Tabs();
    this.filters = new Filters((change) => this.router.go({ ...change, item: null, view: "items" }));
    this.stream = new Stream(this.api, { event: (name, data) => this.#event(name, data), state: (state) => this.#state(state) });
    this.router = new Router((route, before) => this.#show(route, before));
    this.signIn = new SignIn(this.auth);
    this.#mount();
  }

  async start() {
    await this.auth.restore();
    startTicking();
    this.router.start();
    this.#whoChanged();
  }

  #mount() {
    const main = document.getElementById("main");
    this.heading = el("h1", { class: "sr" });
    this.listView = el("div", {}, this.heading, this.tabs.root, this.filters.root, this.list.root);
    this.trouble = el("div", { class: "trouble", role: "alert", hidden: true });
    this.refused = el("section", { class: "not-allowed", hidden: true });
    main.replaceChildren(this.trouble, this.refused, this.listView, this.detail.root, this.workers.root);
    this.connection = new Connection(document.getElementById("connection"), () => this.stream.retry());
    themeSwitch(document.getElementById("theme"));
    const times = document.getElementById("times");
    times.addEventListener("click", () => {
      const absolute = times.getAttribute("aria-pressed") !== "true";
      times.setAttribute("aria-pressed", String(absolute));
      showAbsolute(absolute);
    });
    document.getElementById("help").addEventListener("click", showHelp);
    document.getElementById("sign-out").addEventListener("click", () => this.auth.signOut());
    listenToKeys(this.#keys());
  }

  // What to show -----------------------------------------------------------------------------------------------

  #show(route, before) {
    this.tabs.show(route);
    this.filters.show(route);
    for (const link of document.querySelectorAll("nav.views a")) {
      const view = link.dataset.view;
      link.href = hrefOf({ ...route, item: null, view });
      setAttribute(link, "aria-current", route.view === view && !route.item ? "page" : null);
    }
    const showing = route.item ? "detail" : route.view;
    if (!this.listView.hidden && showing !== "items" && before) this.#scroll = scrollY;
    this.listView.hidden = showing !== "items";
    this.workers.root.hidden = showing !== "workers";
    this.#titled(route);
    if (!this.auth.signedIn) return;
    const reread = !this.list.route || !sameFilter(this.list.route, route);
    const leaving = this.detail.id;
    if (route.item) {
      if (route.item !== leaving) this.detail.show(route.item, route, this.list.rows.get(route.item)?.item);
    } else if (leaving) {
      this.detail.close();
      if (showing === "items" && !reread) {
        scrollTo({ top: this.#scroll });
        this.list.focus(leaving);
      }
    }
    if (showing === "workers") this.workers.load();
    if (reread) {
      if (showing === "items" && before) scrollTo({ top: 0 });
      this.#read(route);
    }
  }

  #titled(route) {
    const what = route.item ? "Item" : route.view === "workers" ? "Workers" : route.statuses.map((status) => status[0].toUpperCase() + status.slice(1)).join(", ");
    setText(this.heading, what && !route.item ? `${what} items` : "All items");
    document.title = what ? `${what} · ${this.title}` : this.title;
  }

  /** Read the list; the first time, the stream follows from the state it was read at. */
  async #read(route) {
    const page = await this.list.load(route);
    if (!page) return this.stream.started ? undefined : this.#later(() => this.stream.started || this.#read(this.router.route));
    this.#calm();
    if (!this.stream.started) this.stream.start(page.cursor);
    this.counts.soon();
  }

  /** Read everything anew and follow from there: the server says that events are missing. */
  async #reload() {
    const page = await this.list.load(this.router.route);
    if (!page) return this.#later(() => this.#reload());
    this.stream.start(page.cursor);
    this.counts.load();
    if (this.detail.id) this.detail.read();
  }

  /** Try again in a while what has to succeed before the stream can follow. */
  #later(work) {
    if (!this.auth.signedIn || !this.refused.hidden) return;
    this.connection.show({ name: "waiting", until: Date.now() + AGAIN });
    clearTimeout(this.again);
    this.again = setTimeout(work, AGAIN);
  }

  #whoChanged() {
    const { signedIn, name } = this.auth;
    document.getElementById("sign-out").hidden = !signedIn || this.auth.way.way === "proxy";
    setText(document.getElementById("who"), name);
    if (!signedIn) {
      this.signIn.ask(this.#cleared ? "You are signed out. Sign in to go on where you were." : "Sign in to see the work.");
      this.connection.show({ name: "signed-out" });
      return;
    }
    this.#cleared = true;
    this.signIn.close();
    this.refused.hidden = true;
    document.getElementById("main").removeAttribute("data-refused");
    this.counts.load();
    this.workers.load();
    this.api.kinds().then((kinds) => this.filters.learn(kinds, []), (error) => this.#trouble(error));
    const { route } = this.router;
    if (this.stream.started) {
      this.stream.resume();
      if (this.detail.id) this.detail.read();
      if (!this.list.route || this.list.rows.size === 0) this.#read(route);
    } else {
      this.list.route = null;
      this.#show(route, null);
    }
  }

  // What comes in ----------------------------------------------------------------------------------------------

  #event(name, data) {
    if (name === "item") {
      this.counts.moved(data);
      this.list.apply(data);
      this.detail.apply(data);
      this.filters.learn([data.kind], [data.scope_id]);
      this.#soon();
    } else if (name === "gone") {
      this.list.gone(data.ids);
      this.detail.gone(data.ids);
      this.counts.soon();
      this.#soon();
    } else if (name === "reload") {
      announce("connection", "Reading everything anew");
      this.#reload();
    }
  }

  /** Let the list settle once after a burst of frames. */
  #soon() {
    this.settling ??= setTimeout(() => {
      this.settling = null;
      this.list.settled();
    }, 50);
  }

  #state(state) {
    this.connection.show(state);
    if (state.name === "live") this.#calm();
    if (state.name === "refused") this.#notAllowed(state.why);
    if (state.name === "signed-out" && !this.auth.signedIn) this.signIn.ask("Your session is over. Sign in to go on where you were.");
    if (state.name === "signed-out" && this.auth.way.way === "proxy") this.signIn.ask("The proxy in front of this page has signed you out.");
  }

  #learn(items) {
    for (const item of items) this.counts.seen(item);
    this.filters.learn(items.map((item) => item.kind), items.map((item) => item.scope_id));
  }

  #showCounts(counts) {
    this.tabs.count(counts);
  }

  #showWorkers(workers) {
    const alive = workers.filter((worker) => worker.alive).length;
    setText(document.getElementById("alive"), String(alive));
    setAttribute(document.getElementById("alive"), "data-none", alive ? null : "yes");
    this.filters.learn(workers.flatMap((worker) => [...worker.kinds]), workers.flatMap((worker) => worker.scopes ?? []));
  }

  // What goes wrong --------------------------------------------------------------------------------------------

  #trouble(error) {
    if (error instanceof SignedOut) return this.#state({ name: "signed-out", why: error.message });
    if (error instanceof Refused) return this.#notAllowed(error.message);
    const again = el("button", { type: "button", class: "quiet" }, "Try again");
    again.addEventListener("click", () => {
      this.#read(this.router.route);
      this.counts.load();
      if (this.detail.id) this.detail.read();
    });
    const words = error instanceof Problem ? `The server could not answer: ${error.message}` : "The server cannot be reached. What you see may be out of date.";
    this.trouble.replaceChildren(el("p", {}, words), again);
    this.trouble.hidden = false;
  }

  #calm() {
    this.trouble.hidden = true;
  }

  #notAllowed(why) {
    this.connection.show({ name: "refused", why });
    this.workers.stop();
    const out = el("button", { type: "button", class: "primary" }, "Sign in as somebody else");
    out.addEventListener("click", () => this.auth.signOut());
    this.refused.replaceChildren(...[
      el("h1", {}, "This is for admins"),
      el("p", {}, `You are signed in${this.auth.name ? ` as ${this.auth.name}` : ""}, but may not see work items.`),
      el("p", { class: "text" }, why),
      this.auth.way.way === "proxy" ? null : out,
    ].filter(Boolean));
    this.refused.hidden = false;
    document.getElementById("main").dataset.refused = "yes";
  }

  // What people do ---------------------------------------------------------------------------------------------

  async #cancel(item) {
    if (!item || !(await askToCancel(item))) return;
    const say = (words, refused) => {
      if (this.detail.id === item.id) this.detail.answer(words, refused);
      else if (refused) this.#trouble(new Problem(409, words));
      announce("cancel", words);
    };
    try {
      const answer = await this.api.cancel(item.id);
      this.counts.moved(answer.item);
      this.list.apply(answer.item, false);
      this.detail.apply(answer.item);
      say(answer.cancellation === "cancelled" ? "Cancelled: it never ran." : "Asked to stop. The worker learns of it with its next heartbeat.", false);
    } catch (error) {
      if (error instanceof Problem) say(`Not cancelled: ${error.message}`, true);
      else this.#trouble(error);
      if (this.detail.id === item.id) this.detail.read();
    }
  }

  #keys() {
    const step = (by) => () => (this.listView.hidden ? false : this.list.step(by));
    const status = (wanted) => () => this.router.go({ item: null, view: "items", statuses: wanted ? [wanted] : [] });
    return {
      j: step(1),
      ArrowDown: step(1),
      k: step(-1),
      ArrowUp: step(-1),
      "/": () => {
        if (this.listView.hidden) this.router.go({ item: null, view: "items" });
        this.filters.focus();
      },
      c: () => void this.#cancel(this.detail.item ?? this.list.focused?.item),
      n: () => (this.list.news.hidden ? false : this.list.news.click()),
      m: () => (this.listView.hidden ? false : void this.list.loadMore()),
      w: () => this.router.go({ item: null, view: "workers" }),
      a: () => document.getElementById("times").click(),
      t: () => document.getElementById("theme").click(),
      "?": () => showHelp(),
      Escape: (event) => this.#escape(event),
      ...Object.fromEntries(["", ...STATUSES].map((name, at) => [String(at), status(name)])),
    };
  }

  #escape(event) {
    if (event.target.matches("input")) return event.target.blur();
    if (this.detail.id) return this.router.back();
    if (!this.workers.root.hidden) return this.router.go({ view: "items" });
    document.activeElement?.blur?.();
    return false;
  }
}

new Page(JSON.parse(document.body.dataset.config)).start();
