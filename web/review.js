// The changes of a task: files, comments on lines, what the agent is told of them, merging.

import { get, send } from "./client.js";
import { hunks, parse } from "./diff.js";
import { button, fill, h, plural, said, trying } from "./dom.js";
import { onTask, unmerged } from "./tasks.js";

/** @typedef {{file: string, side: "old" | "new", line: number, quoted: string, text: string}} Comment */

/** @param {string} id */
const kept = (id) => "pawl-review-" + id;

/**
 * reviewPage shows the changes of a task until the signal says otherwise.
 * @param {HTMLElement} place
 * @param {string} id
 * @param {AbortSignal} signal
 */
export async function reviewPage(place, id, signal) {
  const task = await get("/tasks/" + id, {}, signal);
  document.title = "Review: " + task.title + " · pawl";
  const list = h("div", { class: "files" });
  const bar = h("div", { class: "bar" });
  const how = { side: localStorage.getItem("pawl-diff-side") === "yes", blank: localStorage.getItem("pawl-diff-blank") !== "no" };
  /** @type {Comment[]} what was written and not sent; it is kept in this browser */
  let comments = JSON.parse(localStorage.getItem(kept(id)) || "[]");
  /** The hash of each file as it was when it was marked as seen. @type {Record<string, string>} */
  const seen = JSON.parse(localStorage.getItem("pawl-seen-" + id) || "{}");
  const keep = () => { localStorage.setItem(kept(id), JSON.stringify(comments)); foot(); };
  const toggle = (/** @type {string} */ label, /** @type {"side" | "blank"} */ name) => h("label", null, h("input", { type: "checkbox", checked: how[name], onchange: (/** @type {Event} */ e) => {
    how[name] = /** @type {HTMLInputElement} */ (e.target).checked;
    localStorage.setItem("pawl-diff-" + name, how[name] ? "yes" : "no");
    draw();
  } }), " " + label);
  const counts = h("p", { class: "status" });
  place.append(h("div", { class: "review" }, h("header", null, h("p", null, h("a", { href: "#/tasks/" + id }, "← " + task.title)), h("h1", null, "Changes"), counts,
    h("p", { class: "how" }, toggle("side by side", "side"), " ", toggle("white space", "blank"))), list, bar));

  /** @type {any} */
  let diff = null;
  /** @type {import("./diff.js").File[]} */
  let files = [];
  const load = async () => {
    try {
      if (task.copy) {
        diff = await get(`/tasks/${id}/diff`, {}, signal);
        files = parse(diff.patch || "");
        // What the patch has nothing of, such as binary files, is named all the same.
        for (const f of diff.files) if (!files.some((p) => p.name === f.name || p.from === f.name)) files.push({ name: f.name, from: "", added: f.added, removed: f.removed, binary: true, note: "", hunks: [] });
      } else {
        const runs = await Promise.all(task.runs.map((/** @type {any} */ r) => get(`/runs/${r.run}/diff`, {}, signal)));
        files = runs.flatMap((r) => r.files).flatMap((/** @type {any} */ f) => {
          const [p] = parse(f.diff || "");
          return p ? [{ ...p, name: f.path, note: f.problem || f.action || "" }] : [{ name: f.path, from: "", added: f.added || 0, removed: f.removed || 0, binary: true, note: f.problem || f.action || "", hunks: [] }];
        });
      }
      draw();
    } catch (error) {
      if (!signal.aborted) fill(counts, /** @type {Error} */ (error).message);
    }
  };
  const draw = () => {
    fill(counts, `${plural(files.length, "file")} · `, h("span", { class: "plus" }, "+" + files.reduce((n, f) => n + f.added, 0)), " ", h("span", { class: "minus" }, "−" + files.reduce((n, f) => n + f.removed, 0)),
      diff && ` · ${plural(diff.commits, "commit")} on `, diff && h("code", null, diff.branch));
    fill(list, files.map(fileView));
    foot();
  };
  const fileView = (/** @type {import("./diff.js").File} */ f) => {
    const text = JSON.stringify(f.hunks.map((x) => x.lines.map((l) => l.kind + l.text)));
    const print = String(hash(text));
    const lines = f.hunks.reduce((n, x) => n + x.lines.length, 0);
    const body = h("div", { class: "wide" });
    const fillBody = () => {
      if (body.childElementCount > 0) return;
      if (f.binary) { fill(body, h("p", { class: "quiet" }, "It is not text.")); return; }
      const table = hunks(f, { ...how, onLine: (side, line, quoted, row) => write(row, { file: f.name, side, line, quoted, text: "" }) });
      body.append(table);
      for (const c of comments.filter((c) => c.file === f.name)) {
        const row = /** @type {HTMLTableRowElement | null} */ (table.querySelector(`tr[data-${c.side}="${c.line}"]`));
        if (row) showComment(row, c);
        else body.prepend(h("p", { class: "comment" }, `on line ${c.line}, which is not there any more: ${c.text} `, button("Remove", () => { comments = comments.filter((x) => x !== c); keep(); draw(); })));
      }
    };
    const open = seen[f.name] !== print && lines < 1500;
    const e = h("details", { open, ontoggle: () => { if (e.open) fillBody(); } },
      h("summary", null, h("code", null, f.name), f.note && h("span", { class: "quiet" }, " " + f.note), " ", h("span", { class: "plus" }, "+" + f.added), " ", h("span", { class: "minus" }, "−" + f.removed),
        seen[f.name] && seen[f.name] !== print && h("b", { class: "need" }, " changed since you looked")), body);
    const mark = h("label", { class: "seen" }, h("input", { type: "checkbox", checked: seen[f.name] === print, onchange: (/** @type {Event} */ ev) => {
      if (/** @type {HTMLInputElement} */ (ev.target).checked) { seen[f.name] = print; e.open = false; } else delete seen[f.name];
      localStorage.setItem("pawl-seen-" + id, JSON.stringify(seen));
    } }), " seen");
    if (open) fillBody();
    return h("section", { class: "file", "aria-label": f.name }, mark, e);
  };
  /** write opens the field for a comment under a line. @param {HTMLTableRowElement} row @param {Comment} c */
  const write = (row, c) => {
    const text = h("textarea", { rows: 3, value: c.text, "aria-label": `comment on line ${c.line}` });
    const tr = h("tr", { class: "comments" }, h("td", { colSpan: row.cells.length === 4 ? 4 : 3 }, text, h("p", { class: "choices" }, button("Back", () => tr.remove()), button("Keep", () => {
      if (!text.value.trim()) return;
      c.text = text.value.trim();
      if (!comments.includes(c)) comments.push(c);
      keep();
      tr.remove();
      showComment(row, c);
    }, { class: "act" }))));
    row.after(tr);
    text.focus();
  };
  /** @param {HTMLTableRowElement} row @param {Comment} c */
  const showComment = (row, c) => {
    const tr = h("tr", { class: "comments" }, h("td", { colSpan: row.cells.length === 4 ? 4 : 3 }, h("p", null, c.text, " ", button("Edit", () => { tr.remove(); write(row, c); }), button("Remove", () => { comments = comments.filter((x) => x !== c); keep(); tr.remove(); }))));
    row.after(tr);
  };
  const foot = () => fill(bar,
    h("span", null, comments.length ? plural(comments.length, "comment") : "Click a line's number to comment on it."), h("span", { class: "space" }),
    button("Send to the agent", () => trying(async () => {
      await send("POST", `/tasks/${id}/messages`, { text: message(comments) });
      comments = [];
      keep();
      draw();
      said("Sent. The agent continues with it.");
    }), { disabled: comments.length === 0, class: comments.length ? "act" : "" }),
    unmerged(task) && button("Merge", () => merge(task), { class: comments.length ? "" : "act" }),
    task.copy && button("Discard…", () => trying(async () => {
      if (!confirm("Remove the copy, with what was not merged? The task stays.")) return;
      await send("POST", `/tasks/${id}/discard`);
      location.hash = "#/tasks/" + id;
    })));
  onTask(id, (event) => { if (event.type === "status_changed" || event.type === "completion_report_submitted") load(); }, signal);
  await load();
}

