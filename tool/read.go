package tool

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"pawl/run"
	"pawl/tool/tree"
)

//go:embed read.md
var readText string

const readSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string"},` +
	`"offset":{"type":"integer","description":"First line, from 1"},` +
	`"limit":{"type":"integer","description":"Lines"},` +
	`"pages":{"type":"string","description":"Of a PDF: pages, of a notebook: cells, such as 3-7"}},` +
	`"required":["path"],"additionalProperties":false}`

const (
	maxReadLines = 2000
	// maxResult is how many characters a result may have and still reach the
	// model whole; longer ones are delivered as a reference to a stored output.
	maxResult = 32_768
	// maxLine is how many characters of one line are shown.
	maxLine = 2000
)

// Read returns the tool that reads a file.
func Read() Tool {
	return reader{&builtin{briefly(NewSpec("read", readText, readSchema)), func() arguments { return &reading{} }}}
}

type readArgs struct {
	Path   string `json:"path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
	Pages  string `json:"pages"`
}

func (r *reading) check(env Env) (err error) {
	r.out = newFilling(500)
	r.asLines, r.asPages = r.Offset != 0 || r.Limit != 0, r.Pages != ""
	if r.offset, err = r.Offset.bounded("offset", 1, 1, unbounded); err != nil {
		return err
	}
	if r.limit, err = r.Limit.bounded("limit", maxReadLines, 1, unbounded); err != nil {
		return err
	}
	r.limit = min(r.limit, maxReadLines)
	if r.pages, err = parsePages(r.Pages); err != nil {
		return err
	}
	r.rel, err = inside(env, r.Path)
	return err
}

func (r *reading) inspect(Env) (Intent, error) {
	title := "read " + r.rel
	if r.asPages {
		title += fmt.Sprintf(" from page %d", r.pages.from)
	}
	if r.offset > 1 {
		title += fmt.Sprintf(" from line %d", r.offset)
	}
	return Intent{Class: run.Reads, Paths: []string{r.Path}, Title: clip(title, 120)}, nil
}

func (r *reading) run(ctx context.Context, env Env, _ Call) (Result, error) {
	at, err := locate(env, r.Path)
	if err != nil {
		return failed(err), nil
	}
	defer at.Close()
	if len(at.missing) > 0 {
		return failed(missing(ctx, env, at.rel)), nil
	}
	f, info, err := tree.OpenRegular(at.dir, at.name)
	if errors.Is(err, fs.ErrNotExist) {
		return failed(missing(ctx, env, at.rel)), nil
	}
	if err != nil {
		return failed(fmt.Errorf("%s cannot be read: %w", at.rel, tree.InWords(err))), nil
	}
	defer f.Close()
	r.rel, r.info = at.rel, info
	return r.read(ctx, env, f), nil
}

// A reading is one file being read.
type reading struct {
	readArgs
	rel           string
	info          fs.FileInfo
	offset, limit int       // lines
	pages         pageRange // or cells
	// What was asked for by name. It says how to read a notebook: as cells, or as
	// the lines of its JSON.
	asLines, asPages bool

	out     filling
	line    int // that is being read, from 1
	last    int // shown last
	full    bool
	crlf    int
	mark    bool // begins with a byte order mark
	notUTF8 bool
}

func (r *reading) read(ctx context.Context, env Env, f *os.File) Result {
	if r.info.Size() == 0 {
		env.saw(r.rel, view(nil, r.info))
		return TextResult(r.rel + " is empty: it has no bytes.")
	}
	seen := newViewing()
	in := bufio.NewReaderSize(io.TeeReader(f, seen), 64<<10)
	head, err := in.Peek(sniffed)
	if err != nil && err != io.EOF {
		return failed(fmt.Errorf("%s cannot be read: %w", r.rel, tree.InWords(err)))
	}
	kind, media := kindOf(r.rel, head)
	switch {
	case media != "":
		return r.image(ctx, in, kind)
	case kind == pdfDocument:
		return r.document(ctx, in)
	case kind == notebook && !r.asLines:
		result, ok := r.notebook(ctx, env, in)
		if ok {
			return result
		}
		return r.again(ctx, env, f)
	case kind != "" && kind != notebook:
		return ErrorResult(r.refusal(kind))
	case r.asPages:
		return ErrorResult(r.rel + " has no pages: it is text. Use offset and limit, which count lines.")
	}
	if err := r.lines(ctx, in); err != nil {
		return failed(err)
	}
	// A file larger than maxFile is not read to its end for the sake of a hash.
	whole := r.info.Size() <= maxFile
	if whole {
		env.saw(r.rel, seen.sighting(r.info))
	}
	if r.last == 0 {
		return ErrorResult(fmt.Sprintf("%s has %s: there is none at offset %d.", r.rel, count(r.line, "line", "lines"), r.offset))
	}
	return TextResult(r.out.b.String() + r.footer(whole))
}

// lines reads to the end of the file, or of what is to be shown of a large one.
func (r *reading) lines(ctx context.Context, in *bufio.Reader) error {
	var shown []byte // of the line that is being read
	length := 0      // of it, in bytes
	for {
		if ctx.Err() != nil {
			return errors.New("stopped while it read " + r.rel)
		}
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			if length == 0 {
				r.line++
			}
			length += len(piece)
			if len(shown) < 4*maxLine+2 {
				shown = append(shown, piece[:min(len(piece), 4*maxLine+2-len(shown))]...)
			}
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s cannot be read further than line %d: %w", r.rel, r.line, tree.InWords(err))
		}
		if length > 0 {
			r.show(shown, length)
			shown, length = shown[:0], 0
		}
		if err == io.EOF {
			return nil
		}
		if r.full && r.info.Size() > maxFile {
			return nil
		}
	}
}

// show adds a line to the result, if it belongs there and there is room.
func (r *reading) show(line []byte, length int) {
	whole := len(line) == length
	if r.line == 1 && strings.HasPrefix(string(line), byteOrderMark) {
		r.mark = true
		line = line[len(byteOrderMark):]
	}
	if n := len(line); whole && n >= 2 && line[n-2] == '\r' && line[n-1] == '\n' {
		r.crlf++
	}
	if r.line < r.offset || r.full {
		return
	}
	if r.line >= r.offset+r.limit {
		r.full = true
		return
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if !utf8.Valid(line) && whole {
		r.notUTF8 = true
	}
	s, cut := cutLine(line, maxLine)
	if cut || !whole {
		s += fmt.Sprintf("… [cut: this line has %s bytes]", commas(int64(length)))
	}
	if r.full = !r.out.add(fmt.Sprintf("%6d\t%s\n", r.line, s)); !r.full {
		r.last = r.line
	}
}

// footer says what is left of the file, and what cannot be seen in the lines.
func (r *reading) footer(whole bool) string {
	var b strings.Builder
	switch {
	case !whole && r.full:
		fmt.Fprintf(&b, "[lines %d to %d; the file has %s in all: continue with offset %d, or use search]\n", r.offset, r.last, size(r.info.Size()), r.last+1)
	case r.last < r.line:
		fmt.Fprintf(&b, "[lines %d to %d of %s; continue with offset %d]\n", r.offset, r.last, commas(int64(r.line)), r.last+1)
	}
	if r.crlf > 0 {
		b.WriteString("[its lines end with \\r\\n; edit keeps that by itself]\n")
	}
	if r.mark {
		b.WriteString("[it begins with a byte order mark; edit keeps it]\n")
	}
	if r.notUTF8 {
		b.WriteString("[it is not all UTF-8: the bytes that are not are shown as \uFFFD]\n")
	}
	return b.String()
}

// whole reads the rest of a file that is looked at as a whole.
func (r *reading) whole(in io.Reader, kind string) ([]byte, error) {
	if r.info.Size() > maxFile {
		return nil, tell("%s is %s of %s; at most %s can be read. Make a smaller one with the shell.", r.rel, kind, size(r.info.Size()), size(maxFile))
	}
	content, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = errors.New("it grows while it is read")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", r.rel, tree.InWords(err))
	}
	return content, nil
}

// image returns a picture as a content block.
func (r *reading) image(ctx context.Context, in io.Reader, kind string) Result {
	content, err := r.whole(in, kind)
	if err != nil {
		return failed(err)
	}
	parts, err := Picture(ctx, r.rel, content)
	if err != nil {
		return failed(err)
	}
	return Result{Content: parts}
}

// document returns the text of a PDF document.
func (r *reading) document(ctx context.Context, in io.Reader) Result {
	content, err := r.whole(in, pdfDocument)
	if err != nil {
		return failed(err)
	}
	text, err := pdfText(ctx, r.rel, content, r.pages, pdfReading{out: newFilling(800), offset: r.offset, lines: r.limit})
	if err != nil {
		return failed(err)
	}
	return TextResult(text)
}

// notebook returns the cells of a notebook; ok is false for a file that is only
// named like one.
func (r *reading) notebook(ctx context.Context, env Env, in io.Reader) (result Result, ok bool) {
	content, err := r.whole(in, notebook)
	if err != nil {
		return failed(err), true
	}
	nb, ok := parseNotebook(content)
	if !ok {
		return Result{}, false
	}
	env.saw(r.rel, view(content, r.info))
	return notebookText(ctx, r.rel, nb, r.pages), true
}

// again reads a file from its beginning, as lines, that turned out to be no
// notebook.
func (r *reading) again(ctx context.Context, env Env, f *os.File) Result {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return failed(fmt.Errorf("%s cannot be read: %w", r.rel, tree.InWords(err)))
	}
	r.asLines, r.asPages = true, false
	result := r.read(ctx, env, f)
	if len(result.Content) == 1 && !result.IsError {
		result.Content[0].Text += "[it is not a notebook that can be read (nbformat 3 or 4): these are its lines]\n"
	}
	return result
}

// refusal says what a file is that is not shown, and what to do instead.
func (r *reading) refusal(kind string) string {
	s := fmt.Sprintf("%s is %s (%s), which read does not show. ", r.rel, kind, size(r.info.Size()))
	switch kind {
	case utf16:
		return s + "With the shell, iconv -f UTF-16 -t UTF-8 makes text of it."
	}
	return s + "Use a program made for it with the shell."
}
