// The shell of the pages: logging in, the address, the keys that hold everywhere.

import { board, step, verbs } from "./board.js";
import { get, onConnection, send } from "./client.js";
import { ask, button, byId, code, fill, h, link, said, trying } from "./dom.js";
import { newTask } from "./form.js";
import { strip } from "./needs.js";
import { outputPage } from "./outputs.js";
import { palette } from "./palette.js";
import { reviewPage } from "./review.js";
import { end, loggedIn, login, logOut, may, hasWorkers, waitForLogin } from "./session.js";
import { taskPage } from "./task.js";
import { begin, cards, onChange } from "./tasks.js";

const main = byId("main");
const nav = byId("nav");
const search = h("input", { type: "search", placeholder: "Search   /", "aria-label": "search tasks", hidden: true });

/** The pages beside the board. They are loaded when one is opened, and from a server that answers: a browser may not load again what it could not. @type {Record<string, string>} */
const side = { runs: "Runs", agents: "Agents", models: "Models", rules: "Rules", trust: "Trust", usage: "Usage", settings: "Settings", doctor: "Doctor" };
const open = async (/** @type {string} */ page, /** @type {any[]} */ ...of) => {
	await get("/version");
	return /** @type {any} */ (await import("./pages.js"))[page](...of);
};

let leave = new AbortController();

/** show shows the page that the address names. */
function show() {
	leave.abort();
	leave = new AbortController();
	const { signal } = leave;
	const [page, id, sub, more] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
	document.title = "pawl";
	for (const a of nav.querySelectorAll("a")) a.toggleAttribute("aria-current", a.hash === location.hash || a.hash === "#/" && page === "tasks");
	search.hidden = page !== "" && page !== "needs";
	const place = h("div", "page " + (page || "board"));
	main.replaceChildren(place);
	scrollTo(0, 0);
	const shown = (/** @type {Promise<any> | void} */ p) => p?.catch((error) => { if (!signal.aborted) fill(place, h("h1", null, "That is not there"), h("p", null, error.message), h("p", null, link("#/", "Back to the board"))); });
	if (page === "" || page === "needs") {
		strip(place, signal, id);
		const b = board(place, signal);
		b.search(search.value);
		search.oninput = () => b.search(search.value);
	} else if (page === "tasks" && id) shown(sub === "review" ? reviewPage(place, id, signal) : taskPage(place, id, signal));
	else if (page === "runs" && id && sub === "outputs") shown(more ? outputPage(place, id, more) : open("outputs", place, id, signal));
	else if (page === "runs" && id) shown(open("runPage", place, id, signal));
	else if (page === "agents" && id) shown(open("agentPage", place, id, signal));
	else if (side[page]) shown(open(page, place, signal));
	else shown(Promise.reject(new Error("There is no such page.")));
}

const help = [["j k h l", "move among the cards"], ["enter", "open"], ["esc", "back"], ["/", "search: words, label:bug, agent:claude"], ["n", "new task"], ["g b, g r, g a, g u, g s", "board, runs, agents, usage, settings"],
	["d", "go to what needs you"], ["y n a w, enter", "in a question for permission: allow once, no, always (shows the rule first), stop and say"], ["ctrl k", "every page, task and action by typing"], ["?", "these keys"]];

function showHelp() {
	ask("Keys", [h("dl", "facts", help.map(([keys, what]) => [h("dt", null, h("kbd", null, keys)), h("dd", null, what)]).flat())]);
}

let before = "";
const places = /** @type {Record<string, string>} */ ({ b: "", r: "runs", a: "agents", m: "models", p: "rules", t: "trust", u: "usage", s: "settings" });

/** openPalette opens the palette with the pages, and what can be done with the task that is shown. */
const openPalette = () => palette([{ name: "Board", run: () => { location.hash = "#/"; } }, ...Object.entries(side).map(([page, name]) => ({ name, about: "page", run: () => { location.hash = "#/" + page; } })),
	...may("start") ? [{ name: "New task", about: "n", run: () => newTask() }] : [], { name: "Keys", about: "?", run: showHelp }, { name: "Log out", run: logOut }],
async (id) => [...(await get(`/tasks/${id}/status`)).may.filter((m) => verbs[m] && !["fail", "cancel", "handoff"].includes(m)).map((m) => ({ name: verbs[m], about: "this task", run: () => trying(() => send("POST", `/tasks/${id}/${m}`)) })),
	{ name: "Review the changes", about: "this task", run: () => { location.hash = `#/tasks/${id}/review`; } }]);

