package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // not every system has the zones that Claude Code names
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/run"
)

// maxPart bounds what is kept of one text, result or argument that an agent reports, in
// bytes. The agent itself has all of it.
const maxPart = 32 << 10

// A report collects what the stream of a turn says.
type report struct {
	conversation string
	// news is what is to be recorded now.
	news []run.Observed
	// said is the agent's last text, which becomes the message at the end of the turn if
	// nothing follows it.
	said  strings.Builder
	usage run.Usage          // not yet recorded
	done  bool               // the event at the end of a turn has come
	fail  *run.RequestFailed // it, or an error before it, says that the turn has failed
	model string
	// resets is when the limit ends that was reached last; zero: it is not known.
	resets   time.Time
	waits    bool // the program makes a failed request again for longer than patience, and is to be stopped
	patience time.Duration
	// trouble is the failed request that the program makes again; nil: there is none.
	trouble *trouble
	told    time.Time // when people were last told of one
	clean   bool      // the program has ended, with exit code 0

	calls map[string]bool // that were reported and are open; false: the hook is not asked about it
	own   map[string]bool // of them, those of pawl's own tools, which the run's log has
	lines int             // events of work
	used  bool            // a tool that the hook is asked about has been used
}

func newReport() *report {
	return &report{patience: run.DefaultRetry, calls: map[string]bool{}, own: map[string]bool{}}
}

// plain returns text of a program without what a terminal would obey: escape sequences, and control
// characters but line ends and tabs.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, ansi.Strip(strings.ToValidUTF8(s, "\uFFFD")))
}

// cutPart returns text of a program as it is recorded: plain, bounded, with a mark at the cut.
func cutPart(s string) string {
	s = plain(s)
	if len(s) <= maxPart {
		return s
	}
	n := maxPart
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "\n[cut here by pawl; the agent has all of it]"
}

// flush makes what was said last a report of its own, because something follows it.
func (r *report) flush() {
	text := strings.TrimSpace(r.said.String())
	r.said.Reset()
	if text != "" {
		r.news = append(r.news, run.Observed{Parts: []run.Part{run.Text(cutPart(text))}})
	}
}

// text is a whole text of the agent.
func (r *report) text(s string) {
	r.flush()
	r.said.WriteString(s)
}

// delta is a piece of the text that is being said.
func (r *report) delta(s string) { r.said.WriteString(s) }

func (r *report) thinking(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	r.flush()
	r.news = append(r.news, run.Observed{Parts: []run.Part{{Type: run.ThinkingPart, Text: cutPart(s)}}})
}

// call is a call of a tool of the agent's. Those of pawl's tools are in the run's log.
func (r *report) call(id, tool string, own bool, args json.RawMessage) {
	if _, open := r.calls[id]; id == "" || open || r.own[id] {
		return
	}
	r.flush()
	if own {
		r.own[id] = true
		return
	}
	r.calls[id] = tool != "web_search" // Codex' provider does that
	var compact bytes.Buffer
	if json.Compact(&compact, args) != nil || compact.Len() > maxPart || compact.Bytes()[0] != '{' {
		compact.Reset()
		b, _ := json.Marshal(map[string]string{"arguments": cutPart(string(args))}) // a string
		compact.Write(b)
	}
	r.news = append(r.news, run.Observed{Parts: []run.Part{{Type: run.CallPart, Call: &run.Call{ID: run.CallID(id), ProviderID: id, Tool: tool, Arguments: compact.String()}}}})
}

// result is the result of a call; exitCode is that of a command, nil if there is none.
func (r *report) result(id, text string, isError bool, exitCode *int) {
	asked, open := r.calls[id]
	if !open {
		return
	}
	r.used = r.used || asked && !isError
	r.flush()
	delete(r.calls, id)
	r.news = append(r.news, run.Observed{Parts: []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: run.CallID(id),
		Content: []run.Part{run.Text(cutPart(text))}, IsError: isError, ExitCode: exitCode}}}})
}

// failed records that the turn has failed; the last failure counts.
func (r *report) failed(kind run.ErrorKind, reason string) {
	if reason = strings.TrimSpace(plain(reason)); len(reason) > 2000 {
		reason = strings.ToValidUTF8(reason[:2000], "") + "…"
	}
	r.fail = &run.RequestFailed{Kind: kind, Reason: reason}
}

// A retry is what a program says before it makes a failed request to its provider again.
type retry struct {
	reason string
	wait   time.Duration // until then; 0: it is not said
}

// A trouble is a request that fails again and again.
type trouble struct {
	retry
	kind  run.ErrorKind
	since time.Time
}

// retry notes that the program makes a failed request again, and tells people that once a minute. One that would do so for
// longer than r.patience is stopped.
func (r *report) retry(f retry, now time.Time) {
	t := &trouble{retry: f, kind: kindOfText(f.reason), since: now}
	if r.trouble != nil {
		t.since = r.trouble.since
	}
	r.trouble = t
	switch {
	case f.wait > run.DefaultRetry: // which is what a provider asks for whose limit is reached, whatever it says
		t.kind, r.resets = run.ErrRateLimited, now.Add(f.wait)
	case t.kind == run.ErrInvalid: // of these no request is made again
		t.kind = run.ErrOverloaded
	}
	if now.Add(f.wait).Sub(t.since) > r.patience {
		r.waits = true
		r.failed(t.kind, t.said())
	} else if now.Sub(r.told) >= time.Minute {
		r.told = now
		again := ""
		if f.wait >= time.Second {
			again = " in " + f.wait.Round(time.Second).String()
		}
		r.news = append(r.news, run.Observed{Notices: []string{fmt.Sprintf("a request to its provider has failed, and it tries again%s: %s", again, t.said())}})
	}
}

