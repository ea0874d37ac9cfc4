package proc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// What a helper that was started ahead is told arrives whole: more than a socket
// holds at once, the folder, empty variables, and arguments with odd characters.
func TestAHelperThatWaitedTakesItsOrderWhole(t *testing.T) {
	t.Parallel()
	if Probe().Isolation != Namespace {
		t.Skip("needs namespaces: without them no helper is started ahead")
	}
	dir := t.TempDir()
	c := Command{Argv: []string{"sh", "-c", `printf '%s|' "$(pwd -P)" "$EMPTY" "${#V0}" "${#V9}" "$1" "$2"`, "sh", "two\nlines", ""}, Dir: dir, Env: []string{"EMPTY="}}
	for i := range 10 {
		c.Env = append(c.Env, fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 100_000)))
	}
	want := dir + "||100000|100000|two\nlines||"
	for i := range 3 { // one of them at least finds a helper that waits
		prepareSpare(helperKind{isolation: Namespace})
		var out bytes.Buffer
		c.Output = &out
		p, err := Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := p.Wait(); err != nil || s.Code != 0 || out.String() != want {
			t.Errorf("start %d: %+v, %v, printed %.200q, want %q", i, s, err, out.String(), want)
		}
	}
}
