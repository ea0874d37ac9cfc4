package output

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// longLine is how much of a line is searched in one piece, in bytes. Pieces overlap
	// by pieceOverlap, so that only a longer match can be missed.
	longLine     = 1 << 20
	pieceOverlap = 64 << 10
)

func (d *Document) searchLines(ctx context.Context, m *matcher, args SearchArgs, r *SearchResult) error {
	in := io.NewSectionReader(d.raw, 0, d.size)
	buf := make([]byte, 0, 2*longLine)
	var (
		base    int64 // offset of buf
		line    = int64(1)
		begin   int64 // offset of the line
		hit     bool  // this line has matched already
		eof     bool
		basketB = basket{room: maxResult}
	)
	found := func(text []byte) {
		hit = true
		r.Total++
		if r.Total > int64(args.Limit) || basketB.cut {
			return
		}
		f := Found{Line: line, Text: m.around(string(bytes.TrimSuffix(text, []byte("\r")))), offset: begin}
		if basketB.room -= utf8.RuneCountInString(f.Text) + 24; basketB.room < 0 {
			basketB.cut = true
			return
		}
		r.Matches = append(r.Matches, f)
	}
	for !eof || len(buf) > 0 {
		for !eof && len(buf) < longLine {
			n, err := in.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			if eof = err == io.EOF; err != nil && !eof {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := buf
		for len(p) > 0 {
			if len(m.literal) > 0 && !hit { // pass over lines that cannot match
				i := bytes.Index(p, m.literal)
				if i < 0 {
					i = len(p)
				}
				if k := bytes.LastIndexByte(p[:i], '\n') + 1; k > 0 {
					line += int64(bytes.Count(p[:k], []byte("\n")))
					base += int64(k)
					begin = base
					p = p[k:]
					continue
				}
			}
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				if !eof && len(p) < longLine {
					break // the rest is not here yet
				}
				if !hit && m.match(p) {
					found(p)
				}
				keep := 0
				if !eof {
					keep = pieceOverlap
				}
				base += int64(len(p) - keep)
				p = p[len(p)-keep:]
				break
			}
			if !hit && m.match(bytes.TrimSuffix(p[:i], []byte("\r"))) {
				found(p[:i])
			}
			p = p[i+1:]
			base += int64(i + 1)
			line++
			begin, hit = base, false
		}
		buf = buf[:copy(buf[:cap(buf)], p)]
	}
	if args.Context == 0 {
		return nil
	}
	for i := range r.Matches {
		if err := d.linesAround(&r.Matches[i], args.Context, &basketB); err != nil {
			return err
		}
	}
	return nil
}

// linesAround adds the lines before and after a match.
func (d *Document) linesAround(f *Found, n int, b *basket) error {
	const near = 32 << 10 // bytes in which they are looked for
	from := max(0, f.offset-near)
	buf := make([]byte, min(d.size, f.offset+near)-from)
	if got, err := d.raw.ReadAt(buf, from); got < len(buf) {
		return err
	}
	show := func(lines [][]byte) (out []string) {
		for _, l := range lines {
			s := firstChars(strings.ToValidUTF8(string(bytes.TrimSuffix(l, []byte("\r"))), "\uFFFD"), shownText)
			if b.room -= utf8.RuneCountInString(s) + 4; b.room < 0 {
				return out
			}
			out = append(out, s)
		}
		return out
	}
	before := splitLines(buf[:f.offset-from])
	if from > 0 && len(before) > 0 {
		before = before[1:] // it may have begun before
	}
	f.Before = show(before[max(0, len(before)-n):])
	after := buf[f.offset-from:]
	if i := bytes.IndexByte(after, '\n'); i >= 0 {
		lines := splitLines(after[i+1:])
		f.After = show(slices.Clip(lines[:min(n, len(lines))]))
	}
	return nil
}
