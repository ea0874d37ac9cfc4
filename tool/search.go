package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"pawl/permission/filenames"
	"pawl/run"
	"pawl/tool/tree"
)

//go:embed search.md
var searchText string

const searchSchema = `{"type":"object","properties":{` +
	`"pattern":{"type":"string"},` +
	`"path":{"type":"string","description":"Folder or file"},` +
	`"glob":{"type":"string","description":"Such as *.go or src/**/*.ts"},` +
	`"context":{"type":"integer","description":"Lines around a match"},` +
	`"ignore_case":{"type":"boolean","description":"Default false"},` +
	`"literal":{"type":"boolean","description":"Plain text, no expression"},` +
	`"files_only":{"type":"boolean"},` +
	`"limit":{"type":"integer","description":"Default 100"}},` +
	`"required":["pattern"],"additionalProperties":false}`

const (
	maxMatches = 1000
	// maxCounted is how many matches are counted before a search stops: past it
	// the count says nothing but that the pattern is too wide.
	maxCounted = 10_000
	maxPattern = 10_000 // bytes
)

// Search returns the tool that finds lines in files.
func Search() Tool {
	return reader{&builtin{briefly(NewSpec("search", searchText, searchSchema)), func() arguments { return &query{} }}}
}

type searchArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Context    number `json:"context"`
	IgnoreCase bool   `json:"ignore_case"`
	Literal    bool   `json:"literal"`
	FilesOnly  bool   `json:"files_only"`
	Limit      number `json:"limit"`
}

// A query is a search as it was asked.
type query struct {
	searchArgs
	rel     string
	find    *finder
	matches matcher // nil: every file
	around  int
	limit   int
}

func (q *query) check(env Env) (err error) {
	if q.around, err = q.Context.bounded("context", 0, 0, 20); err != nil {
		return err
	}
	if q.limit, err = q.Limit.bounded("limit", 100, 1, maxMatches); err != nil {
		return err
	}
	if q.Path, q.rel, err = startFolder(env, q.Path); err != nil {
		return err
	}
	if q.Glob != "" {
		if q.matches, err = compileGlob(env, q.Glob); err != nil {
			return err
		}
	}
	q.find, err = newFinder(q.searchArgs)
	return err
}

// newFinder compiles a pattern.
func newFinder(a searchArgs) (*finder, error) {
	switch {
	case a.Pattern == "":
		return nil, errors.New("the pattern is empty: it would match every line")
	case len(a.Pattern) > maxPattern:
		return nil, tell("the pattern has %d bytes, and the limit is %d", len(a.Pattern), maxPattern)
	case strings.Contains(a.Pattern, "\n"):
		return nil, tell("the pattern has a line break in it, and a match is within one line: search for one of the lines")
	}
	expr := a.Pattern
	if a.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	flags := "(?m)"
	if a.IgnoreCase {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + expr)
	if err != nil {
		if _, e := regexp.Compile(expr); e != nil {
			err = e // without flags the model did not write
		}
		return nil, tell("the pattern is not a valid RE2 regular expression: %s. For plain text set literal.", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	f := &finder{re: re}
	f.byLine, f.needle = study(flags + expr)
	return f, nil
}

func (q *query) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Paths: []string{q.Path}, Title: clip(fmt.Sprintf("search %q%s", q.Pattern, in(q.rel)), 120)}, nil
}

func (q *query) run(ctx context.Context, env Env, _ Call) (Result, error) {
	rep := &searchReport{query: *q, out: newFilling(600)}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	start, err := openFolder(env, q.rel)
	switch {
	case err == nil:
		defer start.Close()
		rep.collect(inner, cancel, start)
	case errors.Is(err, fs.ErrNotExist):
		return failed(missing(ctx, env, q.rel)), nil
	case !errors.Is(err, syscall.ENOTDIR):
		return failed(err), nil
	default:
		// A file that is named is searched whatever the ignore rules say of it.
		if err := rep.oneFile(inner, env, q.Path); err != nil {
			return failed(err), nil
		}
	}
	r := TextResult(rep.text(ctx))
	r.IsError = ctx.Err() != nil
	return r, nil
}

// A searchReport gathers what a search finds, file by file in the order of
// their names, whichever worker found it first.
type searchReport struct {
	query
	out        filling
	full       bool
	shown      int // matching lines or files in out
	total      int // matching lines found
	files      int // with a match
	shownFiles int
	searched   int
	binary     int
	unreadable int
	secrets    int  // files passed over because they may hold secrets
	enough     bool // it stopped because there were too many matches
}

// A searchJob is one file to be searched.
type searchJob struct {
	in   *tree.Folder
	name string
	rel  string
	done chan struct{} // closed when found is there
	found
}

