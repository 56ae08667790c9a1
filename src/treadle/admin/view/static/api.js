/** The work-item API over HTTP, with the errors a page has to tell apart. */

import { adjust } from "./clock.js";
import { parse } from "./json.js";

/** Nobody is signed in, or the session is over. */
export class SignedOut extends Error {}

/** The account may not see work items. */
export class Refused extends Error {}

/** Any other answer that is no success; its message is fit to be shown. */
export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** No answer at all: the network or the server is away. */
export class Unreachable extends Error {}

const SECONDS_FOR_AN_ANSWER = 20;

export class Api {
  /**
   * @param {string} address of the work items, absolute or relative to the page
   * @param {import("./auth.js").Auth} auth
   */
  constructor(address, auth) {
    this.address = new URL(address, document.baseURI).href.replace(/\/$/, "");
    this.auth = auth;
  }

  /** A page of items that the route lists. */
  items(route, { after = null, limit = 50 } = {}) {
    const query = new URLSearchParams({ limit: String(limit) });
    for (const status of route.statuses) query.append("status", status);
    for (const kind of route.kinds) query.append("kind", kind);
    if (route.scope) query.append("scope_id", route.scope);
    if (after) query.append("after", after);
    return this.#json(`?${query}`);
  }

  item(id) {
    return this.#json(`/${encodeURIComponent(id)}`);
  }

  cancel(id) {
    const headers = { "Content-Type": "application/json" }; // what no page of another site can send unasked
    return this.#json(`/${encodeURIComponent(id)}/cancel`, { method: "POST", headers });
  }

  async counts() {
    const counts = await this.#json("/counts");
    adjust(counts.as_of);
    return counts;
  }

  /** The workers seen in the last day. */
  async workers() {
    return (await this.#json("/workers")).workers;
  }

  /** The kinds to filter by. */
  async kinds() {
    return (await this.#json("/kinds")).kinds;
  }

  async #json(path, options = {}) {
    const signal = AbortSignal.timeout(SECONDS_FOR_AN_ANSWER * 1000);
    const response = await this.open(path, { ...options, signal });
    try {
      return parse(await response.text());
    } catch (error) {
      throw new Unreachable(`the answer broke off: ${error.message}`);
    }
  }

  /**
   * Make a request; an expired token is renewed and the request made once more.
   * @returns {Promise<Response>} a successful one. Throws SignedOut, Refused, Problem or Unreachable.
   */
  async open(path, { method = "GET", headers = {}, signal } = {}) {
    let renewed = false;
    for (;;) {
      if (!this.auth.signedIn) throw new SignedOut("nobody is signed in");
      const credentials = this.auth.headers;
      const response = await fetch(this.address + path, {
        method,
        headers: { Accept: "application/json", ...headers, ...credentials },
        cache: "no-store",
        signal,
      }).catch((error) => {
        throw new Unreachable(error.message);
      });
      if (response.ok) return response;
      if (response.status === 401 && !renewed && (await this.#renewed(credentials.Authorization))) {
        renewed = true;
        continue;
      }
      if (response.status === 401 && renewed) this.auth.lose(credentials.Authorization);
      throw await failure(response);
    }
  }

  async #renewed(refused) {
    if (this.auth.way.way === "proxy") return false;
    try {
      return await this.auth.renew(refused);
    } catch (error) {
      throw new Unreachable(error.message);
    }
  }
}

async function failure(response) {
  const problem = await response.json().catch(() => ({}));
  const words = typeof problem.detail === "string" ? problem.detail : problem.title;
  if (response.status === 401) return new SignedOut(words ?? "the server asks for a sign-in");
  if (response.status === 403) return new Refused(words ?? "this account may not see work items");
  return new Problem(response.status, words ?? `the server answered ${response.status}`);
}
