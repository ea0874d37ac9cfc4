// The pages beside the board: runs, agents, models, rules, trust, usage, settings, doctor.

import { get, post, send } from "./client.js";
import { standing } from "./dialog.js";
import { ago, ask, bars, button, code, count, dots, fill, h, link, money, plural, pre, put, said, submits, trying, wide } from "./dom.js";
import { logOut, may } from "./session.js";
import { line } from "./task.js";
import { newest } from "./timing.js";
import { transcript } from "./transcript.js";

/** rows makes a table. @param {string[]} head @param {any[][]} lines */
const rows = (head, lines) => lines.length === 0 ? h("p", "quiet", "There is nothing yet.")
	: wide("list", h("thead", null, h("tr", null, head.map((n) => h("th", null, n)))), h("tbody", null, lines.map((l) => h("tr", null, l.map((c) => h("td", null, c))))));

/** @type {Page} */
export async function runs(place, signal) {
	const list = h("div"), answered = newest();
	const load = () => {
		const every = all.checked;
		const here = (/** @type {any} */ r) => !every || r.workspace === folder.textContent;
		return answered(get("/runs", { limit: 200, all: every }, signal), ({ items }) => fill(list, rows(["run", ...(every ? ["folder"] : []), "what", "model", "state", "steps", "cost", "used"], items.map((r) => [
			here(r) ? link("#/runs/" + r.run, code(r.run)) : code(r.run), ...(every ? [r.workspace || ""] : []), h("p", null, r.name || r.title || ""), code(r.model || ""), dots(r.state, r.end), r.steps, money(r.usage?.cost), ago(r.updated_at)]))));
	};
	const all = h("input", { type: "checkbox", onchange: () => trying(load) });
	const folder = code((await get("/workspaces", {}, signal)).items[0].path);
	place.append(h("h1", null, "Runs"), h("p", null, folder, " ", h("label", "line", all, " of all folders; those of others are opened by a server there")), list);
	await load();
}

/** @type {PageOf} */
export async function runPage(place, run, signal) {
	const [r, why] = await Promise.all([get("/runs/" + run, {}, signal), get(`/runs/${run}/why`, {}, signal)]);
	const e = h("div", "run"), say = line(`/runs/${run}/prompt`, run, signal).e;
	say.classList.add("stand");
	put(place, h("div", "task", h("header", null, h("p", null, link("#/runs", "← Runs")), h("h1", null, r.name || r.title || run), h("p", "status", dots(why.text, why.next)),
		h("div", "actions", r.state === "working" && may("answer") && button("Stop", () => post(`/runs/${run}/interrupt`)), h("a", { class: "button", href: `#/runs/${run}/outputs` }, "Outputs"))),
	h("div", "main", e, may("start") && say)));
	transcript(e, run, signal);
}

/** @type {PageOf} */
export async function outputs(place, run, signal) {
	const { items } = await get(`/runs/${run}/outputs`, { limit: 200 }, signal);
	put(place, h("p", null, link("#/runs/" + run, "← the run")), h("h1", null, "Outputs"), rows(["output", "tool", "what", "bytes"], items.map((o) => [
		link(`#/runs/${run}/outputs/${encodeURIComponent(o.id)}`, code(o.id)), o.tool, o.summary, count(o.bytes)])));
}

/** @type {Page} */
export async function agents(place, signal) {
	const list = h("div");
	const load = async () => {
		const { items } = await get("/agents", { limit: 500 }, signal);
		fill(list, rows(["agent", "kind", "model", "from"], items.map((a) => [
			[h("b", null, link("#/agents/" + a.name, a.name)), a.description && h("p", "quiet", a.description), !a.valid && h("p", "need failed", "✕ ", a.why || "cannot run")], a.kind || "pawl", code(a.model || ""), a.source])));
	};
	const name = h("input", { placeholder: "its name: a-z, 0-9, -", pattern: "[a-z0-9][a-z0-9\\-]*", required: true, "aria-label": "name of a new agent" });
	put(place, h("h1", null, "Agents"), may("administer") && h("form", { class: "ask", onsubmit: submits(() => { location.hash = "#/agents/" + name.value; }) }, name, h("button", null, "New agent")), list);
	await load();
}

