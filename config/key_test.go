package config

import (
	"testing"
	"time"
)

func TestSizesAndAgesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "1B": 1, "10GB": 10e9, "1.5 MB": 1.5e6, "4kb": 4e3, "2GiB": 2 << 30, "-1": 0,
		"": -1, "GB": -1, "5 apples": -1, "0": -1, "-5GB": -1, "NaN": -1, "1e30TB": -1,
	} {
		n, err := ParseLimit(text, ParseSize)
		if err != nil {
			n = -1
		}
		if n != want {
			t.Errorf("%q is %d bytes, %v; want %d", text, n, err, want)
		}
	}
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "12h": 12 * time.Hour, "0.5d": 12 * time.Hour, "-1": 0, "": -1, "d": -1, "-3d": -1, "90": -1,
	} {
		d, err := ParseLimit(text, ParseAge)
		if err != nil {
			d = -1
		}
		if d != want {
			t.Errorf("%q is %v, %v; want %v", text, d, err, want)
		}
	}
}

func TestAnAmountIsANumberThatJSONHas(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		"2.50": true, "-1": true, "1e3": true, "0": false, "": false, "a": false, "NaN": false, "inf": false, "-Inf": false, "1e999": false,
	} {
		if err := amount(text); (err == nil) != right {
			t.Errorf("%q: %v", text, err)
		}
	}
}
