// Package render turns what happens in a run into lines for a terminal: the items of package
// view, what a person has to see of a call that needs approval, questions of the agent, and the
// end of a turn. Everything that shows a run on a terminal uses it, so that it looks the same.
//
// A [Style] says with which colours and characters. A [Transcript] takes the updates of a
// run and returns the lines that are finished, each once, and those of the live part below them.
// The lines are safe to print: all text that comes from a model, a tool or a file is escaped, and
// the only control sequences in them are those of colours and, if the style asks for them, of
// hyperlinks to addresses of the web.
//
// The package draws nothing and reads no clock: widths and times are given. Nothing in it is safe
// for concurrent use.
package render
