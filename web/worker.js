// The service worker: it shows push messages and does nothing else. No page is in its scope, so it sees no request. One that
// another program has left at this address, with another scope, becomes this one too, removes itself and loads its pages again.

const worker = /** @type {any} */ (self);
const own = new URL(worker.registration.scope).pathname === "/push/";
const words = /** @type {Record<string, string>} */ ({ approve: "Needs your permission", answer: "Asks you something", stopped: "Has stopped", review: "Is ready for your review", failed: "Has failed" });

/** pages returns the pages of this address. */
const pages = () => worker.clients.matchAll({ type: "window", includeUncontrolled: own });

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {any} */ e) => {
	if (!own) e.waitUntil(worker.registration.unregister().then(pages).then((/** @type {any[]} */ all) => Promise.all(all.map((p) => p.navigate(p.url)))));
});
worker.addEventListener("push", (/** @type {any} */ e) => e.waitUntil((async () => {
	if ((await pages()).some((/** @type {any} */ p) => p.visibilityState === "visible")) return; // it is seen there
	const { things, kind, title, task } = e.data.json();
	await worker.registration.showNotification(things > 1 ? things + " things need you" : title,
		{ body: words[kind] || "", tag: "pawl", renotify: true, icon: "/icon.svg", data: task ? "#/needs/" + task : "#/" });
})()));
worker.addEventListener("notificationclick", (/** @type {any} */ e) => e.waitUntil((async () => {
	e.notification.close();
	const to = e.notification.data, [page] = await pages();
	if (!page) return worker.clients.openWindow("/" + to);
	page.postMessage(to);
	return page.focus();
})()));
