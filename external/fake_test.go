//go:build unix

package external_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/external"
)

// fakeAgent is a program that speaks the stream of Claude Code and does what
// EXTERNAL_TEST_DO says.
func fakeAgent() {
	do := os.Getenv("EXTERNAL_TEST_DO")
	args := strings.Join(os.Args[1:], " ")
	if do == "nested" { // a pawl that an agent has started
		state := os.Getenv("EXTERNAL_TEST_STATE")
		external.End(state, "r")
		fmt.Print("at work are ", external.AtWork(state))
		return
	}
	if do == "mild child" { // ends at the second signal
		signal.Ignore(os.Interrupt)
		forever()
	}
	if do == "child" { // ignores all that can be ignored
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		forever()
	}
	session := os.Args[slices.IndexFunc(os.Args, func(a string) bool { return a == "--session-id" || a == "--resume" })+1]
	switch {
	case do == "in use" && strings.Contains(args, "--session-id"):
		fmt.Fprintf(os.Stderr, "Error: Session ID %s is already in use.\n", session)
		os.Exit(1)
	case do == "unknown" && strings.Contains(args, "--resume"):
		fmt.Fprintf(os.Stderr, "No conversation found with session ID: %s\n", session)
		os.Exit(1)
	}
	say("system", map[string]any{"subtype": "init", "session_id": session, "model": "fake"})
	switch do {
	case "crash":
		text("half")
		text("of it")
		fmt.Fprintln(os.Stderr, "something broke")
		os.Exit(3)
	case "silent":
		forever()
	case "polite": // ends at the second signal
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		text("ready")
		text("waiting")
		text(fmt.Sprint("got ", <-signals))
		text(fmt.Sprint("got ", <-signals))
		text("bye")
		return
	case "stubborn": // ignores signals, with a child in a session of its own
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		text(fmt.Sprint("child ", startChild(os.Environ(), true)))
		text("waiting")
		forever()
	case "bare", "obedient": // its child has dropped the environment
		if do == "bare" {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
		}
		text(fmt.Sprint("child ", startChild(bare, true)))
		text("waiting")
		forever()
	case "orphan": // ends well and leaves a child that is not of its tree any more, with its output
		prints := os.Getenv("EXTERNAL_TEST_PRINTS") // a command that prints for ever
		cmd := exec.Command("setsid", "sh", "-c", `"$0" & echo $! >"$1"`, cmp.Or(prints, os.Args[0]), os.Getenv("EXTERNAL_TEST_FILE"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "EXTERNAL_TEST_ROLE=agent", "EXTERNAL_TEST_DO=child"}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		text("Done.")
	case "lingers": // it does not end when its turn has
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		text("Done.")
		say("result", map[string]any{"subtype": "success", "stop_reason": "end_turn"})
		text("I wait.")
		forever()
	case "leave": // ends well and leaves a child
		text(fmt.Sprint("child ", startChild(os.Environ(), true)))
	case "leave in its session": // a child that has dropped the environment
		text(fmt.Sprint("child ", startChild(bare, false)))
	case "error":
		say("result", map[string]any{"subtype": "success", "is_error": true, "api_error_status": 401, "result": "API Error: no key"})
		return
	case "lies": // an exit code is no success, and no failure either
		text("Done.")
		say("result", map[string]any{"subtype": "success", "result": "Done.", "stop_reason": "end_turn"})
		os.Exit(7)
	default:
		stdin, _ := io.ReadAll(os.Stdin)
		report, _ := json.Marshal(map[string]any{"args": os.Args[1:], "stdin": string(stdin), "env": os.Environ()})
		text(string(report))
	}
	say("result", map[string]any{"subtype": "success", "session_id": session, "stop_reason": "end_turn", "total_cost_usd": 0.5, "usage": map[string]any{"input_tokens": 3, "output_tokens": 4}})
}

func say(kind string, v map[string]any) {
	v["type"] = kind
	b, _ := json.Marshal(v) // of strings
	fmt.Println(string(b))
}

func text(s string) {
	say("assistant", map[string]any{"message": map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": s}}}})
}

// bare is the environment of a child that has dropped what it was given.
var bare = []string{"EXTERNAL_TEST_ROLE=agent"}

// startChild starts a process, if own in a session of its own, and returns its id when it
// ignores signals.
func startChild(env []string, own bool) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(slices.Clone(env), "EXTERNAL_TEST_DO=child")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_, _ = bufio.NewReader(out).ReadString('\n')
	return cmd.Process.Pid
}

// forever blocks until the process is killed.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
