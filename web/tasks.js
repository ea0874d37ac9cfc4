// The tasks of the server as this page knows them: the list, kept current by one event stream, and what the tasks that
// wait for a person wait for.

import { get, send, together } from "./client.js";
import { bytes, said } from "./dom.js";
import { newest, oneAtATime } from "./timing.js";

/** @type {Map<string, Card>} */
export const cards = new Map();

/** What the agent of a task has done last, in the words of the history. @type {Map<string, string>} */
export const doing = new Map();

/** What was loaded of tasks that wait: the task and its calls. @type {Map<string, {task: any, calls: any[]}>} */
export const waiting = new Map();

/** The tasks of which this page has answered something that is not in their history yet. @type {Set<string>} */
const answering = new Set();

export let loaded = false;

/** @type {Set<(id: string | null) => void>} */
const listeners = new Set();

/** @type {Map<string, Set<(event: any) => void>>} */
const ofTask = new Map();

/** onChange calls f when a task has changed (null: several). @param {(id: string | null) => void} f @param {AbortSignal} signal */
export function onChange(f, signal) {
	listeners.add(f);
	signal.addEventListener("abort", () => { listeners.delete(f); });
}

/** onTask calls f with each event of a task. @param {string} id @param {(event: any) => void} f @param {AbortSignal} signal */
export function onTask(id, f, signal) {
	const set = ofTask.get(id) || new Set();
	ofTask.set(id, set.add(f));
	signal.addEventListener("abort", () => { set.delete(f); });
}

/** @param {string | null} id */
function changed(id) { for (const f of listeners) f(id); }

const asks = (/** @type {Card} */ c) => c.waits_for === "permission" || c.waits_for === "answers";

/** needs says why a task needs a person; empty: it does not. @param {Card} c @returns {Kind | ""} */
export function needs(c) {
	if (c.waits_for === "permission") return "approve";
	if (c.waits_for === "answers") return "answer";
	if (c.waits_for && c.waits_for !== "paused") return "stopped";
	if (c.status === "completed" && c.branch && !c.merged) return "review";
	if (c.status === "failed" && !dismissed.has(c.id + c.updated_at)) return "failed";
	return "";
}

/** unmerged says whether a task has changes in a copy of the repository that are not merged. @param {any} task as GET /tasks/{task} has it */
export const unmerged = (task) => task.copy && (!task.copy.merged || task.copy.worked_on);

/** live says what a task does now that its history does not have. @param {any} c as the API has it */
export const live = (c) => [c.undriven && "no process drives it: pawl task watch", c.queued && "queued: " + c.queued, c.memory_bytes && bytes(c.memory_bytes)].filter(Boolean);

/** The sizes of changes, and when they were asked for. @type {Map<string, {at: number, size: any}>} */
const sizes = new Map();

/** size returns how much was changed in the copy of a task, once that is known: added, removed, files. @param {Card} c */
export function size(c) {
	if (!c.branch || c.merged) return null;
	const of = sizes.get(c.id) || { at: 0, size: null };
	const at = working(c) ? Math.floor(Date.now() / 30000) : c.seq;
	if (of.at !== at) {
		sizes.set(c.id, { ...of, at });
		measuring = measuring.then(async () => {
			const { files } = await get(`/tasks/${c.id}/diff`, { stat: true });
			const sum = (/** @type {string} */ key) => files.reduce((n, f) => n + f[key], 0);
			sizes.set(c.id, { at, size: files.length ? { added: sum("added"), removed: sum("removed"), files: files.length } : null });
			changed(c.id);
		}).catch(() => {}); // its copy is gone, or not there yet
	}
	return of.size;
}

let measuring = Promise.resolve();

const dismissed = new Set(JSON.parse(localStorage.getItem("pawl-dismissed") || "[]"));

/** dismiss takes a failed task out of what needs a person. @param {Card} c */
export function dismiss(c) {
	dismissed.add(c.id + c.updated_at);
	localStorage.setItem("pawl-dismissed", JSON.stringify([...dismissed].slice(-500)));
	changed(c.id);
}

