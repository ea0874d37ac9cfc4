package config

import (
	"strings"
	"testing"
	"time"
)

func TestSizesAndAgesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": -1, "4096": -1, "1B": 1, "10GB": 10e9, "1.5 MB": 1.5e6, "4kb": 4e3, "2GiB": 2 << 30, "-1": 0,
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

func TestALimitIsPositiveOrMinusOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		check func(string) error
		good  []string
		bad   []string
	}{
		{whole, []string{"1", "-1"}, []string{"0", "-2", "1.5", "", "many", "1e3"}},
		{positive, []string{"1"}, []string{"0", "-1", "1.5"}},
		{window, []string{"4096", "1000000"}, []string{"10", "-1", "4k"}},
		{amount, []string{"0.01", "-1"}, []string{"0", "-5", "free"}},
		{durationLimit, []string{"90s", "-1", "-1s"}, []string{"0", "0s", "-5s", "5", ""}},
		{durationOrNone, []string{"0", "90s"}, []string{"-1", "-1s", "5"}},
		{positiveDuration, []string{"1ms"}, []string{"0", "-1", "5"}},
	} {
		for _, s := range test.good {
			if err := test.check(s); err != nil {
				t.Errorf("%q: %v", s, err)
			}
		}
		for _, s := range test.bad {
			if test.check(s) == nil {
				t.Errorf("%q is accepted", s)
			}
		}
	}
}

func TestAVariableThatIsNearlyASettingIsAMistake(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PAWL_MAXSTEPS": "PAWL_MAX_STEPS", "PAWL_MODLE": "PAWL_MODEL", "PAWL_STATEDIR": "PAWL_STATE_DIR", "PAWL_MAX_STEP": "PAWL_MAX_STEPS",
		"PAWL_MODEL": "", "PAWL_RUN": "", "PAWL_FOO": "", "PAWL_KILLS": "", "HOME": "",
	} {
		notes, err := CheckVariables([]string{"PATH=/bin", name + "=x"})
		if want != "" && (err == nil || !strings.Contains(err.Error(), "did you mean "+want+"?")) || want == "" && err != nil {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if noted := len(notes) > 0; noted != (name == "PAWL_FOO" || name == "PAWL_KILLS") {
			t.Errorf("%s: %q", name, notes)
		}
	}
}
