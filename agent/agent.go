// Package agent is the agents that runs can be started with: configurations with
// instructions, tools, a model, permissions and a required result, each in a file of its
// own or built in. It also has the tools with which one agent starts another as a child run.
//
// Agents come from three places. Where two have one name, the first counts:
//
//   - the user's folder, <config>/agents/NAME.md or NAME.json;
//   - the workspace's folder, .pawl/agents/, for which trust is needed (see package policy):
//     before a person has trusted a file, its text counts - description, instructions, kind,
//     required result - and nothing else. Such an agent has the tools that read, the
//     permissions and the limits of the workspace, and replaces no other agent;
//   - the agents that are built in, see [Seeds].
//
// In each of the two the files of other programs count too, such as .claude/agents, after pawl's own of the same name.
//
// Agents of plugins (see package plugin) are called PLUGIN:NAME, so that no other has the name of one.
//
// A file that cannot be read is an agent too, with the reason in [Agent.Problem], so that it
// is listed and does not silently make room for another of its name.
package agent

import (
	"pawl/internal/lazy"
	"pawl/permission"
	"pawl/run"
	"pawl/submission"
)

// A Source says where an agent comes from.
type Source string

const (
	FromUser      Source = "user"      // the user's configuration folder
	FromWorkspace Source = "workspace" // .pawl/agents of the workspace
	FromPlugin    Source = "plugin"    // a plugin that the user has added
	BuiltIn       Source = "built-in"
)

// An Agent is a configuration of runs.
type Agent struct {
	Name        string // matches namePattern; of a plugin, after the plugin's name and a colon
	Description string // one line: what it is for
	Kind        submission.Kind
	Model       string          // provider/name; empty: that of the workspace, or of the run that starts it
	Tools       run.Grants      // that it may call; the zero value: all
	Mode        permission.Mode // permission mode; empty: that of the workspace
	// Rules are permission rules for its runs, beside those that hold in the workspace. Their
	// scope is [permission.ForRun].
	Rules permission.Rules
	// Declared is a required result of its own; the zero value: that of its kind. See
	// [Agent.Output].
	Declared run.Output
	Limits   run.Limits // of a turn; zero fields: those of the workspace
	// Clone lets it work on tasks in a copy of the repository, as a task with isolation clone.
	Clone        bool
	Instructions string // Markdown; a part of the system prompt

	Source Source
	Path   string // of its file; empty: it is built in
	// Internal agents are pawl's own: no one hands work to them by name, and a file can replace
	// their description, instructions, model and limits only.
	Internal bool
	// Untrusted: it is a file of the workspace that no one has trusted as it is, so that
	// only its text counts.
	Untrusted bool
	// Program is the program whose form its file has, such as Claude Code, or the plugin that brings it; empty: pawl. LeftOut is what of the file does
	// not count here, a phrase each.
	Program string
	LeftOut []string
	// Problem is why its file cannot be used; then only Name, Source and Path are set.
	Problem string
}

// Own returns the path of its file if it is one of pawl's, which pawl changes and removes; empty: it has none.
func (a Agent) Own() string {
	if a.Program != "" {
		return ""
	}
	return a.Path
}

// namePattern is what names of agents look like.
var namePattern = lazy.Regexp(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Output returns the result that the agent has to submit when it works on a task: the one
// it declares, else that of its kind.
func (a Agent) Output() run.Output {
	if a.Declared.Schema != "" {
		return a.Declared
	}
	o, _ := a.Kind.Output()
	return o
}

// Change returns what the agent changes of the configuration that runs of the workspace
// begin with. The result is not part of it, because not every run of the agent has to submit
// one.
func (a Agent) Change() run.ConfigChange {
	c := run.ConfigChange{Limits: a.Limits, Tools: &a.Tools}
	if a.Model != "" {
		c.Model = &a.Model
	}
	if a.Mode != "" {
		mode := string(a.Mode)
		c.Mode = &mode
	}
	return c
}