/** @param {Card} card */
function take(card) {
	const before = cards.get(card.id);
	if (before && before.seq > card.seq) return;
	cards.set(card.id, card);
	if (!working(card)) doing.delete(card.id);
	if (asks(card)) look(card);
	else waiting.delete(card.id);
}

/** What shows the newest look at each task. @type {Map<string, ReturnType<typeof newest>>} */
const looks = new Map();

/** look loads what a task waits for. What an earlier look brings after a later one was begun, or after the task waits no more, counts nothing. @param {{id: string}} of */
export async function look({ id }) {
	const looked = looks.get(id) || newest();
	looks.set(id, looked);
	try {
		await looked(Promise.all([get(`/tasks/${id}`), get(`/tasks/${id}/approvals`)]), ([task, calls]) => {
			const card = cards.get(id);
			if (!card || !asks(card)) return;
			waiting.set(id, { task, calls: calls.items });
			// The run may just be taken up again: then its call is there in a moment.
			if (card.waits_for === "permission" && calls.items.length === 0) setTimeout(look, 500, card);
			changed(id);
		});
	} catch { /* the task is gone, or the next event looks again */ }
}

/** answer sends what a person answers to something of a task. @param {any} task @param {string} path below the task @param {any} body */
export async function answer(task, path, body) {
	answering.add(task.id);
	try {
		return await send("POST", `/tasks/${task.id}/${path}`, body);
	} catch (error) {
		answering.delete(task.id);
		throw error;
	} finally {
		look(task);
	}
}

/** What was removed since the last listing began. @type {Set<string>} */
let removed = new Set();

async function list() {
	const gone = removed = new Set(), before = [...cards.keys()], seen = new Set();
	let from = "";
	do {
		const page = await get("/tasks", { limit: 500, from });
		if (gone !== removed) return; // another listing has begun
		for (const c of page.items) {
			seen.add(c.id);
			if (!gone.has(c.id)) take(c);
		}
		from = page.next;
		loaded = true;
		changed(null);
	} while (from);
	for (const id of before) if (!seen.has(id)) forget(id); // what an event has brought meanwhile may stand on no page
	changed(null);
}

/** working says whether an agent works on a task. @param {Card} c */
const working = (c) => c.status === "active" || c.status === "planning";

/** refresh asks what no event tells of tasks at work: what their agents wait for, and their memory. */
export const refresh = oneAtATime(async () => {
	if (![...cards.values()].some(working)) return;
	try {
		for (const { id, queued, memory_bytes, undriven } of (await get("/tasks", { status: ["active", "planning"], limit: 500 })).items) {
			const card = cards.get(id);
			if (card) Object.assign(card, { queued, memory_bytes, undriven });
		}
		changed(null);
	} catch { /* it is asked again */ }
}, 0, new AbortController().signal);

/** @param {string} id */
function forget(id) { for (const m of [cards, doing, waiting, looks]) m.delete(id); }

/** begin keeps the tasks current. */
export function begin() {
	together((event) => {
		if (event.type === "position") {
			list();
			return;
		}
		if (event.type === "task_removed") {
			forget(event.task);
			removed.add(event.task);
		}
		if ((event.type === "permission_decided" && event.data.answer || event.type === "answers_submitted") && event.by && waiting.has(event.task) && !answering.delete(event.task)) {
			said(`${cards.get(event.task)?.title}: answered elsewhere by ${event.by}: ${event.data.answer || event.data.answers.join(", ")}`);
		}
		if (event.type === "tool_executed") doing.set(event.task, event.data.detail || event.data.tool);
		if (event.type === "agent_started" || event.type === "planning_started") {
			doing.set(event.task, "begins");
			if (!document.hidden) setTimeout(refresh, 1000); // it may have to wait first
		}
		if (event.card) { // which does not have what refresh has found
			const { run, status, queued, memory_bytes } = cards.get(event.task) || {};
			take(run === event.card.run && status === event.card.status ? { queued: event.type === "tool_executed" ? "" : queued, memory_bytes, ...event.card } : event.card);
		}
		for (const f of ofTask.get(event.task) || []) f(event);
		changed(event.task);
	});
}
