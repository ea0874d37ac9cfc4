package jsonpath

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// CompareNumbers compares two numbers as JSON writes them by their exact values and
// returns -1, 0 or 1. Neither many digits nor a large exponent make it slow or use much
// memory. (Of an exponent with more than a thousand digits only the sign counts.)
func CompareNumbers(a, b []byte) int {
	if x, px, ok := ShortNumber(a); ok {
		if y, py, ok := ShortNumber(b); ok {
			const most = 1 << 59 // ten times as much fits
			for ; px < py && max(x, -x) < most; px++ {
				x *= 10
			}
			for ; py < px && max(y, -y) < most; py++ {
				y *= 10
			}
			if px == py {
				return cmp.Compare(x, y)
			}
		}
	}
	x, y := readDecimal(a), readDecimal(b)
	if x.sign != y.sign || x.sign == 0 {
		return cmp.Compare(x.sign, y.sign)
	}
	// 0.d₁d₂d₃… × 10^exponent with d₁ > 0: the greater exponent is the greater number.
	c := x.exponent.Cmp(y.exponent)
	if c == 0 {
		c = bytes.Compare(x.digits, y.digits) // trailing zeros are cut, so a prefix is smaller
	}
	return c * x.sign
}

// numberLength returns how long the number is that b begins with, or what is missing
// after as many bytes.
func numberLength[T string | []byte](b T) (n int, missing string) {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, "a digit"
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, "a digit after the point"
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, "a digit of the exponent"
		}
	}
	return i, ""
}

// IsNumber reports whether s is a number as JSON writes them.
func IsNumber(s string) bool {
	n, missing := numberLength(s)
	return missing == "" && n == len(s)
}

// ShortNumber returns a number as n / 10^places if it has no exponent and at most 18
// digits, as most have.
func ShortNumber(s []byte) (n int64, places int, ok bool) {
	const most = 18
	s, negative := bytes.CutPrefix(s, []byte("-"))
	digits, point := 0, -1
	for i, c := range s {
		if c == '.' {
			point = i
			continue
		}
		if digits++; c < '0' || c > '9' || digits > most {
			return 0, 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if point >= 0 {
		places = len(s) - point - 1
	}
	if negative {
		n = -n
	}
	return n, places, true
}

// canonicalNumber writes a number as every equal one is written: without an exponent if it
// is of usual size. (Of exponents beyond those of [CompareNumbers], numbers are equal if
// their other digits are.)
func canonicalNumber(raw []byte) []byte {
	if n, places, ok := ShortNumber(raw); ok && places == 0 {
		return strconv.AppendInt(nil, n, 10)
	}
	d := readDecimal(raw)
	if d.sign == 0 {
		return []byte("0")
	}
	var b []byte
	if d.sign < 0 {
		b = append(b, '-')
	}
	const least, most = -6, 21
	e := new(big.Int).Sub(d.exponent, big.NewInt(int64(len(d.digits))))
	switch point := int(d.exponent.Int64()); {
	case !d.exponent.IsInt64() || d.exponent.Int64() < least || d.exponent.Int64() > most:
		return fmt.Appendf(b, "%se%s", d.digits, e)
	case point >= len(d.digits):
		return append(append(b, d.digits...), strings.Repeat("0", point-len(d.digits))...)
	case point > 0:
		return fmt.Appendf(b, "%s.%s", d.digits[:point], d.digits[point:])
	default:
		return fmt.Appendf(b, "0.%s%s", strings.Repeat("0", -point), d.digits)
	}
}

// decimal is sign × 0.digits × 10^exponent; the digits neither begin nor end with 0.
type decimal struct {
	sign     int // 0 for zero, whose other fields mean nothing
	digits   []byte
	exponent *big.Int
}

func readDecimal(s []byte) decimal {
	d := decimal{sign: 1, exponent: new(big.Int)}
	s, negative := bytes.CutPrefix(s, []byte("-"))
	if negative {
		d.sign = -1
	}
	if e := bytes.IndexAny(s, "eE"); e >= 0 {
		d.exponent.SetString(string(trimExponent(s[e+1:])), 10)
		s = s[:e]
	}
	whole, fraction, _ := bytes.Cut(s, []byte("."))
	d.digits = append(append(make([]byte, 0, len(s)), whole...), fraction...)
	point := len(whole)
	trimmed := bytes.TrimLeft(d.digits, "0")
	point -= len(d.digits) - len(trimmed)
	d.digits = bytes.TrimRight(trimmed, "0")
	if len(d.digits) == 0 {
		d.sign = 0
	}
	d.exponent.Add(d.exponent, big.NewInt(int64(point)))
	return d
}

// maxExponentDigits is where an exponent is no longer read to the last digit: one of a
// million digits would take seconds.
const maxExponentDigits = 1000

func trimExponent(e []byte) []byte {
	e, negative := bytes.CutPrefix(bytes.TrimPrefix(e, []byte("+")), []byte("-"))
	e = bytes.TrimLeft(e, "0")
	if len(e) == 0 {
		return []byte("0")
	}
	if len(e) > maxExponentDigits {
		e = bytes.Repeat([]byte("9"), maxExponentDigits)
	}
	if negative {
		return append([]byte("-"), e...)
	}
	return e
}
