// The page of a task: the run as it happens, and beside it what the task is, waits for, and was.

import { get, post, send } from "./client.js";
import { answers, approval, draft, standing } from "./dialog.js";
import { ago, ask, button, bytes, code, count, dots, fill, h, keyed, link, money, plural, said, submits, trying, when } from "./dom.js";
import { agentsOf } from "./form.js";
import { markdown } from "./markdown.js";
import { verbs } from "./board.js";
import { may } from "./session.js";
import { live, onTask, unmerged } from "./tasks.js";
import { clock, oneAtATime } from "./timing.js";
import { transcript } from "./transcript.js";

/** taskPage shows a task. @type {PageOf} */
export async function taskPage(place, id, signal) {
	const title = h("h1"), status = h("p", "status"), actions = h("div", "actions");
	const asks = h("div", "asks");
	const tabs = h("nav", { class: "tabs", "aria-label": "runs" });
	const runPlace = h("div", "run");
	const rail = h("aside", "rail");
	const say = line(`/tasks/${id}/messages`, id, signal);
	place.append(h("div", "task",
		h("header", null, h("p", null, link("#/", "← Board")), title, status, actions),
		h("div", "main", tabs, runPlace, h("div", "stand", asks, say.e)), rail));

	let shown = "", chosen = "";
	/** @type {AbortController | null} */
	let following = null;
	const show = (/** @type {string} */ run) => {
		if (!run || run === shown) return;
		shown = run;
		following?.abort();
		following = new AbortController();
		fill(runPlace);
		transcript(runPlace, run, AbortSignal.any([signal, following.signal]));
	};
	let version = 0, works = false;
	const load = oneAtATime(async () => {
		try {
			const [task, calls] = await Promise.all([get("/tasks/" + id, {}, signal), get(`/tasks/${id}/approvals`, {}, signal)]);
			works = task.status.name === "active" || task.status.name === "planning";
			title.textContent = task.title;
			document.title = task.title + " · pawl";
			fill(status, h("b", "state " + task.status.name, task.status.name.replace("_", " ")),
				[task.status.agent, task.waits_for && "waits for " + task.waits_for, ...live(task), task.status.detail, task.status.until && "continues at " + when(task.status.until), money(task.usage.cost)].map((x) => x && " · " + x));
			act(actions, task, load);
			const open = task.questions.filter((q) => !q.answered);
			keyed(asks, [...calls.items, ...open.length > 0 ? [{ run: "", call: "", digest: JSON.stringify(open) }] : []], (c) => c.run + " " + c.call, (c) => c.digest, (c) => c.run ? approval(task, c, load) : answers(task, load));
			fill(tabs, task.runs.length > 1 && task.runs.map((r) => button(`${r.agent}${r.ended ? "" : " ●"}`, () => { chosen = r.run; show(r.run); load(); }, { "aria-pressed": String(r.run === (chosen || task.runs.at(-1).run)) })));
			if (task.runs.length === 0) fill(runPlace, h("div", "prose empty", markdown(task.description)));
			show(chosen || task.runs.at(-1)?.run);
			if (version !== task.seq) {
				version = task.seq;
				side(rail, task, load, signal);
			}
			say.show(task);
			if (calls.items.length === 0 && task.waits_for === "permission") setTimeout(load, 500);
		} catch (/** @type {any} */ error) {
			if (signal.aborted) return;
			if (error.status === 404) fill(place, h("h1", null, "There is no such task"), h("p", null, "It was removed, or the address is wrong. ", link("#/", "Back to the board")));
			else fill(status, error.message);
		}
	}, 80, signal);
	onTask(id, load, signal);
	clock(() => { if (works) load(); }, signal);
	await load();
}

