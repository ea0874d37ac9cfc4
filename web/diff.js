// Unified diffs: read, and shown below each other or side by side, with the changed words marked.

import { h } from "./dom.js";

/** parse reads the output of git diff, or a lone hunk. @param {string} text @returns {FileDiff[]} */
export function parse(text) {
	/** @type {FileDiff[]} */
	const files = [];
	/** @type {FileDiff | undefined} */
	let file;
	let old = 0, now = 0, oldLeft = 0, nowLeft = 0;
	const begin = () => { file = { name: "", from: "", added: 0, removed: 0, binary: false, note: "", hunks: [] }; files.push(file); return file; };
	for (const line of text.replace(/\n$/, "").split("\n")) {
		if (file && (oldLeft > 0 || nowLeft > 0) && /^[ +\-\\]|^$/.test(line)) {
			const kind = /** @type {" " | "+" | "-"} */ (line[0] || " ");
			if (line[0] === "\\") continue;
			const hunk = file.hunks[file.hunks.length - 1];
			hunk.lines.push({ kind, text: line.slice(1), old: kind === "+" ? 0 : old, now: kind === "-" ? 0 : now });
			if (kind !== "+") { old++; oldLeft--; }
			if (kind !== "-") { now++; nowLeft--; }
			if (kind === "+") file.added++;
			if (kind === "-") file.removed++;
			continue;
		}
		const head = line.match(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/);
		if (line.startsWith("diff --git ")) {
			const names = line.match(/^diff --git (a\/.*|"a\/.*") (b\/.*|"b\/.*")$/); // the only place of the name of an empty file
			begin().name = names ? path(names[2]) : "";
		} else if (head) {
			file ??= begin();
			[old, oldLeft, now, nowLeft] = [Number(head[1]), Number(head[2] ?? 1), Number(head[3]), Number(head[4] ?? 1)];
			file.hunks.push({ head: line, lines: [] });
		} else if (!file) continue;
		else if (line.startsWith("--- ")) file.from = path(line.slice(4));
		else if (line.startsWith("+++ ")) file.name = path(line.slice(4)) || file.from;
		else if (line.startsWith("index ")) file.blob = line.slice(6).split(" ")[0].split("..")[1];
		else if (line.startsWith("rename from ")) file.from = line.slice(12);
		else if (line.startsWith("rename to ")) { file.name = line.slice(10); file.note = "was " + file.from; }
		else if (line.startsWith("new file")) file.note = "new";
		else if (line.startsWith("deleted file")) file.note = "removed";
		else if (line.startsWith("new mode")) file.note = "mode " + line.slice(9);
		else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) {
			file.binary = true;
			const names = line.match(/^Binary files (.*) and (.*) differ$/);
			if (names) file.name = path(names[2]) || path(names[1]);
		}
	}
	return files;
}

/** path reads a name as git writes it. @param {string} name */
function path(name) {
	name = name.replace(/\t$/, "");
	if (name === "/dev/null") return "";
	if (name.startsWith('"')) {
		const raw = name.slice(1, -1).replace(/\\([0-7]{3}|.)/g, (_, c) => c.length === 3 ? String.fromCharCode(parseInt(c, 8)) : { n: "\n", t: "\t", r: "\r" }[/** @type {string} */ (c)] || c);
		try {
			name = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(raw, (c) => c.charCodeAt(0)));
		} catch { name = raw; }
	}
	return name.replace(/^[ab]\//, "");
}

/** words marks what differs between two lines: what is alike at both ends is left as it is. @param {string} text @param {string} other @param {"ins" | "del"} tag */
function words(text, other, tag) {
	let from = 0, to = 0;
	while (from < text.length && from < other.length && text[from] === other[from]) from++;
	while (to < text.length - from && to < other.length - from && text[text.length - 1 - to] === other[other.length - 1 - to]) to++;
	// At the borders of words, and only where enough is alike.
	while (from > 0 && /\w/.test(text[from - 1]) && /\w/.test(text[from] || " ")) from--;
	while (to > 0 && /\w/.test(text[text.length - to]) && /\w/.test(text[text.length - to - 1] || " ")) to--;
	if (from + to < text.length / 4 || from + to >= text.length) return [text];
	return [text.slice(0, from), h(tag, null, text.slice(from, text.length - to)), text.slice(text.length - to)];
}

