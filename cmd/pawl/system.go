package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed system.md
var systemText string

// maxNotes bounds what of a project's notes goes into every request.
const maxNotes = 8 << 10 // bytes

// systemPrompt is what a run's model is told first. It holds for the whole run and
// has nothing in it that changes between requests or machines' clocks, so that the
// beginning of every request is the same and the provider's cache serves it.
func systemPrompt(workspace string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(systemText))
	fmt.Fprintf(&b, "\n\nThe workspace, where relative paths start: %s\nPlatform: %s/%s\n", workspace, runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		notes, cut, ok := projectNotes(workspace, name)
		if !ok {
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

// projectNotes reads a file of the workspace, at most maxNotes of it; ok is false
// when there is none with text.
func projectNotes(workspace, name string) (text string, cut, ok bool) {
	// A root, so that a link cannot bring a file from elsewhere to the provider.
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", false, false
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", false, false
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", false, false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxNotes+1))
	if err != nil {
		return "", false, false
	}
	if cut = len(content) > maxNotes; cut {
		content = content[:maxNotes]
	}
	text = strings.TrimSpace(strings.ToValidUTF8(string(content), ""))
	return text, cut, text != ""
}
