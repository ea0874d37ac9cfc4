package tool

import (
	"fmt"
	"math"
	"strconv"
)

// A number is a whole number in arguments. JSON Schema counts 10.0 and 1e1 as
// integers, and some models write them; encoding/json does not.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("%.40s is not a whole number in range", b)
	}
	*n = number(f)
	return nil
}

// unbounded is the bound of what has none: larger than any file has lines.
const unbounded = 1 << 40

// bounded returns n, or def when it was not given, or an error that says what
// it may be.
func (n number) bounded(name string, def, low, high int) (int, error) {
	if n == 0 {
		return def, nil
	}
	if int(n) < low && high == unbounded {
		return 0, fmt.Errorf("%s is %d: it must be at least %d", name, n, low)
	}
	if int(n) < low || int(n) > high {
		return 0, fmt.Errorf("%s is %d: it may be from %d to %s", name, n, low, commas(int64(high)))
	}
	return int(n), nil
}