/** @param {Pressed} e */
function key(e) {
	const { target } = e;
	if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key === "k" && !document.querySelector("dialog[open]")) {
		e.preventDefault();
		openPalette();
		return;
	}
	if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
	if (target.matches("input, textarea, select")) {
		if (e.key === "Escape") target.blur();
		return;
	}
	const after = before;
	before = "";
	const actions = /** @type {Record<string, () => void>} */ ({
		j: () => step(0, 1), k: () => step(0, -1), l: () => step(1, 0), h: () => step(-1, 0),
		"/": () => { location.hash = "#/"; requestAnimationFrame(() => search.focus()); },
		n: () => { if (may("start")) newTask(); }, "?": showHelp, g: () => { before = "g"; },
		d: () => /** @type {HTMLElement | null} */ (document.querySelector(".dialog") || document.querySelector(".needs button"))?.focus(),
		Escape: () => { if (location.hash.replace(/^#\/?/, "")) history.back(); },
	});
	const act = after === "g" && e.key in places ? () => { location.hash = "#/" + places[e.key]; } : actions[e.key];
	if (!act) return;
	e.preventDefault();
	act();
}

// The second click of a double click, and a key that is held down, press nothing: what they would press may have come up since.
addEventListener("click", (e) => {
	if (e.detail < 2 || !(/** @type {HTMLElement} */ (e.target).closest("button, .button"))) return;
	e.preventDefault();
	e.stopImmediatePropagation();
}, { capture: true });
addEventListener("keydown", (e) => {
	if (e.repeat && e.key === "Enter" && !(/** @type {HTMLElement} */ (e.target).matches("textarea"))) e.preventDefault();
}, { capture: true });

function loginPage(/** @type {string} */ failed) {
	nav.hidden = true;
	waitForLogin();
	fill(main, h("div", "page login", h("h1", null, "pawl"),
		failed && h("p", "warn", "The browser is not logged in: " + failed),
		h("p", null, "This is the board of one folder. To log this browser in, run ", code("pawl serve link"), " in that folder and open the address that it prints.")));
}

async function start() {
	const given = new URLSearchParams(location.hash.slice(1)), code = given.get("code");
	let failed = "";
	if (code) {
		history.replaceState(null, "", location.pathname + "#/" + (given.get("to") || "")); // not into the history
		failed = await login(code);
	}
	if (!loggedIn()) failed = await login() || failed;
	if (!loggedIn()) return loginPage(failed);
	if (failed) said("The link was not used: " + failed);
	if (hasWorkers()) side.workers = "Workers";
	fill(nav, h("a", { href: "#/", class: "name" }, "pawl"), search, h("span", "space"), h("span", { id: "working" }),
		Object.entries(side).map(([page, name]) => link("#/" + page, name)), button("Find", openPalette, { title: "ctrl+k: every page, task and action by typing" }), may("start") && button("+ New task", () => newTask(), { class: "act", title: "n" }));
	const away = byId("away");
	let ticking = 0;
	onConnection((c, since) => {
		clearInterval(ticking);
		away.hidden = c === "live";
		if (c === "out") { end(); loginPage("the session is over"); return; }
		const tick = () => { away.textContent = `The server does not answer (${Math.round((Date.now() - since) / 1000)} s). What you do now is sent once it is back.`; };
		if (c === "away") { tick(); ticking = setInterval(tick, 1000); }
	});
	onChange(() => {
		const n = [...cards.values()].filter((c) => !c.queued && !c.undriven && (c.status === "active" && !c.waits_for || c.status === "planning")).length;
		byId("working").textContent = n ? n + " working" : "";
	}, new AbortController().signal);
	begin();
	addEventListener("hashchange", show);
	if (localStorage.getItem("pawl-push")) import("./push.js").then((p) => { p.renew(); navigator.serviceWorker.onmessage = (e) => { location.hash = e.data; }; });
	addEventListener("keydown", key);
	addEventListener("new-task", (e) => newTask(/** @type {CustomEvent} */ (e).detail));
	return show();
}

start();