/** act shows what a person can do. @param {HTMLElement} place @param {Answer} task @param {() => void} load */
function act(place, task, load) {
	const move = (/** @type {string} */ op, /** @type {any} */ body) => trying(async () => { await post(`/tasks/${task.id}/${op}`, body); load(); });
	/** @type {HTMLElement[]} */
	const buttons = [];
	/** @type {HTMLElement[]} what is seldom meant */
	const more = [];
	for (const on of task.may) {
		const label = verbs[on];
		if (!label) continue; // answers and words have places of their own
		const first = ["plan", "start", "resume", "retry"].includes(on);
		if (on === "handoff") more.push(button(label, () => handoff(task, load)));
		else if (on === "fail" || on === "cancel") (on === "fail" ? more : buttons).push(button(label, () => {
			const why = h("textarea", { rows: 2, placeholder: "why (may be empty)", "aria-label": "why" });
			ask(label, [why], label, () => move(on, { why: why.value }));
		}));
		else (on === "complete" ? more : buttons).push(button(label, () => move(on, undefined), first ? "act" : ""));
	}
	if (unmerged(task)) buttons.push(h("a", { class: "button " + (task.status.name === "completed" ? "act" : ""), href: `#/tasks/${task.id}/review` }, "Review the changes"));
	else if (task.runs.some((r) => r.kind === "worker")) buttons.push(h("a", { class: "button", href: `#/tasks/${task.id}/review` }, "Changes"));
	if (more.length > 0) buttons.push(h("details", { class: "menu", open: Boolean(place.querySelector("details[open]")) }, h("summary", "button", "More…"), h("div", null, more)));
	// What has just come up is not what was pressed.
	const now = buttons.map((b) => b.textContent + b.className).join("|");
	if (place.dataset.shows === now) return;
	place.dataset.shows = now;
	fill(place, standing(h("div", null, buttons)));
}

/** @param {Answer} task @param {() => void} load */
function handoff(task, load) {
	const agent = agentsOf();
	const words = h("textarea", { rows: 3, placeholder: "what it should know or do differently (may be empty)", "aria-label": "words for the agent" });
	ask("Hand off", [h("p", null, agent), words], "Hand off", async () => {
		await post(`/tasks/${task.id}/handoff`, { agent: agent.value, prompt: words.value });
		load();
	});
}

/** side shows what stands beside the run. @param {HTMLElement} rail @param {Answer} task @param {() => void} load @param {AbortSignal} signal */
function side(rail, task, load, signal) {
	if (rail.contains(document.activeElement) && /** @type {HTMLElement} */ (document.activeElement).matches("input, textarea")) return; // somebody types there
	const plan = task.plan;
	const history = h("ol", "history");
	fill(rail,
		h("details", { open: task.description.length < 600 }, h("summary", null, "Description"), h("div", "prose", markdown(task.description))),
		task.report && section("Report: " + task.report.status, h("div", "prose", markdown(task.report.summary + (task.report.output ? "\n\n" + task.report.output : "") + (task.report.blockedReason ? "\n\n" + task.report.blockedReason : "")))),
		plan && section("Plan", planView(task, load)),
		task.questions.some((q) => q.answered) && section("Questions", h("dl", null, task.questions.filter((q) => q.answered).map((q) => [h("dt", null, q.question), h("dd", null, q.answer)]))),
		task.messages.length > 0 && section("Said", h("ul", "plain", task.messages.map((m) => h("li", null, m.comments ? link(`#/tasks/${task.id}/review`, `a review with ${plural(m.comments.length, "comment")}`) : m.text, " ", h("small", "quiet", m.state),
			m.state === "queued" && may("answer") && button("Take back", async () => { await send("DELETE", `/tasks/${task.id}/messages/${m.id}`); load(); }))))),
		(may("start") || task.attachments.length > 0) && section("Files", attachments(task, load)),
		section("About", h("dl", "facts",
			task.labels.length > 0 && fact("labels", task.labels.join(", ")),
			task.depends_on.length > 0 && fact("after", task.depends_on.map((d) => [link("#/tasks/" + d, d), " "]).flat()),
			task.copy && fact("branch", code(task.copy.branch), task.copy.merged ? " (merged)" : ""),
			fact("added", ago(task.created_at), task.source.user ? " by " + task.source.user : ""),
			fact("tokens", `${count(task.usage.input_tokens + task.usage.cache_read_tokens)} in, ${count(task.usage.output_tokens)} out`),
			fact("id", code(task.id)))),
		h("details", { ontoggle: async (/** @type {any} */ e) => {
			if (!e.target.open) return;
			const { items } = await get(`/tasks/${task.id}/history`, { limit: 500 }, signal);
			fill(history, items.map((l) => h("li", null, h("time", { dateTime: l.at }, when(l.at)), " ", dots(l.by, l.words || l.type.replaceAll("_", " ")))));
		} }, h("summary", null, "History"), history));
}

