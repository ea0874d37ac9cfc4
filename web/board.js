// The board: a column for each step of a task's life, a card for each task.

import { get, send } from "./client.js";
import { ago, button, dots, edited, h, keyed, money, plural, said, trying, when } from "./dom.js";
import { may } from "./session.js";
import { cards, doing, live, loaded, needs, onChange, refresh, size } from "./tasks.js";
import { clock, onFrame } from "./timing.js";

/** The columns, with the statuses in them and what moves a task there. */
const columns = [
	{ name: "Backlog", statuses: ["pending"], moves: ["retry"] },
	{ name: "Planning", statuses: ["planning", "awaiting_input"], moves: ["plan"] },
	{ name: "Ready", statuses: ["planned"], moves: ["reopen"] },
	{ name: "Working", statuses: ["active", "waiting"], moves: ["start", "resume"] },
	{ name: "Done", statuses: ["completed"], moves: ["complete"] },
	{ name: "Failed", statuses: ["failed"], moves: ["fail", "cancel"] },
];

/** What a person calls the operations that move a task. @type {Record<string, string>} */
export const verbs = {
	plan: "Plan", start: "Start", resume: "Continue", pause: "Pause", complete: "Mark as done", fail: "Mark as failed", cancel: "Give up",
	retry: "Try again", reopen: "Reopen", handoff: "Hand off…",
};

const page = 50; // cards of a column that are drawn at first; more come as one scrolls

/** What is shown of all tasks: words, and text of labels, agents and statuses. */
let words = "";
/** @type {Map<string, number>} */
const drawn = new Map();

/** matches says whether a card has all words of the search. @param {Card} c */
function matches(c) {
	if (!words) return true;
	const text = `${c.title} ${c.id} ${(c.labels || []).map((l) => "label:" + l).join(" ")} agent:${c.agent || ""} ${c.status.replace("_", " ")}`.toLowerCase();
	return words.toLowerCase().split(/\s+/).every((w) => text.includes(w));
}

/** @type {AbortController | null} */
let dragging = null;

/** card makes the card of a task. @param {Card} c */
function card(c) {
	const need = needs(c);
	const state = stateOf(c), changes = size(c);
	return h("li", { class: "card " + c.status, draggable: may("answer"),
		ondragstart: (e) => { e.dataTransfer?.setData("text/plain", c.id); drag(c); },
		ondragend: () => { dragging?.abort(); dragging = null; mark([]); } },
	h("a", { href: "#/tasks/" + c.id, class: "title" }, c.title),
	h("p", "does", state),
	h("p", "foot",
		need && h("span", "need " + need, { approve: "▲ approve", answer: "? answer", stopped: "◇ stopped", review: "◑ review", failed: "✕ failed" }[need]),
		(c.labels || []).slice(0, 4).map((l) => h("span", "label", l)),
		h("span", "space"),
		money(c.usage?.cost) && h("span", null, money(c.usage.cost)),
		c.branch && h("span", { class: "label", title: "works in a copy of the repository, on branch " + c.branch }, c.merged ? "merged" : "copy", changes && [" ", edited(changes.added, changes.removed)]),
		h("time", { dateTime: c.updated_at, title: new Date(c.updated_at).toLocaleString() }, ago(c.updated_at))));
}

/** stateOf says in a line what a task does now. @param {Card} c */
function stateOf(c) {
	switch (c.status) {
		case "planning": case "active": return dots(c.agent, !c.queued && !c.undriven && (doing.get(c.id) || (c.waits_for === "permission" ? "asks for permission" : "works")), ...live(c));
		case "awaiting_input": return (c.agent || "the planner") + " asked";
		case "waiting": return c.detail || (c.until ? "continues at " + when(c.until) : "paused");
		case "failed": return c.detail || "";
		case "pending": case "planned": {
			const waits = (c.depends_on || []).filter((d) => cards.get(d)?.status !== "completed");
			return waits.length ? "after " + waits.map((d) => cards.get(d)?.title || d).join(", ") : c.starts ? "starts by itself" : "";
		}
	}
	return "";
}

/** drag marks the columns that take a card. @param {Card} c */
async function drag(c) {
	dragging = new AbortController();
	const { signal } = dragging;
	try {
		const now = await get(`/tasks/${c.id}/status`, {}, signal);
		if (!signal.aborted) mark(now.may);
	} catch { /* it was let go, or is gone */ }
}

