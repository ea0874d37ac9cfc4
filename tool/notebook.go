package tool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"pawl/internal/text"
	"pawl/run"
)

const (
	// maxOutput is how many characters of one output of a cell are shown when the
	// whole notebook is read; of a cell that is asked for alone, maxAlone.
	maxOutput = 2000
	maxAlone  = 16_000
	// maxPictures is how many pictures of a notebook come with one result.
	maxPictures = 5
)

// A notebookFile is a Jupyter notebook of format 3 or 4 (nbformat.readthedocs.io,
// "The Notebook file format", and nbformat's v3 schema; read 2026-11-20).
type notebookFile struct {
	Format int            `json:"nbformat"`
	Cells  []notebookCell `json:"cells"`
	Sheets []struct {     // format 3
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

type notebookCell struct {
	Type     string           `json:"cell_type"`
	Source   joined           `json:"source"`
	Count    any              `json:"execution_count"`
	Outputs  []notebookOutput `json:"outputs"`
	Input    joined           `json:"input"`         // format 3: of code
	Number   any              `json:"prompt_number"` // format 3
	Level    int              `json:"level"`         // format 3: of headings
	Language string           `json:"language"`      // format 3
}

// A notebookOutput has what came of a cell; in format 3 the data stand beside the
// type.
type notebookOutput struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"`
	Stream    string                     `json:"stream"`
	Text      joined                     `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Error     string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback joined                     `json:"traceback"`
	HTML      joined                     `json:"html"`
	PNG       joined                     `json:"png"`
	JPEG      joined                     `json:"jpeg"`
}

// A joined text is written as one string or as a list of its lines, which have
// their line ends in them. Of anything else it is the JSON.
type joined string

func (j *joined) UnmarshalJSON(b []byte) error {
	var s string
	var lines []string
	switch {
	case json.Unmarshal(b, &s) == nil:
		*j = joined(s)
	case json.Unmarshal(b, &lines) == nil:
		*j = joined(strings.Join(lines, ""))
	default:
		*j = joined(b)
	}
	return nil
}

// parseNotebook reads a notebook; ok is false when it is none.
func parseNotebook(content []byte) (nb notebookFile, ok bool) {
	content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	if json.Unmarshal(content, &nb) != nil || nb.Format < 3 {
		return nb, false
	}
	for _, sheet := range nb.Sheets {
		nb.Cells = append(nb.Cells, sheet.Cells...)
	}
	return nb, nb.Cells != nil
}

// language returns what the cells are written in; empty when it does not say.
func (nb *notebookFile) language() string {
	for _, s := range []string{nb.Metadata.Language.Name, nb.Metadata.Kernel.Language} {
		if s != "" {
			return s
		}
	}
	for _, c := range nb.Cells {
		if c.Language != "" {
			return c.Language
		}
	}
	return ""
}

// A notebookReading is the content of cells as it grows.
type notebookReading struct {
	ctx      context.Context
	out      filling
	outputs  int // characters of one
	parts    []run.Part
	pictures int
	unshown  int // pictures
}

// notebookText returns the cells of a notebook: their sources whole, their
// outputs bounded, their pictures as pictures.
func notebookText(ctx context.Context, name string, nb notebookFile, cells pageRange) Result {
	n := len(nb.Cells)
	language := ""
	if l := nb.language(); l != "" {
		language = ", " + clip(l, 40)
	}
	about := fmt.Sprintf("%s is a Jupyter notebook (format %d%s) of %s.\n", name, nb.Format, language, count(n, "cell", "cells"))
	if n == 0 {
		return TextResult(about)
	}
	if cells.from > n {
		return ErrorResult(fmt.Sprintf("%s has %s: there is no cell %d.", name, count(n, "cell", "cells"), cells.from))
	}
	last := cells.end(n)
	r := &notebookReading{ctx: ctx, out: newFilling(800), outputs: maxOutput}
	if cells.to == cells.from {
		r.outputs = maxAlone
	}
	r.out.add(about)
	rest := ""
	for i := cells.from; i <= last; i++ {
		if ctx.Err() != nil {
			return stopped()
		}
		if !r.cell(i, nb.Cells[i-1], i == cells.from) {
			rest = fmt.Sprintf("[cells %d to %d left: continue with pages %d-%d]\n", i, last, i, last)
			break
		}
	}
	if r.unshown > 0 {
		rest = fmt.Sprintf("[%s not shown: read their cells alone]\n", count(r.unshown, "picture is", "pictures are")) + rest
	}
	text := run.Text(r.out.b.String() + rest + "[to change a cell use edit on the file's JSON; read with an offset shows that]\n")
	return Result{Content: append([]run.Part{text}, r.parts...)}
}

// cell adds a cell, if there is room for its source and its outputs; of the first
// one, what there is room for.
func (r *notebookReading) cell(number int, c notebookCell, first bool) bool {
	label := fmt.Sprintf("\n[cell %d, %s", number, clip(c.Type, 20))
	for _, ran := range []any{c.Count, c.Number} {
		if n, ok := ran.(float64); ok {
			label += fmt.Sprintf(", run %d", int(n))
		}
	}
	source := c.Source + c.Input
	if c.Type == "heading" {
		source = joined(strings.Repeat("#", min(max(c.Level, 1), 6))+" ") + source
	}
	text := label + "]\n" + line(string(source))
	before := *r
	for _, o := range c.Outputs {
		text += r.output(o)
	}
	text = readable(text)
	if r.out.add(text) {
		return true
	}
	if !first {
		// Its pictures come with it when it is asked for.
		r.parts, r.pictures, r.unshown = before.parts, before.pictures, before.unshown
		return false
	}
	s, _ := cutText(text, r.out.left()-100)
	r.out.add(s + "\n[this cell is cut here: read with an offset shows the JSON]\n")
	return true
}

// output returns an output as text, and keeps its picture.
func (r *notebookReading) output(o notebookOutput) string {
	switch o.Type {
	case "stream":
		name := o.Name + o.Stream
		if name == "" {
			name = "stdout"
		}
		return r.bounded(clip(name, 20), string(o.Text))
	case "error", "pyerr":
		trace := string(o.Traceback)
		if !strings.Contains(trace, "\n") || strings.HasPrefix(trace, "[") {
			trace = ""
		}
		return r.bounded(fmt.Sprintf("error %s: %s", clip(o.Error, 200), clip(o.Value, 1000)), trace)
	}
	data := func(media string, v3 joined) string {
		j := v3
		if raw := o.Data[media]; raw != nil {
			_ = j.UnmarshalJSON(raw)
		}
		return string(j)
	}
	for _, picture := range []struct{ media, data string }{
		{"image/png", data("image/png", o.PNG)}, {"image/jpeg", data("image/jpeg", o.JPEG)},
		{"image/gif", data("image/gif", "")}, {"image/webp", data("image/webp", "")},
	} {
		if picture.data != "" {
			return r.picture(picture.media, picture.data)
		}
	}
	for _, media := range []string{"text/markdown", "text/plain", "text/latex", "application/json"} {
		v3 := joined("")
		if media == "text/plain" {
			v3 = o.Text
		}
		if s := data(media, v3); s != "" {
			return r.bounded("result", s)
		}
	}
	if s := data("text/html", o.HTML); s != "" {
		return r.bounded("result, HTML", s)
	}
	return "[an output that is neither text nor a picture]\n"
}

// picture keeps a picture for the result.
func (r *notebookReading) picture(media, data string) string {
	if r.pictures == maxPictures {
		r.unshown++
		return "[a picture, not shown here]\n"
	}
	content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(data), ""))
	if err != nil {
		return "[a picture that is damaged]\n"
	}
	img, says, err := picture(r.ctx, "it", media, content)
	if err != nil {
		return "[a picture that is not shown: " + err.Error() + "]\n"
	}
	r.pictures++
	r.parts = append(r.parts, run.Part{Type: run.ImagePart, Image: img})
	return fmt.Sprintf("[picture %d below: %s]\n", r.pictures, says)
}

// bounded returns an output with its name, its middle cut when it is long.
func (r *notebookReading) bounded(name, s string) string {
	if s == "" {
		return "[" + name + "]\n"
	}
	head, cut := cutText(s, r.outputs)
	if cut {
		// How it ends is the outcome as often as how it begins.
		tail := s[len(s)-min(len(s)-len(head), r.outputs/2):]
		head, _ = cutText(s, r.outputs/2)
		tail = strings.ToValidUTF8(tail, "")
		left := len(s) - len(head) - len(tail)
		more := "read this cell alone to see more"
		if r.outputs == maxAlone {
			more = "read with an offset shows the JSON"
		}
		s = fmt.Sprintf("%s\n[cut: %s bytes; %s]\n%s", head, commas(int64(left)), more, tail)
	}
	return "[" + name + "]\n" + line(s)
}

// line returns s with a line end, if there is anything in it.
func line(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// cutText returns the first n characters of s, and whether there are more.
func cutText(s string, n int) (string, bool) {
	first := text.First(s, n)
	return first, len(first) < len(s)
}
