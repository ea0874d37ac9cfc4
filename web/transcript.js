// A run as it happens: what was said, the calls with their results, what streams right now.

import { ansi } from "./ansi.js";
import { follow, get, Problem } from "./client.js";
import { patch } from "./diff.js";
import { button, bytes, code, dots, fill, h, keyed, link, money, plural, pre, took } from "./dom.js";
import { markdown } from "./markdown.js";
import { oneAtATime, onFrame } from "./timing.js";

/** What is shown open, by id: it stays open when it is drawn again. @type {Set<string>} */
const opened = new Set();

/** What pawl writes for an agent: a task, or a review. */
const given = /<(task id|review comments)=/;

/** @param {any} item @param {string} run @param {AbortSignal} signal */
function element(item, run, signal) {
	switch (item.kind) {
		case "message": if (!item.text) return h("li", "note", item.message?.kind === "continue" ? "continued" : item.message?.kind || "said");
			return h("li", "message", h("details", { open: Boolean(item.message?.by) || !given.test(item.text) }, h("summary", null, item.message?.by ? "said by " + item.message.by : given.test(item.text) ? "what the agent was given" : "said"), h("div", "prose", markdown(item.text))));
		case "text": return h("li", "prose", markdown(item.text || ""));
		case "thinking": return h("li", "thinking", h("details", null, h("summary", null, "thought"), h("div", "prose quiet", item.text)));
		case "call": return call(item, run, signal);
		case "submission": return h("li", "note", "has handed in its result");
		case "end": return h("li", "end", dots(item.end.end + (item.end.detail ? ": " + item.end.detail : ""), plural(item.end.steps, "step"), money(item.end.usage?.cost)));
	}
	return h("li", "note", item.note?.detail || item.text || item.kind);
}

/** How outcomes are called that have another name in the log. @type {Record<string, string>} */
const outcomes = { not_run: "not run", cut: "stopped" };

/** @param {any} item @param {string} run @param {AbortSignal} signal */
function call(item, run, signal) {
	const c = item.call;
	const failed = c.is_error || c.exit_code;
	const ended = c.state === "settled", done = c.outcome === "ok" || c.outcome === "answered";
	const state = ended ? (c.exit_code ? "exit code " + c.exit_code : c.outcome === "ok" ? "" : outcomes[c.outcome] || c.outcome) : c.state === "asked" ? "asks for permission" : c.state;
	const files = (c.files || []).map((/** @type {any} */ f) => `${f.path} +${f.added || 0} −${f.removed || 0}`).join(", ");
	const key = run + " " + item.id;
	const body = h("div", "body"), child = h("div");
	const load = () => {
		const shown = c.title.replace(/^shell /, "") === c.input?.command ? null : c.input;
		fill(body,
			c.decision && h("p", "quiet", dots(c.decision.answer === "allow" ? "allowed" : c.decision.answer, c.decision.by ? "by " + c.decision.by : "", c.decision.reason, c.decision.rule)),
			c.input?.command && pre(c.input.command),
			shown && h("details", null, h("summary", null, "arguments"), pre(JSON.stringify(shown, null, 2))),
			c.child && h("div", "child", link("#/runs/" + c.child, "the run of the agent that it has started"), child),
			c.result && (/^@@ /m.test(c.diff ||= c.result) ? patch(c.diff) : h("pre", { class: "output", tabIndex: 0 }, ansi(c.result))),
			c.stored_bytes > 0 && h("p", null, link(`#/runs/${run}/outputs/${encodeURIComponent(c.call)}`, `look into the whole result (${bytes(c.stored_bytes)})`)),
			!c.result && c.state === "settled" && h("p", "quiet", "It printed nothing."));
		if (c.child && !child.firstChild) transcript(child, c.child, signal);
	};
	const e = h("details", { open: opened.has(key), ontoggle: () => {
		if (e.open) { opened.add(key); load(); } else opened.delete(key);
	} }, h("summary", null, h("span", "mark", !ended ? "○" : failed ? "✕" : done ? "●" : "⊘"), " ", code(c.title), " ",
		h("span", "quiet", dots(state, files, c.duration_ms > 0 ? took(c.duration_ms) : ""))), body);
	if (e.open) load();
	return h("li", "call" + (failed ? " failed" : ended && done ? "" : " open"), e);
}

