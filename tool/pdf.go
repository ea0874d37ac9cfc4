package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl/internal/pdf"
)

// pdfTime is how long a document may be worked on. A book of a thousand pages
// takes one second; what takes longer was made to.
const pdfTime = 15 * time.Second

// pdfText returns the text of pages of a document: as much as there is room for
// in t, with how to continue. The error is a sentence.
func pdfText(ctx context.Context, name string, content []byte, pages pageRange, t pdfReading) (string, error) {
	select {
	case heavy <- struct{}{}:
		defer func() { <-heavy }()
	case <-ctx.Done():
		return "", errors.New("stopped before it read " + name)
	}
	limited, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	d, err := pdf.Open(limited, content)
	if err != nil {
		return "", pdfTrouble(ctx, name, err)
	}
	n := d.Pages()
	if pages.from > n {
		return "", tell("%s has %s: there is no page %d.", name, count(n, "page", "pages"), pages.from)
	}
	t.out.add(fmt.Sprintf("%s is a PDF document of %s. The text of its pages:\n", name, count(n, "page", "pages")))
	last := pages.end(n)
	for number := pages.from; number <= last && t.rest == ""; number++ {
		p, err := d.Page(limited, number)
		if _, ok := errors.AsType[*pdf.DamagedError](err); ok {
			t.out.add(fmt.Sprintf("[page %d cannot be read: %v]\n", number, err))
			continue
		}
		if err != nil {
			if !t.any {
				return "", pdfTrouble(ctx, name, err)
			}
			t.rest = fmt.Sprintf("[stopped at page %d: %v]\n", number, pdfTrouble(ctx, name, err))
			break
		}
		t.page(number, last, p)
	}
	if !t.any && t.images > 0 {
		return "", tell("%s has no text on %s of %d, only pictures: it is probably a scan. With the shell, pdftoppm -png makes pictures of pages, which read shows, and ocrmypdf or tesseract makes text.", name, pageNumbers(pages.from, last), n)
	}
	if t.unknown > 0 {
		t.rest = fmt.Sprintf("[%s shown as \uFFFD: the document does not say which]\n", count(t.unknown, "character is", "characters are")) + t.rest
	}
	return t.out.b.String() + t.rest, nil
}

func pageNumbers(from, to int) string {
	if from == to {
		return fmt.Sprintf("page %d", from)
	}
	return fmt.Sprintf("pages %d to %d", from, to)
}

// A pdfReading is the text of pages as it grows.
type pdfReading struct {
	out     filling
	offset  int  // first line of the first page
	lines   int  // that may be shown yet
	any     bool // text was shown
	images  int
	unknown int
	rest    string // once it is full: how to continue
}

// page adds a page, as much of it as there is room for.
func (t *pdfReading) page(number, last int, p pdf.Page) {
	t.images += p.Images
	offset := t.offset
	t.offset = 1
	if p.Text == "" {
		what := "is empty"
		if p.Images > 0 {
			what = "has no text but " + count(p.Images, "picture", "pictures")
		}
		if !t.out.add(fmt.Sprintf("[page %d %s]\n", number, what)) {
			t.rest = fmt.Sprintf("[%s left: continue with pages %d-%d]\n", pageNumbers(number, last), number, last)
		}
		return
	}
	lines := strings.SplitAfter(strings.TrimSuffix(p.Text, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	if offset > len(lines) {
		t.any = true
		t.out.add(fmt.Sprintf("[page %d has %s: there is none at offset %d]\n", number, count(len(lines), "line", "lines"), offset))
		return
	}
	from := ""
	if offset > 1 {
		from = fmt.Sprintf(" from line %d", offset)
	}
	header := fmt.Sprintf("\n[page %d%s]\n", number, from)
	for i, line := range lines[offset-1:] {
		if s, cut := cutLine([]byte(line), maxLine); cut {
			line = s + "… [cut]\n"
		}
		if t.lines == 0 || !t.out.add(header+line) {
			t.goOn(number, last, offset+i, i > 0)
			return
		}
		t.any, header = true, ""
		t.lines--
	}
	t.unknown += p.Unknown
}

// goOn says how to see what there was no room for.
func (t *pdfReading) goOn(number, last, line int, begun bool) {
	if !begun {
		t.rest = fmt.Sprintf("[%s left: continue with pages %d-%d]\n", pageNumbers(number, last), number, last)
		return
	}
	t.rest = fmt.Sprintf("[page %d continues: pages %d-%d with offset %d]\n", number, number, last, line)
}

// pdfTrouble says why a document cannot be read, and what to do.
func pdfTrouble(ctx context.Context, name string, err error) error {
	var damaged *pdf.DamagedError
	var limit *pdf.LimitError
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped while it read " + name)
	case errors.Is(err, context.DeadlineExceeded):
		return tell("Reading %s took longer than %v, which no sound document does. Ask for fewer pages.", name, pdfTime)
	case errors.Is(err, pdf.ErrEncrypted):
		return tell("%s is an encrypted PDF document. Somebody who may open it can make a plain one: with the shell, qpdf --decrypt.", name)
	case errors.As(err, &damaged):
		return tell("%s is a damaged PDF document: %v. With the shell, qpdf or mutool clean may repair it.", name, damaged)
	case errors.As(err, &limit):
		return tell("%s is a PDF document beyond what can be read safely: %v.", name, limit)
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}
