/**
 * Who asks: the bearer token, kept current.
 *
 * Tokens live in memory and in sessionStorage: a reload stays signed in, closing the tab forgets. Tabs of the same
 * page hand them to each other over a BroadcastChannel, so that a link opened in a new tab needs no second sign-in
 * and all tabs use one refresh token, never an outdated one. They are never in localStorage, in a cookie or in an
 * address.
 */

const ASK_PATIENCE = 150;
const SETTLE = 600;
const TURN = 5000;

/**
 * @typedef {object} Tokens
 * @property {string} access
 * @property {string | null} refresh
 * @property {number | null} expires milliseconds on this browser's clock; null: not told
 * @property {number} lifetime milliseconds, 0 when not told
 * @property {string} name who signed in, for display
 */

export class Auth {
  /** @type {Tokens | null} */
  #tokens = null;
  #renewing = null;
  #timer = null;
  /** When tabs said that they are about to renew, by what each drew. */
  #draws = new Map();

  /**
   * @param {{way: "password" | "token" | "proxy", login?: string, refresh?: string | null, logout?: string | null}} way
   * @param {() => void} onChange called whenever somebody signed in or out, here or in another tab
   */
  constructor(way, onChange) {
    this.way = way;
    this.onChange = onChange;
    this.slot = `treadle-tokens ${location.pathname}`;
    this.channel = new BroadcastChannel(this.slot);
    this.channel.addEventListener("message", (event) => this.#hear(event.data));
  }

  /** Whether requests can be made. Behind a proxy that signs people in, always. */
  get signedIn() {
    return this.way.way === "proxy" || this.#tokens !== null;
  }

  get name() {
    return this.#tokens?.name ?? "";
  }

  get headers() {
    return this.#tokens ? { Authorization: `Bearer ${this.#tokens.access}` } : {};
  }

  /** Find the tokens of this tab, or of another one. */
  async restore() {
    if (this.way.way === "proxy") return;
    const kept = sessionStorage.getItem(this.slot);
    if (kept) this.#take(JSON.parse(kept), { tell: false });
    if (this.#tokens) return;
    this.channel.postMessage({ ask: true });
    await pause(ASK_PATIENCE);
  }

  /** Sign in with a user's name and password. Throws Error with the reason in words. */
  async signIn(username, password) {
    const response = await post(this.way.login, { username, password });
    if (!response.ok) throw new Error(await reason(response));
    this.#take(tokensFrom(await response.json(), username), { tell: true });
    this.onChange();
  }

  /** Use a token that somebody typed. */
  useToken(access) {
    this.#take({ access, refresh: null, expires: null, lifetime: 0, name: "" }, { tell: true });
    this.onChange();
  }

  /** Forget the tokens everywhere and have the server revoke them. */
  async signOut() {
    const tokens = this.#tokens;
    this.#forget();
    this.channel.postMessage({ signedOut: true });
    this.onChange();
    if (tokens?.refresh && this.way.logout) {
      const headers = { Authorization: `Bearer ${tokens.access}` };
      await post(this.way.logout, { refresh_token: tokens.refresh }, headers).catch(() => undefined);
    }
  }

  /**
   * Get a new access token; once, however many ask at the same time.
   * @param {string} refused the headers' Authorization that did not do; another one by now is new enough
   * @returns {Promise<boolean>} false: nobody is signed in any more. Throws when the server cannot be reached.
   */
  renew(refused) {
    if (this.#tokens && refused && this.headers.Authorization !== refused) return Promise.resolve(true);
    this.#renewing ??= this.#renewAlone().finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  /** Forget a token that the server refuses although it is new: its session has ended elsewhere. */
  lose(refused) {
    if (this.way.way === "proxy" || this.headers.Authorization !== refused) return;
    this.#forget();
    this.onChange();
  }

  async #renewAlone() {
    const before = this.#tokens;
    const alone = navigator.locks
      ? (work) => navigator.locks.request(this.slot, work)
      : (work) => this.#inTurn(work);
    return alone(async () => {
      if (this.#tokens !== before) return this.#tokens !== null;
      return this.#refresh();
    });
  }

  /** Without locks, which plain http has not: of tabs that would renew at the same time the lowest draw goes first. */
  async #inTurn(work) {
    for (const [other, at] of this.#draws) if (Date.now() - at > TURN) this.#draws.delete(other);
    const draw = Math.max(0, ...this.#draws.keys()) + Math.random(); // after those that were heard already
    this.#draws.set(draw, Date.now());
    this.channel.postMessage({ draw });
    await pause(ASK_PATIENCE);
    const before = this.#tokens;
    const first = () => [...this.#draws].every(([other, at]) => other >= draw || Date.now() - at > TURN);
    while (this.#tokens === before && !first()) await pause(ASK_PATIENCE);
    try {
      return await work();
    } finally {
      this.#draws.delete(draw);
    }
  }

  async #refresh() {
    const tokens = this.#tokens;
    if (tokens?.refresh && this.way.refresh) {
      const response = await post(this.way.refresh, { refresh_token: tokens.refresh });
      if (response.ok) {
        this.#take(tokensFrom(await response.json(), tokens.name, tokens.refresh), { tell: true });
        return true;
      }
      if (response.status === 429 || response.status >= 500) throw new Error(await reason(response));
      await pause(SETTLE); // another tab may have been first, and is about to say so
      if (this.#tokens !== tokens) return this.#tokens !== null;
    }
    this.#forget();
    this.onChange();
    return false;
  }

  #take(tokens, { tell }) {
    this.#tokens = tokens;
    sessionStorage.setItem(this.slot, JSON.stringify(tokens));
    if (tell) this.channel.postMessage({ tokens });
    clearTimeout(this.#timer);
    if (!tokens.refresh || !tokens.expires) return;
    // A little before the end, and not all tabs at once.
    const margin = Math.min(30_000, tokens.lifetime / 4) * (1 + Math.random());
    const wait = Math.max(0, tokens.expires - Date.now() - margin);
    this.#timer = setTimeout(() => this.renew().catch(() => undefined), Math.min(wait, 2 ** 31 - 1));
  }

  #forget() {
    this.#tokens = null;
    clearTimeout(this.#timer);
    sessionStorage.removeItem(this.slot);
  }

  #hear(message) {
    if (message.ask && this.#tokens) this.channel.postMessage({ tokens: this.#tokens });
    else if (message.draw) this.#draws.set(message.draw, Date.now());
    else if (message.tokens) {
      this.#draws.clear();
      const wasOut = this.#tokens === null;
      if (this.#tokens?.access === message.tokens.access) return;
      this.#take(message.tokens, { tell: false });
      if (wasOut) this.onChange();
    } else if (message.signedOut && this.#tokens) {
      this.#forget();
      this.onChange();
    }
  }
}

/** Tokens from the answer of a login or refresh; a refresh that answers without a new refresh token keeps the old. */
function tokensFrom(answer, name, kept = null) {
  const lifetime = (answer.expires_in ?? 0) * 1000;
  return {
    access: answer.access_token,
    refresh: answer.refresh_token ?? kept,
    expires: lifetime ? Date.now() + lifetime : null,
    lifetime,
    name,
  };
}

function post(address, body, headers = {}) {
  return fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", ...headers },
    body: JSON.stringify(body),
    cache: "no-store",
  });
}

async function reason(response) {
  const problem = await response.json().catch(() => ({}));
  const told = typeof problem.detail === "string" ? problem.detail : problem.title;
  const wait = response.headers.get("Retry-After");
  return [told ?? `the server answered ${response.status}`, wait ? `Try again in ${wait} s.` : null].filter(Boolean).join(" ");
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
