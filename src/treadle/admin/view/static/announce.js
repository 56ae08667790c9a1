/** The page's polite live region: at most one sentence every five seconds, the latest of each subject. */

const PAUSE = 5000;
const waiting = new Map();
let timer = null;

/** Say something to screen readers soon; a later word on the same subject replaces an earlier one. */
export function announce(subject, sentence) {
  waiting.delete(subject);
  waiting.set(subject, sentence);
  if (timer === null) timer = setTimeout(speak, 150);
}

function speak() {
  const region = document.getElementById("announcements");
  if (waiting.size === 0) {
    timer = null;
    return;
  }
  region.textContent = [...waiting.values()].join(". ");
  waiting.clear();
  timer = setTimeout(speak, PAUSE);
}
