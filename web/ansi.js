// The output of commands: colours are shown, and everything else that a terminal would obey is left out.

import { h } from "./dom.js";

const sequences = /\x1b\[([0-?]*)[ -\/]*([@-~])|\x1b(?:[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -\/]*[0-~])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** ansi returns the text of a command with its colours. @param {string} text @returns {(string | Node)[]} */
export function ansi(text) {
	/** @type {(string | Node)[]} */
	const out = [];
	let at = 0, style = "";
	const add = (/** @type {string} */ piece) => {
		piece = piece.replace(/\r\n/g, "\n").replace(/^.*\r(?=.)/gm, "");
		if (piece) out.push(style ? h("span", { class: style }, piece) : piece);
	};
	for (const m of text.matchAll(sequences)) {
		add(text.slice(at, m.index));
		at = m.index + m[0].length;
		if (m[2] === "m") style = styled(style, m[1]);
	}
	add(text.slice(at));
	return out;
}

/** @param {string} style @param {string} parameters */
function styled(style, parameters) {
	const set = new Set(style.split(" ").filter(Boolean));
	const drop = (/** @type {string} */ kind) => { for (const s of set) if (s.startsWith(kind)) set.delete(s); };
	const codes = parameters.split(/[;:]/).map(Number);
	for (let i = 0; i < codes.length; i++) {
		const c = codes[i];
		if (c === 0) set.clear();
		else if (c === 1 || c === 3 || c === 4) set.add("a-s" + c);
		else if (c === 22) set.delete("a-s1");
		else if (c === 39) drop("a-f");
		else if (c === 49) drop("a-b");
		else if (c === 38 || c === 48) {
			if (codes[i + 1] === 5 && codes[i + 2] < 16) { drop(c === 38 ? "a-f" : "a-b"); set.add((c === 38 ? "a-f" : "a-b") + codes[i + 2] % 8); }
			i += codes[i + 1] === 5 ? 2 : 4;
		} else if (c >= 30 && c <= 37 || c >= 90 && c <= 97) { drop("a-f"); set.add("a-f" + c % 10); }
		else if (c >= 40 && c <= 47 || c >= 100 && c <= 107) { drop("a-b"); set.add("a-b" + c % 10); }
	}
	return [...set].join(" ");
}
