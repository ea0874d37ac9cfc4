// The changes of a task: files, comments on lines, what the agent is told of them, merging.

import { get, post } from "./client.js";
import { hunks, parse } from "./diff.js";
import { ask, button, code, edited, fill, h, link, money, plural, pre, said, took, trying, when, wide } from "./dom.js";
import { may } from "./session.js";
import { onTask, unmerged } from "./tasks.js";
import { oneAtATime } from "./timing.js";

/** What became of a comment, as a shape and a word. @type {Record<string, string>} */
const became = { changed: "● changed", answered: "◐ answered", open: "○ open" };

/** @param {string} name */
const stored = (name, otherwise = "null") => JSON.parse(localStorage.getItem(name) || otherwise);

/** reviewPage shows the changes of a task. @type {PageOf} */
export async function reviewPage(place, id, signal) {
	let task = await get("/tasks/" + id, {}, signal);
	document.title = "Review: " + task.title + " · pawl";
	const list = h("div", "files"), bar = h("div", "bar"), past = h("div"), counts = h("p", "status"), meets = h("p", { role: "status" });
	const how = { side: localStorage.getItem("pawl-diff-side") === "yes", blank: localStorage.getItem("pawl-diff-blank") !== "no" };
	/** @type {ReviewComment[]} what was written and not sent; it is kept in this browser */
	let comments = stored("pawl-review-" + id, "[]");
	/** What each file was when it was marked as seen. @type {Record<string, string>} */
	const seen = stored("pawl-seen-" + id, "{}");
	const keep = () => { localStorage.setItem("pawl-review-" + id, JSON.stringify(comments)); foot(); };
	const toggle = (/** @type {string} */ label, /** @type {"side" | "blank"} */ name) => h("label", null, h("input", { type: "checkbox", checked: how[name], onchange: (e) => {
		how[name] = e.target.checked;
		localStorage.setItem("pawl-diff-" + name, how[name] ? "yes" : "no");
		draw();
	} }), " " + label);
	/** The tree that the changes are shown since; empty: all are shown. It begins with that of the last review. */
	let since = task.messages.findLast((m) => m.tree && m.state !== "withdrawn")?.tree || "";
	let chosen = false;
	const from = h("select", { "aria-label": "which changes", hidden: true, onchange: () => { since = from.value; chosen = true; load(); } });
	place.append(h("div", "review", h("header", null, h("p", null, link("#/tasks/" + id, "← " + task.title)), h("h1", null, "Changes"), counts, meets,
		h("p", "how", from, " ", toggle("side by side", "side"), " ", toggle("white space", "blank"))), past, list, bar));

	/** @type {any} */
	let diff = null;
	/** @type {FileDiff[]} */
	let files = [];
	/** @type {any[]} the reviews that were sent, the latest first */
	let reviews = [];
	/** Whether what is shown is not the newest, because somebody writes a comment in it. */
	let late = false;
	const load = oneAtATime(async () => {
		late = [...list.querySelectorAll("textarea")].some((t) => t.value);
		if (late) return;
		try {
			task = await get("/tasks/" + id, {}, signal);
			reviews = task.messages.filter((m) => m.comments?.length && m.state !== "withdrawn").reverse();
			const attempts = task.runs.filter((r) => r.kind === "worker");
			const runs = !task.copy || attempts.length > 1 ? await Promise.all(attempts.map((r) => get(`/runs/${r.run}/diff`, {}, signal))) : [];
			if (task.copy) {
				diff = await get(`/tasks/${id}/diff`, { since }, signal).catch((error) => { if (since && error.status === 409) return { files: [] }; throw error; });
				if (diff.files.length === 0 && since && !chosen) { // nothing has changed since, or what was looked at is not known any more
					since = "";
					diff = await get(`/tasks/${id}/diff`, {}, signal);
				}
				files = parse(diff.patch || "");
				// What the patch has nothing of, such as binary files, is named all the same.
				for (const f of diff.files) if (!files.some((p) => p.name === f.name || p.from === f.name)) files.push({ name: f.name, from: "", added: f.added, removed: f.removed, binary: true, note: "", hunks: [] });
			} else {
				files = runs.flatMap((r) => r.files).flatMap((f) => {
					const [p] = parse(f.diff || "");
					return p ? [{ ...p, name: f.path, note: f.problem || f.action || "" }] : [{ name: f.path, from: "", added: f.added || 0, removed: f.removed || 0, binary: true, note: f.problem || f.action || "", hunks: [] }];
				});
			}
			const looks = reviews.filter((r) => r.tree && r.tree !== diff?.tree);
			from.hidden = looks.length === 0 && !since;
			fill(from, h("option", { value: "" }, "all changes"), looks.map((r) => h("option", { value: r.tree, selected: r.tree === since }, "since the review of " + when(r.at))));
			fill(meets, unmerged(task) && meeting(await get(`/tasks/${id}/merge`, {}, signal).catch((error) => ({ why: error.message }))));
			fill(past, attempts.length > 1 && attemptsView(attempts, runs), reviews.map((r, i) => reviewView(r, i === 0)));
			draw();
		} catch (/** @type {any} */ error) {
			if (!signal.aborted) fill(counts, error.message);
		}
	}, 20, signal);
	const draw = () => {
		fill(counts, `${plural(files.length, "file")} · `, edited(files.reduce((n, f) => n + f.added, 0), files.reduce((n, f) => n + f.removed, 0)),
			diff && [" · ", diff.commits > 0 && plural(diff.commits, "commit"), " on branch ", code(diff.branch)]);
		fill(list, files.map(fileView));
		foot();
	};
	/** reviewView shows what became of the comments of a review. @param {any} r @param {boolean} open */
	const reviewView = (r, open) => h("details", { open, class: "past" }, h("summary", null, h("b", null, "Review"), ` of ${when(r.at)} · ${plural(r.comments.length, "comment")} · `,
		["changed", "answered", "open"].map((b) => [r.comments.filter((/** @type {ReviewComment} */ c) => (c.became || "open") === b).length, b]).filter(([n]) => n).map(([n, b]) => `${n} ${b}`).join(", "), r.state === "queued" && " · not read yet"),
	h("ul", "plain", r.comments.map((/** @type {ReviewComment} */ c) => h("li", null, button(c.line ? `${c.file}:${c.line}` : c.file, () => go(c.file), "path"), " ", shown(c)))));
	/** go opens a file and goes to it. @param {string} file */
	const go = (file) => {
		const e = [...list.children].find((e) => e.ariaLabel === file);
		const details = e?.querySelector("details");
		if (!e || !details) return said("The file is not among these changes.", true);
		details.open = true;
		e.scrollIntoView({ block: "start" });
	};
	const fileView = (/** @type {FileDiff} */ f) => {
		const print = f.blob || String(hash(JSON.stringify(f.hunks.map((x) => x.lines.map((l) => l.kind + l.text)))));
		const lines = f.hunks.reduce((n, x) => n + x.lines.length, 0);
		const body = h("div", "wide");
		const rows = h("tbody"), above = h("table", "diff", rows);
		const onFile = () => { const row = h("tr"); rows.append(row); write(row, { file: f.name, text: "" }); };
		const fillBody = () => {
			if (body.childElementCount > 0) return;
			const table = f.binary ? null : hunks(f, { ...how, onLine: !may("answer") ? undefined : (side, line, quoted, row) => write(row, { file: f.name, side, line, quoted, text: "" }) });
			fill(body, above, table || h("p", "quiet", "It is not text."));
			for (const c of [...reviews.flatMap((r) => r.comments), ...comments]) {
				if (c.file !== f.name) continue;
				const line = c.line && found(f, c);
				const row = line && /** @type {HTMLTableRowElement | null} */ (table?.querySelector(`tr[data-${c.side}="${line}"]`));
				if (row) showComment(row, c);
				else { const last = h("tr"); rows.append(last); showComment(last, c, c.line ? `line ${c.line}, which is not shown here: ` : ""); }
			}
		};
		const open = seen[f.name] !== print && lines < 1500;
		const e = h("details", { open, ontoggle: () => { if (e.open) fillBody(); } },
			h("summary", null, code(f.name), f.note && h("span", "quiet", " " + f.note), " ", edited(f.added, f.removed),
				seen[f.name] && seen[f.name] !== print && h("b", "need", " changed since you looked")), body);
		const marks = h("div", "marks", may("answer") && button("Comment", () => { e.open = true; fillBody(); onFile(); }, { "aria-label": "comment on the file " + f.name }), h("label", "seen", h("input", { type: "checkbox", checked: seen[f.name] === print, onchange: (ev) => {
			if (ev.target.checked) { seen[f.name] = print; e.open = false; } else delete seen[f.name];
			localStorage.setItem("pawl-seen-" + id, JSON.stringify(seen));
		} }), " seen"));
		if (open) fillBody();
		return h("section", { class: "file", "aria-label": f.name }, marks, e);
	};
	/** write opens the field for a comment under a row. @param {HTMLTableRowElement} row @param {ReviewComment} c */
	const write = (row, c) => {
		const text = h("textarea", { rows: 3, value: c.text, "aria-label": c.line ? `comment on line ${c.line}` : "comment on " + c.file, onkeydown: (e) => {
			if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) done();
			if (e.key === "Escape" && !text.value) tr.remove();
		} });
		const done = () => {
			if (!text.value.trim()) return;
			c.text = text.value.trim();
			if (!comments.includes(c)) comments.push(c);
			keep();
			tr.remove();
			if (late) load();
			else showComment(row, c);
		};
		const tr = h("tr", "comments", h("td", { colSpan: 4 }, text, h("p", "choices", button("Back", () => { tr.remove(); if (late) load(); }), button("Keep", done, { class: "act", title: "ctrl+enter" }))));
		row.after(tr);
		text.focus();
	};
	/** @param {HTMLTableRowElement} row @param {ReviewComment} c @param {string} [where] */
	const showComment = (row, c, where = "") => {
		const tr = h("tr", "comments", h("td", { colSpan: 4 }, h("p", null, where && h("span", "quiet", where), shown(c), !c.id && [" ", button("Edit", () => { tr.remove(); write(row, c); }), " ", button("Remove", () => { comments = comments.filter((x) => x !== c); keep(); tr.remove(); })])));
		row.after(tr);
	};
	const foot = () => fill(bar,
		h("span", null, comments.length ? plural(comments.length, "comment") : may("answer") && "Click a line's number to comment on it."), h("span", "space"),
		may("answer") && button("Send to the agent", async () => {
			const sent = [...comments], tree = diff?.tree; // the agent may have changed more before the answer is here
			await post(`/tasks/${id}/reviews`, { comments: sent, tree });
			comments = comments.filter((c) => !sent.includes(c)); // others may have been written meanwhile
			since = tree || "";
			chosen = true;
			keep();
			await load();
			said("Sent. The agent continues with it.");
		}, { disabled: comments.length === 0, class: comments.length ? "act" : "" }),
		unmerged(task) && may("start") && button("Merge", () => merge(task, diff.tree).finally(load), comments.length ? "" : "act"),
		task.copy && may("start") && button("Discard…", () => {
			ask("Remove the copy?", [h("p", null, "What was not merged is removed with it. The task stays.")], "Remove it", async () => {
				await post(`/tasks/${id}/discard`);
				location.hash = "#/tasks/" + id;
			});
		}));
	onTask(id, (event) => { if (/^(status_changed|completion_report|message_|copy_)/.test(event.type)) load(); }, signal);
	await load();
}