// said is the reason of a retry on one line, without control characters.
func (t *trouble) said() string {
	return text.OneLine(plain(t.reason), 300)
}

// waits are what programs say of the end of a limit: how long it lasts, or, of Claude Code's, when it ends, in
// seconds since 1970.
var waits = lazy.Regexp(`(?i)(?:again|retry|resets?) (?:in|after) ([0-9.]+) ?(ms|s|m|h|d)|limit reached\|([0-9]{10})\b`)

// until is what Codex and Claude Code say of the end of a limit: the time of the day, and the day if it is another one or
// more than a day away. Claude Code names its time zone; Codex means that of the machine.
var until = lazy.Regexp(`(again at|resets) (?:([A-Z][a-z]{2} [0-9]+)(?:st|nd|rd|th)?,(?: ([0-9]{4}),?)? )?([0-9]+)(:[0-9]{2})?[ \x{202f}]?([AaPp][Mm])\b(?: \(([^)]*)\))?`)

// asked returns how long a failed request asks to wait, as what a program has printed says last; 0: it does not say.
func asked(printed string, now time.Time) time.Duration {
	all := waits().FindAllStringSubmatch(printed, -1)
	if len(all) == 0 {
		all = until().FindAllStringSubmatch(printed, -1)
		if len(all) == 0 {
			return 0
		}
		return untilEnd(all[len(all)-1], now)
	}
	m := all[len(all)-1]
	if at, err := strconv.ParseInt(m[3], 10, 64); err == nil {
		return max(0, time.Unix(at, 0).Sub(now))
	}
	n, _ := strconv.ParseFloat(m[1], 64) // 0: it is no number
	unit := map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[strings.ToLower(m[2])]
	return time.Duration(min(n*unit, 30*86400) * float64(time.Second))
}

// untilEnd returns the time until the end of a limit, given a match of until; 0 if it is over or is not a valid time.
func untilEnd(m []string, now time.Time) time.Duration {
	if m[7] != "" {
		zone, err := time.LoadLocation(m[7])
		if err != nil {
			return 0
		}
		now = now.In(zone)
	}
	at, err := time.ParseInLocation("Jan 2 2006 3:04PM", fmt.Sprintf("%s %s %s%s%s",
		cmp.Or(m[2], now.Format("Jan 2")), cmp.Or(m[3], now.Format("2006")), m[4], cmp.Or(m[5], ":00"), strings.ToUpper(m[6])), now.Location())
	if err != nil {
		return 0
	}
	at = at.Add(time.Minute) // it is without its seconds
	if m[1] == "resets" && m[2] == "" {
		// Within a day. One that was reached by this clock, which is not the provider's, is asked for again soon.
		switch over := now.Sub(at); {
		case over > run.DefaultRetry:
			at = at.AddDate(0, 0, 1)
		case over > -time.Minute:
			return time.Minute
		}
	}
	return max(0, at.Sub(now))
}

// take returns what is to be recorded now.
func (r *report) take() []run.Observed {
	news := r.news
	r.news = nil
	return news
}

// kindOf returns what a status of HTTP says of a failed request; kind is for those that say
// nothing.
func kindOf(status int, kind run.ErrorKind) run.ErrorKind {
	switch {
	case status == 401 || status == 403:
		return run.ErrAuth
	case status == 429:
		return run.ErrRateLimited
	case status == 413:
		return run.ErrTooLong
	case status >= 500:
		return run.ErrOverloaded
	case status >= 400:
		return run.ErrInvalid
	}
	return kind
}

// statuses are those of HTTP in a text: no parts of times, durations and longer numbers.
var statuses = lazy.Regexp(`(?:^|[^\w.])([45][0-9]{2})\b`)

// kindOfText guesses the kind of a failure from its message, where no status is given.
func kindOfText(s string) run.ErrorKind {
	s = strings.ToLower(s)
	var codes []string
	for _, m := range statuses().FindAllStringSubmatch(s, -1) {
		codes = append(codes, m[1])
	}
	for _, c := range []struct {
		kind  run.ErrorKind
		words []string
	}{
		{run.ErrAuth, []string{"401", "403", "unauthorized", "api key", "api_key", "not logged in", "please run /login", "log in", "login", "authentication"}},
		{run.ErrRateLimited, []string{"429", "rate limit", "rate_limit", "too many requests", "usage limit", "session limit", "weekly limit", "quota"}},
		{run.ErrTooLong, []string{"context window", "context_length", "prompt is too long"}},
		{run.ErrUnreachable, []string{"econnrefused", "connection refused", "connectionrefused", "unable to connect", "enotfound", "error sending request"}},
		{run.ErrOverloaded, []string{"overloaded", "500", "502", "503", "529", "internal server error", "server error", "high demand"}},
	} {
		for _, w := range c.words {
			if number := w[0] <= '9'; number && slices.Contains(codes, w) || !number && strings.Contains(s, w) {
				return c.kind
			}
		}
	}
	return run.ErrInvalid
}
