/** Times in words, and elements that keep them current. */

import { now } from "./clock.js";
import { el, setText } from "./dom.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A span of milliseconds in at most two units: "8s", "1m 20s", "2h 05m", "3d 4h". */
export function duration(span) {
  const ms = Math.max(0, span);
  if (ms < 950) return ms < 100 ? "0.1s" : `${(ms / SECOND).toFixed(1)}s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND) || 1}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m ${two((ms % MINUTE) / SECOND)}s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h ${two((ms % HOUR) / MINUTE)}m`;
  return `${Math.floor(ms / DAY)}d ${Math.floor((ms % DAY) / HOUR)}h`;
}

/** How long ago, or how soon, in one unit. */
export function relative(time, at) {
  const span = at - time;
  if (Math.abs(span) < 1.5 * SECOND) return "just now";
  const words = coarse(Math.abs(span));
  return span > 0 ? `${words} ago` : `in ${words}`;
}

function coarse(span) {
  if (span < MINUTE) return `${Math.floor(span / SECOND)}s`;
  if (span < HOUR) return `${Math.floor(span / MINUTE)}m`;
  if (span < 2 * DAY) return `${Math.floor(span / HOUR)}h`;
  return `${Math.floor(span / DAY)}d`;
}

/** Date, time and zone offset in the reader's zone: "2026-03-01 14:05:09 +01:00". */
export function absolute(time) {
  const date = new Date(time);
  const minutes = -date.getTimezoneOffset();
  const zone = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  return `${day(date)} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} ${zone}`;
}

function day(date) {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function two(number) {
  return String(Math.floor(number)).padStart(2, "0");
}

const shown = new Set();
let absolutely = false;

/**
 * A <time> that stays current by itself until it leaves the page. Its title and its print say the absolute time.
 * @param {"ago" | "since"} style "ago": relative, absolute on demand; "since": how long it has been
 */
export class Moment {
  #time = NaN;
  #due = 0;

  constructor(style = "ago") {
    this.style = style;
    this.text = el("span");
    this.root = el("time", {}, this.text);
  }

  /** Show another time; null shows nothing. */
  set(iso) {
    const time = iso ? Date.parse(iso) : NaN;
    if (Object.is(time, this.#time)) return this;
    this.#time = time;
    if (Number.isNaN(time)) {
      shown.delete(this);
      setText(this.text, "");
      for (const name of ["datetime", "title", "data-absolute"]) this.root.removeAttribute(name);
      return this;
    }
    this.root.setAttribute("datetime", iso);
    this.root.setAttribute("title", absolute(time));
    this.root.setAttribute("data-absolute", absolute(time));
    shown.add(this);
    this.draw(now());
    return this;
  }

  /** Write the text of this moment, and remember until when it holds. */
  draw(at) {
    const age = Math.abs(at - this.#time);
    if (this.style === "since") setText(this.text, duration(at - this.#time));
    else setText(this.text, absolutely ? absolute(this.#time).slice(0, 19) : relative(this.#time, at));
    this.#due = at + (age < MINUTE ? 0 : age < HOUR ? (this.style === "since" ? 0 : 10 * SECOND) : MINUTE);
  }

  /** Redraw when due; false when the element has left the page. */
  tick(at) {
    if (at < this.#due) return true;
    if (!this.root.isConnected) return false;
    this.draw(at);
    return true;
  }
}

/** Show absolute times in place of relative ones, or the other way round. */
export function showAbsolute(wanted) {
  absolutely = wanted;
  document.documentElement.dataset.times = wanted ? "absolute" : "relative";
  const at = now();
  for (const moment of shown) moment.draw(at);
}

/** Keep every moment on the page current, once a second. */
export function startTicking() {
  setInterval(() => {
    if (document.hidden) return;
    const at = now();
    for (const moment of shown) if (!moment.tick(at)) shown.delete(moment);
  }, SECOND);
}
