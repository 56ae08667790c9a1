/** A result as a tree to fold; large parts are built when somebody opens them. */

import { el } from "./dom.js";
import { ExactNumber } from "./json.js";

const PART = 100;

/** JSON as it can be pasted elsewhere: digits are those of the API. */
export function textOf(value, indent = "") {
  if (value instanceof ExactNumber) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}  `;
  const array = Array.isArray(value);
  const parts = array
    ? value.map((entry) => deeper + textOf(entry, deeper))
    : Object.entries(value).map(([key, entry]) => `${deeper}${JSON.stringify(key)}: ${textOf(entry, deeper)}`);
  const [open, close] = array ? "[]" : "{}";
  return parts.length ? `${open}\n${parts.join(",\n")}\n${indent}${close}` : open + close;
}

/** The tree of a JSON value. */
export function tree(value) {
  return el("div", { class: "json", tabindex: "0", role: "group", "aria-label": "Result as JSON" }, node(null, value, 0));
}

function node(key, value, depth) {
  const label = key === null ? [] : [el("span", { class: "key" }, key), ": "];
  if (value === null || typeof value !== "object" || value instanceof ExactNumber) return el("div", { class: "leaf" }, ...label, leaf(value));
  const entries = Array.isArray(value) ? value.map((entry, at) => [String(at), entry]) : Object.entries(value);
  const count = `${entries.length.toLocaleString("en")} ${entries.length === 1 ? "entry" : "entries"}`;
  const brackets = Array.isArray(value) ? "[ ]" : "{ }";
  if (entries.length === 0) return el("div", { class: "leaf" }, ...label, el("span", { class: "size" }, `${brackets} empty`));
  const inside = el("div", { class: "inside" });
  const fold = el("details", {}, el("summary", {}, ...label, el("span", { class: "size" }, `${brackets} ${count}`)), inside);
  let built = 0;
  const build = () => {
    inside.querySelector(":scope > button")?.remove();
    inside.append(...entries.slice(built, built + PART).map(([name, entry]) => node(name, entry, depth + 1)));
    built += PART;
    if (built < entries.length) {
      const more = el("button", { type: "button", class: "quiet" }, `Show ${Math.min(PART, entries.length - built)} more`);
      more.addEventListener("click", build);
      inside.append(more);
    }
  };
  fold.addEventListener("toggle", () => fold.open && built === 0 && build());
  if (depth === 0 || (depth === 1 && entries.length <= 20)) {
    build();
    fold.open = true;
  }
  return fold;
}

function leaf(value) {
  const kind = value === null ? "null" : value instanceof ExactNumber ? "number" : typeof value;
  return el("span", { class: `value ${kind}` }, kind === "string" ? JSON.stringify(value) : String(value));
}
