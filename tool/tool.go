// Package tool is what calls can invoke: the built-in tools, each a Go file with
// the text for the model in a .md beside it, and the registry that holds them.
//
// A tool never asks for permission and never writes the log: the worker asks,
// records the start, runs the tool, and records what came of it. A tool that
// checked itself could forget to.
package tool

import (
	"context"
	"encoding/json"
	"io"

	"pawl/output"
	"pawl/run"
	"pawl/sandbox"
)

// A Tool can be invoked by a call. Implementations are safe for concurrent use.
type Tool interface {
	// Spec says what the model is told. It never changes.
	Spec() Spec
	// Look looks at a call before anyone is asked whether it may run: what it
	// would do. It runs nothing and changes nothing. An error is for the model:
	// the arguments are wrong, and how.
	Look(env Env, args json.RawMessage) (Intent, error)
	// Run carries the call out. A failure that the model should know of is a
	// Result with IsError; an error is the same, for the lazy: its text becomes
	// an error result. When ctx is done Run stops what it started and returns
	// what is known, within a second.
	Run(ctx context.Context, env Env, c Call) (Result, error)
}

// A Reconciler can tell what became of a call whose process died: done, not
// done, or (false) nobody knows.
type Reconciler interface {
	Reconcile(env Env, c Call) (Result, bool)
}

// A Spec is what is told about a tool.
type Spec struct {
	Name        string
	Description string          // the .md
	Schema      json.RawMessage // of the arguments; the worker validates against it before Look
	// Unstored: results are not kept in the store of outputs; they come from it.
	Unstored bool
}

// An Intent says what a call would do.
type Intent struct {
	Class    run.Class
	Priority int
	Waits    bool // it spends its time waiting (sleep)
	Ask      bool // it is a question to the person and does not run: the answer is its result
	// Command is the shell command to be permitted, for shell tools.
	Command string
	// Sandbox is how much of the sandbox the call asks to run in, for commands.
	Sandbox run.Confinement
	// Runs says what makes a command that only looks run more than it names: a
	// setting of a repository's. Empty: nothing does.
	Runs string
	// URL is the address it fetches, for tools on the web.
	URL string
	// Paths are the files it touches, as given, for tools on files.
	Paths []string
	// Title says it in a line for people: "edit main.go", "go test ./...".
	Title string
}

// A Call is one invocation.
type Call struct {
	Run  run.ID
	ID   run.CallID
	Args json.RawMessage // a JSON object that fits the tool's schema
	// Sandbox is how much of the sandbox was granted, as decided.
	Sandbox run.Confinement
	// Granted: a person has allowed this very call.
	Granted bool
	// Output, if not nil, takes all of a result that may be large, as it comes; see
	// [Result.Written].
	Output io.Writer
	// Progress, if not nil, shows people what the tool prints while it runs. It
	// does not block and may drop.
	Progress func(string)
}

// A Result is what came of a call.
type Result struct {
	Content []run.Part // text, images; bounded by the tool
	IsError bool
	Change  run.Change
	Files   []run.FileChange
	// Written: all of the result is in [Call.Output], because it is too large for the
	// context. Content is what there is to say beside it.
	Written bool
}

// TextResult returns a result of one text.
func TextResult(s string) Result { return Result{Content: []run.Part{run.Text(s)}} }

// ErrorResult returns an error result of one text.
func ErrorResult(s string) Result { return Result{Content: []run.Part{run.Text(s)}, IsError: true} }

// An Env is where a run's tools work. The worker makes one for each run.
type Env struct {
	Workspace string // absolute, symlinks resolved
	// StateDir is the folder of this workspace in the user's state folder, for
	// the edit journal (journal/) and the kept contents (blobs/).
	StateDir string
	Run      run.ID
	// Conversation is the root run, and Outputs where the outputs of its runs are; nil:
	// nowhere.
	Conversation run.ID
	Outputs      *output.Store
	// Past is what the run has in its context from runs of other conversations, such as
	// the original of a fork: it may ask their outputs too.
	Past []output.Past
	// Sandbox is what confines shell commands; nil: nothing does, they have the
	// person's own authority.
	Sandbox *sandbox.Policy
	// Session holds what tools keep between calls of one run in one process:
	// files read and their hashes, the shell's folder, background jobs.
	Session *Session
	// Leads is where the paths of the call led when it was allowed, as [Resolve]
	// says it: nothing else is opened. Nil: nobody has looked.
	Leads []string
}

// Scope returns which outputs the run may ask.
func (e Env) Scope() output.Scope {
	return output.Scope{Conversation: e.Conversation, Run: e.Run, Also: e.Past}
}
