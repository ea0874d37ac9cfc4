package cli

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/cli/command"
	"pawl/report"
)

// What is said of a check stands beside its name unless that is long: one long name does not push
// all others off an ordinary terminal.
func TestALongNameOfACheckWidensNoColumn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	inv := &command.Invocation{Process: command.Process{Stdout: &out}}
	err := printReport(inv, report.Report{Version: "1", Usable: true, Checks: []report.Check{
		{Topic: "sandbox", Name: "a command that only reads changes nothing", State: report.Good, Detail: "a read-only file tree"},
		{Topic: "sandbox", Name: "the network", State: report.Good, Detail: "one of its own"},
		{Topic: "sandbox", Name: "disk", State: report.Good, Detail: "no limit", Next: "set quotas"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `
sandbox
  ok  a command that only reads changes nothing
        a read-only file tree
  ok  the network  one of its own
  ok  disk         no limit
                   → set quotas

Ready: pawl run "…"
`
	_, got, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// On a terminal what is said of a check is broken in its own column.
func TestChecksFitTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	inv := &command.Invocation{Process: command.Process{Stdout: &out, Columns: 40}}
	err := printReport(inv, report.Report{Version: "1", Usable: true, Checks: []report.Check{
		{Topic: "sandbox", Name: "a command that only reads changes nothing", State: report.Good, Detail: "a read-only file tree, made for each of the commands"},
		{Topic: "sandbox", Name: "disk", State: report.Good, Detail: "no limit for what commands write", Next: "set quotas for the user that runs pawl"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `
sandbox
  ok  a command that only reads changes nothing
        a read-only file tree, made for
        each of the commands
  ok  disk  no limit for what commands
            write
            → set quotas for the user
              that runs pawl

Ready: pawl run "…"
`
	_, got, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
