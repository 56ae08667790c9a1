/** The switch between the system's theme, light and dark; the choice is kept in this browser. */

import { icon, setText } from "./dom.js";

const THEMES = ["system", "light", "dark"];
const ICONS = { system: "system", light: "sun", dark: "moon" };

/** Bring a button to life as the switch. */
export function themeSwitch(button) {
  const label = button.querySelector(".label");
  const show = (theme) => {
    setText(label, `Theme: ${theme}`);
    button.title = `Theme: ${theme} (t)`;
    button.querySelector(".icon-place").replaceChildren(icon(ICONS[theme]));
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  show(document.documentElement.dataset.theme ?? "system");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % THEMES.length];
    localStorage.setItem("treadle-theme", next);
    show(next);
  });
}
