// What an agent asks of a person: permission for a call, or an answer. The same elements stand in the strip of the board
// and beside the task.

import { button, code, fill, h, once, said, submits, trying } from "./dom.js";
import { inline } from "./markdown.js";
import { may } from "./session.js";
import { answer } from "./tasks.js";

/** What was typed for a task and not sent. It is kept in this browser, and stands in the line of the task. */
export const draft = {
	/** @param {string} id */
	of: (id) => localStorage.getItem("pawl-words-" + id) || "",
	/** @param {string} id @param {string} text */
	keep: (id, text) => text ? localStorage.setItem("pawl-words-" + id, text) : localStorage.removeItem("pawl-words-" + id),
};

/** left keeps the words that stand in a dialog which goes without them. @param {string} id of the task @param {HTMLElement} e */
function left(id, e) {
	const text = [...e.querySelectorAll("textarea")].map((t) => t.value.trim()).filter(Boolean).join("\n");
	if (!text) return;
	draft.keep(id, [draft.of(id), text].filter(Boolean).join("\n"));
	dispatchEvent(new Event("draft"));
	said("Your words were not sent: what they were for is not asked any more. They stand in the line of the task.", true);
}

// How long a dialog stands before it takes an answer: what was typed or clicked for something else is none.
const settle = 600; // ms

/** How each place of a rule is called. @type {Record<string, string>} */
const scopes = { workspace: "in this folder", repository: "in this repository, for everybody who trusts it", run: "in this run", user: "everywhere" };

/** @param {string | undefined} level */
const outside = (level) => level === "none" ? "runs outside the sandbox, with all that you may do" : level?.startsWith("network") ? "has the " + level.replace(":", " only of ") : "";

/** seen calls f when each of some elements has stood in sight for a while. @param {Element[]} elements @param {() => void} f */
function seen(elements, f) {
	const left = new Map(elements.map((e) => [e, /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined)]));
	const watch = new IntersectionObserver((entries) => {
		for (const { target, isIntersecting } of entries) {
			clearTimeout(left.get(target));
			if (isIntersecting) left.set(target, setTimeout(() => {
				watch.unobserve(target);
				left.delete(target);
				if (left.size === 0) f();
			}, settle));
		}
	});
	for (const e of elements) watch.observe(e);
}

/**
 * standing keeps a dialog from taking what was meant for something else: its buttons are disabled until it has stood a
 * while in sight, those that allow or store something until the end of each text was in sight too, and a click on what
 * has just moved under the pointer does nothing.
 * @template {HTMLElement} E
 * @param {E} e
 * @param {HTMLElement[]} texts whose ends have to be read; they can scroll
 * @param {() => void} gone is called when it is not there any more
 */
export function standing(e, texts = [], gone = () => {}) {
	const fields = h("fieldset", { disabled: true }, ...e.childNodes);
	e.append(fields);
	seen([e], () => { fields.disabled = false; });
	const careful = /** @type {HTMLButtonElement[]} */ ([...e.querySelectorAll("button.act, button.stores")]);
	const rest = h("span", { class: "warn", hidden: true }, "Not all of it was shown yet: scroll to its end.");
	if (texts.length) {
		for (const b of careful) b.disabled = true;
		careful[0].parentElement?.append(rest);
		setTimeout(() => { rest.hidden = false; }, 2 * settle);
		seen(texts.map((text) => text.appendChild(h("span"))), () => {
			rest.remove();
			for (const b of careful) b.disabled = false;
		});
	}
	// It has moved when its place has changed both in the window and in what is scrolled.
	const place = () => {
		const { top } = e.getBoundingClientRect();
		let scrolled = top;
		for (let p = e.parentElement; p; p = p.parentElement) scrolled += p.scrollTop;
		return [Math.round(top), Math.round(scrolled)];
	};
	let was = place(), since = 0;
	const moved = () => {
		const now = place();
		if (now.every((at, i) => at !== was[i])) since = performance.now();
		was = now;
		return performance.now() - since < settle;
	};
	const watching = setInterval(() => {
		if (e.isConnected) { moved(); return; }
		clearInterval(watching);
		gone();
	}, 100);
	e.addEventListener("click", (ev) => {
		if (ev.detail === 0 || !moved()) return; // 0: a key has pressed it
		ev.preventDefault();
		ev.stopPropagation();
		said("Nothing was done: this has just moved. Look again, and click.", true);
	}, { capture: true });
	return e;
}

