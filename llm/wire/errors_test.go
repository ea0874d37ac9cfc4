package wire

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheWaitIsWhatTheProviderAsksFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		headers []string
		want    time.Duration
	}{
		{"nothing", nil, 0},
		{"milliseconds before seconds", []string{"retry-after-ms", "250", "retry-after", "9"}, 250 * time.Millisecond},
		{"seconds", []string{"retry-after", "1.5"}, 1500 * time.Millisecond},
		{"a date by the server's clock", []string{"retry-after", "Fri, 20 Nov 2026 10:00:07 GMT", "Date", "Fri, 20 Nov 2026 10:00:00 GMT"}, 7 * time.Second},
		{"a date that is over", []string{"retry-after", "Fri, 20 Nov 2026 10:00:00 GMT"}, 0},
		{"nonsense", []string{"retry-after", "soon"}, 0},
		{"not a number", []string{"retry-after", "NaN"}, 0},
		{"for ever", []string{"retry-after", "1e300"}, maxWait},
	} {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		if got := new(Client).wait(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRecordedErrorBodiesHaveAMessage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../shared/cases/streams/errors/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("needs the recorded errors in ../shared/cases/streams/errors, beside the repository")
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if said := ParseError(body); said.Message == "" {
			t.Errorf("%s: nothing is heard of %.200s", file, body)
		}
	}
}
