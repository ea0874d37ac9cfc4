package worker

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pawl/permission"
	"pawl/request"
)

// diagnostics lets the rig's worker write its diagnostics; lines returns those so far that begin with one
// of some messages, without the time and the process.
func diagnostics(r *rig) (all *bytes.Buffer, lines func(messages ...string) []string) {
	all = new(bytes.Buffer)
	r.w.Log = slog.New(slog.NewTextHandler(all, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "pid" || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}}))
	return all, func(messages ...string) []string {
		var found []string
		for line := range strings.Lines(all.String()) {
			if slices.ContainsFunc(messages, func(m string) bool {
				return strings.Contains(line, `msg="`+m+`"`) || strings.Contains(line, "msg="+m+" ")
			}) {
				found = append(found, strings.TrimSpace(line))
			}
		}
		return found
	}
}

// The diagnostics say what was decided of each call and what came of it, never what it was given or gave.
func TestTheDiagnosticsSayWhatCameOfCallsAndNotWhatTheySaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok secret"}},{"tool":"edit","args":{"do":"ok secret"}},{"tool":"read","args":{"do":"panic"}}]}
{"calls":[{"tool":"read","args":{"do":"wait"}}]}`)
		all, lines := diagnostics(r)
		r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
			if q.Tool == "edit" {
				return permission.Decision{Verdict: permission.Deny, Source: "project", Rule: "edit", Reason: "never"}
			}
			return permission.Decision{Verdict: permission.Allow, Source: "default"}
		})
		d := r.create()
		go func() {
			for do := range r.read.begun {
				if do == "wait" {
					interrupt(d)()
					return
				}
			}
		}()
		r.run(d, prompt("go"))
		got := lines("call decided", "call started", "call settled", "a tool panicked", "interrupted", "turn ended")
		slices.Sort(got) // calls run beside each other
		want := []string{
			`level=DEBUG msg="call decided" run=r call=c_1 answer=allow source=default rule=""`,
			`level=DEBUG msg="call decided" run=r call=c_2 answer=deny source=project rule=edit`,
			`level=DEBUG msg="call decided" run=r call=c_3 answer=allow source=default rule=""`,
			`level=DEBUG msg="call decided" run=r call=c_4 answer=allow source=default rule=""`,
			`level=DEBUG msg="call settled" run=r call=c_1 outcome=ok`,
			`level=DEBUG msg="call settled" run=r call=c_3 outcome=error`,
			`level=DEBUG msg="call settled" run=r call=c_4 outcome=cut`,
			`level=DEBUG msg="call started" run=r call=c_1`,
			`level=DEBUG msg="call started" run=r call=c_3`,
			`level=DEBUG msg="call started" run=r call=c_4`,
			`level=DEBUG msg="turn ended" run=r end=interrupted reason=person`,
			`level=DEBUG msg=interrupted run=r cause=person`,
			`level=ERROR msg="a tool panicked" run=r call=c_3 tool=read panic="oh no"`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("the diagnostics are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if strings.Contains(all.String(), "secret") {
			t.Error("they tell what a call was given")
		}
	})
}

// The diagnostics say why viewers cannot connect.
func TestTheDiagnosticsSayThatThereIsNoSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Done."}`)
	_, lines := diagnostics(r)
	r.w.SocketDir = filepath.Join(t.TempDir(), strings.Repeat("x", 200)) // longer than the address of a socket may be
	d := r.create()
	defer d.Close()
	if got := lines("no socket for viewers"); len(got) != 1 || !strings.HasPrefix(got[0], `level=WARN msg="no socket for viewers" run=r error=`) {
		t.Errorf("the diagnostics are %q", got)
	}
	if n := d.Viewers(); n != 0 {
		t.Errorf("%d follow it", n)
	}
}

// What comes too late in a row of the inbox is told to the diagnostics alone.
func TestTheDiagnosticsSayWhatWasRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"ok"}}]}
{"text":"Done."}`)
		_, lines := diagnostics(r)
		d := r.create()
		defer d.Close()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		put(t, r, "k", request.Withdraw{ID: "delivered long ago"})
		if _, err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lines("refused"); len(got) != 1 || !strings.Contains(got[0], "run=r row=1 error=") {
			t.Errorf("the diagnostics are %q", got)
		}
	})
}
