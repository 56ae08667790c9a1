/** The life of a cancel request: requested, delivered to the worker, stopped; or what became of it instead. */

import { el, icon } from "./dom.js";
import { Moment, duration } from "./time.js";

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {"done" | "open" | "none" | "missed"} state "missed": it came to something else
 * @property {string} [at] ISO time of a step that is done
 * @property {string} [text]
 */

/**
 * The three steps, or null when nobody asked.
 * @returns {Step[] | null}
 */
export function stepsOf(item, events) {
  const asked = item.cancel_requested_at;
  if (!asked) return null;
  const brought = events.findLast((event) => event.event === "cancel_delivered" && event.attempt === item.attempt);
  const requested = { title: "Requested", state: "done", at: asked };
  if (item.status === "cancelled" && !brought) {
    const never = item.started_at === null || Date.parse(item.finished_at) - Date.parse(asked) < 1;
    return [
      requested,
      { title: "Not delivered", state: "none", text: never ? "no worker held it" : "the worker was gone or gave it back first" },
      { title: "Stopped", state: "done", at: item.finished_at, text: never ? "it left the queue at once" : "not run again" },
    ];
  }
  const delivered = brought
    ? { title: "Delivered", state: "done", at: brought.at, text: "the worker knows" }
    : item.finished_at
      ? { title: "Not delivered", state: "none", text: "the run ended before the next heartbeat" }
      : { title: "Delivering", state: "open", text: "with the worker's next heartbeat" };
  return [requested, delivered, lastStep(item, Boolean(brought))];
}

function lastStep(item, delivered) {
  if (item.status === "cancelled") return { title: "Stopped", state: "done", at: item.finished_at, text: item.partial ? "with a partial result" : undefined };
  if (item.finished_at) return { title: "Finished anyway", state: "missed", at: item.finished_at, text: `it ${item.status}` };
  return { title: "Stopping", state: delivered ? "open" : "none", text: delivered ? "the handler is ending its run" : "after delivery" };
}

const MARKS = { done: "succeeded", open: "running", none: "queued", missed: "stalled" };

export class Cancelling {
  #shown = "";

  constructor() {
    this.list = el("ol", { class: "steps" });
    this.root = el("section", { class: "panel cancelling", "aria-labelledby": "cancelling-title", hidden: true },
      el("h2", { id: "cancelling-title" }, "Cancellation"), this.list);
  }

  update(item, events) {
    const steps = stepsOf(item, events);
    this.root.hidden = steps === null;
    const shown = JSON.stringify(steps);
    if (steps === null || shown === this.#shown) return;
    this.#shown = shown;
    let before = null;
    const nodes = steps.map((step) => {
      const node = this.#step(step, before);
      before = step.at ?? before;
      return node;
    });
    this.list.replaceChildren(...nodes);
  }

  #step(step, before) {
    const time = el("p", { class: "when" });
    if (step.at) {
      time.append(new Moment().set(step.at).root);
      if (before) time.append(el("span", { class: "after" }, `${duration(Date.parse(step.at) - Date.parse(before))} later`));
    } else if (step.state === "open") time.append("for ", new Moment("since").set(before).root);
    return el("li", { class: `step ${step.state}` }, el("span", { class: "mark" }, icon(MARKS[step.state])),
      el("div", {}, el("p", { class: "title" }, step.title), time, step.text ? el("p", { class: "text" }, step.text) : null));
  }
}
