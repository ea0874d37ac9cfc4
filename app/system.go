package app

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
)

//go:embed system.md
var systemText string

// maxNotes bounds what of a project's notes goes into every request.
const maxNotes = 8 << 10 // bytes

// systemPrompt is what a run's model is told first. It holds for the whole run and
// has nothing in it that changes between requests or machines' clocks, so that the
// beginning of every request is the same and the provider's cache serves it.
func systemPrompt(workspace string, p *policy.Policy) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(systemText))
	fmt.Fprintf(&b, "\n\nThe workspace, where relative paths start: %s\nPlatform: %s/%s\n", workspace, runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if leadsToSecret(workspace, name) {
			continue
		}
		notes, cut, err := p.Text(name, maxNotes)
		if notes = strings.TrimSpace(notes); err != nil || notes == "" {
			continue
		}
		fmt.Fprintf(&b, "\nNotes of this project, from %s:\n\n%s\n", name, notes)
		if cut {
			fmt.Fprintf(&b, "[… cut here: %s is longer than %d KB; read the rest if you need it]\n", name, maxNotes>>10)
		}
		break
	}
	return b.String()
}

// leadsToSecret reports whether a file of the workspace is a link to one that may
// hold secrets, as .env, or that git keeps: a repository cannot have what the person
// keeps there sent to the provider as its notes.
func leadsToSecret(workspace, name string) bool {
	to, err := filepath.EvalSymlinks(filepath.Join(workspace, name))
	if err != nil {
		return true
	}
	rel, err := filepath.Rel(workspace, to)
	return err != nil || permission.SecretName(filepath.ToSlash(rel)) != "" || strings.HasPrefix(rel+"/", ".git/")
}

// resultPrompt tells the model of the result that is asked for, however its provider takes
// it: the model may be another one later in the run.
func resultPrompt(o run.Output) string {
	return fmt.Sprintf("\nThe result of this task is one JSON value that fits the JSON Schema below. If you have the tool %s, hand the result in with it: "+
		"nothing else counts as the result. If you do not have it, your last message, and only that one, is the JSON value and nothing else.\n\n%s\n", o.Tool, o.Schema)
}
