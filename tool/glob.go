package tool

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"pawl/internal/stable"
	"pawl/run"
	"pawl/tool/tree"
)

//go:embed glob.md
var globText string

const globSchema = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","description":"Such as *.go, src/**/*.{ts,tsx}, **/test_*"},` +
	`"path":{"type":"string"}},` +
	`"required":["pattern"],"additionalProperties":false}`

// maxGlobbed is how many files a result names.
const maxGlobbed = 200

// Glob returns the tool that finds files by name.
func Glob() Tool {
	return reader{&builtin{briefly(NewSpec("glob", globText, globSchema)), func() arguments { return &globArgs{} }}}
}

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`

	rel     string
	matches matcher
}

func (a *globArgs) check(env Env) (err error) {
	if a.Path, a.rel, err = startFolder(env, a.Path); err != nil {
		return err
	}
	a.matches, err = compileGlob(env, a.Pattern)
	return err
}

func (a *globArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Paths: []string{a.Path}, Title: clip("glob "+a.Pattern+in(a.rel), 120)}, nil
}

// in says where, for titles.
func in(rel string) string {
	if rel == "." {
		return ""
	}
	return " in " + rel
}

func (a *globArgs) run(ctx context.Context, env Env, _ Call) (Result, error) {
	start, err := openStart(ctx, env, a.rel)
	if err != nil {
		return failed(err), nil
	}
	defer start.Close()
	type hit struct {
		rel   string
		mtime int64
	}
	var hits []hit
	unreadable := 0
	err = tree.Walk(ctx, start, tree.Walking{Hidden: true, Unreadable: &unreadable}, func(_ *tree.Folder, at string, e fs.DirEntry) error {
		if e.IsDir() || !a.matches(relativeTo(a.rel, at)) {
			return nil
		}
		h := hit{rel: at}
		if info, err := e.Info(); err == nil {
			h.mtime = info.ModTime().UnixNano()
		}
		hits = append(hits, h)
		return nil
	})
	stable.Sort(hits, func(a, b hit) int { return cmp.Compare(b.mtime, a.mtime) })
	out := newFilling(500)
	b := &out.b
	for i, h := range hits {
		if i == maxGlobbed || !out.add(printable(h.rel)+"\n") {
			fmt.Fprintf(b, "[%s more, changed longer ago: make the pattern narrower]\n", commas(int64(len(hits)-i)))
			break
		}
	}
	if len(hits) == 0 && err == nil {
		fmt.Fprintf(b, "No file%s matches %s. What .gitignore ignores is not looked at unless path names it.\n", in(a.rel), a.Pattern)
	}
	if unreadable > 0 {
		fmt.Fprintf(b, "[%s could not be read]\n", count(unreadable, "folder", "folders"))
	}
	if err != nil {
		b.WriteString("[stopped before it was complete]\n")
	}
	r := TextResult(b.String())
	r.IsError = err != nil
	return r, nil
}

// A matcher tells whether a path relative to the folder looked in is meant.
type matcher func(rel string) bool

// compileGlob reads a pattern as ripgrep's -g does: one without a slash matches
// a file's name in any folder, one with a slash the path; a leading slash only
// says that it is the path.
func compileGlob(env Env, glob string) (matcher, error) {
	given := glob
	if r, ok := strings.CutPrefix(glob, env.Workspace+"/"); ok {
		glob = "/" + r
	}
	glob = strings.TrimPrefix(glob, "./")
	names := !strings.Contains(glob, "/")
	glob = strings.TrimPrefix(glob, "/")
	switch {
	case glob == "":
		return nil, tell("the pattern is empty: give one such as *.go or src/**")
	case len(glob) > maxPath:
		return nil, tell("the pattern has %d bytes, and the limit is %d", len(glob), maxPath)
	case slices.Contains(strings.Split(glob, "/"), ".."):
		return nil, tell("the pattern %s leads upwards: name the folder in path, and in the pattern what to find in it", given)
	case !doublestar.ValidatePattern(glob):
		return nil, tell("the pattern %s is not one: a [ or { is not closed, or a \\ stands at the end", given)
	}
	return func(rel string) bool {
		if names {
			rel = path.Base(rel)
		}
		return doublestar.MatchUnvalidated(glob, rel)
	}, nil
}

// relativeTo returns rel as seen from a folder it is in.
func relativeTo(folder, rel string) string {
	if folder == "." {
		return rel
	}
	return strings.TrimPrefix(rel, folder+"/")
}