/** others says to whom a question is put that this user may not answer. */
const others = () => h("p", "quiet", "Your role sees tasks: somebody else has to answer.");

/** approval is the dialog for a call that needs permission. @param {Answer} task @param {Answer} call as the API lists it @param {(answered: string) => void} [done] */
export function approval(task, call, done = () => {}) {
	const more = h("div", "second");
	const asking = (call.parts || []).filter((p) => p.verdict !== "allow");
	// An external agent asks with a call of pawl's for the use of a tool of its own.
	const [tool, input] = call.tool === "permission" && call.input?.tool_name ? [call.input.tool_name, call.input.input || {}] : [call.tool, call.input];
	const known = ["shell", "Bash"].includes(tool) && typeof input?.command === "string" ? input.command
		: call.change ? `${tool} ${input?.path || input?.file_path || ""}\n\n${call.change}` : "";
	let answered = false;
	const gone = () => { if (!answered) left(task.id, e); };
	const decide = once(async (body) => {
		answered = true;
		answered = await trying(async () => {
			const d = await answer(task, `runs/${call.run}/calls/${call.call}/decision`, { digest: call.digest, ...body });
			said(`${{ allow: "Allowed once", no: "Refused once", always: "Allowed, and the rule is stored", never: "Refused, and the rule is stored", wait: "Stopped" }[/** @type {string} */ (body.answer)]}: ${call.title}`
				+ (d.taken ? "" : ". The agent takes the answer as soon as it can."));
			done(body.answer);
			return true;
		});
		if (!e.isConnected) gone();
	});
	const store = (/** @type {"always" | "never"} */ answer) => {
		const rules = (answer === "always" ? call.proposed : call.denying) || [];
		const lifts = rules.map((/** @type {any} */ r) => outside(r.sandbox)).find(Boolean);
		const rule = h("input", { value: rules[0]?.rule || "", size: 60, spellcheck: false, "aria-label": "the rule" });
		const scope = h("select", { "aria-label": "where the rule holds" }, Object.entries(scopes).filter(([s]) => s === "run" || may("administer")).map(([value, name]) => h("option", { value }, name)));
		const words = h("textarea", { rows: 1, placeholder: "words for the agent (may be empty)", "aria-label": "words for the agent" });
		fill(more,
			h("p", null, rules.length > 1 ? "These rules are stored:" : answer === "always" ? "Allow, from now on, whatever this rule covers:" : "Never allow what this rule covers:"),
			rules.length > 1 ? h("ul", null, rules.map((/** @type {any} */ r) => h("li", null, code(r.rule)))) : h("p", null, rule),
			lifts && h("p", "warn", "What the rule allows " + lifts + "."),
			answer === "always" && call.exact && h("p", "quiet", "It covers exactly this call."),
			h("p", null, scope),
			answer === "never" && h("p", null, words),
			h("p", null, button(answer === "always" ? "Store the rule and allow" : "Store the rule and refuse", () => {
				const changed = rules.length === 1 && rule.value !== rules[0].rule ? { rule: rule.value } : {};
				return decide({ answer, scope: scope.value, ...changed, ...(words.value ? { message: words.value } : {}) });
			}, "act"), button("Back", () => fill(more))));
		rule.focus();
	};
	const wait = () => {
		const words = h("textarea", { rows: 2, placeholder: "What should it do instead? (may be empty: it stops and waits for you)", "aria-label": "what it should do instead" });
		fill(more, words, h("p", null, button("Stop the agent and say this", () => decide({ answer: "wait", ...(words.value ? { message: words.value } : {}) }), "act"), button("Back", () => fill(more))));
		words.focus();
	};
	const whole = h("pre", { class: "whole", tabIndex: 0 }, known || tool + " " + JSON.stringify(input, null, 2));
	const e = standing(h("div", { class: "dialog approve", "data-dialog": "", tabIndex: -1, "aria-label": "permission for " + call.title,
		onkeydown: keys({ y: "Allow once", n: "No", a: "Always…", w: "Stop and say…" }) },
	outside(call.sandbox) && h("p", "warn", "▲ It " + outside(call.sandbox) + "."),
	h("ul", "reasons", asking.length > 0 ? asking.map((p) => h("li", null, !p.reason.includes(p.text) && [code(p.text), " "], inline(p.reason))) : h("li", null, inline(call.reason || "no rule covers it"))),
	whole,
	call.dir && h("p", "quiet", "in " + call.dir),
	may("answer") ? h("p", "choices",
		button("No", () => decide({ answer: "no" }), { title: "n, enter: refuse this call, once" }),
		button("Allow once", () => decide({ answer: "allow" }), { class: "act", title: "y, enter: let this call run" }),
		button("Always…", () => store("always"), { class: "stores", title: "a, enter: shows the rule first" }),
		button("Never…", () => store("never"), "stores"),
		button("Stop and say…", wait, { title: "w, enter" })) : others(), more), may("answer") ? [whole] : [], gone);
	return e;
}

