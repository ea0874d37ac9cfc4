package jsonpath

import (
	"bytes"
	"cmp"
	"math/big"
)

// CompareNumbers compares two numbers as JSON writes them by their exact values and
// returns -1, 0 or 1. Neither many digits nor a large exponent make it slow or use much
// memory. (Of an exponent with more than a thousand digits only the sign counts.)
func CompareNumbers(a, b []byte) int {
	if x, ok := readShort(a); ok {
		if y, ok := readShort(b); ok && (x.places == y.places || x.fits && y.fits) {
			for ; x.places < y.places; x.places++ {
				x.n *= 10
			}
			for ; y.places < x.places; y.places++ {
				y.n *= 10
			}
			return cmp.Compare(x.n, y.n)
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

// shortNumber is what most numbers are, n / 10^places.
type shortNumber struct {
	n      int64
	places int
	fits   bool // it has up to nine digits before the point and behind it, so that n × 10^9 fits as well
}

// readShort reads a number of up to 18 digits without an exponent.
func readShort(s []byte) (x shortNumber, ok bool) {
	const most = 18
	negative := s[0] == '-'
	if negative {
		s = s[1:]
	}
	digits, point := 0, -1
	for i, c := range s {
		if c == '.' {
			point = i
			continue
		}
		if digits++; c < '0' || c > '9' || digits > most {
			return x, false
		}
		x.n = x.n*10 + int64(c-'0')
	}
	if point >= 0 {
		x.places = len(s) - point - 1
	}
	if negative {
		x.n = -x.n
	}
	x.fits = digits-x.places <= most/2 && x.places <= most/2
	return x, true
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
