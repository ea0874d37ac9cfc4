package run

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// DefaultRetry is how long a request that fails transiently is retried.
const DefaultRetry = 10 * time.Minute

const (
	// The wait before a retry is a random share of a bound that begins with retryBase and
	// doubles up to retryMax, and at least retryMin (exponential backoff with full jitter, so that many runs do
	// not return at the same moment).
	retryMin  = 50 * time.Millisecond
	retryBase = 250 * time.Millisecond
	retryMax  = time.Minute

	// accountPatience replaces Config.Retry for the account of a turn that is ending
	// early: without the model it is made from the log.
	accountPatience = 30 * time.Second

	// maxBroken is how often a request is retried after the provider answered and the answer
	// could not be used: each of these answers may have been paid for.
	maxBroken = 3
)

// Transient reports whether the same request may succeed later.
func (k ErrorKind) Transient() bool {
	switch k {
	case ErrOverloaded, ErrUnreachable, ErrRateLimited:
		return true
	}
	return k.broken()
}

// broken reports whether the provider took the request and did not complete the answer.
func (k ErrorKind) broken() bool { return k == ErrBrokenStream || k == ErrTimeout }

// patience returns how long the request in flight is retried.
func (s *State) patience() time.Duration {
	d := cmp.Or(s.Config.Retry, DefaultRetry)
	if s.Turn.Request.Purpose == ForSynthesis {
		d = min(d, accountPatience)
	}
	return max(0, d)
}

// retrying returns for how long the request in flight has been retried: the time driven
// since its first failure, and at least the waits so far, which the clock cannot change.
func (s *State) retrying(now time.Time) time.Duration {
	r := &s.Turn.Request
	if s.Turn.Failures == 0 {
		return 0
	}
	return max(r.waited, s.Driven(now)-r.failing)
}

// retryAfter returns how long to wait before the request in flight, which fails with p, is
// sent again; 0 if it is not. It depends on the log alone.
func (s *State) retryAfter(now time.Time, p RequestFailed) time.Duration {
	r := &s.Turn.Request
	left := s.patience() - s.retrying(now)
	switch {
	case s.Turn.Phase != Requesting || r.Purpose == ForAgent || !p.Kind.Transient():
		return 0
	case left <= 0 || p.Asked > left:
		return 0
	case p.Kind.broken() && r.broken >= maxBroken:
		return 0
	}
	return min(left, max(p.Asked, s.backoff()))
}

// backoff returns the wait before the next retry if the provider does not ask for a longer
// one.
func (s *State) backoff() time.Duration {
	t := &s.Turn
	bound := min(retryMax, retryBase<<min(t.Failures, 16))
	key := fmt.Sprintf("%s %d.%d %s %d", s.Created.Run, t.N, t.Steps, t.Request.Purpose, t.Request.Attempt)
	hash := sha256.Sum256([]byte(key))
	share := float64(int(hash[0])<<16|int(hash[1])<<8|int(hash[2])) / (1 << 24)
	return max(retryMin, time.Duration(share*float64(bound)).Round(time.Millisecond))
}

// replaceable reports whether another model may answer when the retries of a request that
// failed in this way are used up: its provider is not available now.
func (k ErrorKind) replaceable() bool {
	return k == ErrOverloaded || k == ErrUnreachable || k == ErrRateLimited
}

// again reports whether the step whose request has failed with p begins again: after a
// compaction, or with the fallback model, which Next then owes.
func (s *State) again(p RequestFailed) bool {
	if s.Turn.Request.Purpose != ForStep || p.RetryAfter > 0 || p.Reminder {
		return false
	}
	return p.Kind == ErrTooLong && !s.window.tooLong || p.Kind.replaceable() && s.hasFallback()
}

func (s *State) hasFallback() bool {
	f := s.Config.Fallback.Model
	return f != "" && f != s.Config.Model
}

// unavailable returns why the model whose request failed for the last time with p is
// replaced.
func (s *State) unavailable(e Event, p RequestFailed) string {
	why := s.Config.Model + " is not available: " + p.Reason
	if n := s.Turn.Failures + 1; n > 1 {
		why += fmt.Sprintf("; gave up after %d attempts in %v", n, s.retrying(e.At).Round(time.Second))
	}
	return why
}

// fallback returns the change to the fallback model.
func (s *State) fallback() ConfigChange {
	f := s.Config.Fallback
	return ConfigChange{Model: &f.Model, Window: &f.Window, Control: &f.Control,
		Reason: s.Turn.unavailable}
}

// retry records that the request that failed with p is sent again.
func (s *State) retry(e Event, p RequestFailed) {
	t := &s.Turn
	r := &t.Request
	r.Wait, r.Reason, r.failedAt = p.RetryAfter, p.Reason, e.At
	r.waited += p.RetryAfter
	t.Phase = t.resting()
}

// gaveUp returns the end of a turn whose request failed with p for the last time.
func (s *State) gaveUp(e Event, p RequestFailed) Ended {
	r := &s.Turn.Request
	detail := p.Reason
	tried := s.retrying(e.At)
	switch {
	case r.Purpose == ForAgent && p.Asked > 0:
		end := Ended{End: EndFailed, Reason: string(p.Kind), Detail: detail + "; continue after " + e.At.Add(p.Asked).UTC().Format("2006-01-02 15:04:05 MST")}
		if s.Config.WaitForLimit {
			end.LimitEnds = e.At.Add(p.Asked).UTC()
		}
		return end
	case !p.Kind.Transient() || r.Purpose == ForAgent:
	case p.Asked > max(0, s.patience()-tried):
		detail += fmt.Sprintf("; the provider asks to wait %v, until %s, and a request is retried for %v, of which %v are left: continue after that time",
			p.Asked.Round(time.Second), e.At.Add(p.Asked).UTC().Format("2006-01-02 15:04:05 MST"), s.patience(), max(0, s.patience()-tried).Round(time.Second))
		return Ended{End: EndFailed, Reason: string(p.Kind), Detail: detail}
	case s.Turn.Failures > 0:
		detail += fmt.Sprintf("; gave up after %d attempts in %v", s.Turn.Failures+1, tried.Round(time.Second))
	}
	next := afterFailure[p.Kind]
	if r.Purpose == ForAgent && p.Kind == ErrAuth { // the program's login is named
		next = "then continue"
	}
	if next != "" {
		detail = strings.TrimSuffix(detail, ".") + "; " + next
	}
	return Ended{End: EndFailed, Reason: string(p.Kind), Detail: detail}
}

// afterFailure is what a person can do after a request failed for good.
var afterFailure = map[ErrorKind]string{
	ErrOverloaded:   "continue later, or with another model",
	ErrRateLimited:  "continue later, or with another model",
	ErrUnreachable:  "check the network and the provider's address, then continue",
	ErrAuth:         "set a valid key, then continue",
	ErrBrokenStream: "continue, or try another model",
	ErrTimeout:      "continue, or try another model",
}
