package helper

import "testing"

func TestACommandWithTooManyProcessesIsOverItsBounds(t *testing.T) {
	t.Parallel()
	inside, free := Order{Dir: "/"}.bounds(true), Order{Dir: "/"}.bounds(false)
	pids := make([]int, tooManyProcesses)
	if got := inside.exceeded(pids); got != OverProcesses {
		t.Errorf("%d processes: %q", len(pids), got)
	}
	if got := inside.exceeded(pids[1:]); got != 0 {
		t.Errorf("one less: %q", got)
	}
	if got := free.exceeded(pids); got != 0 {
		t.Errorf("outside the sandbox: %q", got)
	}
}
