package config

import (
	"testing"
	"time"
)

func TestSinceIsATimeBeforeNowOrADay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "36h": now.Add(-36 * time.Hour), "7d": now.AddDate(0, 0, -7), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := ParseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-1h", "0d", "d", "yesterday", "2026-13-01", "7"} {
		if got, err := ParseSince(text, now); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
