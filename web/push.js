// Push messages to this device, for a person who wants them. The board loads this where they are switched on or off.

import { get, post } from "./client.js";
import { button, fill, h, put, said } from "./dom.js";
import { headers, may } from "./session.js";
import { sleep } from "./timing.js";

const name = "pawl-push"; // the server's id of the subscription
const scope = "/push/"; // where no page is
const { trustedTypes } = /** @type {any} */ (window);
const script = scope + "worker.js";
const trusted = trustedTypes?.createPolicy("push", { createScriptURL: () => script }).createScriptURL("") || script;

const subscribed = async () => (await navigator.serviceWorker?.getRegistration(scope))?.pushManager?.getSubscription();

/** store tells the server where the messages go. @param {PushSubscription} of */
async function store(of) {
	const { endpoint, keys } = of.toJSON();
	localStorage.setItem(name, (await post("/push-subscriptions", { endpoint, keys })).id);
}

/** renew has the messages end with the session of this page, and not with one before it. */
export async function renew() {
	const old = await subscribed();
	if (old && may("answer")) await store(old);
}

async function on() {
	if (await Notification.requestPermission() !== "granted") throw new Error("The browser does not allow notifications of this page.");
	const { key } = await get("/push-key");
	const { pushManager } = await navigator.serviceWorker.register(trusted, { scope });
	await (await pushManager.getSubscription())?.unsubscribe(); // it may be of another key
	for (let i = 0; !(await navigator.serviceWorker.getRegistration(scope))?.active && i < 100; i++) await sleep(50);
	const late = sleep(15000).then(() => { throw new Error("it does not answer"); }); // Chromium tries again, for ever
	await store(await Promise.race([pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }), late]).catch((error) => {
		off();
		throw new Error("The push service of the browser's maker gave no address for messages: " + error.message);
	}));
}

/** off ends the messages. It waits for no server: what is sent to a subscription that has ended is refused, and so the server learns of it. */
export async function off() {
	const id = localStorage.getItem(name);
	localStorage.removeItem(name);
	if (id) fetch("/api/v1/push-subscriptions/" + id, { method: "DELETE", headers: headers(), keepalive: true }).catch(() => {});
	await (await subscribed())?.unsubscribe();
	await (await navigator.serviceWorker?.getRegistration(scope))?.unregister();
}

/** pushes shows the switch. @param {HTMLElement} place */
export async function pushes(place) {
	const why = !may("answer") ? "Your role sees tasks and answers nothing, so none of them needs you." : !isSecureContext ? "This needs https, or an address of this machine."
		: !("PushManager" in window) ? "This browser has none, or only once the board is on its home screen." : Notification.permission === "denied" ? "The browser does not allow notifications of this page: its settings change that." : "";
	const change = async (/** @type {() => Promise<void>} */ f, /** @type {string} */ words) => { await f(); said(words); fill(place); await pushes(place); };
	const isOn = !why && Boolean(localStorage.getItem(name) && await subscribed());
	put(place, h("h2", null, "This device"), h("p", null, isOn ? button("Notify this device no more", () => change(off, "This device gets no more messages."))
		: button("Notify this device when a task needs me", () => change(on, "This device is told when a task needs you."), { disabled: Boolean(why) })),
	h("p", "quiet", why || "Also while no page is open: the title of the task and what it waits for, through the push service of the browser's maker, who cannot read it. It ends when you log out, and after seven days without a login."));
}