/** agentPage edits an agent, or writes a new one. @type {PageOf} */
export async function agentPage(place, name, signal) {
	const a = await get("/agents/" + name, {}, signal).catch((error) => { if (error.status === 404) return null; throw error; });
	const p = a?.permissions || {};
	const lines = (/** @type {string} */ t) => t.split("\n").map((l) => l.trim()).filter(Boolean);
	/** @type {Record<string, Field>} */
	const fields = {
		description: { label: "What it is for", of: a?.description || "", e: h("input", { size: 60 }) },
		kind: { label: "Kind", of: a?.kind || "worker", e: h("select", null, h("option", null, "worker"), h("option", null, "planner")) },
		model: { label: "Model, as provider/name; empty: that of the settings", of: a?.model || "", e: h("input", { size: 40 }) },
		mode: { label: "Mode; empty: that of the settings", of: p.mode || "", e: h("select", null, ["", "default", "accept-edits", "plan", "auto", "bypass"].map((m) => h("option", null, m))) },
		tools: { label: "Tools, one a line; * is all", of: a?.no_tools ? "" : a?.tools?.join("\n") || "*", e: h("textarea", { rows: 3 }) },
		allow: { label: "Rules that allow, one a line", of: (p.allow || []).join("\n"), e: h("textarea", { rows: 2 }) },
		deny: { label: "Rules that deny, one a line", of: (p.deny || []).join("\n"), e: h("textarea", { rows: 2 }) },
		instructions: { label: "Instructions", of: a?.instructions || "", e: h("textarea", { rows: 16 }) },
	};
	for (const f of Object.values(fields)) f.e.value = f.of;
	const workspace = h("input", { type: "checkbox" });
	const wrong = h("p", { class: "warn", role: "alert" });
	const save = async () => {
		const changed = Object.entries(fields).filter(([, f]) => !a || f.e.value !== f.of).map(([key, f]) => [key, ["tools", "allow", "deny"].includes(key) ? lines(f.e.value) : f.e.value]);
		const body = { ...Object.fromEntries(changed.filter(([key, v]) => a || key === "kind" || v.length)), ...(workspace.checked ? { workspace: true } : {}) };
		try {
			await (a ? send("PATCH", "/agents/" + name, body) : post("/agents", { name, ...body }));
			said("Saved.");
			fill(place);
			await agentPage(place, name, signal);
		} catch (/** @type {any} */ error) { wrong.textContent = error.message; }
	};
	place.append(h("p", null, link("#/agents", "← Agents")), h("h1", null, name), h("p", "status", a ? [h("b", a.valid ? "" : "need failed", a.valid ? "ready" : a.why || "cannot run"), " · ", a.file ? code(a.file) : "built in; a file of your own replaces it"] : "There is no such agent yet."),
		h("form", { class: "agent", onsubmit: submits(save) }, Object.values(fields).map((f) => h("label", null, f.label, f.e)),
			h("label", "line", workspace, " in this folder, and trusted"), wrong,
			h("p", "choices", may("administer") ? h("button", "act", a ? "Save" : "Write the agent") : h("span", "quiet", "An administrator of the server changes agents."), may("administer") && a?.file && button("Remove the file…", () => ask("Remove " + a.file, [], "Remove", async () => {
				await send("DELETE", "/agents/" + name);
				location.hash = "#/agents";
			})))));
}

/** @type {Page} */
export async function models(place, signal) {
	const { items } = await get("/models", {}, signal);
	put(place, h("h1", null, "Models"), rows(["model", "window", "in, out ($ per million tokens)", ""], items.map((m) => [
		code(m.name), m.window ? count(m.window) : "", m.price.input || m.price.output ? `${m.price.input}, ${m.price.output}` : "", m.usable ? "ready" : h("span", "quiet", "no key")])));
}

