/** Single keys. They can be turned off, and never act while somebody types or a modifier is held. */

const OFF = "treadle-keys-off";

/** Whether single keys act. */
export function keysOn() {
  return localStorage.getItem(OFF) === null;
}

export function switchKeys(on) {
  if (on) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "yes");
}

/**
 * Call what belongs to a key.
 * @param {Record<string, (event: KeyboardEvent) => void>} keys by KeyboardEvent.key
 */
export function listenToKeys(keys) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.matches?.("input, textarea, select, [contenteditable]");
    if (typing && event.key !== "Escape") return;
    if (event.key !== "Escape" && event.key !== "?" && !keysOn()) return;
    const action = keys[event.key];
    if (!action || (event.key.startsWith("Arrow") && event.target.closest?.("details, .json, pre"))) return;
    if (action(event) !== false) event.preventDefault();
  });
}