/** @param {string} name @param {...any} of */
const fact = (name, ...of) => [h("dt", null, name), h("dd", null, of)];

/** @param {string} name @param {...any} children */
const section = (name, ...children) => h("section", null, h("h2", null, name), ...children);

/** planView shows a plan, and edits it in place where that is allowed. @param {Answer} task @param {() => void} load */
function planView(task, load) {
	const plan = task.plan;
	const e = h("div", "plan");
	const lists = /** @type {const} */ ([["plan", "Steps"], ["requirements", "Requirements"], ["acceptanceCriteria", "Accepted when"]]);
	const view = () => fill(e, plan.summary && h("p", null, plan.summary),
		lists.map(([key, name]) => plan[key]?.length > 0 && [h("h3", null, name), h(key === "plan" ? "ol" : "ul", null, plan[key].map((/** @type {any} */ s) => h("li", null, s)))]).flat(),
		plan.assignedAgent && h("p", "quiet", "for ", plan.assignedAgent),
		task.status.name === "planned" && may("start") && button("Edit", edit));
	const edit = () => {
		const summary = h("textarea", { rows: 3, value: plan.summary || "", "aria-label": "summary" });
		const agent = agentsOf("that of the settings", plan.assignedAgent);
		const fields = lists.map(([key, name]) => ({ key, e: h("textarea", { rows: Math.max(2, (plan[key] || []).length), value: (plan[key] || []).join("\n"), "aria-label": name }), name }));
		fill(e, h("label", null, "Summary", summary), fields.map((f) => h("label", null, f.name + ", one a line", f.e)), h("label", null, "Agent ", agent),
			h("p", "choices", button("Back", view), button("Save the plan", async () => {
				await send("PATCH", "/tasks/" + task.id, { plan: { ...plan, summary: summary.value, assignedAgent: agent.value || plan.assignedAgent, ...Object.fromEntries(fields.map((f) => [f.key, f.e.value.split("\n").map((s) => s.trim()).filter(Boolean)])) } });
				said("Saved.");
				load();
			}, "act")));
	};
	view();
	return e;
}

/** @param {Answer} task @param {() => void} load */
function attachments(task, load) {
	const file = h("input", { type: "file", multiple: true, "aria-label": "attach files", onchange: () => trying(async () => {
		for (const f of file.files || []) await post(`/tasks/${task.id}/attachments?name=${encodeURIComponent(f.name)}`, f);
		load();
	}) });
	return h("div", null, task.attachments.length > 0 && h("ul", "plain", task.attachments.map((a) => h("li", null, a.name, " ", h("small", "quiet", bytes(a.size)), " ",
		may("start") && button("Remove", async () => { await send("DELETE", `/tasks/${task.id}/attachments/${a.id}`); load(); })))), may("start") && file);
}

/** line is the line to say something. What stands in it is kept until it is sent. @param {string} path @param {string} id of what is kept @param {AbortSignal} signal */
export function line(path, id, signal) {
	const words = h("textarea", { rows: 2, placeholder: "Say something to the agent", "aria-label": "say something to the agent", value: draft.of(id), oninput: () => draft.keep(id, words.value), onkeydown: (e) => {
		if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); form.requestSubmit(); }
	} });
	addEventListener("draft", () => { words.value = draft.of(id); }, { signal });
	const note = h("small", "quiet");
	const form = h("form", { class: "say", onsubmit: submits(async () => {
		const text = words.value.trim();
		if (!text) return;
		await post(path, { text });
		if (words.value.trim() === text) words.value = "";
		draft.keep(id, words.value);
	}) }, words, h("div", null, note, h("button", null, "Say")));
	return { e: form, show(/** @type {any} */ task) {
		const at = task.status.name;
		note.textContent = at === "active" ? "It is told with its next results, an external agent when its turn has ended." : at === "completed" || at === "failed" ? "The agent continues with it, in the same conversation." : "It is told when the agent works next.";
		form.hidden = task.runs.length === 0 || !may("answer");
	} };
}
