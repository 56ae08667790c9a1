/** Rate and time left, from one snapshot of progress after the other. */

const SMOOTHING = 20;
/** Seconds after which a snapshot counts for little. */
const ENOUGH = 4;
/** Seconds to watch before a rate is worth showing. */

export class Pace {
  #at = NaN;
  #done = 0;
  #rate = null;
  #watched = 0;
  #left = null;

  /**
   * Take in a snapshot.
   * @param {number} done units done
   * @param {number} at milliseconds, when the worker said so
   * @param {number} [started] milliseconds, when the attempt began with nothing done: the first rate is its average
   */
  sample(done, at, started) {
    if (Number.isNaN(this.#at)) return this.#first(done, at, started);
    const seconds = (at - this.#at) / 1000;
    if (seconds <= 0) return;
    if (done < this.#done) {
      this.#rate = null;
      this.#watched = 0;
      this.#left = null;
    } else {
      const current = (done - this.#done) / seconds;
      const weight = 1 - Math.exp(-seconds / SMOOTHING);
      this.#rate = this.#rate === null ? current : this.#rate + weight * (current - this.#rate);
      this.#watched += seconds;
    }
    this.#at = at;
    this.#done = done;
  }

  #first(done, at, started) {
    this.#at = at;
    this.#done = done;
    const seconds = (at - started) / 1000;
    if (seconds > 0 && done > 0) {
      this.#rate = done / seconds;
      this.#watched = seconds;
    }
  }

  /** Units a second, null while too little has been seen. */
  get rate() {
    return this.#watched < ENOUGH ? null : this.#rate;
  }

  /**
   * Seconds left, in steps a reader can use; null while unknown. A new figure replaces the shown one only when it
   * differs from what that has become by more than a tenth, so it counts down and does not jump about.
   */
  left(total) {
    const rate = this.rate;
    if (!rate || total === null || rate < 1e-9) return (this.#left = null);
    const fresh = Math.max(0, total - this.#done) / rate;
    const counted = this.#left === null ? NaN : this.#left.seconds - (this.#at - this.#left.at) / 1000;
    const near = Math.abs(fresh - counted) <= Math.max(2, 0.1 * fresh);
    if (!near) this.#left = { seconds: fresh, at: this.#at };
    return stepped(Math.max(0, near ? counted : fresh));
  }
}

/** Rounded to what is honest at that distance: 1 s, 5 s, a minute, five minutes, half an hour. */
function stepped(seconds) {
  const step = seconds < 10 ? 1 : seconds < 90 ? 5 : seconds < 1800 ? 60 : seconds < 4 * 3600 ? 300 : 1800;
  return Math.max(step, Math.round(seconds / step) * step);
}

/** Seconds left in words. */
export function leftInWords(seconds) {
  if (seconds < 5) return "a few seconds left";
  if (seconds < 90) return `${seconds} s left`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min left`;
  if (seconds < 48 * 3600) {
    const minutes = Math.round((seconds % 3600) / 60);
    return `${Math.floor(seconds / 3600)} h ${minutes ? `${minutes} min ` : ""}left`;
  }
  return `${Math.round(seconds / 86400)} d left`;
}

/** A rate in the unit that keeps its figure readable. */
export function rateInWords(rate) {
  if (rate >= 100) return `${Math.round(rate).toLocaleString("en")}/s`;
  if (rate >= 1) return `${rate.toFixed(1)}/s`;
  if (rate * 60 >= 1) return `${(rate * 60).toFixed(1)}/min`;
  return rate > 0 ? `${(rate * 3600).toFixed(1)}/h` : "0/s";
}