/** @type {Page} */
export async function rules(place, signal) {
	const list = h("div"), found = h("div"), answered = newest();
	const load = () => answered(get("/permissions", {}, signal), ({ items }) => {
		fill(list, rows(["", "rule", "where", ""], items.map((r) => [
			h("b", { allow: "", ask: "warn", deny: "need failed" }[/** @type {string} */ (r.effect)], r.effect), [code(r.rule), r.sandbox === "none" && h("p", "warn", "without the sandbox"), h("p", "quiet", dots(r.why, r.at && ago(r.at) + (r.by ? " by " + r.by : ""), r.idle))], r.scope || r.source || "",
			r.scope && may("administer") && button("Remove", async () => { await send("DELETE", `/permissions?${new URLSearchParams({ rule: r.rule, effect: r.effect, scope: r.scope })}`); said("Removed."); load(); })])));
	});
	const call = h("input", { size: 50, placeholder: "npm install", "aria-label": "a command" });
	put(place, h("h1", null, "Rules"), h("p", null, "A rule says what agents may do without a question, and what they may never do. Without one an agent asks, unless a call only reads or the sandbox confines it. ", h("i", null, "Always…"), " and ", h("i", null, "Never…"), " in a question store one."), h("form", { class: "ask", onsubmit: submits(async () => {
		const x = await post("/permissions/explain", { call: call.value });
		fill(found, h("p", null, h("b", null, x.decision.verdict), " · ", x.decision.reason, x.decision.rule && [" · ", code(x.decision.rule)]), h("ul", null, (x.parts || []).map((p) => h("li", null, code(p.text), ` ${p.verdict}: ${p.reason}`))));
	}) }, h("label", "line", "What would happen to ", call), h("button", null, "Ask")), found, list);
	await load();
}

/** @type {Page} */
export async function trust(place, signal) {
	const { items, trusted } = await get("/trust", {}, signal);
	put(place, h("h1", null, "Trust"), h("p", null, items.length ? "These files of the folder change what pawl does. They count only after you have looked at them:" : trusted ? "Everything that the folder brings is trusted." : "The folder brings nothing that would change what pawl does."));
	const shown = items.map((f) => pre(f.shown || ""));
	const files = items.map((f, i) => h("details", { open: true }, h("summary", null, code(f.file)), f.problem && h("p", "warn", f.problem), shown[i]));
	const some = items.filter((f) => !f.problem);
	if (items.length && !some.length) put(place, files, h("p", "warn", "None of this can be trusted as it is: repair or remove it."));
	else if (!may("administer")) put(place, files, items.length && h("p", "quiet", "An administrator of the server can trust them."));
	else if (some.length) put(place, standing(h("div", null, files, h("p", "choices", button("Trust these files as they are shown", async () => {
		await post("/trust", { files: some.map((f) => ({ file: f.file, sha256: f.sha256 || "" })) });
		said("Trusted. It holds from the next start of the server on.");
		fill(place);
		await trust(place, signal);
	}, "act"))), shown));
}

/** @type {Page} */
export async function usage(place, signal) {
	const list = h("div"), answered = newest();
	const load = (/** @type {string} */ since) => trying(() => answered(get("/usage", { since }, signal), (u) => {
		fill(list,
			h("p", "figures", [[plural(Number(u.runs), "run"), ""], [plural(u.turns, "turn"), ""], [plural(u.calls, "call"), ""], [money(u.cost) || "–", "cost"], [String(u.reminders), "reminders"], [u.steps_per_turn.mean.toFixed(1), "steps a turn"]].map(([n, what]) => h("span", null, h("b", null, n), " ", what))),
			u.days.length > 0 && [h("h2", null, "By day"), h("div", "plots", /** @type {Plot[]} */ ([
				["cost", (d) => d.cost, money], ["turns", (d) => d.turns, String], ["not completed", (d) => d.failed, String],
				["reminders", (d) => d.reminders, String], ["seconds a turn", (d) => d.turns ? d.driven_ms / d.turns / 1000 : 0, (n) => n.toFixed(1)],
			]).map(([name, of, say]) => plot(name, u.days, of, say)))],
			h("h2", null, "How turns ended"), bars(Object.entries(u.ends)),
			h("h2", null, "Models"), rows(["model", "requests", "tokens in", "tokens out", "cost"], (u.models || []).map((m) => [code(m.model), m.requests, count(m.usage.input_tokens + m.usage.cache_read_tokens), count(m.usage.output_tokens), money(m.usage.cost)])),
			u.denials?.length > 0 && [h("h2", null, "Refused"), rows(["tool", "rule", "count"], u.denials.map((d) => [d.tool, d.rule || d.source || "", d.count]))]);
	}));
	const since = h("select", { "aria-label": "since", onchange: () => load(since.value) }, [["", "ever"], ["24h", "the last day"], ["168h", "the last week"], ["720h", "the last month"]].map(([value, name]) => h("option", { value }, name)));
	put(place, h("h1", null, "Usage"), h("p", null, since), list);
	await load("");
}

