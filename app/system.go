package app

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"pawl/agent"
	"pawl/config"
	"pawl/instructions"
	"pawl/permission"
	"pawl/permission/filenames"
	"pawl/run"
	"pawl/submission"
	"pawl/tool/tree"
)

//go:embed system.md
var systemText string

// systemPrompt returns what the model of a run is told first. It holds for the whole run and
// contains nothing that changes between requests, so that every request begins with the
// same bytes and the provider's cache serves it.
//
// a is the agent that it is, others are those that it can start, and o is its result; each
// may be empty.
func systemPrompt(workspace, instructions string, a agent.Agent, others, skills string, o run.Output) string {
	about := fmt.Sprintf("%s\nPlatform: %s/%s", workspace, runtime.GOOS, runtime.GOARCH)
	if skills != "" {
		instructions = skills + "\n" + instructions
	}
	return promptOf(systemText, about, instructions, a, others, o)
}

// promptOf returns a prompt that begins with text, and says after the role of the agent what
// about tells of the workspace.
func promptOf(text, about, instructions string, a agent.Agent, others string, o run.Output) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	if a.Instructions != "" {
		fmt.Fprintf(&b, "\n\n# Your role: the agent %s\n\n%s", a.Name, a.Instructions)
	}
	if others != "" {
		heading := "Agents that you can start:"
		if a.Kind == submission.Planner {
			heading = "Agents that can carry out a plan:"
		}
		b.WriteString("\n\n" + heading + "\n" + strings.TrimSpace(others))
	}
	fmt.Fprintf(&b, "\n\nThe workspace, where relative paths start: %s\n", about)
	if instructions != "" {
		b.WriteString("\n" + instructions)
	}
	if o.Schema != "" {
		b.WriteString(resultPrompt(o))
	}
	return b.String()
}

// maxAppended bounds what a person adds to the system prompt: it goes into every request.
const maxAppended = 64 << 10 // bytes

// appended returns what the setting append_system_prompt adds to the system prompt; "":
// nothing. @FILE is the text of a file: of the user's configuration beside it, else from the
// folder that pawl was started in. @@ stands for an @ that begins a text.
func (s *settings) appended(env config.Env) (string, error) {
	values := s.Values("append_system_prompt")
	if len(values) == 0 {
		return "", nil
	}
	text := values[0].Text
	if file, ok := strings.CutPrefix(text, "@"); ok && !strings.HasPrefix(file, "@") {
		if strings.HasPrefix(values[0].Source, config.FromUser) && !filepath.IsAbs(file) {
			file = filepath.Join(env.UserDir(), file)
		}
		f, err := os.Open(file)
		if err != nil {
			return "", config.Errorf("--append-system-prompt: %w", err)
		}
		defer f.Close() // it was only read
		content, err := io.ReadAll(io.LimitReader(f, maxAppended+1))
		if err != nil {
			return "", config.Errorf("--append-system-prompt: %w", err)
		}
		text = string(content)
	} else if ok {
		text = file
	}
	switch {
	case len(text) > maxAppended:
		return "", config.Errorf("--append-system-prompt: it has more than %d KB, and goes into every request", maxAppended>>10)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", config.Errorf("--append-system-prompt: it is not text")
	case strings.TrimSpace(text) == "":
		return "", nil
	}
	return "\n" + strings.TrimSpace(text) + "\n", nil
}

// Instructions reads the files with instructions that a run of this workspace would be
// given now. A run keeps those that it began with.
func (w *Workspace) Instructions() instructions.Loaded {
	s, _ := w.load() // an error is told where a run begins
	return instructions.Load(w.instructionsIn(s, w.Dir))
}

// instructionsIn says where the instructions of a run that works in a folder are.
func (w *Workspace) instructionsIn(s *settings, dir string) instructions.Options {
	root := sync.OnceValue(func() string { return instructions.Root(dir, w.home()) }) // most runs need it for nothing
	o := instructions.Options{
		Dir: dir, User: filepath.Join(w.env.UserDir(), "AGENTS.md"), Rules: []string{filepath.Join(w.env.UserDir(), "rules")}, Home: w.home(),
		Foreign: func(folder string) bool { return tree.Ignored(root(), folder) },
		Refuse: func(name string) string {
			if secret := filenames.Secret(name); secret != "" {
				return "may contain secrets (" + secret + ")"
			}
			if s != nil && s.policy != nil {
				r := permission.Request{Tool: "read", Class: run.Reads, Paths: []string{filepath.Join(root(), filepath.FromSlash(name))}, Workspace: dir}
				if d := s.policy.Decide("", permission.Bypass, r); d.Verdict == permission.Deny { // what is allowed to a person does not matter here
					return "denied by the rule " + d.Rule
				}
			}
			return ""
		},
	}
	if o.Home != "" {
		o.Rules = append(o.Rules, filepath.Join(o.Home, ".claude/rules"))
	}
	return o
}

// laterInstructions returns what reads the instructions for paths that a run touches.
func (w *Workspace) laterInstructions(s *settings, c run.Created, given []string) func([]string) run.Instructions {
	later := instructions.NewLater(w.instructionsIn(s, c.Workspace), c.System, given)
	return func(paths []string) (in run.Instructions) {
		in.Text, in.Files = later.For(paths)
		return in
	}
}

// resultPrompt tells the model of the result that is asked for, however its provider takes
// it: the model may be another one later in the run.
func resultPrompt(o run.Output) string {
	if o.ByTool {
		return "\n" + submission.Instructions(o)
	}
	return fmt.Sprintf("\nThe result of this task is one JSON value that fits the JSON Schema below. If you have the tool %s, hand the result in with it: "+
		"nothing else counts as the result. If you do not have it, your last message, and only that one, is the JSON value and nothing else.\n\n%s\n", o.Tool, o.Schema)
}
