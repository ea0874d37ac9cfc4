package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/output"
)

func TestJSONLinesAreReadAsOneArray(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 300<<10) + `"` // longer than what is read at once
	for in, want := range map[string]string{
		"":                                "[]",
		"\n \n":                           "[]",
		"1":                               "[1]",
		"1\n2":                            "[1\n,2]",
		"\n1\r\n\n \n2\n\n ":              "[1\r\n,2\n]",
		"\uFEFF{}\n[]\n":                  "[{}\n,[]\n]",
		long + "\n" + long + "\n" + `"y"`: "[" + long + "\n," + long + "\n," + `"y"]`,
	} {
		got, err := io.ReadAll(iotest.OneByteReader(newLines(strings.NewReader(in))))
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%.40q is read as %.60q, %v; want %.60q", in, got, err, want)
		}
	}
	if _, err := io.ReadAll(newLines(iotest.ErrReader(io.ErrNoProgress))); err != io.ErrNoProgress {
		t.Errorf("an error of reading became %v", err)
	}
}

func TestValuesArePrintedOnALineHoweverLargeTheyAre(t *testing.T) {
	t.Parallel()
	// Pieces end in blanks, escapes, quotes and characters of several bytes.
	var list []string
	for range 40_000 {
		list = append(list, "a \"b\" \\ ü € 😀 \u202e\n")
	}
	wide, err := json.MarshalIndent(list, "", "   ")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, raw := range []bool{false, true} {
		out.Reset()
		v := values{w: &out, raw: raw}
		if err := v.print("", bytes.NewReader(wide), int64(len(wide))); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(out.String(), "\n")
		if rest != "" || strings.Contains(line, "\u202e") != raw {
			t.Errorf("raw %v: not one line, or what cannot be seen is not as it should be", raw)
		}
		var back []string
		if err := json.Unmarshal([]byte(line), &back); err != nil {
			t.Fatalf("raw %v: %v", raw, err)
		}
		if diff := cmp.Diff(list, back); diff != "" {
			t.Error(diff)
		}
	}

	out.Reset()
	v := values{w: &out, raw: true}
	for _, raw := range []string{`"a\n\"b\""`, `{"a" : "b c"}`, `12`} {
		if err := v.print("", strings.NewReader(raw), int64(len(raw))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "a\n\"b\"\n{\"a\":\"b c\"}\n12\n"; got != want {
		t.Errorf("raw: %q, want %q", got, want)
	}
}

func TestSizesAndAgesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "1B": 1, "10GB": 10e9, "1.5 MB": 1.5e6, "4kb": 4e3, "2GiB": 2 << 30, "-1": 0,
		"": -1, "GB": -1, "5 apples": -1, "0": -1, "-5GB": -1, "NaN": -1, "1e30TB": -1,
	} {
		n, err := readLimit(text, readSize)
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
		d, err := readLimit(text, readAge)
		if err != nil {
			d = -1
		}
		if d != want {
			t.Errorf("%q is %v, %v; want %v", text, d, err, want)
		}
	}
}

func TestOnlyWhatIsOverAQuotaIsWorthALook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "conversation", "run", "c_1.zst")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, c := range []struct {
		quota output.Quota
		now   time.Time
		want  bool
	}{
		{output.Quota{}, now.AddDate(10, 0, 0), false},
		{output.Quota{Bytes: 1000, Age: time.Hour}, now, false},
		{output.Quota{Bytes: 999}, now, true},
		{output.Quota{Age: time.Hour}, now.Add(2 * time.Hour), true},
	} {
		if got := overQuota(dir, c.quota, c.now); got != c.want {
			t.Errorf("%+v at %v: over is %v", c.quota, c.now.Sub(now), got)
		}
	}
	if overQuota(filepath.Join(dir, "nothing"), output.Quota{Bytes: 1}, now) {
		t.Error("a folder that is not there is over")
	}
}

func TestPathsAreSplitIntoTheStepsOfATree(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"$":                         {"$"},
		"$.a[*].b":                  {"$", ".a", "[*]", ".b"},
		`$['a.b']["c]"][3]`:         {"$", "['a.b']", `["c]"]`, "[3]"},
		`$['it\'s'].x`:              {"$", `['it\'s']`, ".x"},
		"$.a[*][*]":                 {"$", ".a", "[*]", "[*]"},
		"something else altogether": {"something else altogether"},
	} {
		if diff := cmp.Diff(want, steps(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
