// Requests to the API, and its event streams. A request that the network loses is sent again when the server is back,
// with the same key, so that it has its effect once.

import { headers, proven } from "./session.js";
import { sleep } from "./timing.js";

const prefix = "/api/v1";

/** @typedef {Record<"items"|"messages"|"runs"|"parts"|"questions"|"attachments"|"labels"|"depends_on"|"may"|"files"|"checks"|"days"|"denials"|"models"|"notes"|"arrays"|"objects", any[]> & Record<string, any>} Answer what the server says */

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

/** @typedef {"live" | "away" | "out"} Connection whether the server answers; out: the session does not count any more */

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

/** follow reads an event stream until the signal says otherwise, over connections. @param {string} path @param {(event: any, id: string) => void} take each event @param {AbortSignal} signal */
export async function follow(path, take, signal) {
  let last = "";
  let missing = 0; // how many 404 answers came in a row
  while (!signal.aborted && missing < 20) {
    try {
      const answer = await ask(path, { signal, headers: last ? { "Last-Event-ID": last } : {} });
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
        const records = (rest + value).split("\n\n");
        rest = records.pop() || "";
        for (const record of records) {
          let data = "";
          for (const line of record.split("\n")) {
            if (line.startsWith("id: ")) last = line.slice(4);
            else if (line.startsWith("data: ")) data += line.slice(6);
          }
          if (data) take(JSON.parse(data), last);
        }
      }
    } catch {
      if (signal.aborted) return;
    }
    await reached(); // the stream has ended: the server is going, or was cut off
    if (/** @type {string} */ (connection) === "out") return;
  }
}
