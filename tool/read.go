package tool

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"pawl/run"
)

//go:embed read.md
var readText string

const readSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"File, relative to the workspace"},` +
	`"offset":{"type":"integer","description":"First line, from 1"},` +
	`"limit":{"type":"integer","description":"Number of lines, at most 2000"}},` +
	`"required":["path"],"additionalProperties":false}`

const (
	maxReadLines = 2000
	// maxResult is how many characters a result may have and still reach the
	// model whole; longer ones are delivered as a reference to a stored output.
	maxResult = 32_768
	// maxLine is how many characters of one line are shown.
	maxLine = 2000
	// maxImage is in bytes as they are in the file. The Anthropic API takes images
	// of up to 5 MB of base64, which is 4/3 of that, and up to 8,000 pixels a side
	// (platform.claude.com/docs/en/build-with-claude/vision, general limits, as
	// quoted by others; read 2026-11-20). An image that is refused there would make
	// every later request of the run fail.
	maxImage  = 5 << 20 / 4 * 3
	maxPixels = 8000
)

// Read returns the tool that reads a file.
func Read() Tool { return readTool{} }

type readTool struct{}

type readArgs struct {
	Path   string `json:"path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
}

func (readTool) Spec() Spec {
	return Spec{Name: "read", Description: strings.TrimSpace(readText), Schema: json.RawMessage(readSchema)}
}

func (readTool) parse(env Env, args json.RawMessage) (a readArgs, rel string, offset, limit int, err error) {
	if a, err = decode[readArgs](args); err != nil {
		return
	}
	if offset, err = a.Offset.bounded("offset", 1, 1, unbounded); err != nil {
		return
	}
	if limit, err = a.Limit.bounded("limit", maxReadLines, 1, unbounded); err != nil {
		return
	}
	limit = min(limit, maxReadLines)
	rel, err = inside(env, a.Path)
	return
}

func (t readTool) Look(env Env, args json.RawMessage) (Intent, error) {
	a, rel, offset, _, err := t.parse(env, args)
	if err != nil {
		return Intent{}, err
	}
	title := "read " + rel
	if a.Offset != 0 {
		title += fmt.Sprintf(" from line %d", offset)
	}
	return Intent{Class: run.Reads, Paths: []string{a.Path}, Title: clip(title, 120)}, nil
}

func (t readTool) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, _, offset, limit, err := t.parse(env, c.Args)
	if err != nil {
		return failed(err), nil
	}
	if ctx.Err() != nil {
		return stopped(), nil
	}
	at, err := locate(env, a.Path)
	if err != nil {
		return failed(err), nil
	}
	defer at.Close()
	if len(at.missing) > 0 {
		return failed(missing(ctx, env, at.rel)), nil
	}
	f, info, err := openRegular(at.dir, at.name)
	if errors.Is(err, fs.ErrNotExist) {
		return failed(missing(ctx, env, at.rel)), nil
	}
	if err != nil {
		return failed(fmt.Errorf("%s cannot be read: %w", at.rel, inWords(err))), nil
	}
	defer f.Close()
	r := &reading{rel: at.rel, info: info, offset: offset, limit: limit}
	return r.read(ctx, env, f), nil
}

// A reading is one file being read.
type reading struct {
	rel           string
	info          fs.FileInfo
	offset, limit int

	out     strings.Builder
	chars   int // in out
	line    int // that is being read, from 1
	last    int // shown last
	full    bool
	crlf    int
	mark    bool // begins with a byte order mark
	notUTF8 bool
}

func (r *reading) read(ctx context.Context, env Env, f *os.File) Result {
	if r.info.Size() == 0 {
		env.Session.saw(r.rel, view(nil, r.info))
		return TextResult(r.rel + " is empty: it has no bytes.")
	}
	seen := newViewing()
	in := bufio.NewReaderSize(io.TeeReader(f, seen), 64<<10)
	head, err := in.Peek(sniffed)
	if err != nil && err != io.EOF {
		return failed(fmt.Errorf("%s cannot be read: %w", r.rel, inWords(err)))
	}
	kind, media := kindOf(r.rel, head)
	switch {
	case media != "":
		return r.image(in, kind, media)
	case kind != "":
		return ErrorResult(r.refusal(kind))
	}
	if err := r.lines(ctx, in); err != nil {
		return failed(err)
	}
	// A file larger than maxFile is not read to its end for the sake of a hash.
	whole := r.info.Size() <= maxFile
	if whole {
		env.Session.saw(r.rel, seen.sighting(r.info))
	}
	if r.last == 0 {
		return ErrorResult(fmt.Sprintf("%s has %s: there is none at offset %d.", r.rel, count(r.line, "line", "lines"), r.offset))
	}
	return TextResult(r.out.String() + r.footer(whole))
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
			return fmt.Errorf("%s cannot be read further than line %d: %w", r.rel, r.line, inWords(err))
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
	s = fmt.Sprintf("%6d\t%s\n", r.line, s)
	n := utf8.RuneCountInString(s)
	// The end of the result says what is left; it needs some room.
	if r.chars+n > maxResult-500 {
		r.full = true
		return
	}
	r.chars += n
	r.out.WriteString(s)
	r.last = r.line
}

// footer says what is left of the file, and what cannot be seen in the lines.
func (r *reading) footer(whole bool) string {
	var b strings.Builder
	switch {
	case !whole && r.full:
		fmt.Fprintf(&b, "[lines %d to %d; the file has %s in all: go on with offset %d, or use search]\n", r.offset, r.last, size(r.info.Size()), r.last+1)
	case r.last < r.line:
		fmt.Fprintf(&b, "[lines %d to %d of %s; go on with offset %d]\n", r.offset, r.last, commas(int64(r.line)), r.last+1)
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

// image returns a picture as a content block.
func (r *reading) image(in io.Reader, kind, media string) Result {
	if r.info.Size() > maxImage {
		return ErrorResult(fmt.Sprintf("%s is %s of %s; at most %s can be shown. Make it smaller with the shell.", r.rel, kind, size(r.info.Size()), size(maxImage)))
	}
	content, err := io.ReadAll(io.LimitReader(in, maxImage+1))
	if err != nil {
		return failed(fmt.Errorf("%s cannot be read: %w", r.rel, inWords(err)))
	}
	w, h, ok := dimensions(media, content)
	if !ok || len(content) > maxImage {
		return ErrorResult(fmt.Sprintf("%s begins like %s but is damaged: it cannot be shown.", r.rel, kind))
	}
	if w > maxPixels || h > maxPixels {
		return ErrorResult(fmt.Sprintf("%s is %s of %d×%d pixels; at most %d a side can be shown. Make it smaller with the shell.", r.rel, kind, w, h, maxPixels))
	}
	return Result{Content: []run.Part{
		run.Text(fmt.Sprintf("%s is %s of %d×%d pixels:", r.rel, kind, w, h)),
		{Type: run.ImagePart, Image: &run.Image{MediaType: media, Data: content}},
	}}
}

// refusal says what a file is that is not shown, and what to do instead.
func (r *reading) refusal(kind string) string {
	s := fmt.Sprintf("%s is %s (%s), which read does not show. ", r.rel, kind, size(r.info.Size()))
	switch kind {
	case pdf:
		return s + "With the shell, pdftotext makes text of it."
	case notebook:
		return s + "It is JSON: use search, or jq with the shell."
	case utf16:
		return s + "With the shell, iconv -f UTF-16 -t UTF-8 makes text of it."
	}
	return s + "Use a program made for it with the shell."
}