/** shown shows a comment, and what became of it once it was sent. @param {ReviewComment} c */
const shown = (c) => h("span", null, c.text, c.id && [" ", h("b", "became " + (c.became || "open"), became[c.became || "open"]), c.answer && h("span", "answer", " " + c.answer)]);

/** found returns the line that a comment is about now: the nearest with the same text; 0: none. @param {FileDiff} f @param {ReviewComment} c */
function found(f, c) {
	let best = 0;
	const at = c.line || 0;
	for (const hunk of f.hunks) {
		for (const l of hunk.lines) {
			const n = c.side === "old" ? l.old : l.now;
			if (n && l.text === c.quoted && (!best || Math.abs(n - at) < Math.abs(best - at))) best = n;
		}
	}
	return best;
}

/** attemptsView shows the attempts of a task side by side. @param {any[]} attempts the runs of workers @param {any[]} diffs of each */
const attemptsView = (attempts, diffs) => h("details", "past", h("summary", null, h("b", null, "Attempts"), " · " + attempts.length), wide("list",
	h("thead", null, h("tr", null, h("td"), attempts.map((r) => h("th", null, link("#/runs/" + r.run, r.agent))))),
	h("tbody", null, /** @type {Row[]} */ ([
		["ended", (r) => r.ended ? r.end?.end || "" : "works"], ["took", (r) => r.finished_at ? took(Date.parse(r.finished_at) - Date.parse(r.started_at)) : ""], ["steps", (r) => r.steps || 0], ["cost", (r) => money(r.usage?.cost)],
		["edited", (_, i) => diffs[i].files.map((/** @type {any} */ f) => h("div", null, code(f.path), ` +${f.added || 0} −${f.removed || 0}`))], ["said", (r) => (r.output || "").slice(0, 600)],
	]).map(([name, of]) => h("tr", null, h("th", null, name), attempts.map((r, i) => h("td", null, of(r, i))))))));

