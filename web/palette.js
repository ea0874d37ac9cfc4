// The palette: every page, task and action by typing.

import { h, modal } from "./dom.js";
import { cards } from "./tasks.js";

/** palette opens the palette. @param {Entry[]} entries pages and actions; tasks are added @param {(id: string) => Promise<Entry[]>} actions what can be done with a task */
export function palette(entries, actions) {
	const list = h("ul", { id: "found", role: "listbox", "aria-label": "what there is" });
	const input = h("input", { placeholder: "Go to, or do", "aria-label": "go to, or do", role: "combobox", "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list" });
	const dialog = h("dialog", { class: "palette", "aria-label": "palette" }, input, list);
	const all = () => [...entries, ...[...cards.values()].map((c) => ({ name: c.title, about: c.status.replace("_", " "), run: () => { location.hash = "#/tasks/" + c.id; } }))];
	let from = all();
	/** @type {Entry[]} */
	let found = [];
	let at = 0;
	const mark = () => {
		for (const [i, e] of [...list.children].entries()) e.setAttribute("aria-selected", String(i === at));
		input.setAttribute("aria-activedescendant", found.length ? "found-" + at : "");
		list.children[at]?.scrollIntoView({ block: "nearest" });
	};
	const draw = () => {
		const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
		found = from.filter((e) => words.every((w) => `${e.name} ${e.about || ""}`.toLowerCase().includes(w))).slice(0, 50);
		at = 0;
		list.replaceChildren(...found.map((e, i) => h("li", { role: "option", id: "found-" + i, onclick: () => choose(e) }, e.name, e.about && h("small", "quiet", " " + e.about))));
		mark();
	};
	const choose = (/** @type {Entry | undefined} */ e) => { if (e) { dialog.close(); e.run(); } };
	input.addEventListener("input", draw);
	input.addEventListener("keydown", (e) => {
		if (e.isComposing) return;
		if (e.key === "ArrowDown" || e.key === "ArrowUp") at = (at + (e.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length);
		else if (e.key === "Enter") choose(found[at]);
		else return;
		e.preventDefault();
		mark();
	});
	modal(dialog);
	draw();
	const [, id] = location.hash.match(/^#\/tasks\/([^/]+)/) || [];
	if (id) actions(id).then((of) => {
		const was = found[at];
		from = [...of, ...all()];
		draw();
		at = Math.max(0, found.findIndex((e) => e.name === was?.name && e.about === was.about)); // what has come up is not what is chosen
		mark();
	}, () => {}); // without them it still goes to pages
}
