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
	"errors"
	"io"

	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
)

// A Tool can be invoked by a call. Implementations are safe for concurrent use.
type Tool interface {
	// Spec says what the model is told. It never changes.
	Spec() Spec
	// Inspect says what a call would do, before it is decided whether it may run. It
	// runs nothing and changes nothing. An error is for the model: the arguments are
	// wrong, and how.
	Inspect(env Env, args json.RawMessage) (Intent, error)
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

// A Preparer is a tool whose first call takes less time if it is prepared for.
type Preparer interface {
	// Expected returns what the first call would probably do.
	Expected() Intent
	// Prepare prepares, in the background, for calls that run in that much of the sandbox. When
	// ctx is done, the run has ended: nothing is left of what no call has used.
	Prepare(ctx context.Context, env Env, sandbox run.Confinement)
}

// A Spec is what is told about a tool.
type Spec struct {
	Name        string
	Description string          // the .md
	Schema      json.RawMessage // of the arguments; the worker validates against it before Inspect
	// Offered is Schema as a model reads it, without what it need not know to fill it in. Empty: Schema.
	Offered json.RawMessage
	// Unstored: results are not kept in the store of outputs; they come from it.
	Unstored bool
	// Brief: results are bounded, so the model is not offered a choice of how they are delivered
	// (it is taken all the same).
	Brief bool
	// Always: every run has it, whatever its grants. It shows only what the run has already.
	Always bool
	// Server is the MCP server whose tool it is; empty: the tool is pawl's.
	Server string
	// Instead: it is offered where the tools of servers are not because [Searched] says so, and where Beside names servers.
	Instead bool
	// Beside are the servers whose tools may come or change while a run lives.
	Beside []string
	// ForAgents: only runs of agents have it, and those to which it is granted by name.
	ForAgents bool
}

// An Intent says what a call would do.
type Intent struct {
	Class    run.Class
	Priority int
	Polls    bool // it spends its time waiting (sleep)
	Question bool // it is a question to the person and does not run: the answer is its result
	// As is the tool whose rules decide, for a call that asks whether an external agent may use
	// a tool of its own: what it does is not confined by pawl. Empty: the tool itself.
	As string
	// Dir is the folder, absolute, that such a call starts in; empty: the one of the run's
	// shell.
	Dir string
	// Command is the shell command to be permitted, for shell tools.
	Command string
	// Sandbox is how much of the sandbox the call asks to run in, for commands.
	Sandbox run.Confinement
	// Writes: it asks for what the sandbox gives to a command that a person or a rule allows, and not to one that runs
	// because it can do nothing else.
	Writes bool
	// Runs says what makes a command that only looks run more than it names: a
	// setting of a repository's. Empty: nothing does.
	Runs string
	// Hooks says which hook git may run for a command that does more than look. Empty:
	// there is none.
	Hooks string
	// Tracked are the files that git tracks where a command runs git; see [permission.Request].
	Tracked []string
	// URL is the address it fetches, for tools on the web.
	URL string
	// Paths are the files it touches, as given, for tools on files.
	Paths []string
	// Arguments are those of a tool of an MCP server, for rules; see [permission.Request].
	Arguments map[string]string
	// Below are files with secrets, and links, in folders among Paths that a command reads
	// with everything in them: it touches them only if it is not confined to reading.
	Below []string
	// Hint is what the server of the tool says of it, for the question to a person: it decides nothing.
	Hint string
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
	// Handle is what Detach was given for this call in a process that has died since: the tool asks what came of it, and
	// does not do it again. Empty: the call is made now.
	Handle string
	// Detach says that what carries the call out goes on when this process dies, and can be asked what came of it with a
	// handle. When it returns nil the handle is durable. Nil: handles are not kept.
	Detach func(ctx context.Context, handle string) error
	// Ask asks the person something that the call needs to go on, and returns the answer. An error says that nobody
	// waits for one any more. Nil: there is no person to ask.
	Ask func(ctx context.Context, question string, options ...string) (answer string, err error)
	// Progress, if not nil, shows people the last lines of what the tool has printed,
	// which replace those shown before. It does not block and may drop.
	Progress func(string)
}

// A Result is what came of a call.
type Result struct {
	Content    []run.Part // text, images; bounded by the tool
	IsError    bool
	NotStarted bool // the call has done nothing
	// Unknown: whether the call has done anything is not known. Content says why.
	Unknown bool
	// ExitCode is that of a command that has ended; nil: there is none.
	ExitCode *int
	Change   run.Change
	Files    []run.FileChange
	// Written: all of the result is in [Call.Output], because it is too large for the
	// context. Content is what there is to say beside it.
	Written bool
	Usage   run.Usage // of a child run that the call started
	// Kept: the result stays when the context is compacted; see [run.Result].
	Kept bool
}

// TextResult returns a result of one text.
func TextResult(s string) Result { return Result{Content: []run.Part{run.Text(s)}} }

// ErrorResult returns an error result of one text.
func ErrorResult(s string) Result { return Result{Content: []run.Part{run.Text(s)}, IsError: true} }

// An Env is where a run's tools work. The worker makes one for each run.
type Env struct {
	Workspace string // absolute, symlinks resolved
	// Dirs are further folders that count as the workspace, absolute with symlinks resolved.
	// Paths in them are absolute.
	Dirs []string
	// Reads are further folders, absolute with symlinks resolved, that the tools which read files open too.
	Reads []string
	// StateDir is the folder of this workspace in the user's state folder, for
	// the journal of edits: see package journal.
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
	// Session holds what tools keep between the calls of one run: files read and
	// their hashes, the shell's folder, background jobs.
	Session *Session
	// Spawn runs a child run to its end, for tools that delegate; nil: the run may
	// have none.
	Spawn Spawn
	// Agents are the agents of the run's ancestors, the root's first, and its own last; runs
	// without an agent are left out.
	Agents []string
	// Specs returns the tools of the run; nil: they are not known.
	Specs func() []Spec
	// Leads is where the paths of the call led when it was allowed, as [Resolve]
	// says it: nothing else is opened. Nil: nobody has looked.
	Leads []string

	changes *run.ToolState // of the session, by this call; see ForCall
}

// A Spawn starts the child run that a call stands for, or takes it up again: the
// same call always means the same child. It returns when the child has ended, with what
// it handed in or said; the error [ErrParked] means that it waits for a person and the
// call stays open, any other is for the model.
type Spawn func(ctx context.Context, call run.CallID, child Child) (Result, error)

// A Child is what a child run is asked.
type Child struct {
	Prompt string
	Agent  string // name of the agent that it is; empty: none
	// System returns the system prompt for the model that the child has; nil: it is that of the
	// parent.
	System func(model string) string
	Output run.Output // the result that it has to submit, if any
	Limits run.Limits // at most; what is zero is a share of what the parent has left
	// Change is made to the configuration of the parent; its limits and output do not
	// count. A mode in which more runs without a question than in that of the parent does not either.
	Change run.ConfigChange
	// Rules hold for the child, beside those of the parent that forbid or ask.
	Rules permission.Rules
}

// ErrParked says that a call waits for a person elsewhere: it is neither settled nor
// running, and is started again when its run is driven again.
var ErrParked = errors.New("the call waits for a person")

// ForCall returns e for one call, whose changes of the session are kept apart.
func (e Env) ForCall() Env {
	e.changes = &run.ToolState{}
	return e
}

// Changes returns what the call has changed in the session, as the log keeps it; nil
// if nothing. It is for after the call.
func (e Env) Changes() *run.ToolState {
	if e.changes == nil || e.changes.Dir == "" && e.changes.Jobs == 0 && len(e.changes.Seen) == 0 {
		return nil
	}
	return e.changes
}

// Scope returns which outputs the run may ask.
func (e Env) Scope() output.Scope {
	return output.Scope{Conversation: e.Conversation, Run: e.Run, Also: e.Past}
}
