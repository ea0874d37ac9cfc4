package worker

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/run"
	"pawl/view"
)

// priced makes every token cost a cent.
func priced(_ string, u run.Usage) run.Usage {
	u.Cost, u.Priced = float64(u.Total())/100, true
	return u
}

func TestTheUsageOfFailedAndInterruptedRequestsCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"half of it","cut":"text","usage":{"input":30,"output":5}}
{"text":"I was about to say","hang":true,"usage":{"input":40,"output":5}}`)
		r.w.Price = priced
		d := r.create()
		go func() {
			r.until(func(v view.Update) bool { return v.Delta != nil && strings.HasPrefix(v.Delta.Text, "I") })
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		s := r.run(d, prompt("go"))
		if s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v", s.Turn.End)
		}
		failed, interrupted := logged[run.RequestFailed](t, r), logged[run.Interrupted](t, r)
		if len(failed) != 1 || failed[0].Usage.Input != 30 || failed[0].Usage.Cost != 0.30 {
			t.Errorf("failed %+v", failed)
		}
		if len(interrupted) != 1 || interrupted[0].Usage.Input != 40 || interrupted[0].Usage.Cost != 0.40 {
			t.Errorf("interrupted %+v", interrupted)
		}
		if s.Usage.Input != 70 || s.Usage.Cost < 0.69 || s.Usage.Cost > 0.71 {
			t.Errorf("the run cost %+v", s.Usage)
		}
	})
}

func TestFailedAttemptsCountAgainstTheMoneyLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"half of it","cut":"text","usage":{"input":40,"output":1},"times":9}`)
		r.w.Price = priced
		d := r.createWith(run.Created{Config: run.Config{Limits: run.Limits{Cost: 1}}})
		s := r.run(d, prompt("go"))
		if s.Turn.End.End != run.LimitReached || s.Turn.End.Reason != "max_cost" {
			t.Errorf("ended %+v: three attempts that broke off cost $1.20", s.Turn.End)
		}
		if n := len(logged[run.RequestFailed](t, r)); n != 3 {
			t.Errorf("%d attempts, want 3", n)
		}
	})
}

func TestAnAnswerFromTheCacheCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, cached)
		r.w.Price = priced
		s := r.run(r.create(), prompt("go"))
		if s.Usage != (run.Usage{Priced: true}) {
			t.Errorf("usage %+v", s.Usage)
		}
		if p := logged[run.Replied](t, r); len(p) != 1 || !p[0].Cached {
			t.Errorf("replied %+v", p)
		}
	})
}

func TestHowLongARetryWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply           string
		retry           time.Duration // the setting
		end             run.End
		atLeast, atMost time.Duration
		detail          string
	}{
		"at first not long":                {`{"error":{"status":529},"times":3}`, 0, run.Completed, 0, 2 * time.Second, ""},
		"through minutes of overload":      {`{"error":{"status":529},"times":14}`, 0, run.Completed, time.Minute, 7 * time.Minute, ""},
		"as long as the provider asks":     {`{"error":{"status":429,"retry_after":540}}`, 0, run.Completed, 9 * time.Minute, 541 * time.Second, ""},
		"at most ten minutes":              {`{"error":{"status":529},"times":99}`, 0, run.EndFailed, 10 * time.Minute, 601 * time.Second, "attempts in 10m0s; continue later, or with another model"},
		"not for hours":                    {`{"error":{"status":429,"retry_after":7200}}`, 0, run.EndFailed, 0, time.Second, "the provider asks to wait 2h0m0s, until 2000-01-01 02:00:00 UTC"},
		"for hours, if configured":         {`{"error":{"status":429,"retry_after":7200}}`, 3 * time.Hour, run.Completed, 2 * time.Hour, 2*time.Hour + time.Second, ""},
		"not at all, if configured":        {`{"error":{"status":529}}`, -1, run.EndFailed, 0, time.Second, "529"},
		"not for what will not get better": {`{"error":{"status":401}}`, 0, run.EndFailed, 0, time.Second, "set a valid key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.reply+"\n"+`{"text":"Done."}`)
				d := r.createWith(run.Created{Config: run.Config{Retry: c.retry}})
				began := time.Now()
				s := r.run(d, prompt("go"))
				if s.Turn.End.End != c.end || !strings.Contains(s.Turn.End.Detail, c.detail) {
					t.Errorf("ended %+v", s.Turn.End)
				}
				if took := time.Since(began); took < c.atLeast || took > c.atMost { // of the bubble
					t.Errorf("it took %v, want %v to %v", took, c.atLeast, c.atMost)
				}
			})
		})
	}
}

func TestAProviderThatCannotBeHadFailsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"not asked"}`)
		r.w.Provider = func(string) (llm.Provider, string, error) {
			return nil, "", errors.New("no provider is called nothing")
		}
		s := r.run(r.create(), prompt("go"))
		if s.Turn.End.End != run.EndFailed || !strings.Contains(s.Turn.End.Detail, "no provider is called nothing") {
			t.Errorf("ended %+v", s.Turn.End)
		}
	})
}
