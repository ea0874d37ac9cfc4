// Package controller is for models that decide on one thing at a time, in words:
// each answer is one flat JSON object that names the next action. The package has
// the object's [Schema], the [Prompt] that asks for it, the parser that makes an
// [Action] of an answer, and the words that go back: [Executions] after a step,
// [Error.Feedback] after an answer that could not be used.
//
//	answer ─▶ find ─▶ normalize ─▶ decode ─▶ companions ─▶ args ─▶ Action
//	            │         │           │           │          │
//	            └─────────┴───────────┴───────────┴──────────┴───▶ Error
//
// Nothing is synthesized and nothing is repaired. What an Action says stands in the
// answer, word for word; what cannot be read as it stands is an [Error], and the
// model is asked again. Of what JSON's grammar leaves open, three things are refused,
// as I-JSON does (RFC 7493, sections 2.1 and 2.3): bytes that are not UTF-8, half of a
// surrogate pair, a name twice in an object. Readers differ on what such text says, and a tool must not run on one of
// two readings. Numbers are kept as written, whatever their size.
//
// The package is pure: no clock, no file, no goroutine. It does not perform, ask or
// remember anything, does not know which tools there are, and does not check
// arguments against a tool's schema; whoever runs the decision does that, and the
// outcome is the result of that call. It imports nothing of ours: the run can build
// on it.
package controller
