/** The page's dialogs: help, and the question before a cancel. The browser keeps the focus inside and gives it back. */

import { el, short } from "./dom.js";
import { keysOn, switchKeys } from "./keys.js";

const KEYS = [
  ["j  or  ↓", "next item"],
  ["k  or  ↑", "previous item"],
  ["Enter", "open the item"],
  ["Esc", "back to the list, leave a field"],
  ["c", "cancel the item (asks first)"],
  ["/", "filter by kind"],
  ["0 – 5", "all, queued, running, succeeded, failed, cancelled"],
  ["n", "show new items"],
  ["m", "load more"],
  ["w", "workers"],
  ["a", "absolute or relative times"],
  ["t", "theme: system, light, dark"],
  ["?", "this help"],
];

/** Show the keys, and the switch that turns them off. */
export function showHelp() {
  const close = el("button", { type: "button", class: "primary" }, "Close");
  const box = el("input", { type: "checkbox", id: "keys-on" });
  box.checked = keysOn();
  box.addEventListener("change", () => switchKeys(box.checked));
  const dialog = open("Keyboard", [
    el("dl", { class: "keys" }, ...KEYS.map(([key, what]) => el("div", {}, el("dt", {}, ...caps(key)), el("dd", {}, what)))),
    el("label", { class: "check", for: "keys-on" }, box, "Single keys act (Esc and ? always do)"),
    el("div", { class: "buttons" }, close),
  ]);
  close.addEventListener("click", () => dialog.close());
}

function caps(key) {
  return key.split(/(  or  | – )/).map((part) => (/^(  or  | – )$/.test(part) ? part.trim().length > 1 ? ` ${part.trim()} ` : " – " : el("kbd", {}, part)));
}

/** Ask before a cancel. @returns {Promise<boolean>} */
export function askToCancel(item) {
  const running = item.status === "running";
  const yes = el("button", { type: "button", class: "danger" }, running ? "Ask it to stop" : "Cancel the item");
  const no = el("button", { type: "button", class: "primary", autofocus: true }, "Keep it");
  const words = item.finished_at
    ? "It has already ended; the queue will say so."
    : running
      ? "The worker learns of it with its next heartbeat, and the run stops as soon as its handler lets it. What it has done so far stays."
      : "It leaves the queue at once and is not run.";
  const dialog = open(`Cancel ${item.kind}?`, [el("p", { class: "mono" }, short(item.id)), el("p", {}, words), el("div", { class: "buttons" }, no, yes)]);
  return new Promise((resolve) => {
    yes.addEventListener("click", () => dialog.close("yes"));
    no.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

function open(title, children) {
  const heading = el("h2", { id: "dialog-title" }, title);
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, heading, ...children);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
