/** The server's time, as far as the page knows it: a browser with a wrong clock still shows right ages. */

let offset = 0;

/** Learn from a time that the server has just told. */
export function adjust(iso) {
  const server = Date.parse(iso);
  if (!Number.isNaN(server)) offset = server - Date.now();
}

/** Milliseconds since 1970 on the server's clock. */
export function now() {
  return Date.now() + offset;
}
