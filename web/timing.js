// When things are done: once a frame, one at a time, after a while, from time to time. What has a signal goes on until it
// says otherwise, here and elsewhere.

/** @param {number} ms */
export const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** clock calls f every 30 seconds while the page is in sight. @param {() => any} f @param {AbortSignal} signal */
export function clock(f, signal) {
	const ticking = setInterval(() => { if (!document.hidden) f(); }, 30000);
	signal.addEventListener("abort", () => clearInterval(ticking));
}

/**
 * onFrame returns a function that lets f be called with the next frame, once however often it was asked for.
 * @param {() => void} f
 * @param {AbortSignal} signal
 */
export function onFrame(f, signal) {
	let due = false;
	return () => {
		if (due || signal.aborted) return;
		due = true;
		requestAnimationFrame(() => {
			due = false;
			if (!signal.aborted) f();
		});
	};
}

/**
 * oneAtATime returns a function that runs f. What is asked for meanwhile is run once more, ms after f has ended.
 * @param {() => Promise<void>} f
 * @param {number} ms
 * @param {AbortSignal} signal
 */
export function oneAtATime(f, ms, signal) {
	let running = false, again = false;
	const run = async () => {
		again = running;
		if (running || signal.aborted) return;
		running = true;
		await f();
		running = false;
		if (again) setTimeout(run, ms);
	};
	return run;
}

/**
 * newest returns a function that shows what was asked for, unless something else was asked for meanwhile: answers come
 * in any order, and what a person sees is the answer to the last question.
 */
export function newest() {
	let last = 0;
	/** @template X @param {Promise<X>} answer @param {(answer: X) => void} show */
	return async (answer, show) => {
		const mine = ++last;
		try {
			const a = await answer;
			if (mine === last) show(a);
		} catch (error) {
			if (mine === last) throw error;
		}
	};
}
