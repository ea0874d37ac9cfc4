// The form for new tasks: one, or several from a list.

import { get, post, send } from "./client.js";
import { button, h, modal, plural, put, said, submits, trying } from "./dom.js";
import { cards } from "./tasks.js";

/** agentsOf makes a field to choose an agent. @param {string} [first] is there before they are loaded, and stands for none @param {string} [chosen] */
export function agentsOf(first, chosen = "") {
	const e = h("select", { "aria-label": "agent" }, first && h("option", { value: "" }, first));
	trying(async () => put(e, (await get("/agents", { limit: 500 })).items.filter((a) => !a.internal && a.kind !== "planner").map((a) => h("option", { value: a.name, selected: a.name === chosen, disabled: !a.valid, title: a.why || a.description || "" }, a.name + (a.valid ? "" : " (cannot run)")))));
	return e;
}

/** newTask opens the form. @param {string} [text] */
export function newTask(text = "") {
	const draft = "pawl-draft";
	const description = h("textarea", { rows: 8, required: true, value: text || localStorage.getItem(draft) || "", "aria-label": "what has to be done", placeholder: "What has to be done. The first line is the title.",
		oninput: () => localStorage.setItem(draft, description.value),
		onkeydown: (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit(); } });
	const several = h("input", { type: "checkbox" });
	const how = h("select", { "aria-label": "what happens then" }, h("option", { value: "plan" }, "plan it now"), h("option", { value: "start" }, "plan it and carry it out"), h("option", { value: "" }, "only add it"));
	const labels = h("input", { placeholder: "bug, docs", size: 30 });
	const copy = h("input", { type: "checkbox" });
	const priority = h("input", { type: "number", value: "0", min: "-1000", max: "1000" });
	const cost = h("input", { type: "number", min: "0", step: "0.01", placeholder: "none" });
	const open = [...cards.values()].filter((c) => c.status !== "completed" && c.status !== "failed");
	const after = h("select", { multiple: true, size: Math.min(5, Math.max(2, open.length)) }, open.slice(0, 200).map((c) => h("option", { value: c.id }, c.title)));
	const agent = agentsOf("that of the plan");
	const files = h("input", { type: "file", multiple: true });
	const form = h("form", { onsubmit: submits(async () => {
		const all = several.checked ? description.value.split("\n").map((l) => l.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "").trim()).filter(Boolean) : [description.value.trim()];
		let last = "";
		for (const [i, text] of all.entries()) {
			const task = await post("/tasks", { description: text, source: "web",
				...(labels.value.trim() ? { labels: labels.value.split(",").map((l) => l.trim()).filter(Boolean) } : {}),
				...(Number(priority.value) ? { priority: Number(priority.value) } : {}), ...(copy.checked ? { isolation: "clone" } : {}), ...(agent.value ? { agent: agent.value } : {}),
				...(after.selectedOptions.length ? { depends_on: [...after.selectedOptions].map((o) => o.value) } : {}),
				...(Number(cost.value) ? { budget: { cost: Number(cost.value) } } : {}), ...(how.value === "start" && !files.files?.length ? { start: true } : {}) });
			for (const f of files.files || []) await post(`/tasks/${task.id}/attachments?name=${encodeURIComponent(f.name)}`, f);
			if (how.value === "plan") await post(`/tasks/${task.id}/plan`);
			else if (how.value === "start" && files.files?.length) await send("PATCH", `/tasks/${task.id}`, { start: true });
			last = task.id;
			if (several.checked) description.value = all.slice(i + 1).join("\n"); // what is added is not added again
		}
		localStorage.removeItem(draft);
		dialog.close();
		said(all.length === 1 ? "Added." : `Added ${plural(all.length, "task")}.`);
		if (all.length === 1) location.hash = "#/tasks/" + last;
	}) }, h("h2", null, "New task"), description, h("label", null, several, " each line is a task of its own"),
	h("p", null, how, " ", h("label", "line", copy, " in a copy of the repository, to be merged")),
	h("details", null, h("summary", null, "More"), h("label", null, "Labels", labels), h("label", null, "Priority", priority), h("label", null, "Costs at most ($)", cost), h("label", null, "Agent ", agent), open.length > 0 && h("label", null, "After", after), h("label", null, "Files", files)),
	h("p", "choices", button("Back", () => dialog.close()), h("button", { class: "act", title: "ctrl+enter" }, "Add")));
	const dialog = modal(h("dialog", "new", form));
	description.focus();
}