/** message is what the agent gets of the comments: data that it can find the places by. @param {Comment[]} comments */
function message(comments) {
  return `The person has reviewed your changes and has ${plural(comments.length, "comment")}. Each has the file, the line in the ${"`new`"} or ${"`old`"} version, what stood there, and what is said about it. Answer each one in your report.\n\n`
    + JSON.stringify(comments.map(({ file, side, line, quoted, text }) => ({ file, side, line, quoted, comment: text })), null, 1);
}

/** merge fetches the branch of a task and says what stands in the way. @param {any} task */
async function merge(task) {
  await trying(async () => {
    const m = await send("POST", `/tasks/${task.id}/merge`);
    const into = m.into || "your branch";
    const dialog = h("dialog", null, h("h2", null, m.unchanged ? "Nothing was changed" : "The branch is in your repository"),
      h("p", null, h("code", null, m.branch), " is at ", h("code", null, m.commit.slice(0, 12)), m.contained ? ` and is part of ${into} already.` : "."),
      m.conflicts.length > 0 && [h("p", null, `These files have conflicts with ${into}:`), h("ul", null, m.conflicts.map((/** @type {string} */ f) => h("li", null, h("code", null, f))))],
      m.uncommitted.length > 0 && [h("p", null, "These files of yours are not committed and stand in the way:"), h("ul", null, m.uncommitted.map((/** @type {string} */ f) => h("li", null, h("code", null, f))))],
      !m.contained && !m.unchanged && h("p", null, "To take it in: ", h("code", null, "git merge " + m.branch)),
      h("form", { method: "dialog" }, m.conflicts.length > 0 && button("Let the agent solve them", () => trying(async () => {
        await send("POST", `/tasks/${task.id}/messages`, { text: `Your branch has conflicts with ${into} in: ${m.conflicts.join(", ")}. Merge ${into} into your branch, solve them, and run the tests.` });
        dialog.close();
        location.hash = "#/tasks/" + task.id;
      })), h("button", { class: "act" }, "Close")));
    document.body.append(dialog);
    dialog.addEventListener("close", () => dialog.remove());
    dialog.showModal();
  });
}

/** hash is a fingerprint (FNV-1a) to see whether a file's changes are the ones that were looked at. @param {string} text */
function hash(text) {
  let n = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) n = Math.imul(n ^ text.charCodeAt(i), 0x01000193);
  return n >>> 0;
}
