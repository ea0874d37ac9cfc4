package output

import (
	"bytes"
	"math/big"
	"strconv"

	"pawl/output/jsonpath"
)

// A sum adds numbers as they are written, exactly: 0.1 ten times is 1, and
// 9007199254740993 is not 9007199254740992.
type sum struct {
	short [19]int64 // what is not in long yet, by the number of decimal places
	long  big.Rat
}

// add adds a number. ok is false if it is beyond 1e400 or has very many digits: a sum of
// those would have thousands of digits.
func (s *sum) add(raw []byte) (ok bool) {
	if n, places, ok := jsonpath.ShortNumber(raw); ok {
		if t := s.short[places] + n; (s.short[places]^t)&(n^t) >= 0 {
			s.short[places] = t
			return true
		}
		s.flush(places)
		s.short[places] = n
		return true
	}
	const longest, maxExponent = 1000, 400 // bytes
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(raw[i+1:])); err != nil || e > maxExponent || e < -maxExponent {
			return false
		}
	}
	r, ok := new(big.Rat).SetString(string(raw[:min(len(raw), longest+1)]))
	if !ok || len(raw) > longest {
		return false
	}
	s.long.Add(&s.long, r)
	return true
}

// flush moves what is in short to long.
func (s *sum) flush(places int) {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	s.long.Add(&s.long, new(big.Rat).SetFrac(big.NewInt(s.short[places]), scale))
	s.short[places] = 0
}

// value returns the sum.
func (s *sum) value() *big.Rat {
	for places, n := range s.short {
		if n != 0 {
			s.flush(places)
		}
	}
	return &s.long
}

// decimal writes a number in full if it has at most so many decimal places, else as the
// nearest float64.
func decimal(r *big.Rat, most int) []byte {
	if places, exact := r.FloatPrec(); exact && places <= most {
		return []byte(r.FloatString(places))
	}
	f, _ := new(big.Float).SetPrec(64).SetRat(r).Float64()
	b := strconv.AppendFloat(nil, f, 'g', -1, 64)
	if !jsonpath.IsNumber(string(b)) { // infinite
		return []byte(r.FloatString(0))
	}
	return b
}