/** @param {string[]} of what may be done */
function mark(of) {
	for (const e of document.querySelectorAll(".column")) {
		const moves = columns.find((col) => col.name === /** @type {HTMLElement} */ (e).dataset.name)?.moves || [];
		e.classList.toggle("takes", moves.some((m) => of.includes(m)));
	}
}

/** move moves a task to a column. @param {string} id @param {typeof columns[0]} to */
async function move(id, to) {
	await trying(async () => {
		const now = await get(`/tasks/${id}/status`);
		const by = to.moves.find((m) => now.may.includes(m));
		if (!by) {
			said(`The task cannot go to ${to.name} from where it is.`, true);
			return;
		}
		await send("POST", `/tasks/${id}/${by}`, by === "fail" || by === "cancel" ? { why: "on the board" } : undefined);
	});
}

/** board shows the columns. @param {HTMLElement} place @param {AbortSignal} signal */
export function board(place, signal) {
	const lists = columns.map((col) => {
		const count = h("span", "count");
		const list = h("ol", { class: "cards", "aria-label": col.name });
		const more = h("p", { class: "more", hidden: true });
		const e = h("section", { class: "column", "data-name": col.name,
			ondragover: (ev) => { if (e.classList.contains("takes")) ev.preventDefault(); },
			ondrop: (ev) => { ev.preventDefault(); const id = ev.dataTransfer?.getData("text/plain"); if (id) move(id, col); } },
		h("h2", null, col.name, " ", count), list, more);
		new IntersectionObserver((seen) => {
			if (seen.some((s) => s.isIntersecting)) { drawn.set(col.name, (drawn.get(col.name) || page) + page); draw(); }
		}).observe(more);
		return { col, e, count, list, more };
	});
	const empty = h("section", { class: "empty", hidden: true });
	place.append(h("h1", "unseen", "Board"), h("div", "columns", lists.map((l) => l.e)), empty);

	const draw = onFrame(() => {
		const all = [...cards.values()].filter(matches);
		for (const { col, e, count, list, more } of lists) {
			const mine = all.filter((c) => col.statuses.includes(c.status));
			mine.sort((a, b) => b.priority - a.priority || (a.updated_at < b.updated_at ? 1 : -1));
			count.textContent = String(mine.length);
			e.classList.toggle("none", mine.length === 0);
			const most = drawn.get(col.name) || page;
			keyed(list, mine.slice(0, most), (c) => c.id, (c) => [c.seq, doing.get(c.id), ...live(c), needs(c), Object.values(size(c) || {}), (c.depends_on || []).map((d) => cards.get(d)?.status), ago(c.updated_at)].join("|"), card);
			more.hidden = mine.length <= most;
			more.textContent = more.hidden ? "" : plural(mine.length - most, "more task");
		}
		empty.hidden = !loaded || cards.size > 0;
		if (!empty.hidden && empty.childElementCount === 0) fillEmpty(empty);
	}, signal);
	onChange(draw, signal);
	clock(() => { draw(); refresh(); }, signal);
	draw();
	return {
		/** @param {string} text */
		search(text) { words = text; draw(); },
	};
}

/** @param {HTMLElement} place */
function fillEmpty(place) {
	const examples = ["Find out why the tests are slow, and say what to do about it", "Write a test for the function that changed last", "Explain how this project is built, in a file ARCHITECTURE.md"];
	place.append(h("h2", null, "No task yet"),
		h("p", null, "A task is planned by an agent that asks you what is unclear, and carried out by another one." + (may("start") ? " Begin with your own words, or with one of these:" : "")),
		h("ul", null, may("start") && examples.map((text) => h("li", null, button(text, () => dispatchEvent(new CustomEvent("new-task", { detail: text })), "example")))));
}

/** step moves the focus among the cards: by one, or to the next column. @param {number} x @param {number} y */
export function step(x, y) {
	const all = [...document.querySelectorAll(".column")].map((c) => /** @type {HTMLElement[]} */ ([...c.querySelectorAll(".card .title")])).filter((c) => c.length > 0);
	if (all.length === 0) return;
	const at = all.findIndex((c) => c.includes(/** @type {HTMLElement} */ (document.activeElement)));
	if (at < 0) {
		all[0][0].focus();
		return;
	}
	const row = all[at].indexOf(/** @type {HTMLElement} */ (document.activeElement));
	const column = all[Math.min(all.length - 1, Math.max(0, at + x))];
	column[Math.min(column.length - 1, Math.max(0, row + y))].focus();
}
