// The explorer of stored outputs: what a result has in it, and questions to it in JSONPath.

import { get, send } from "./client.js";
import { bars, button, bytes, code, count, dots, fill, h, link, plural, pre, submits, trying, wide } from "./dom.js";
import { newest } from "./timing.js";

/** outputPage shows one output. @param {HTMLElement} place @param {string} run @param {string} id */
export async function outputPage(place, run, id) {
	const ask = (/** @type {string} */ op, /** @type {any} */ body) => send("POST", `/runs/${run}/outputs/${encodeURIComponent(id)}/${op}`, body);
	const path = h("input", { value: "$", size: 50, spellcheck: false, "aria-label": "JSONPath" });
	const result = h("div", "result"), shape = h("div", "shape");
	const title = h("p", "status");
	const command = code();
	const answered = newest();
	const run1 = (/** @type {string} */ op, /** @type {() => any} */ body, /** @type {(r: any) => any} */ view) => trying(async () => {
		const sent = body();
		command.textContent = `pawl outputs ${op} ${run} ${id} '${path.value.replaceAll("'", "'\\''")}'`;
		await answered(ask(op, sent), (r) => fill(result, view(r)));
	});
	const extract = () => run1("extract", () => ({ paths: [path.value], limit: 200 }), (r) => table(Array.isArray(r.extracted) ? r.extracted : Object.values(r.extracted || {})[0]));
	const group = h("input", { placeholder: "$.status", size: 20, spellcheck: false, "aria-label": "group by" });
	place.append(h("div", "outputs", h("p", null, link("#/runs/" + run, "← the run")), h("h1", null, "Output ", code(id)), title,
		h("form", { class: "ask", onsubmit: submits(extract) }, path, h("button", "act", "Show"),
			button("Count", () => run1("count", () => ({ counts: [{ path: path.value }] }), (r) => h("p", "figures", h("span", null, h("b", null, count(r.total)), " selected")))),
			button("Sample", () => run1("sample", () => ({ path: path.value, size: 10 }), (r) => table(r.sample))),
			group, button("Count by", () => run1("aggregate", () => ({ path: path.value, op: "count", ...(group.value ? { group_by: group.value } : {}) }), groups)),
			button("As text", () => run1("read", () => ({ limit: 20000 }), (r) => pre(r.text)))),
		h("p", "quiet", command), h("div", "two", shape, result)));
	await trying(async () => {
		const s = await ask("stats", {});
		fill(title, dots(s.format, bytes(s.size.bytes), s.lines && plural(s.lines, "line"), plural(s.structure.total_values, "value")));
		const choose = (/** @type {any} */ p) => button(p, () => { path.value = p; extract(); }, "path");
		fill(shape, h("h2", null, "Shape"), h("ul", "plain",
			(s.arrays || []).map((a) => h("li", null, choose(a.path + "[*]"), h("small", "quiet", ` ${plural(a.length, "item")}`))),
			(s.objects || []).map((o) => h("li", null, choose(o.path), h("small", "quiet", " " + (o.keys || []).slice(0, 8).join(", "))))));
		if (command.textContent) return; // a person has asked meanwhile
		if (s.structure.root_type === "array" || s.structure.root_type === "object") extract();
		else run1("read", () => ({ limit: 20000 }), (r) => pre(r.text));
	});
}

/** @param {any} value @param {number} [space] */
const text = (value, space) => typeof value === "string" ? value : JSON.stringify(value, null, space);

/** @param {any} value */
const raw = (value) => pre(text(value, 2));

/** table shows values in a table whose columns are found. @param {any} values */
function table(values) {
	if (!Array.isArray(values) || values.length === 0) return raw(values);
	const names = [...new Set(values.slice(0, 50).flatMap((v) => v && typeof v === "object" && !Array.isArray(v) ? Object.keys(v) : []))].slice(0, 12);
	const cell = (/** @type {any} */ v) => h("td", null, v === undefined ? "" : text(v).slice(0, 300));
	return wide("", h("thead", null, h("tr", null, names.length ? names.map((n) => h("th", null, n)) : h("th", null, "value"))),
		h("tbody", null, values.map((v) => h("tr", null, names.length ? names.map((n) => cell(v?.[n])) : cell(v)))));
}

/** groups shows figures by group. @param {any} r */
const groups = (r) => bars((r.groups || [r.all]).map((/** @type {any} */ g) => [g.group === undefined ? "all" : text(g.group), Number(g.value ?? g.count)]));
