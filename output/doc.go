// Package output stores what tools give and answers questions about it, so that a
// result of a gigabyte costs a model a few hundred characters and not its context.
//
//	w, err := store.Create(key, "shell", message)   // bytes are compressed as they arrive,
//	_, err = io.Copy(w, stdout)                      // and their structure is learnt
//	out, err := w.Commit(true)                       // durable, whole or not at all
//	parts, _ := output.Deliver(output.Undelivered{Output: out, Tools: tools}, output.Auto, output.DefaultLimits)
//
//	out, err = store.Find(conversation, run, "c_3") // "" is the newest
//	answer, err := out.Extract(ctx, args)            // args by Decode
//
// A [Store] is a folder of files, one for each output, scoped to conversation and run, with
// the results that were delivered inline, which are in the [Logs] of their runs alone.
// An [Output] is one of them; its [Document] answers the questions of the tools
// tool_outputs.*: Stats, Extract, Count, Sample, Search, Aggregate and Read; List is the
// store's. [File] makes a Document of any file. [Resolve] puts outputs into the
// arguments of other tools.
//
// What holds:
//
//   - Memory does not grow with an output: storing takes some 10 MB, any question stays
//     below 64 MB, and what would need more is a clear error.
//   - A figure is exact, or says that it is estimated.
//   - Whatever is left out is marked where it is missing, with how much it is.
//   - Nothing of another conversation is found.
//
// The package knows nothing of tools, workers and permissions; it is wired to them by
// others.
package output
