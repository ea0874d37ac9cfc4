package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
)

// ReadArgs are the arguments of tool_outputs.read. Offset and Limit are lines, or, of a
// text with lines too long to be read as such, characters; the result says which.
type ReadArgs struct {
	Target
	Offset int64 `json:"offset"`
	Limit  int64 `json:"limit"` // 0 is as much as is returned at once
}

func (a *ReadArgs) defaults() {}

func (a *ReadArgs) check() error {
	if a.Offset < 0 || a.Limit < 0 {
		return fmt.Errorf("offset and limit must not be negative, got %d and %d", a.Offset, a.Limit)
	}
	return nil
}

// ReadResult is the result of tool_outputs.read.
type ReadResult struct {
	Target
	Text     string `json:"text"`
	Unit     string `json:"unit"` // of the figures: lines, or characters where lines are very long
	Offset   int64  `json:"offset"`
	Returned int64  `json:"returned"`
	Total    int64  `json:"total"`
	Cut      bool   `json:"cut"` // the text is less than was asked for
}

// String returns what the model reads: the text, and what is left.
func (r ReadResult) String() string {
	left := r.Total - r.Offset - r.Returned
	switch {
	case r.Total == 0:
		return fmt.Sprintf("[output %s is empty]", r.ID)
	case r.Offset > 0 && r.Returned == 0:
		return fmt.Sprintf("[nothing is at offset %d: %s has %s %s]", r.Offset, r.ID, text.Commas(r.Total), r.Unit)
	case r.Offset == 0 && left == 0:
		return r.Text
	case left == 0:
		return fmt.Sprintf("%s\n[%s %d to %d, the end]", r.Text, r.Unit, r.Offset+1, r.Offset+r.Returned)
	}
	return fmt.Sprintf("%s\n[%s %d to %d of %s; %s left: read on with offset %d]", r.Text, r.Unit, r.Offset+1, r.Offset+r.Returned, text.Commas(r.Total), text.Commas(left), r.Offset+r.Returned)
}

const (
	// maxRead is how many characters are read at once: with what is said of the rest,
	// below the 65,536 at which a result is cut.
	maxRead = 65_000

	// maxLine is how long a line may be for a text to be read by lines.
	maxLine = 10_000
)

// Read answers tool_outputs.read. The text is the output as it was written, also where
// other questions see it as JSON.
func (d *Document) Read(ctx context.Context, args ReadArgs) (ReadResult, error) {
	r := ReadResult{Target: args.Target, Offset: args.Offset}
	err := d.read(ctx, args, &r)
	return r, d.explain("read", err)
}

func (d *Document) read(ctx context.Context, args ReadArgs, r *ReadResult) error {
	if d.format == Binary {
		return errors.New("it is binary and cannot be read as text")
	}
	t, err := d.figures(ctx)
	if err != nil {
		return err
	}
	lines := t.Longest <= maxLine
	r.Unit, r.Total = "characters", t.Characters
	if lines {
		r.Unit, r.Total = "lines", t.Lines
	}
	if args.Offset >= r.Total {
		return nil
	}
	from, err := d.find(ctx, args.Offset, lines)
	if err != nil {
		return err
	}
	buf := make([]byte, min(d.size-from, utf8.UTFMax*maxRead))
	if n, err := d.raw.ReadAt(buf, from); n < len(buf) {
		return err
	}
	limit := r.Total - args.Offset
	if args.Limit > 0 {
		limit = min(limit, args.Limit)
	}
	if lines {
		r.takeLines(buf, limit)
	} else {
		r.takeChars(buf, limit)
	}
	r.Cut = r.Returned < limit
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	return nil
}

func (r *ReadResult) takeLines(p []byte, limit int64) {
	room := int64(maxRead)
	end := 0
	for r.Returned < limit && end < len(p) {
		n := bytes.IndexByte(p[end:], '\n') + 1
		if n == 0 {
			n = len(p) - end
		}
		chars := countChars(p[end : end+n])
		if chars > room {
			break
		}
		room -= chars
		end += n
		r.Returned++
	}
	r.Text = string(bytes.TrimSuffix(p[:end], []byte("\n")))
	if r.Offset+r.Returned == r.Total && r.Offset == 0 {
		r.Text = string(p[:end]) // all of it, as it is
	}
}

func (r *ReadResult) takeChars(p []byte, limit int64) {
	limit = min(limit, maxRead)
	end := skipChars(p, limit)
	r.Returned = countChars(p[:end])
	r.Text = string(p[:end])
}

// skipChars returns where in p character n begins, or the length of p.
func skipChars(p []byte, n int64) int {
	for i, c := range p {
		if c&0xC0 != 0x80 {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(p)
}

// find returns the offset of line or character n, which has to exist.
func (d *Document) find(ctx context.Context, n int64, lines bool) (from int64, err error) {
	if len(d.frames) > 0 {
		// The last frame that begins before the place.
		i, _ := slices.BinarySearchFunc(d.frames, n, func(f frame, n int64) int {
			if lines && f.Lines < n || !lines && f.Chars <= n {
				return -1
			}
			return 1
		})
		if i > 0 {
			from = int64(i-1) * frameSize
			if f := d.frames[i-1]; lines {
				n -= f.Lines
			} else {
				n -= f.Chars
			}
		}
	}
	buf := make([]byte, readSize)
	for {
		got, err := d.raw.ReadAt(buf[:min(int64(len(buf)), d.size-from)], from)
		if got == 0 || ctx.Err() != nil {
			return from, errors.Join(context.Cause(ctx), err)
		}
		p := buf[:got]
		var has int64 // in p; of lines, the ends
		if has = countChars(p); lines {
			has = int64(bytes.Count(p, []byte("\n")))
		}
		switch {
		case lines && has >= n:
			for ; n > 0; n-- {
				i := bytes.IndexByte(p, '\n') + 1
				p, from = p[i:], from+int64(i)
			}
			return from, nil
		case !lines && has > n:
			return from + int64(skipChars(p, n)), nil
		}
		n, from = n-has, from+int64(got)
	}
}

// readSize is how much of a document is read at a time, in bytes.
const readSize = 256 << 10
