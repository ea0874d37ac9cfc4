// The session of this page, sent as a header: a cookie would go to every server on this host. What is kept for other pages
// of this origin counts until the server ends: another program may have the address then, and such pages.

const name = "pawl-session";

let token = "", role = "", workers = false;

/** may says whether the user has a role. @param {"answer" | "start" | "administer"} need */
export const may = (need) => ["see", "answer", "start", "administer"].indexOf(role) >= ["see", "answer", "start", "administer"].indexOf(need);

/** hasWorkers says whether other processes work on the tasks, which the page of workers shows. */
export const hasWorkers = () => workers;

/** loggedIn says whether there is a session. */
export const loggedIn = () => Boolean(token);

/** headers returns headers with the session, if there is one. @param {Record<string, string>} [more] @returns {Record<string, string>} */
export function headers(more = {}) {
	return token ? { ...more, Authorization: "Bearer " + token } : more;
}

/** login exchanges a code, or what is kept, for a session. It returns why that failed, if it did. @param {string | null} [code] */
export async function login(code = localStorage.getItem(name)) {
	if (!code) return "";
	const answer = await fetch("/api/v1/sessions", {
		method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }),
	});
	const body = await answer.json();
	if (!answer.ok) return body.error;
	({ token, role, workers = false } = body);
	localStorage.setItem(name, body.kept);
	return "";
}

/** end forgets the session. */
export const end = () => { token = ""; };

/** logOut ends the login of this browser. */
export async function logOut() {
	if (localStorage.getItem("pawl-push")) await (await import("./push.js")).off();
	localStorage.removeItem(name);
	location.reload();
}
addEventListener("storage", (e) => { if (e.key === name && !e.newValue) location.reload(); });

/** waitForLogin loads this page again when another page of the browser was logged in. */
export function waitForLogin() {
	addEventListener("storage", (e) => { if (e.key === name && e.newValue) location.reload(); });
}

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
const hex = (/** @type {ArrayBuffer | Uint8Array} */ buffer) => Array.from(new Uint8Array(buffer), (b) => b.toString(16).padStart(2, "0")).join("");

/**
 * proven says whether who answers here knows the session. It is asked before that is sent after the server was away:
 * another program may have taken its place. It throws if there is no server.
 */
export async function proven() {
	if (!token || !crypto.subtle) return false; // addresses of other machines without TLS have no crypto.subtle
	const id = token.slice(0, token.lastIndexOf("."));
	const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
	const answer = await fetch("/api/v1/sessions/proof", {
		method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ session: id, nonce }),
	});
	if (!answer.ok) return false;
	const key = await crypto.subtle.importKey("raw", bytes(token), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
	if (hex(await crypto.subtle.sign("HMAC", key, bytes(location.host + " " + nonce))) !== (await answer.json()).proof) return false;
	await login(token); // what is kept was of the server before
	return true;
}
