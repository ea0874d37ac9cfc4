// The strip above the board: everything that waits for a person, over all tasks, answered in place.

import { answers, approval } from "./dialog.js";
import { button, edited, h, keyed, plural } from "./dom.js";
import { may } from "./session.js";
import { cards, dismiss, loaded, needs, onChange, size, waiting } from "./tasks.js";
import { onFrame } from "./timing.js";

const order = ["approve", "answer", "stopped", "review", "failed"];
const shapes = { approve: "▲ Approve", answer: "? Answer", stopped: "◇ Stopped", review: "◑ Review", failed: "✕ Failed" };

/** all returns what waits for a person, the most urgent first. @returns {Need[]} */
function all() {
	/** @type {Need[]} */
	const list = [];
	for (const card of cards.values()) {
		const kind = needs(card);
		if (!kind) continue;
		const w = waiting.get(card.id);
		if (kind === "approve" && w) for (const call of w.calls) list.push({ card, kind, call });
		else list.push({ card, kind });
	}
	return list.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || (a.card.updated_at < b.card.updated_at ? -1 : 1));
}

/** open are the needs whose dialog a person has opened. */
const open = new Set();

/** @param {Need} n */
const key = (n) => [n.card.id, n.kind, n.call?.run, n.call?.call].join(" ");

/** row makes the row of a need. @param {Need} n @param {() => void} draw */
function row(n, draw) {
	const { card, kind, call } = n;
	const w = waiting.get(card.id);
	const k = key(n);
	const opened = open.has(k);
	const toggle = () => { if (!open.delete(k)) open.add(k); draw(); };
	const question = w?.task.questions?.find((/** @type {any} */ q) => !q.answered)?.question;
	const changes = kind === "review" && size(card);
	const what = kind === "approve" ? call?.title || "a call" : kind === "answer" ? question || "a question" : kind === "review" ? "finished, on branch " + card.branch : card.detail || "";
	return h("li", "row " + kind,
		h("div", "line",
			h("b", null, shapes[kind]),
			h("a", { href: `#/tasks/${card.id}${kind === "review" ? "/review" : ""}`, class: "title" }, card.title),
			h("span", { class: "what", title: what }, changes && [edited(changes.added, changes.removed), ` in ${plural(changes.files, "file")} · `], what),
			kind === "approve" || kind === "answer" ? button(opened ? "Close" : kind === "approve" || !may("answer") ? "Look" : "Answer", toggle, { "aria-expanded": String(opened), class: opened || !may("answer") ? "" : "act", disabled: !w })
				: kind === "review" ? h("a", { class: "button act", href: `#/tasks/${card.id}/review` }, "Review")
					: [h("a", { class: "button", href: "#/tasks/" + card.id }, "Look"), kind === "failed" && button("Dismiss", () => dismiss(card))]),
		opened && w && (kind === "approve" ? call && approval(w.task, call) : answers(w.task)));
}

/** strip shows what needs a person. @param {HTMLElement} place @param {AbortSignal} signal @param {string} [wanted] the task that it opens */
export function strip(place, signal, wanted) {
	const title = h("h2", { "aria-live": "polite" });
	const list = h("ol", "needs");
	const section = h("section", { class: "strip", "aria-label": "what needs you" }, title, list);
	place.append(section);
	const draw = onFrame(() => {
		const needed = all(), first = needed.find((n) => n.card.id === wanted);
		if (first) open.add(key(first));
		section.classList.toggle("quiet", needed.length === 0);
		const words = !loaded ? "…" : needed.length === 0 ? "Nothing needs you." : may("answer") ? plural(needed.length, "thing needs you", "things need you") : plural(needed.length, "thing waits", "things wait") + " for somebody";
		if (title.textContent !== words) title.textContent = words;
		document.title = (needed.length ? `(${needed.length}) ` : "") + "pawl";
		// A dialog in which somebody types stays as it is, whatever happens elsewhere to its task.
		keyed(list, needed.slice(0, 100), key, (n) => [n.kind === "approve" ? n.call?.digest : n.kind === "answer" ? JSON.stringify(waiting.get(n.card.id)?.task.questions) : n.card.seq, n.kind === "review" && Object.values(size(n.card) || {}), n.card.title, open.has(key(n))].join("|"), (n) => row(n, draw));
		if (first) { wanted = ""; list.querySelector(".dialog")?.scrollIntoView(); }
	}, signal);
	onChange(draw, signal);
	draw();
}
