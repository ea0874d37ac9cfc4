package pdf

import (
	"cmp"
	"slices"
	"unicode/utf16"

	"pawl/internal/stable"
)

// A cmap says how the bytes of a string divide into codes, and what characters
// codes mean (9.7.5, 9.10.3).
type cmap struct {
	spaces []codeSpace
	chars  map[uint32]string
	ranges []codeRange // sorted by lo after parsing
}

// A codeSpace is the codes of one length.
type codeSpace struct {
	length int
	lo, hi uint32
}

// A codeRange is codes that follow one another and so do their characters.
type codeRange struct {
	lo, hi uint32
	to     []rune // of lo; the last one counts up
}

const (
	maxCodeSpaces = 100
	maxCodes      = 200_000
)

// parseCMap reads a CMap, which is a program whose only interesting parts are
// lists between begin… and end….
func (d *Document) parseCMap(data []byte) *cmap {
	m := &cmap{chars: map[uint32]string{}}
	l := d.lexer(data, 0)
	for {
		switch l.object(0) {
		case keyword("begincodespacerange"):
			for {
				lo, ok := l.object(0).(string)
				hi, also := l.object(0).(string)
				if !ok || !also || len(m.spaces) >= maxCodeSpaces {
					break
				}
				if len(lo) > 0 && len(lo) <= 4 && len(lo) == len(hi) {
					m.spaces = append(m.spaces, codeSpace{len(lo), code(lo), code(hi)})
				}
			}
		case keyword("beginbfchar"):
			for {
				from, ok := l.object(0).(string)
				if !ok {
					break
				}
				to, ok := l.object(0).(string)
				if !ok || len(m.chars) >= maxCodes {
					break
				}
				m.chars[code(from)] = string(utf16Runes(to))
			}
		case keyword("beginbfrange"):
			m.parseRanges(l)
		case ended{}:
			stable.Sort(m.ranges, func(a, b codeRange) int { return cmp.Compare(a.lo, b.lo) })
			return m
		}
	}
}

func (m *cmap) parseRanges(l *lexer) {
	for {
		from, ok := l.object(0).(string)
		if !ok {
			return
		}
		until, ok := l.object(0).(string)
		if !ok || len(m.ranges)+len(m.chars) >= maxCodes {
			return
		}
		lo, hi := code(from), code(until)
		switch to := l.object(0).(type) {
		case string:
			if r := utf16Runes(to); len(r) > 0 && hi >= lo {
				m.ranges = append(m.ranges, codeRange{lo, hi, r})
			}
		case array:
			for i, v := range to {
				if s, ok := v.(string); ok && len(m.chars) < maxCodes {
					m.chars[lo+uint32(i)] = string(utf16Runes(s))
				}
			}
		default:
			return
		}
	}
}

// text returns the characters of a code.
func (m *cmap) text(c uint32) (string, bool) {
	if s, ok := m.chars[c]; ok {
		return s, true
	}
	i, found := slices.BinarySearchFunc(m.ranges, c, func(r codeRange, c uint32) int { return cmp.Compare(r.lo, c) })
	if !found {
		i--
	}
	if i < 0 || c > m.ranges[i].hi {
		return "", false
	}
	to := slices.Clone(m.ranges[i].to)
	to[len(to)-1] += rune(c - m.ranges[i].lo)
	return string(to), true
}

// next returns the first code of s and how many bytes it has.
func (m *cmap) next(s string) (c uint32, n int) {
	for n = 1; n <= min(4, len(s)); n++ {
		c = code(s[:n])
		for _, space := range m.spaces {
			if space.length == n && c >= space.lo && c <= space.hi {
				return c, n
			}
		}
	}
	n = min(2, len(s))
	return code(s[:n]), n
}

// code reads a code, the highest byte first.
func code(s string) (c uint32) {
	for i := range len(s) {
		c = c<<8 | uint32(s[i])
	}
	return c
}

// utf16Runes reads UTF-16, the higher byte first.
func utf16Runes(s string) []rune {
	if len(s) == 1 {
		return []rune{rune(s[0])} // wrong and common
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return utf16.Decode(units)
}
