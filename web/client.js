// Requests to the API, and its event streams. A request that the network loses is sent again when the server is back,
// with the same key, so that it has its effect once.

import { headers, proven } from "./session.js";
import { sleep } from "./timing.js";

const prefix = "/api/v1";

/** A Problem is an error that the server answered with. */
export class Problem extends Error {
	/** @param {number} status @param {any} body */
	constructor(status, body) {
		super(body?.error || `the server answered with ${status}`);
		this.status = status;
		this.code = body?.code || "";
		this.body = body;
	}
}

/** @type {Connection} */
let connection = "live";
let since = 0;
/** @type {Set<(c: Connection, since: number) => void>} */
const watchers = new Set();

/** onConnection calls f now and when the connection changes. @param {(c: Connection, since: number) => void} f */
export function onConnection(f) {
	watchers.add(f);
	f(connection, since);
}

/** @param {Connection} c */
function become(c) {
	if (c === connection) return;
	connection = c;
	since = Date.now();
	for (const f of watchers) f(c, since);
}

/** @type {Promise<void> | null} */
let reaching = null;

/** reached returns when the server answers and has proven to be that of the session. */
function reached() {
	reaching ??= (async () => {
		become("away");
		for (let wait = 250; ; wait = Math.min(wait * 2, 4000)) {
			try {
				become(await proven() ? "live" : "out");
				return;
			} catch {
				await Promise.race([sleep(wait), new Promise((done) => { addEventListener("online", done, { once: true }); })]);
			}
		}
	})().finally(() => { reaching = null; });
	return reaching;
}

/** ask sends a request and returns the response. @param {string} path below the prefix @param {RequestInit & {headers?: Record<string, string>}} options */
async function ask(path, options) {
	for (;;) {
		if (connection === "away") await reached();
		/** @type {Response} */
		let answer;
		try {
			answer = await fetch(prefix + path, { ...options, headers: headers(options.headers) });
		} catch (error) {
			if (options.signal?.aborted) throw error;
			await reached();
			continue;
		}
		if (answer.status === 401) become("out");
		if (answer.status === 429) {
			await sleep(1000 * Number(answer.headers.get("Retry-After") || 1));
			continue;
		}
		return answer;
	}
}

/** get returns the resource at a path. @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] @returns {Promise<Answer>} */
export async function get(path, query = {}, signal = undefined) {
	const q = new URLSearchParams();
	for (const [name, value] of Object.entries(query)) {
		for (const v of Array.isArray(value) ? value : [value]) if (v !== undefined && v !== "") q.append(name, String(v));
	}
	const answer = await ask(path + (q.size ? "?" + q : ""), { signal });
	const body = await answer.json().catch(() => null);
	if (!answer.ok) throw new Problem(answer.status, body);
	return body;
}

/** send changes something and returns what the server says of it. @param {"POST" | "PATCH" | "DELETE"} method @param {string} path @param {any} [body] @returns {Promise<Answer>} */
export async function send(method, path, body) {
	/** @type {Record<string, string>} */
	const head = {};
	if (method === "POST") head["Idempotency-Key"] = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");
	if (body !== undefined && !(body instanceof Blob)) head["Content-Type"] = "application/json";
	const answer = await ask(path, { method, headers: head, body: body === undefined || body instanceof Blob ? body : JSON.stringify(body) });
	const result = await answer.json().catch(() => null);
	if (!answer.ok) throw new Problem(answer.status, result);
	return result;
}

/** post sends what a person does. @param {string} path @param {any} [body] */
export const post = (path, body) => send("POST", path, body);

/**
 * read reads an event stream, over connections. @param {string} path
 * @param {{last: string}} from the last event that is known @param {(event: any, id: string) => void} take each event
 * @param {AbortSignal} signal @param {() => void} [lost] is called when a connection has ended
 */