/** @type {Page} */
export async function settings(place, signal) {
	const [c, v] = await Promise.all([get("/config", {}, signal), get("/version", {}, signal)]);
	const device = h("section");
	import("./push.js").then((p) => p.pushes(device), () => {}); // without it the settings are shown all the same
	put(place, h("h1", null, "Settings"), h("p", "quiet", `pawl ${v.version}, state in `, code(c.state_dir)), c.notes.map((n) => h("p", "warn", n)), device,
		h("h2", null, "This server"), h("p", null, "Settings are read when the server starts. ", code("pawl config set"), " changes them."),
		rows(["setting", "value", "from"], Object.entries(c.values).map(([name, all]) => [code(name), all.length === 0 ? h("span", "quiet", "not set") : all.map((/** @type {any} */ s) => h("div", null, code(s.value))), all[0]?.source || ""])),
		h("p", null, button("Log out", logOut)),
		h("p", null, link("/api/v1/docs", "The API: its operations, and a form for each")));
}

/** plot draws a figure of each day as a bar, and says the largest. @param {string} name @param {any[]} days @param {(d: any) => number} of @param {(n: number) => string} say */
function plot(name, days, of, say) {
	const day = (/** @type {any} */ d) => Date.parse(d) / 86400000;
	const first = day(days[0].day), n = Math.max(14, day(days[days.length - 1].day) - first + 1);
	const most = Math.max(...days.map(of));
	const caption = h("figcaption", null, h("b", null, name), " ", h("span", "quiet", most ? "at most " + say(most) : "none"));
	if (!most) return h("figure", null, caption);
	const svg = (/** @type {string} */ tag, /** @type {Record<string, string | number>} */ attributes, /** @type {Node[]} */ ...children) => {
		const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
		for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
		e.append(...children);
		return e;
	};
	const bars = days.map((d) => {
		const tall = 60 * of(d) / most;
		return svg("rect", { x: 280 * (day(d.day) - first) / n, y: 60 - tall, width: Math.max(1, 280 / n - 1), height: tall }, svg("title", {}, new Text(`${d.day}: ${say(of(d))}`)));
	});
	return h("figure", null, caption,
		svg("svg", { viewBox: "0 0 280 61", role: "img", "aria-label": `${name}: ` + days.map((d) => `${d.day} ${say(of(d))}`).join(", ") }, svg("path", { d: "M0 60.5H280" }), ...bars),
		h("p", "quiet", h("span", null, days[0].day), " ", h("span", null, days.length > 1 && days[days.length - 1].day)));
}

/** @type {Page} */
export async function workers(place, signal) {
	const list = h("div"), answered = newest();
	const load = () => answered(get("/workers", {}, signal), (f) => {
		fill(list, !f.watcher && h("p", "warn", "No process gives new tasks to workers."), (f.unattended || []).map((/** @type {string} */ q) => h("p", "warn", "No worker takes tasks of the queue ", code(q), ".")),
			rows(["worker", "queue", "tasks", "asked for tasks"], f.workers.map((/** @type {any} */ w) => [w.name, code(w.queue), w.holds, ago(w.seen_at)])),
			h("h2", null, "Tasks in work"), rows(["task", "status", "queue", "held by"], f.tasks.map((t) => [link("#/tasks/" + t.id, t.title), dots(t.status), code(t.queue), t.by || h("span", "quiet", "no worker: it waits for one, or for a person")])));
	});
	put(place, h("h1", null, "Workers"), list);
	await load();
	const again = setInterval(() => { if (!document.hidden) trying(load); }, 5000);
	signal.addEventListener("abort", () => clearInterval(again));
}

/** @type {Page} */
export async function doctor(place, signal) {
	const list = h("div"), answered = newest();
	const load = (/** @type {boolean} */ online) => {
		fill(list, h("p", "quiet", "It looks…"));
		return answered(get("/doctor", { online }, signal), (r) => fill(list, h("p", "status", h("b", r.usable ? "" : "need failed", r.usable ? "A run could begin" : "No run could begin"), r.model && [" with ", code(r.model)], r.source && `, ${r.source}`),
			rows(["", "what there is, and what to do"], r.checks.map((c) => [h("b", { class: c.state === "wrong" ? "need failed" : c.state === "ok" ? "" : "quiet" }, { ok: "● ok", missing: "○ missing", unasked: "– not asked", wrong: "✕ wrong" }[/** @type {string} */ (c.state)]), [h("b", null, c.topic), " · ", c.name, h("p", "quiet", c.detail), c.next && h("p", null, code(c.next))]]))));
	};
	place.append(h("h1", null, "Doctor"), h("p", null, button("Ask the providers too", () => load(true))), list);
	await load(false);
}