// When the last key was pressed before the one that is being looked at, anywhere on the page.
let before = 0, last = 0;
document.addEventListener("keydown", (e) => {
	if (e.key.length > 1 && e.key !== "Enter" || e.repeat) return;
	before = last;
	last = performance.now();
}, { capture: true });

// How long a person must have typed nothing else before a letter chooses in a dialog.
const calm = 1200; // ms

/**
 * keys are the keys of a dialog while it has the focus: one letter alone chooses a button, and Enter presses it. Letters
 * that follow each other are words for something else and choose nothing; in fields they are letters.
 * @param {Record<string, string>} of the text of the button that a key chooses
 */
function keys(of) {
	return (/** @type {Pressed} */ e) => {
		const { target, currentTarget: dialog } = e;
		if (e.ctrlKey || e.metaKey || e.altKey || e.key.length > 1 || target.matches("input, textarea, select")) return;
		const chosen = [...dialog.querySelectorAll("button")].find((b) => b.textContent === of[e.key]);
		const alone = performance.now() - before >= calm && !e.repeat;
		dialog.focus(); // what was chosen before is not any more
		if (!chosen) return;
		e.preventDefault();
		e.stopPropagation();
		if (alone) chosen.focus();
		if (alone && chosen.disabled) said("Not all of the call was shown: scroll to its end first.", true);
	};
}

/** answers is the form for the questions of an agent. @param {Answer} task @param {(answered: string) => void} [done] */
export function answers(task, done = () => {}) {
	const open = task.questions.filter((q) => !q.answered);
	const name = "q" + Math.random();
	const given = open.map((q, i) => {
		const text = h("textarea", { rows: 1, placeholder: q.options?.length ? "another answer" : "your answer", "aria-label": "answer to: " + q.question });
		const options = (q.options || []).map((/** @type {any} */ o) => h("label", "option", h("input", { type: "radio", name: name + i, value: o, onchange: () => { text.value = ""; } }), " ", o));
		text.addEventListener("input", () => { for (const r of e.querySelectorAll("input")) r.checked = false; });
		const e = h("div", "question", h("p", null, inline(q.question)), options, text);
		return { e, value: () => /** @type {HTMLInputElement | null} */ (e.querySelector("input:checked"))?.value || text.value.trim(), text };
	});
	let answered = false;
	const gone = () => { if (!answered) left(task.id, e); };
	const e = standing(h("form", { class: "dialog answer", "data-dialog": "", onsubmit: submits(async () => {
		const missing = given.find((g) => !g.value());
		if (missing) {
			missing.text.focus();
			said("Every question needs an answer.", true);
			return;
		}
		answered = true;
		answered = await trying(async () => {
			await answer(task, "answers", { answers: given.map((g) => g.value()), questions: open.map((q) => q.question) });
			said("Answered.");
			done("answered");
			return true;
		});
		if (!e.isConnected) gone();
	}) }, given.map((g) => g.e), may("answer") ? h("p", "choices", h("button", "act", "Send")) : others()), [], gone);
	return e;
}