async function read(path, from, take, signal, lost = () => {}) {
	let missing = 0; // how many 404 answers came in a row
	while (!signal.aborted && missing < 20) {
		const silent = new AbortController();
		let heard = Date.now();
		const watch = setInterval(() => { if (Date.now() - heard > 40000) silent.abort(); }, 10000); // the server says something every 15 s
		try {
			const answer = await ask(path, { signal: AbortSignal.any([signal, silent.signal]), headers: from.last ? { "Last-Event-ID": from.last } : {} });
			if (!answer.ok || !answer.body) {
				if (answer.status === 401) return;
				missing = answer.status === 404 ? missing + 1 : 0; // a run that was just assigned is there in a moment
				await sleep(missing ? 300 : 1000);
				continue;
			}
			const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
			let rest = "";
			for (;;) {
				const { done, value } = await reader.read();
				if (done) break;
				heard = Date.now();
				const records = (rest + value).split("\n\n");
				rest = records.pop() || "";
				for (const record of records) {
					let data = "", id = from.last;
					for (const line of record.split("\n")) {
						if (line.startsWith("id: ")) id = line.slice(4);
						else if (line.startsWith("data: ")) data += line.slice(6);
					}
					if (data) take(JSON.parse(data), id);
					from.last = id;
				}
			}
		} catch {
			if (signal.aborted) return;
		} finally {
			clearInterval(watch);
		}
		lost();
		await reached(); // the stream has ended: the server is going, or was cut off
		if (/** @type {string} */ (connection) === "out") return;
	}
}

// A browser has six connections to a server, for all its pages together. So its pages share one stream of the tasks, and
// the streams of runs are of pages in sight, at most three: the others look from time to time.

const locks = navigator.locks; // addresses of other machines without TLS have none

/** together follows the tasks. The page that came into sight last reads the stream, and tells the others. @param {(event: any) => void} take each event */
export async function together(take) {
	const path = "/events", from = { last: "" }, others = new BroadcastChannel(path);
	const got = (/** @type {any} */ event, /** @type {string} */ id) => {
		if (event.type !== "position" || !id || id !== from.last) take(event); // a page that has just begun missed what others know
		from.last = id;
	};
	others.onmessage = ({ data }) => { if (data) got(data[0], data[1]); else reached(); };
	const lead = async (/** @type {LockOptions} */ how) => {
		const stop = new AbortController();
		const reads = () => read(path, from, (event, id) => { got(event, id); others.postMessage([event, id]); }, stop.signal, () => others.postMessage(null));
		await locks.request(path, how, reads).catch(() => {}); // another one reads
		stop.abort();
	};
	if (!locks) return read(path, from, got, new AbortController().signal);
	const seen = () => { if (!document.hidden && connection !== "out") lead({ steal: true }); };
	document.addEventListener("visibilitychange", seen);
	if (document.hidden) take({ type: "position" });
	seen();
	while (/** @type {string} */ (connection) !== "out") await lead({});
}

/** follow follows a run from an event on. @param {string} path @param {(event: any) => void} take each event; that of a look has no type @param {AbortSignal} signal @param {string} last */
export async function follow(path, take, signal, last) {
	const from = { last };
	let gone = new AbortController(), ended = false;
	document.addEventListener("visibilitychange", () => gone.abort(), { signal });
	const reads = async (/** @type {any} */ free) => {
		if (!free) return false;
		take({ type: "drop" });
		await read(path, from, take, AbortSignal.any([signal, gone.signal]));
		ended = !gone.signal.aborted;
		return true;
	};
	while (!signal.aborted && !ended) {
		gone = new AbortController();
		if (document.hidden) {
			await new Promise((done) => { AbortSignal.any([signal, gone.signal]).onabort = done; });
			continue;
		}
		let had = !locks && await reads(true);
		for (let i = 0; i < 3 && !had; i++) had = await locks.request("run " + i, { ifAvailable: true }, reads);
		if (!had) { take({}); await sleep(2000); }
	}
}
