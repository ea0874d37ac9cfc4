package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pawl/internal/stable"
	"pawl/run"
	"pawl/tool/tree"
)

//go:embed list.md
var listText string

const listSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string"},` +
	`"depth":{"type":"integer","description":"Levels, default 2"}},` +
	`"required":[],"additionalProperties":false}`

const (
	maxListed         = 1000 // entries in all
	maxListedInFolder = 200  // of one folder, so that one does not take all the room
)

// List returns the tool that shows what is in a folder.
func List() Tool {
	return reader{&builtin{briefly(NewSpec("list", listText, listSchema)), func() arguments { return &listArgs{} }}}
}

type listArgs struct {
	Path  string `json:"path"`
	Depth number `json:"depth"`

	rel   string
	depth int
}

func (a *listArgs) check(env Env) (err error) {
	if a.depth, err = a.Depth.bounded("depth", 2, 1, 10); err != nil {
		return err
	}
	a.Path, a.rel, err = startFolder(env, a.Path)
	return err
}

// startFolder resolves the optional path of a tool that goes through folders.
func startFolder(env Env, given string) (path, rel string, err error) {
	if given == "" {
		given = "."
	}
	rel, err = inside(env, given)
	return given, rel, err
}

func (a *listArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Paths: []string{a.Path}, Title: clip("list "+a.rel, 120)}, nil
}

func (a *listArgs) run(ctx context.Context, env Env, _ Call) (Result, error) {
	f, err := openStart(ctx, env, a.rel)
	if err != nil {
		return failed(err), nil
	}
	defer f.Close()
	l := &listing{out: newFilling(500)}
	l.folder(ctx, f, a.depth, 0)
	return TextResult(l.result(ctx, a.rel)), nil
}

// openStart opens the folder that a tool goes through, and says which there is
// instead when it is not one.
func openStart(ctx context.Context, env Env, rel string) (*tree.Folder, error) {
	f, err := openFolder(env, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(ctx, env, rel)
	}
	return f, err
}

// A listing is the text of a tree as it grows.
type listing struct {
	out     filling
	shown   int
	ignored int
	cut     bool
}

// folder writes what is in f, and in its folders down to depth levels.
func (l *listing) folder(ctx context.Context, f *tree.Folder, depth, level int) {
	entries, ignored, err := f.Entries()
	if err != nil {
		l.line(level, fmt.Sprintf("[cannot be read: %v]", tree.InWords(err)))
		return
	}
	l.ignored += ignored
	stable.Sort(entries, func(a, b fs.DirEntry) int {
		switch {
		case a.IsDir() == b.IsDir():
			return 0
		case a.IsDir():
			return -1
		}
		return 1
	})
	for i, e := range entries {
		if l.cut || ctx.Err() != nil {
			return
		}
		if i == maxListedInFolder {
			l.line(level, fmt.Sprintf("[%s more: list this folder alone or use glob]", commas(int64(len(entries)-i))))
			return
		}
		if !e.IsDir() {
			l.line(level, l.file(f, e))
			continue
		}
		below, err := f.Open(e.Name())
		if err != nil {
			l.line(level, fmt.Sprintf("%s/  [cannot be read: %v]", printable(e.Name()), tree.InWords(err)))
			continue
		}
		if depth > 1 {
			l.line(level, printable(e.Name())+"/")
			l.folder(ctx, below, depth-1, level+1)
		} else {
			inIt, ignored, _ := below.Entries()
			l.ignored += ignored
			l.line(level, fmt.Sprintf("%s/  %s", printable(e.Name()), count(len(inIt), "entry", "entries")))
		}
		below.Close()
	}
}

// file describes what is no folder.
func (l *listing) file(f *tree.Folder, e fs.DirEntry) string {
	name := printable(e.Name())
	switch e.Type() {
	case 0:
		if info, err := e.Info(); err == nil {
			return name + "  " + size(info.Size())
		}
		return name
	case fs.ModeSymlink:
		target, err := f.Root.Readlink(e.Name())
		if err != nil {
			return name + "  (link)"
		}
		return name + " -> " + printable(target)
	case fs.ModeNamedPipe:
		return name + "  (named pipe)"
	case fs.ModeSocket:
		return name + "  (socket)"
	}
	return name + "  (device)"
}

func (l *listing) line(level int, s string) {
	if l.cut = l.cut || l.shown == maxListed || !l.out.add(strings.Repeat("  ", level)+s+"\n"); !l.cut {
		l.shown++
	}
}

func (l *listing) result(ctx context.Context, rel string) string {
	if l.shown == 0 && l.ignored == 0 {
		return rel + " is empty."
	}
	s := rel + ":\n" + l.out.b.String()
	if l.cut {
		s += fmt.Sprintf("[cut after %s: list a folder in it, or use glob]\n", count(l.shown, "entry", "entries"))
	}
	if l.ignored > 0 {
		s += fmt.Sprintf("[%s not shown: ignored by .gitignore or .ignore]\n", count(l.ignored, "entry is", "entries are"))
	}
	if ctx.Err() != nil {
		s += "[stopped before it was complete]\n"
	}
	return s
}
