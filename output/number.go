package output

import (
	"bytes"
	"math/big"
	"strconv"
)

// A sum adds numbers as they are written, exactly: 0.1 ten times is 1, and
// 9007199254740993 is not 9007199254740992.
type sum struct {
	parts []sumPart // by the number of decimal places; there are few different ones
	rest  *big.Rat  // of numbers that are long or have an exponent
}

type sumPart struct {
	places int
	n      int64
	over   *big.Int // what did not fit n
}

const (
	// shortDigits is how many digits an int64 holds for sure.
	shortDigits = 18

	// maxExponent bounds the numbers that are added: beyond, a sum would have thousands
	// of digits.
	maxExponent = 400
)

// add adds a number. ok is false if it is beyond what is added.
func (s *sum) add(raw []byte) (ok bool) {
	n, places, short := shortNumber(raw)
	if !short {
		return s.addLong(raw)
	}
	for i := range s.parts {
		p := &s.parts[i]
		if p.places != places {
			continue
		}
		t := p.n + n
		if (p.n^t)&(n^t) < 0 { // it does not fit
			if p.over == nil {
				p.over = new(big.Int)
			}
			p.over.Add(p.over, big.NewInt(p.n))
			t = n
		}
		p.n = t
		return true
	}
	s.parts = append(s.parts, sumPart{places: places, n: n})
	return true
}

// shortNumber reads n / 10^places.
func shortNumber(raw []byte) (n int64, places int, ok bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) > shortDigits+1 {
		return 0, 0, false
	}
	point := -1
	for i, c := range digits {
		switch {
		case c == '.':
			point = i
		case c-'0' <= 9:
			n = n*10 + int64(c-'0')
		default:
			return 0, 0, false
		}
	}
	if point >= 0 {
		places = len(digits) - point - 1
	} else if len(digits) > shortDigits {
		return 0, 0, false
	}
	if raw[0] == '-' {
		n = -n
	}
	return n, places, true
}

func (s *sum) addLong(raw []byte) bool {
	const longest = 1000 // digits
	if len(raw) > longest {
		return false
	}
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		e, err := strconv.Atoi(string(raw[i+1:]))
		if err != nil || e > maxExponent || e < -maxExponent {
			return false
		}
	}
	r, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		return false // unreachable: it is a number
	}
	if s.rest == nil {
		s.rest = new(big.Rat)
	}
	s.rest.Add(s.rest, r)
	return true
}

// total returns the sum.
func (s *sum) total() *big.Rat {
	t := new(big.Rat)
	if s.rest != nil {
		t.Set(s.rest)
	}
	for _, p := range s.parts {
		n := big.NewInt(p.n)
		if p.over != nil {
			n.Add(n, p.over)
		}
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.places)), nil)
		t.Add(t, new(big.Rat).SetFrac(n, scale))
	}
	return t
}

// exactly writes a number whose decimal form ends; any other, and one with very many
// digits, is rounded to the 17 that tell any two float64 apart.
func exactly(r *big.Rat) []byte {
	const most = 60 // decimal places
	if places, exact := r.FloatPrec(); exact && places <= most {
		return []byte(r.FloatString(places))
	}
	return rounded(r)
}

// rounded writes a number as the nearest float64; one that is beyond is written in full.
func rounded(r *big.Rat) []byte {
	f, _ := new(big.Float).SetPrec(64).SetRat(r).Float64()
	b := strconv.AppendFloat(nil, f, 'g', -1, 64)
	if !isNumeral(b) { // infinite
		return []byte(r.FloatString(0))
	}
	return b
}

// sameNumber writes a number as every equal one is written: digits without zeros at
// either end, and an exponent.
func sameNumber(raw []byte) []byte {
	plain := raw
	if plain[0] == '-' {
		plain = plain[1:]
	}
	if isDigits(plain) && (plain[0] != '0' || len(raw) == 1) && plain[len(plain)-1] != '0' {
		return raw // most
	}
	mantissa, exponent := plain, 0
	if i := bytes.IndexAny(plain, "eE"); i >= 0 {
		e, err := strconv.Atoi(string(plain[i+1:]))
		if err != nil {
			return raw // an exponent that nobody computes with
		}
		mantissa, exponent = plain[:i], e
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(append([]byte(nil), whole...), fraction...)
	exponent -= len(fraction)
	trimmed := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	trimmed = bytes.TrimLeft(trimmed, "0")
	if len(trimmed) == 0 {
		return []byte("0")
	}
	out := []byte{}
	if raw[0] == '-' {
		out = append(out, '-')
	}
	out = append(out, trimmed...)
	if exponent == 0 {
		return out
	}
	return strconv.AppendInt(append(out, 'e'), int64(exponent), 10)
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 {
			return false
		}
	}
	return len(b) > 0
}
