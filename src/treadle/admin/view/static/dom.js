/** Building elements. Text becomes text nodes and nothing else, so that nothing from the database is ever markup. */

const SVG = "http://www.w3.org/2000/svg";

/** Strokes on a 16 by 16 grid. */
const ICONS = {
  queued: ["M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11", "M8 5v3.2l2 1.3"],
  running: ["M13.5 8A5.5 5.5 0 1 1 8 2.5", "M10.6 3.1l2.3 2.3"],
  succeeded: ["M3 8.5l3.4 3.4L13 4.6"],
  failed: ["M4 4l8 8", "M12 4l-8 8"],
  cancelled: ["M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11", "M4.2 4.2l7.6 7.6"],
  gone: ["M3.5 5h9", "M6 5V3h4v2", "M4.8 5l.6 8h5.2l.6-8"],
  requested: ["M8 3v10", "M3 8h10"],
  claimed: ["M5.5 3.5L12 8l-6.5 4.5z"],
  stalled: ["M8 2.5L14 13H2z", "M8 6.5v3", "M8 11.2v.3"],
  released: ["M6.5 4L3 7.5L6.5 11", "M3.3 7.5H10a3 3 0 0 1 0 6H8"],
  refused: ["M8 2.2l5 1.9v3.7c0 3-2.2 5-5 6c-2.8-1-5-3-5-6V4.1z", "M6 6l4 4", "M10 6l-4 4"],
  cancel_requested: ["M3.5 2.5v11", "M3.5 3h8l-2 2.8l2 2.7h-8"],
  cancel_delivered: ["M2.5 4.5h11v7.5h-11z", "M2.7 4.8L8 9l5.3-4.2"],
  superseded: ["M3 5h7.5a2.5 2.5 0 0 1 0 5H4", "M6.2 7.5L3.7 10l2.5 2.5"],
  sun: ["M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6", "M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1"],
  moon: ["M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z"],
  system: ["M2.5 3.5h11v7.5h-11z", "M6 13.5h4"],
  clock: ["M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11", "M8 5v3.2l2 1.3"],
  help: ["M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6", "M8 12v.3"],
  leave: ["M6.5 3h-4v10h4", "M6.5 8h7", "M10.8 5.2L13.6 8l-2.8 2.8"],
  back: ["M9.5 3.5L5 8l4.5 4.5"],
};

/**
 * An element with attributes and children.
 * @param {string} name tag name
 * @param {Record<string, string | boolean | null | undefined>} [attributes] `true` sets it empty; null, undefined and false leave it out
 * @param {...(Node | string | null | undefined)} children strings become text
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) setAttribute(element, key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set or remove an attribute, and only when that changes something. */
export function setAttribute(element, key, value) {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(key)) element.removeAttribute(key);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(key) !== text) element.setAttribute(key, text);
}

/** Set an element's text, and only when that changes something: selections and screen readers stay undisturbed. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A decorative icon; what it means always stands beside it in words. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  for (const stroke of ICONS[name] ?? []) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", stroke);
    svg.append(path);
  }
  return svg;
}

/** The end of a uuid: the part of a version 7 that tells neighbours apart. */
export function short(id) {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}