// collect searches the files below start. Workers search several at a time;
// when it returns all of them have ended.
func (s *searchReport) collect(ctx context.Context, cancel context.CancelFunc, start *tree.Folder) {
	workers := min(8, runtime.GOMAXPROCS(0))
	work := make(chan *searchJob)
	order := make(chan *searchJob, 16*workers)
	var all sync.WaitGroup
	unreadable, secrets := 0, 0 // belong to the walk until all have ended
	all.Go(func() {
		defer close(work)
		defer close(order)
		w := tree.Walking{Hidden: s.wantsHidden(), Unreadable: &unreadable}
		_ = tree.Walk(ctx, start, w, func(in *tree.Folder, rel string, e fs.DirEntry) error {
			if !e.Type().IsRegular() || s.matches != nil && !s.matches(relativeTo(s.rel, rel)) {
				return nil
			}
			if filenames.Secret(relativeTo(s.rel, rel)) != "" {
				secrets++ // whoever names it is asked about it
				return nil
			}
			j := &searchJob{in: in, name: e.Name(), rel: rel, done: make(chan struct{})}
			in.Use()
			for _, ch := range []chan *searchJob{order, work} {
				select {
				case ch <- j:
				case <-ctx.Done():
					in.Close()
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range workers {
		all.Go(func() {
			for j := range work {
				j.found = s.find.inFolder(ctx, j.in.Root, j.name, s.options())
				j.in.Close()
				close(j.done)
			}
		})
	}
	for j := range order {
		select {
		case <-j.done:
		case <-ctx.Done():
			continue // drain: the walk ends by itself
		}
		s.add(j.rel, j.found)
		if s.enough {
			cancel()
		}
	}
	all.Wait()
	s.unreadable += unreadable
	s.secrets = secrets
}

// wantsHidden reports whether hidden files were asked for: by a glob, or by a
// path, that names one.
func (s *searchReport) wantsHidden() bool {
	for name := range strings.SplitSeq(s.rel+"/"+s.Glob, "/") {
		if len(name) > 1 && name[0] == '.' && name != ".." {
			return true
		}
	}
	return false
}

// oneFile searches a file that was named.
func (s *searchReport) oneFile(ctx context.Context, env Env, given string) error {
	at, err := locate(env, given)
	if err != nil {
		return err
	}
	defer at.Close()
	if len(at.missing) > 0 {
		return missing(ctx, env, at.rel)
	}
	f := s.find.inFolder(ctx, at.dir, at.name, s.options())
	if f.err != nil {
		return fmt.Errorf("%s cannot be searched: %w", at.rel, tree.InWords(f.err))
	}
	if f.binary {
		return tell("%s is a binary file: search looks into text only.", at.rel)
	}
	s.add(at.rel, f)
	return nil
}

func (s *searchReport) options() findOptions {
	return findOptions{around: s.around, keep: s.limit, firstOnly: s.FilesOnly}
}

// add puts a file's matches into the report: all are counted, and shown while
// there is room.
func (s *searchReport) add(rel string, f found) {
	switch {
	case s.enough || errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded):
		return
	case f.err != nil:
		s.unreadable++
		return
	case f.binary:
		s.binary++
		return
	}
	s.searched++
	if f.matches == 0 {
		return
	}
	s.files++
	s.total += f.matches
	s.enough = s.total >= maxCounted
	header := printable(rel) + "\n"
	if s.FilesOnly {
		if s.shown < s.limit && s.put(header) {
			s.shown++
			s.shownFiles++
		}
		return
	}
	last := 0
	for _, l := range f.lines {
		if l.match && s.shown == s.limit {
			return
		}
		line := fmt.Sprintf("%s  %d: %s\n", header, l.number, l.text)
		if !l.match {
			line = fmt.Sprintf("%s  %d- %s\n", header, l.number, l.text)
		}
		if s.around > 0 && last > 0 && l.number > last+1 {
			line = "  --\n" + line
		}
		if !s.put(line) {
			return
		}
		if header != "" {
			s.shownFiles++
		}
		header, last = "", l.number
		if l.match {
			s.shown++
		}
	}
}

// put adds to the text if there is room; once there was none nothing is added,
// so that what is shown is the beginning of what there is.
func (s *searchReport) put(text string) bool {
	s.full = s.full || !s.out.add(text)
	return !s.full
}

func (s *searchReport) text(ctx context.Context) string {
	var b strings.Builder
	b.WriteString(s.out.b.String())
	what := fmt.Sprintf("%q%s", clip(s.Pattern, 200), in(s.rel))
	least := ""
	if s.enough {
		least = "at least "
	}
	switch {
	case s.total == 0 && ctx.Err() == nil:
		fmt.Fprintf(&b, "Nothing matches %s, in %s searched.", what, count(s.searched, "file", "files"))
		if s.searched == 0 && s.binary == 0 {
			b.WriteString(" Hidden files, and what .gitignore ignores, are searched only when path or glob names them.")
		}
		b.WriteString("\n")
	case s.FilesOnly && s.files > s.shownFiles:
		fmt.Fprintf(&b, "[%s of %s%s with a match; raise limit or narrow the search]\n", commas(int64(s.shownFiles)), least, count(s.files, "file", "files"))
	case !s.FilesOnly && (s.total > s.shown || s.enough):
		fmt.Fprintf(&b, "[%s of %s%s in %s; raise limit or narrow the search]\n", commas(int64(s.shown)), least, count(s.total, "match", "matches"), count(s.files, "file", "files"))
	}
	if s.binary > 0 {
		fmt.Fprintf(&b, "[%s not searched]\n", count(s.binary, "binary file was", "binary files were"))
	}
	if s.secrets > 0 {
		fmt.Fprintf(&b, "[%s may hold secrets, not searched: name one in path if you need it]\n", count(s.secrets, "file", "files"))
	}
	if s.unreadable > 0 {
		fmt.Fprintf(&b, "[%s not be read]\n", count(s.unreadable, "file or folder could", "files or folders could"))
	}
	if ctx.Err() != nil {
		b.WriteString("[stopped before it was complete]\n")
	}
	return b.String()
}
