package heuristic

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Promises is measured on final answers with a label each: testdata/promises.txt.
func TestPromisesAreToldFromReportsAndOffers(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/promises.txt")
	if err != nil {
		t.Fatal(err)
	}
	type score struct{ n, wrong int }
	scores := map[string]score{}
	signals := map[string]int{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		label, text, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("a line without a label: %s", line)
		}
		text = strings.ReplaceAll(text, `\n`, "\n")
		s := scores[label]
		s.n++
		if want := label == "promise"; Promises(text) != want {
			s.wrong++
			if want {
				t.Logf("missed: %q", text)
			} else {
				t.Logf("false alarm (%s): %q", label, text)
			}
		}
		scores[label] = s
		if label == "promise" {
			lower := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
			for _, p := range promises {
				if strings.Contains(lower, p) {
					signals[p]++
				}
			}
		}
	}

	none := score{}
	labels := make([]string, 0, len(scores))
	for label, s := range scores {
		labels = append(labels, label)
		if label != "promise" {
			none.n, none.wrong = none.n+s.n, none.wrong+s.wrong
		}
	}
	slices.Sort(labels)
	for _, label := range labels {
		t.Logf("%-10s %3d answers, %d wrong", label, scores[label].n, scores[label].wrong)
	}
	made := scores["promise"]
	t.Logf("promises: %d of %d heard; of %d other answers %d taken for one", made.n-made.wrong, made.n, none.n, none.wrong)

	// A promise that is missed ends a turn early, which the person sees; a false
	// alarm costs one needless request. Neither is worth a list of every phrase.
	if 20*made.wrong > made.n {
		t.Errorf("%d of %d promises were missed, more than 5 %%", made.wrong, made.n)
	}
	if 20*none.wrong > none.n {
		t.Errorf("%d of %d other answers were taken for promises, more than 5 %%", none.wrong, none.n)
	}
	for _, p := range promises {
		if signals[p] < 4 {
			t.Errorf("%d promises say %q; that is no measure of it", signals[p], p)
		}
	}
}