/** meeting says in a line what a merge would meet. @param {any} m as GET /tasks/{task}/merge has it */
function meeting(m) {
	const into = m.into || "your branch";
	const names = (/** @type {string[]} */ all) => code(all.slice(0, 9).join(", ") + (all.length > 9 ? ` and ${all.length - 9} more` : ""));
	if (m.why) return h("span", "warn", "What a merge would meet is not known: ", m.why);
	if (m.unchanged || m.contained) return "";
	return h("span", m.conflicts.length || m.uncommitted.length ? "warn" : "quiet",
		m.conflicts.length ? [`Conflicts with ${into}: `, names(m.conflicts)] : m.known ? `No conflicts with ${into}.` : `Whether it conflicts with ${into} is not known.`,
		m.uncommitted.length > 0 && [" Not committed in your folder: ", names(m.uncommitted)]);
}

/** merge fetches the branch of a task and says what stands in the way. @param {any} task @param {string} tree what was looked at */
async function merge(task, tree) {
	await trying(async () => {
		const m = await post(`/tasks/${task.id}/merge`, { tree });
		const into = m.into || "your branch", take = "git merge " + m.branch;
		const dialog = ask(m.unchanged ? "Nothing was changed" : "The branch is in your repository", [
			h("p", null, code(m.branch), " is at ", code(m.commit.slice(0, 12)), m.contained ? ` and is part of ${into} already.` : ". Your files and your branch are as they were."),
			m.conflicts.length + m.uncommitted.length > 0 && h("p", null, meeting(m)),
			!m.contained && !m.unchanged && h("div", null, h("p", null, `To take it into ${into}, in the folder:`), pre(take), button("Copy", () => navigator.clipboard.writeText(take))),
			m.conflicts.length > 0 && button("Let the agent solve them", async () => {
				await post(`/tasks/${task.id}/messages`, { text: `Your branch has conflicts with ${into} in: ${m.conflicts.join(", ")}. Commit what you have, merge the commit ${m.head} of ${into} (git merge ${m.head}), solve the conflicts so that both sides keep what they mean, and run the tests.` });
				dialog.close();
				location.hash = "#/tasks/" + task.id;
			}),
		]);
	});
}

/** hash is a fingerprint (FNV-1a) of the changes of a file. @param {string} text */
function hash(text) {
	let n = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) n = Math.imul(n ^ text.charCodeAt(i), 0x01000193);
	return n >>> 0;
}
