package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/app"
	"pawl/external"
	"pawl/permission"
	"pawl/run"
)

// An agentProof is what a tiny task has shown of an agent. Its fields are printed as JSON.
type agentProof struct {
	What  string `json:"what"`  // runs, logged in, submission, permission, resume, stop
	State string `json:"state"` // ok, failed, not tried
	Why   string `json:"why,omitempty"`
}

const (
	proven   = "ok"
	unproven = "failed"
	untried  = "not tried"
)

// proofPatience bounds each turn of a proof.
const proofPatience = 5 * time.Minute

// proveAgent lets an agent, or a program of external agents by its name, work on a tiny task in a run of its
// own, in mode default and with no one to approve calls: it submits a word, tries a command that needs approval, submits the word once more
// from memory, and is stopped in a turn. told is called with each thing that this shows. It returns the
// run, if there is one; an error is one of the agent's name.
func proveAgent(ctx context.Context, w *app.Workspace, name string, told func(agentProof)) (run.ID, error) {
	whats := []string{"runs", "logged in", "submission", "permission", "resume", "stop"}
	say := func(state, why string) {
		told(agentProof{whats[0], state, why})
		whats = whats[1:]
	}
	fail := func(why string) {
		for say(unproven, why); len(whats) > 0; {
			say(untried, "")
		}
	}
	word, mark := strings.ToLower(rand.Text()[:8]), "pawl-agents-test-"+strings.ToLower(rand.Text()[:8])
	t := app.Task{Agent: name, Mode: string(permission.Default), Name: "test of " + name, Limits: run.Limits{Wall: proofPatience},
		Output: run.Output{Tool: "test-report", ByTool: true, Schema: `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`},
		Rules:  []permission.Rule{{Effect: permission.Ask, Tool: "shell", Pattern: "touch *", Why: "a test of the agent"}}}
	if k, model, ok := external.Split(name); ok {
		t.Agent, t.Model = "", k.Name+"/"+model
	} else if r, err := w.Agents(); err != nil {
		return "", err
	} else if _, err := r.Get(name); err != nil {
		return "", err
	}
	s, err := w.Start(ctx, t)
	if err != nil {
		fail(err.Error())
		return "", nil
	}
	defer s.Close()
	say(proven, "")
	turn := func(words string) (run.State, error) {
		if err := s.Prompt(ctx, run.Text(words)); err != nil {
			return run.State{}, err
		}
		stop := context.AfterFunc(ctx, func() { s.Interrupt(run.Interrupted{Cause: run.ByPerson}) })
		defer stop()
		return s.Wait(context.Background())
	}
	submitted := func(state run.State, err error) string {
		var have struct{ Word string }
		value := state.Submission().Value
		switch end := state.Turn.End; {
		case err != nil:
			return err.Error()
		case value == "":
			return cmp.Or(end.Detail, end.Reason, "the turn ended without it")
		case json.Unmarshal([]byte(value), &have) != nil || strings.TrimSpace(strings.ToLower(have.Word)) != word:
			return fmt.Sprintf("it submitted %s, and the word was %s", value, word)
		}
		return ""
	}

	state, err := turn(fmt.Sprintf("This is a test of what you can do. Remember the word %s. First run the command `touch %s` once with your shell tool; it may be refused, then go on. Then submit the word with the tool.", word, mark))
	if end := state.Turn.End; err == nil && state.Submission().Value == "" && end.End == run.EndFailed && state.Usage.Total() == 0 {
		fail(cmp.Or(end.Detail, end.Reason))
		return s.ID(), nil
	}
	say(proven, "")
	why := submitted(state, err)
	verdict := func(why string) {
		if why != "" {
			say(unproven, why)
		} else {
			say(proven, "")
		}
	}
	verdict(why)

	file := filepath.Join(state.Created.Workspace, mark)
	_, made := os.Stat(file)
	tried, err := called(ctx, w, s.ID(), mark)
	switch {
	case err != nil:
		return s.ID(), err
	case made == nil:
		say(unproven, fmt.Sprintf("it ran touch %s, which nobody has allowed", mark))
		_ = os.Remove(file)
	case !tried:
		say(untried, "it has not asked for the command, or has no shell")
	default:
		say(proven, "")
	}

	verdict(submitted(turn("Submit the word of the first message of this test once more, from memory, with the tool.")))

	begun := make(chan struct{})
	following, done := context.WithCancel(ctx)
	go func() {
		defer close(begun)
		for u, err := range s.Follow(following, s.State().Seq) {
			if err != nil || u.Event == nil {
				continue
			}
			switch u.Event.Payload.(type) {
			case run.Observed, run.Replied, run.RequestFailed:
				return
			case run.RequestStarted:
				if !state.Created.External {
					return
				}
			}
		}
	}()
	go func() {
		<-begun
		s.Interrupt(run.Interrupted{Cause: run.ByPerson})
	}()
	state, err = turn("Count from 1 to 1000, each number on a line of its own.")
	done()
	left, leftErr := w.LeftAgents(ctx)
	switch err = errors.Join(err, leftErr); {
	case err != nil:
		say(unproven, err.Error())
	case slices.Contains(left, s.ID()), slices.Contains(external.AtWork(external.State(w.State)), s.ID()):
		say(unproven, "it, or a process that it started, works on")
	case state.Turn.End.End != run.EndInterrupted:
		say(untried, "its turn was over before: "+string(state.Turn.End.End))
	default:
		say(proven, "")
	}
	return s.ID(), nil
}

// called reports whether the agent of a run has called a tool with arguments that hold a text.
func called(ctx context.Context, w *app.Workspace, id run.ID, text string) (bool, error) {
	holds := func(parts []run.Part) bool {
		return slices.ContainsFunc(parts, func(p run.Part) bool { return p.Call != nil && strings.Contains(p.Call.Arguments, text) })
	}
	for e, err := range w.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		found := false
		switch p := e.Payload.(type) {
		case run.CallReceived:
			found = strings.Contains(p.Call.Arguments, text)
		case run.Replied:
			found = holds(p.Parts)
		case run.Observed:
			found = holds(p.Parts)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}
