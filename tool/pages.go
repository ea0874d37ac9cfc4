package tool

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A pageRange is numbers of pages or cells, from 1; to is 0 when it goes to the end.
type pageRange struct{ from, to int }

// parsePages reads 3, 3-7 or 3-; nothing at all is everything.
func parsePages(s string) (pageRange, error) {
	if s = strings.TrimSpace(s); s == "" {
		return pageRange{from: 1}, nil
	}
	from, to, isRange := strings.Cut(s, "-")
	a, err := strconv.Atoi(strings.TrimSpace(from))
	b := a
	if to = strings.TrimSpace(to); err == nil && isRange {
		if b = 0; to != "" {
			b, err = strconv.Atoi(to)
		}
	}
	if err != nil || a < 1 || a > unbounded || b != 0 && b < a || b > unbounded {
		return pageRange{}, tell("pages is %q: give a number or a range, such as 3, 3-7 or 3-", clip(s, 40))
	}
	return pageRange{a, b}, nil
}

// end returns the last number of n that is meant.
func (s pageRange) end(n int) int {
	if s.to == 0 {
		return n
	}
	return min(s.to, n)
}

// A filling is a text as it grows up to max characters.
type filling struct {
	b     strings.Builder
	chars int
	max   int
}

// newFilling returns one for a result, with room for what is said at the end.
func newFilling(end int) filling { return filling{max: maxResult - end} }

// add appends s if there is room.
func (f *filling) add(s string) bool {
	n := utf8.RuneCountInString(s)
	if f.chars+n > f.max {
		return false
	}
	f.chars += n
	f.b.WriteString(s)
	return true
}

// left is how many characters there is room for.
func (f *filling) left() int { return f.max - f.chars }

// heavy has a place for each call that may unpack a document or a picture at the
// same time: one needs up to a few hundred megabytes.
var heavy = make(chan struct{}, 2)
