/** The sign-in, in front of a page that stays as it was. */

import { el, setText } from "./dom.js";

export class SignIn {
  #dialog = null;

  /** @param {import("./auth.js").Auth} auth */
  constructor(auth) {
    this.auth = auth;
  }

  /** Ask who is there; *words* say why. */
  ask(words) {
    if (this.#dialog) return;
    const { way } = this.auth.way;
    const fields = { password: passwordFields, token: tokenField, proxy: () => ({ inputs: [], send: () => location.reload() }) }[way](this.auth);
    const problem = el("p", { class: "problem", role: "alert" });
    const button = el("button", { type: "submit", class: "primary" }, way === "proxy" ? "Reload the page" : "Sign in");
    const form = el("form", {}, el("h2", { id: "sign-in-title" }, "Sign in"), el("p", { class: "text" }, words), ...fields.inputs, problem, button);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      setText(problem, "");
      try {
        await fields.send();
      } catch (error) {
        setText(problem, sentence(error));
        form.querySelector("input:last-of-type")?.focus();
      } finally {
        button.disabled = false;
      }
    });
    this.#dialog = el("dialog", { class: "sign-in", "aria-labelledby": "sign-in-title" }, form);
    this.#dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(this.#dialog);
    this.#dialog.showModal();
  }

  /** Somebody is signed in: out of the way. */
  close() {
    this.#dialog?.close();
    this.#dialog?.remove();
    this.#dialog = null;
  }
}

function passwordFields(auth) {
  const name = el("input", { id: "username", name: "username", autocomplete: "username", required: true, autofocus: true, autocapitalize: "off", spellcheck: "false" });
  const password = el("input", { id: "password", name: "password", type: "password", autocomplete: "current-password", required: true });
  return {
    inputs: [field("Name", name), field("Password", password)],
    send: () => auth.signIn(name.value, password.value),
  };
}

function tokenField(auth) {
  const token = el("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true, autofocus: true });
  return { inputs: [field(auth.way.label ?? "Access token", token)], send: () => auth.useToken(token.value.trim()) };
}

function field(label, input) {
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input);
}

function sentence(error) {
  return error instanceof TypeError ? "The server cannot be reached. Is it running?" : error.message;
}
