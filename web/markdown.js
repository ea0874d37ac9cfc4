// Markdown as elements. It is what models write: headings, lists, code, tables, emphasis, links. Whatever is not known
// stays text; nothing becomes markup, and only http and https addresses become links.

import { h, pre, wide } from "./dom.js";

/** @param {string} text @returns {DocumentFragment} */
export function markdown(text) {
	const out = document.createDocumentFragment();
	const lines = text.replaceAll("\r\n", "\n").split("\n");
	for (let i = 0; i < lines.length;) {
		const line = lines[i];
		const fence = line.match(/^\s*(```+|~~~+)/);
		const heading = line.match(/^(#{1,6})\s+(.*?)\s*#*$/);
		const item = itemOf(line);
		if (fence) {
			const code = [];
			for (i++; i < lines.length && !lines[i].trimStart().startsWith(fence[1]); i++) code.push(lines[i]);
			i++;
			out.append(pre(h("code", null, code.join("\n"))));
		} else if (heading) {
			out.append(h(/** @type {"h4"} */ ("h" + Math.min(6, heading[1].length + 2)), null, inline(heading[2])));
			i++;
		} else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
			out.append(h("hr"));
			i++;
		} else if (item) {
			i = list(out, lines, i, item.indent);
		} else if (line.startsWith(">")) {
			const quoted = [];
			for (; i < lines.length && lines[i].startsWith(">"); i++) quoted.push(lines[i].replace(/^>\s?/, ""));
			out.append(h("blockquote", null, quoted.length > 500 ? quoted.join("\n") : markdown(quoted.join("\n"))));
		} else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] || "")) {
			const head = cells(line);
			const rows = [];
			for (i += 2; i < lines.length && lines[i].includes("|"); i++) rows.push(cells(lines[i]));
			out.append(wide("",
				h("thead", null, h("tr", null, head.map((c) => h("th", null, inline(c))))),
				h("tbody", null, rows.map((r) => h("tr", null, r.map((c) => h("td", null, inline(c))))))));
		} else if (line.trim() === "") {
			i++;
		} else {
			const words = [];
			for (; i < lines.length && lines[i].trim() !== "" && !itemOf(lines[i]) && !/^(#{1,6}\s|\s*```|\s*~~~|>)/.test(lines[i]); i++) words.push(lines[i].trim());
			if (words.length === 0) words.push(lines[i++]); // what looks like more than it is
			out.append(h("p", null, inline(words.join("\n"))));
		}
	}
	return out;
}

/** @param {string} line */
function itemOf(line) {
	const m = line.match(/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/);
	return m && { indent: m[1].length, ordered: /\d/.test(m[2]), text: m[3] };
}

/** list appends the list that begins at a line, and returns the line after it. @param {ParentNode} out @param {string[]} lines @param {number} i @param {number} indent @returns {number} */
function list(out, lines, i, indent) {
	const first = itemOf(lines[i]);
	const e = h(first?.ordered ? "ol" : "ul");
	out.append(e);
	/** @type {HTMLLIElement | null} */
	let last = null;
	while (i < lines.length) {
		const item = itemOf(lines[i]);
		if (item && item.indent > indent && last && indent < 20) {
			i = list(last, lines, i, item.indent);
		} else if (item && item.indent >= indent) {
			const box = item.text.match(/^\[([ xX])\]\s+(.*)$/);
			last = h("li", null, box ? (box[1] === " " ? "☐ " : "☑ ") : "", inline(box ? box[2] : item.text));
			e.append(last);
			i++;
		} else if (!item && last && /^\s+\S/.test(lines[i])) {
			last.append(" ", ...inline(lines[i].trim()));
			i++;
		} else {
			return i;
		}
	}
	return i;
}

/** @param {string} line */
const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((c) => c.trim());

const marks = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*(\S(?:[^*]*\S)?)\*\*|__(\S(?:[^_]*\S)?)__|(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(\S(?:[^_\n]*\S)?)_(?![\w_])|~~(\S[^~]*)~~|\[([^\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()"'`]{1,2000}[^\s<>()"'`.,;:!?])/g;

/** inline returns the nodes of a line. @param {string} text @returns {(string | Node)[]} */
export function inline(text) {
	if (text.length > 20000) return [text];
	const out = [];
	let at = 0;
	for (const m of text.matchAll(marks)) {
		if (m.index > at) out.push(text.slice(at, m.index));
		at = m.index + m[0].length;
		const [whole, , code, bold, bold2, em, em2, struck, label, target, address] = m;
		if (code !== undefined) out.push(h("code", null, code.trim()));
		else if (bold || bold2) out.push(h("strong", null, inline(bold || bold2)));
		else if (em || em2) out.push(h("em", null, inline(em || em2)));
		else if (struck) out.push(h("s", null, inline(struck)));
		else out.push(link(target || address, label) || whole);
	}
	if (at < text.length) out.push(text.slice(at));
	return out;
}

/** link returns a link to a page elsewhere, with its address in sight where the words say another one; null if it is none. @param {string} target @param {string} [label] */
function link(target, label) {
	let url;
	try {
		url = new URL(target);
	} catch {
		return null;
	}
	if (url.protocol !== "http:" && url.protocol !== "https:") return null;
	const a = h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, label || target);
	return label && label !== target ? h("span", null, a, h("small", "quiet", ` (${url.host})`)) : a;
}