/** transcript shows a run. It follows the end while the end is in sight. @param {HTMLElement} place @param {string} run @param {AbortSignal} signal */
export function transcript(place, run, signal) {
	/** @type {Map<string, any>} */
	const items = new Map();
	const list = h("ol", "items");
	const live = h("div", { class: "live prose", "aria-live": "off" });
	const jump = button("", () => bottom.scrollIntoView({ block: "end" }), { class: "jump", hidden: true });
	const bottom = h("div", "bottom");
	const byHand = h("details", { hidden: true });
	place.append(list, live, byHand, bottom, jump);

	let atEnd = true, unseen = 0;
	const watch = new IntersectionObserver((seen) => {
		atEnd = seen[seen.length - 1].isIntersecting;
		if (atEnd) { unseen = 0; jump.hidden = true; }
	}, { rootMargin: "80px" });
	watch.observe(bottom);
	signal.addEventListener("abort", () => watch.disconnect());

	const draw = (/** @type {number} */ fresh) => {
		const stay = atEnd;
		keyed(list, [...items.values()], (i) => i.id, (i) => i.seq + i.kind + i.final + (i.call?.state || ""), (i) => element(i, run, signal));
		if (stay && !signal.aborted) { if (fresh && list.dataset.began) bottom.scrollIntoView({ block: "end" }); }
		else if (fresh) { unseen += fresh; jump.hidden = false; jump.textContent = plural(unseen, "new line") + " ↓"; }
		list.dataset.began = "yes";
	};
	let after = 0, missing = 0;
	const load = oneAtATime(async () => {
		try {
			const shown = await get(`/runs/${run}/items`, { results: true, after }, signal);
			let fresh = 0;
			for (const i of shown.items) {
				if (!items.has(i.id)) fresh++;
				items.set(i.id, i);
				after = Math.max(after, i.seq);
			}
			const command = shown.by_hand || "";
			byHand.hidden = !command || shown.state === "working"; // two would write to one conversation
			if (byHand.dataset.shows !== command) fill(byHand, h("summary", "quiet", "Take the conversation over in the program itself"), pre(command), button("Copy", () => navigator.clipboard.writeText(command)),
				h("p", "quiet", "When you have quit it, say something here: the agent goes on, and knows what was said there."));
			byHand.dataset.shows = command;
			draw(fresh);
		} catch (/** @type {any} */ error) {
			if (signal.aborted) return;
			if (/** @type {Problem} */ (error).status === 404 && missing++ < 20) setTimeout(load, 300); // a run that was just assigned is there in a moment
			else fill(live, h("p", "quiet", error.message));
		}
	}, 100, signal);
	let text = "";
	const stream = onFrame(() => {
		const stay = atEnd;
		live.textContent = text;
		if (stay && text) bottom.scrollIntoView({ block: "end" });
	}, signal);
	load().then(() => follow(`/runs/${run}/events`, (event) => {
		if (event.type === "delta") {
			if (event.text) { text += event.text; stream(); }
		} else if (event.type === "drop") {
			text = "";
			stream();
		} else if (event.type === "progress") {
			text = event.output;
			stream();
		} else if (event.type === "notice") {
			const id = "notice" + items.size;
			items.set(id, { id, kind: "notice", text: event.message });
			draw(1);
		} else if (!event.type || event.seq > after) {
			if (event.type === "replied" || event.type === "call_settled" || event.type === "turn_ended") { text = ""; stream(); }
			load();
		}
	}, signal, String(after)));
}
