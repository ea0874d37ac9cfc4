// Package pdf reads the text of PDF documents (ISO 32000-1:2008; the numbers of
// its sections stand in the comments). Documents come from anywhere, so nothing
// in one can make it use more memory, time or stack than is set here: streams
// unpack to a bounded size, structures nest to a bounded depth, references are
// followed a bounded number of times, and a done context ends the work.
//
// It draws nothing, changes nothing and decrypts nothing. Text comes in the order
// in which the document writes it, which for nearly all programs that make
// documents is the order it is read in.
package pdf

import (
	"context"
	"errors"
	"fmt"
)

// ErrEncrypted says that a document cannot be read without a key.
var ErrEncrypted = errors.New("it is encrypted")

// A DamagedError says what about a document is not as it should be.
type DamagedError struct{ What string }

func (e *DamagedError) Error() string { return e.What }

// A LimitError says which limit reading the document would have exceeded; a
// document that runs into one is broken or hostile.
type LimitError struct{ What string }

func (e *LimitError) Error() string { return e.What }

// The limits. What people make stays far below them.
const (
	maxStream   = 32 << 20  // bytes of one stream, unpacked
	maxUnpacked = 256 << 20 // bytes of all streams of a document, each time one is unpacked
	maxKept     = 32 << 20  // bytes of unpacked object streams that are kept
	maxParsed   = 1 << 30   // bytes parsed in all
	maxNodes    = 500_000   // numbers, names, … in one object
	maxDepth    = 100       // of arrays in arrays, references to references, …
	maxObjects  = 1 << 20   // in a document
	maxPages    = 100_000
	maxSections = 1000    // of the cross-reference table
	maxForms    = 5000    // drawn on one page, each time one is drawn
	maxText     = 4 << 20 // bytes of text of one page
)

// A Document is an open document. It is not safe for concurrent use.
type Document struct {
	data    []byte
	entries map[int]entry
	trailer dict
	pages   []pageNode

	ctx      context.Context // of the method that is running
	unpacked int             // bytes so far
	parsed   int
	loading  int // objects that are being loaded, one within the other
	repaired bool
	streams  map[int]*objectStream
	kept     int // bytes in streams
	fonts    map[int]*font
}

// A Page is what is on a page.
type Page struct {
	Text   string // lines end in \n; no control characters but that one
	Images int    // pictures drawn
	// Unknown counts characters that the document does not say the meaning of;
	// each is U+FFFD in Text.
	Unknown int
}

// Open reads the structure of a document, which is kept and must not be changed
// meanwhile. The error is [ErrEncrypted], a [*DamagedError], a [*LimitError], or
// that of ctx.
func Open(ctx context.Context, content []byte) (d *Document, err error) {
	d = &Document{entries: map[int]entry{}, streams: map[int]*objectStream{}, fonts: map[int]*font{}, ctx: ctx}
	defer func() {
		if err != nil {
			d = nil
		}
	}()
	defer guard(&err)
	return d, d.open(content)
}

// Pages returns the number of pages.
func (d *Document) Pages() int { return len(d.pages) }

// Page reads the page with that number, from 1; there must be one. Its errors are
// those of [Open].
func (d *Document) Page(ctx context.Context, number int) (p Page, err error) {
	d.ctx = ctx
	defer guard(&err)
	return d.page(d.pages[number-1]), nil
}

// giveUp ends the work from deep within; guard makes an error of it.
type giveUp struct{ err error }

func damaged(format string, args ...any) {
	panic(giveUp{&DamagedError{fmt.Sprintf(format, args...)}})
}

func tooMuch(format string, args ...any) {
	panic(giveUp{&LimitError{fmt.Sprintf(format, args...)}})
}

// guard is deferred where the package is entered. A panic that is none of ours
// is a mistake here that a strange document has found: it must cost that document
// and not the process, which may be in the middle of other runs.
func guard(err *error) {
	switch x := recover().(type) {
	case nil:
	case giveUp:
		*err = x.err
	default:
		*err = &DamagedError{fmt.Sprintf("its structure makes no sense (%v)", x)}
	}
}

// spend accounts for n bytes that are parsed and ends the work when it has been
// enough.
func (d *Document) spend(n int) {
	if err := d.ctx.Err(); err != nil {
		panic(giveUp{err})
	}
	if d.parsed += n; d.parsed > maxParsed {
		tooMuch("it takes more than %d MB of parsing", maxParsed>>20)
	}
}
