// What the pages make elements with. Words of models, tools and repositories become text nodes, never markup.

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * h makes an element. A property that begins with on is a listener, one with a dash or named role is an attribute, and
 * the others are properties of the element; a string is its class.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {Properties | string | null} [properties]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(name, properties, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(typeof properties === "string" ? { class: properties } : properties || {})) {
		if (value === undefined || value === null) continue;
		if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
		else if (key.includes("-") || key === "role" || key === "for") e.setAttribute(key, value);
		else if (key === "class") e.className = value;
		else /** @type {any} */ (e)[key] = value;
	}
	put(e, ...children);
	return e;
}

/** What cannot be seen, or makes other text look like something else: as internal/visible has it. */
const hidden = /(?![\n\t\u200d\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** visible returns text with what is hidden written as \uXXXX; carriage returns are removed. @param {string} text */
export const visible = (text) => text.replace(hidden, (c) => c === "\r" ? "" : c.length > 1 ? "\\U" + point(c, 8) : "\\u" + point(c, 4));

/** @param {string} c @param {number} digits */
const point = (c, digits) => /** @type {number} */ (c.codePointAt(0)).toString(16).padStart(digits, "0");

/** put appends children to an element; what is empty is left out, and of text everything is made visible. @param {Element} e @param {...Children} children */
export function put(e, ...children) {
	for (const c of /** @type {Child[]} */ (children.flat(2))) {
		if (c === null || c === undefined || c === false || c === "") continue;
		e.append(typeof c === "object" ? c : visible(String(c)));
	}
}

/** fill replaces the children of an element. @param {Element} e @param {...Children} children */
export function fill(e, ...children) {
	e.replaceChildren();
	put(e, ...children);
}

/**
 * once returns a function that runs f, and does nothing while that has not ended: what is pressed again because the
 * server is slow, or by a key that is held down, is done once.
 * @template X
 * @param {(x: X) => any} f
 */
export function once(f) {
	let runs = false;
	return async (/** @type {X} */ x) => {
		if (runs) return;
		runs = true;
		try {
			await f(x);
		} finally {
			runs = false;
		}
	};
}

/** button makes a button. What fails is said. @param {string} label @param {(e: MouseEvent) => any} act returns a promise if it is done later @param {Properties | string} [more] */
export const button = (label, act, more = {}) => h("button", { type: "button", onclick: once((e) => trying(() => act(e))), ...(typeof more === "string" ? { class: more } : more) }, label);

/** submits makes the listener of a form of what it does. @param {() => any} act returns a promise if it is done later */
export function submits(act) {
	const run = once(() => trying(act));
	return (/** @type {Event} */ e) => {
		e.preventDefault();
		run(undefined);
	};
}

/** ask opens a window above the page, and does something if its button is pressed. @param {string} title @param {Children[]} content @param {string} [label] of the button @param {() => any} [act] */
export function ask(title, content, label = "", act = () => {}) {
	const dialog = h("dialog", null, h("form", { onsubmit: submits(() => { dialog.close(); return act(); }) }, h("h2", null, title), ...content,
		h("p", "choices", button(label ? "Back" : "Close", () => dialog.close(), label ? "" : "act"), label && h("button", "act", label))));
	return modal(dialog);
}

/** modal shows a dialog above the page until it is closed. @param {HTMLDialogElement} dialog */
export function modal(dialog) {
	document.body.append(dialog);
	dialog.addEventListener("close", () => dialog.remove());
	dialog.showModal();
	return dialog;
}

/**
 * keyed makes the children of an element those of a list: what is there and unchanged stays as it is, so that nothing
 * moves that did not change, and the focus stays where it is.
 * @template X
 * @param {Element} parent
 * @param {X[]} list
 * @param {(x: X) => string} key
 * @param {(x: X) => string} version when it differs, the child is made anew
 * @param {(x: X) => HTMLElement} make
 */
export function keyed(parent, list, key, version, make) {
	/** @type {Map<string, HTMLElement>} */
	const there = new Map();
	for (const c of parent.children) there.set(/** @type {HTMLElement} */ (c).dataset.key || "", /** @type {HTMLElement} */ (c));
	let next = parent.firstElementChild;
	for (const x of list) {
		const k = key(x), v = version(x);
		let e = there.get(k);
		there.delete(k);
		if (!e || e.dataset.version !== v) {
			const made = make(x);
			made.dataset.key = k;
			made.dataset.version = v;
			if (e) {
				const focused = e.contains(document.activeElement);
				if (e === next) next = e.nextElementSibling;
				e.replaceWith(made);
				if (focused) /** @type {HTMLElement} */ (made.matches("a, button, [tabindex]") ? made : made.querySelector("a, button, [tabindex]"))?.focus({ preventScroll: true });
			}
			e = made;
		}
		if (e === next) next = next.nextElementSibling;
		else parent.insertBefore(e, next);
	}
	for (const e of there.values()) e.remove();
}

/** ago says how long ago a time is. @param {string | undefined} at */
export function ago(at) {
	if (!at) return "";
	const s = Math.max(0, (Date.now() - Date.parse(at)) / 1000);
	if (s < 60) return "now";
	if (s < 3600) return Math.floor(s / 60) + "m";
	if (s < 86400) return Math.floor(s / 3600) + "h";
	return Math.floor(s / 86400) + "d";
}

/** took says how long something took. @param {number | undefined} ms */
export function took(ms) {
	if (ms === undefined) return "";
	if (ms < 1000) return ms + " ms";
	if (ms < 60000) return (ms / 1000).toFixed(1) + " s";
	return Math.floor(ms / 60000) + " min " + Math.round(ms % 60000 / 1000) + " s";
}

/** when says a time, with its day if that is another one. @param {string} at */
export function when(at) {
	const t = new Date(at);
	return t.toLocaleString([], { dateStyle: t.toDateString() === new Date().toDateString() ? undefined : "short", timeStyle: "short" });
}

/** money says what something cost; null is unknown and says nothing. @param {number | null | undefined} cost */
export const money = (cost) => (typeof cost === "number" && cost > 0 ? "$" + cost.toFixed(cost < 1 ? 3 : 2) : "");

/** bytes says how large something is. @param {number} n */
export const bytes = (n) => (n < 1024 ? n + " B" : n < 1 << 20 ? (n / 1024).toFixed(1) + " KB" : (n / (1 << 20)).toFixed(1) + " MB");

/** code shows words of a machine. @param {...(Child | Child[])} words */
export const code = (...words) => h("code", null, ...words);

/** edited says how many lines were added and removed. @param {number} added @param {number} removed */
export const edited = (added, removed) => [h("span", "plus", "+" + added), " ", h("span", "minus", "−" + removed)];

/** pre shows lines of a machine. @param {...(Child | Child[])} lines */
export const pre = (...lines) => h("pre", { tabIndex: 0 }, ...lines);

/** @param {string} href @param {...Child} children */
export const link = (href, ...children) => h("a", { href }, ...children);

/** dots puts what is there into a line. @param {...any} parts */
export const dots = (...parts) => parts.filter(Boolean).join(" · ");

/** wide makes a table that can scroll. @param {string} name its class @param {...Child} children */
export const wide = (name, ...children) => h("div", { class: "wide", tabIndex: 0 }, h("table", name, ...children));

/** bars shows figures by name. @param {[name: string, n: number][]} of */
export const bars = (of) => h("table", "bars", of.map(([name, n]) => h("tr", null, h("th", null, name),
	h("td", null, h("meter", { max: Math.max(1, ...of.map((o) => o[1])), value: n })), h("td", "n", count(n)))));

/** count says a number. @param {number} n */
export const count = (n) => n.toLocaleString("en");

/** plural says a number of things. @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

/** said shows a sentence for a moment, and tells a screen reader. @param {string} text @param {boolean} [bad] */
export function said(text, bad = false) {
	const place = document.getElementById("said");
	if (!place) return;
	const e = h("p", bad ? "bad" : "", text);
	place.append(e);
	setTimeout(() => e.remove(), bad ? 10000 : 4000);
}

/** trying runs something, and says what failed. @param {() => Promise<any>} f */
export async function trying(f) {
	try {
		return await f();
	} catch (/** @type {any} */ error) {
		said(error.message, true);
		return undefined;
	}
}