/** paired gives each removed line the added one that replaces it. @param {DiffLine[]} lines @returns {Map<DiffLine, DiffLine>} */
function paired(lines) {
	/** @type {Map<DiffLine, DiffLine>} */
	const pairs = new Map();
	for (let i = 0; i < lines.length;) {
		let a = i;
		while (a < lines.length && lines[a].kind === "-") a++;
		let b = a;
		while (b < lines.length && lines[b].kind === "+") b++;
		if (a > i && b > a) for (let k = 0; k < Math.min(a - i, b - a); k++) { pairs.set(lines[i + k], lines[a + k]); pairs.set(lines[a + k], lines[i + k]); }
		i = Math.max(b, i + 1);
	}
	return pairs;
}

/** @param {DiffLine} l @param {DiffLine | undefined} other */
const content = (l, other) => other ? words(l.text, other.text, l.kind === "+" ? "ins" : "del") : [l.text];

/**
 * hunks shows the changes of a file.
 * @param {FileDiff} file
 * @param {Look} [how]
 */
export function hunks(file, how = {}) {
	const body = h("tbody");
	const pick = (/** @type {DiffLine | undefined} */ l, /** @type {"old" | "new"} */ side) => {
		const n = l && (side === "old" ? l.old : l.now);
		if (!l || !n) return h("td", "n");
		return how.onLine ? h("td", "n", h("button", { type: "button", class: "pick", "aria-label": `comment on line ${n}`, onclick: (e) => how.onLine?.(side, n, l.text, e.target.closest("tr")) }, n))
			: h("td", "n", n);
	};
	const cell = (/** @type {DiffLine | undefined} */ l, /** @type {DiffLine | undefined} */ other) => {
		const quiet = !how.blank && l && other && l.text.replace(/\s+/g, "") === other.text.replace(/\s+/g, "");
		return h("td", "code " + (!l ? "nothing" : quiet || l.kind === " " ? "" : l.kind === "+" ? "added" : "removed"), l && content(l, quiet ? undefined : other));
	};
	for (const hunk of file.hunks) {
		body.append(h("tr", "hunk", h("td", { colSpan: how.side ? 4 : 3 }, hunk.head)));
		const pairs = paired(hunk.lines);
		if (!how.side) {
			for (const l of hunk.lines) {
				const mark = h("span", { class: "sign", "aria-hidden": "true" }, l.kind);
				const c = cell(l, pairs.get(l));
				c.prepend(mark);
				body.append(h("tr", { "data-old": String(l.old), "data-new": String(l.now) }, pick(l, "old"), pick(l, "new"), c));
			}
			continue;
		}
		for (const l of hunk.lines) {
			if (l.kind === "+" && pairs.has(l)) continue;
			const other = pairs.get(l);
			const [left, right] = l.kind === " " ? [l, l] : l.kind === "-" ? [l, other] : [undefined, l];
			body.append(h("tr", { "data-old": String(left?.old || 0), "data-new": String(right?.now || 0) }, pick(left, "old"), cell(left, right === left ? undefined : right), pick(right, "new"), cell(right, left === right ? undefined : left)));
		}
	}
	return h("table", "diff" + (how.side ? " side" : ""), body);
}

/** patch shows the diffs in a text, with what stands before them. @param {string} text */
export function patch(text) {
	const at = text.search(/^(diff --git|@@ )/m);
	return h("div", { class: "wide", tabIndex: 0 }, at > 0 && h("p", "quiet", text.slice(0, at).trim()), parse(text.slice(at)).map((f) => hunks(f)));
}
