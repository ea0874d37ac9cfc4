package wire

import (
	"encoding/json"
	"strconv"
)

// maxTokens bounds a count of tokens: far more than any request has, and far less
// than what overflows when requests are added up.
const maxTokens = 1 << 40

// Tokens is a count of tokens as a provider reports it. Decoding never fails, so
// that no answer is lost because of its usage: a value that is negative or not a number is
// zero, and one that is too large is bounded.
type Tokens int64

// UnmarshalJSON accepts anything.
func (t *Tokens) UnmarshalJSON(raw []byte) error {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	f, _ := strconv.ParseFloat(n.String(), 64) // infinite when it is out of range
	*t = Tokens(min(max(f, 0), maxTokens))
	return nil
}
