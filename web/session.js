// The session of this browser with the server that the page is from. It is kept where only pages of this origin, port
// included, can read it, and sent as a header: a cookie would be sent to every server on this host.

const name = "pawl-session";

const token = () => localStorage.getItem(name);

/** loggedIn says whether there is a session; whether it counts is up to the server. */
export const loggedIn = () => Boolean(token());

/** headers returns the headers of a request with the session, if there is one. @param {Record<string, string>} [more] @returns {Record<string, string>} */
export function headers(more = {}) {
  return token() ? { ...more, Authorization: "Bearer " + token() } : more;
}

/** login exchanges the code of a login link for a session. It returns why that failed; empty if it did not. @param {string} code */
export async function login(code) {
  const answer = await fetch("/api/v1/sessions", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }),
  });
  const body = await answer.json();
  if (!answer.ok) return body.error;
  localStorage.setItem(name, body.token);
  return "";
}

/** end forgets the session. */
export function end() { localStorage.removeItem(name); }

/** logOut ends the login of this browser. */
export function logOut() { end(); location.reload(); }

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
const hex = (/** @type {ArrayBuffer | Uint8Array} */ buffer) => Array.from(new Uint8Array(buffer), (b) => b.toString(16).padStart(2, "0")).join("");

/**
 * proven says whether who answers at this address is the server that made the session. After the server was away this is
 * asked before the session is sent again: meanwhile another program may have taken its place, and whoever knows the
 * session can use it. It throws if there is no server.
 */
export async function proven() {
  const session = token();
  if (!session || !crypto.subtle) return false; // addresses of other machines without TLS have no crypto.subtle
  const id = session.slice(0, session.lastIndexOf("."));
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const answer = await fetch("/api/v1/sessions/proof", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ session: id, nonce }),
  });
  if (!answer.ok) return false;
  const key = await crypto.subtle.importKey("raw", bytes(session), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return hex(await crypto.subtle.sign("HMAC", key, bytes(location.host + " " + nonce))) === (await answer.json()).proof;
}
