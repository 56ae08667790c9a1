/** JSON without loss: numbers that a double cannot hold keep their digits. */

/** A number as it was written, because JavaScript's would be another one. */
export class ExactNumber {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.text) : this.text;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
const SPACE = /[ \t\n\r]*/y;
const WORDS = { true: true, false: false, null: null };

/** Parse a JSON text. Throws SyntaxError. */
export function parse(text) {
  const reader = new Reader(text);
  const value = reader.value();
  reader.space();
  if (reader.at < text.length) throw reader.error();
  return value;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  error() {
    return new SyntaxError(`unexpected JSON at character ${this.at}`);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) throw this.error();
    this.at = pattern.lastIndex;
    return found[0];
  }

  space() {
    this.match(SPACE);
  }

  /** Step over the character if it comes next. */
  takes(character) {
    this.space();
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  expect(character) {
    if (!this.takes(character)) throw this.error();
  }

  value() {
    this.space();
    const first = this.text[this.at];
    if (first === "{") return this.object();
    if (first === "[") return this.array();
    if (first === '"') return JSON.parse(this.match(STRING));
    for (const [word, value] of Object.entries(WORDS)) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return exact(this.match(NUMBER));
  }

  object() {
    const entries = [];
    this.expect("{");
    if (this.takes("}")) return {};
    do {
      this.space();
      const key = JSON.parse(this.match(STRING));
      this.expect(":");
      entries.push([key, this.value()]);
    } while (this.takes(","));
    this.expect("}");
    return Object.fromEntries(entries); // defines "__proto__" as an ordinary key
  }

  array() {
    const values = [];
    this.expect("[");
    if (this.takes("]")) return values;
    do values.push(this.value());
    while (this.takes(","));
    this.expect("]");
    return values;
  }
}

/** The number itself where it prints as it was written, else its digits. */
function exact(text) {
  const number = Number(text);
  return String(number) === text ? number : new ExactNumber(text);
}

/** A count as a number for arithmetic; null stays null. The API writes large ones as strings. */
export function asNumber(value) {
  return value === null || value === undefined ? null : Number(String(value));
}

/** The digits of a count, grouped by thousands. */
export function digits(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
