/** The filters by kind and scope. What can be chosen is what workers know and rows have shown; anything may be typed. */

import { el, setAttribute } from "./dom.js";

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export class Filters {
  /** @param {(change: {kinds?: string[], scope?: string}) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.known = { kinds: new Set(), scopes: new Set() };
    this.kind = field("kind", "Kind", "any kind");
    this.scope = field("scope", "Scope", "any scope");
    this.problem = el("span", { class: "problem", id: "filter-problem", role: "alert" });
    this.clear = el("button", { type: "button", class: "quiet", hidden: true }, "Clear filters");
    this.root = el("form", { class: "filters", role: "search", "aria-label": "Filter items" },
      this.kind.root, this.scope.root, this.clear, this.problem);
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#apply();
    });
    this.root.addEventListener("change", () => this.#apply());
    this.clear.addEventListener("click", () => {
      onChange({ kinds: [], scope: "" });
      this.kind.input.focus();
    });
  }

  show(route) {
    if (document.activeElement !== this.kind.input) this.kind.input.value = route.kinds.join(", ");
    if (document.activeElement !== this.scope.input) this.scope.input.value = route.scope;
    this.#check(this.scope.input.value.trim());
    this.clear.hidden = route.kinds.length === 0 && !route.scope;
  }

  /** Offer more kinds and scopes. */
  learn(kinds, scopes) {
    offer(this.kind.list, this.known.kinds, kinds);
    offer(this.scope.list, this.known.scopes, scopes);
  }

  focus() {
    this.kind.input.focus();
    this.kind.input.select();
  }

  #apply() {
    const kinds = this.kind.input.value.split(",").map((kind) => kind.trim()).filter(Boolean);
    const scope = this.scope.input.value.trim();
    if (this.#check(scope)) this.onChange({ kinds, scope });
  }

  #check(scope) {
    const right = !scope || UUID.test(scope);
    setAttribute(this.scope.input, "aria-invalid", right ? null : "true");
    setAttribute(this.scope.input, "aria-describedby", right ? null : "filter-problem");
    this.problem.textContent = right ? "" : "A scope is a whole UUID.";
    return right;
  }
}

function field(name, label, placeholder) {
  const list = el("datalist", { id: `known-${name}s` });
  const input = el("input", {
    id: `filter-${name}`, name, type: "text", list: list.id, placeholder, autocomplete: "off", spellcheck: "false", autocapitalize: "off",
  });
  return { input, list, root: el("div", { class: `field ${name}` }, el("label", { for: input.id }, label), input, list) };
}

function offer(list, known, values) {
  for (const value of values) {
    if (!value || known.has(value) || known.size >= 200) continue;
    known.add(value);
    list.append(el("option", { value }));
  }
}
