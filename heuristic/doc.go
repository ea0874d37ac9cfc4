// Package heuristic interprets text: whether an answer promises work that it does
// not do, and whether two calls or two results are the same for the purposes of the
// loop guard. It is pure. What it concludes is recorded in the log by whoever asks
// it, so a change of a word list never changes how an old log replays.
package heuristic
