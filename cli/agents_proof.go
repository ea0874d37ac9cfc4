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

// proofParts are what a proof shows, in this order.
var proofParts = []string{"runs", "logged in", "submission", "permission", "resume", "stop"}

// A prover lets an agent show what it can do, in a run of its own.
type prover struct {
	ws   *app.Workspace
	s    *app.Session
	told func(agentProof)
	left []string // of proofParts
	word string   // that the agent submits
	mark string   // the name of the file that its command would make
}

// proveAgent lets an agent, or a program of external agents by its name, work on a tiny task in a run of its
// own, in mode default and with no one to approve calls: it submits a word, tries a command that needs approval,
// submits the word once more from memory, and is stopped in a turn. told is called with each thing that this
// shows. It returns the run, if there is one; an error is one of the agent's name.
func proveAgent(ctx context.Context, ws *app.Workspace, name string, told func(agentProof)) (run.ID, error) {
	p := &prover{ws: ws, told: told, left: proofParts,
		word: strings.ToLower(rand.Text()[:8]), mark: "pawl-agents-test-" + strings.ToLower(rand.Text()[:8])}
	t, err := p.task(name)
	if err != nil {
		return "", err
	}
	if p.s, err = ws.Start(ctx, t); err != nil {
		p.fail(err.Error())
		return "", nil
	}
	defer p.s.Close()
	p.verdict("")

	state, err := p.turn(ctx, fmt.Sprintf("This is a test of what you can do. Remember the word %s. First run the command `touch %s` once with your shell tool; it may be refused, then go on. Then submit the word with the tool.", p.word, p.mark))
	if end := state.Turn.End; err == nil && state.Submission().Value == "" && end.End == run.EndFailed && state.Usage.Total() == 0 && !answered(state) {
		p.fail(cmp.Or(end.Detail, end.Reason))
		return p.s.ID(), nil
	}
	p.verdict("")
	p.verdict(p.submitted(state, err))
	if err := p.permission(ctx, state.Created.Workspace); err != nil {
		return p.s.ID(), err
	}
	p.verdict(p.submitted(p.turn(ctx, "Submit the word of the first message of this test once more, from memory, with the tool.")))
	p.stop(ctx, state.Created.External)
	return p.s.ID(), nil
}

// task returns the task of an agent, or of a program of external agents.
func (p *prover) task(name string) (app.Task, error) {
	t := app.Task{Agent: name, Mode: string(permission.Default), Name: "test of " + name, Limits: run.Limits{Wall: proofPatience},
		Output: run.Output{Tool: "test-report", ByTool: true, Schema: `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`},
		Rules:  []permission.Rule{{Effect: permission.Ask, Tool: "shell", Pattern: "touch *", Why: "a test of the agent"}}}
	if k, model, ok := p.ws.External(name); ok {
		t.Agent, t.Model = "", k.Name+"/"+model
		return t, nil
	}
	r, err := p.ws.Agents()
	if err == nil {
		_, err = r.Get(name)
	}
	return t, err
}

// answered reports whether an agent has said anything. Not all programs say what they have used.
func answered(state run.State) bool {
	return slices.ContainsFunc(state.Heard(), func(m run.Message) bool { return m.Role == run.Assistant && run.PlainText(m.Parts) != "" })
}

// say tells of the next part.
func (p *prover) say(state, why string) {
	p.told(agentProof{p.left[0], state, why})
	p.left = p.left[1:]
}

// verdict tells that the next part is proven, or why not.
func (p *prover) verdict(why string) {
	if why == "" {
		p.say(proven, "")
	} else {
		p.say(unproven, why)
	}
}

// fail tells why the next part is not proven, and that those after it were not tried.
func (p *prover) fail(why string) {
	for p.say(unproven, why); len(p.left) > 0; {
		p.say(untried, "")
	}
}

func (p *prover) turn(ctx context.Context, words string) (run.State, error) {
	if err := p.s.Prompt(ctx, run.Text(words)); err != nil {
		return run.State{}, err
	}
	defer context.AfterFunc(ctx, p.interrupt)()
	return p.s.Wait(context.Background())
}

func (p *prover) interrupt() { p.s.Interrupt(run.Interrupted{Cause: run.ByPerson}) }

// submitted returns why a turn has not submitted the word.
func (p *prover) submitted(state run.State, err error) string {
	var have struct{ Word string }
	value := state.Submission().Value
	switch end := state.Turn.End; {
	case err != nil:
		return err.Error()
	case value == "":
		return cmp.Or(end.Detail, end.Reason, "the turn ended without it")
	case json.Unmarshal([]byte(value), &have) != nil || strings.TrimSpace(strings.ToLower(have.Word)) != p.word:
		return fmt.Sprintf("it submitted %s, and the word was %s", value, p.word)
	}
	return ""
}

// permission tells whether the agent has asked for the command in vain.
func (p *prover) permission(ctx context.Context, workspace string) error {
	file := filepath.Join(workspace, p.mark)
	_, made := os.Stat(file)
	tried, err := called(ctx, p.ws, p.s.ID(), p.mark)
	switch {
	case err != nil:
		return err
	case made == nil:
		p.say(unproven, fmt.Sprintf("it ran touch %s without permission", p.mark))
		_ = os.Remove(file)
	case !tried:
		p.say(untried, "it has not asked for the command, or has no shell")
	default:
		p.say(proven, "")
	}
	return nil
}

// stop tells whether nothing of the agent is left after an interrupt of a long turn.
func (p *prover) stop(ctx context.Context, isExternal bool) {
	following, done := context.WithCancel(ctx)
	after := p.s.State().Seq
	go func() {
		p.works(following, after, isExternal)
		p.interrupt()
	}()
	state, err := p.turn(ctx, "Count from 1 to 1000, each number on a line of its own.")
	done()
	left, leftErr := p.ws.LeftAgents(ctx)
	switch err = errors.Join(err, leftErr); {
	case err != nil:
		p.say(unproven, err.Error())
	case slices.Contains(left, p.s.ID()), slices.Contains(external.AtWork(external.State(p.ws.State)), p.s.ID()):
		p.say(unproven, "it, or a process that it started, works on")
	case state.Turn.End.End != run.EndInterrupted:
		p.say(untried, "its turn was over before: "+string(state.Turn.End.End))
	default:
		p.say(proven, "")
	}
}

// works returns when the agent is at work after an event, or ctx is done.
func (p *prover) works(ctx context.Context, after int64, isExternal bool) {
	for u, err := range p.s.Follow(ctx, after) {
		if err != nil || u.Event == nil {
			continue
		}
		switch f := u.Event.Payload.(type) {
		case run.Observed:
			if len(f.Notices) == 0 { // it begins with those
				return
			}
		case run.Replied, run.RequestFailed:
			return
		case run.RequestStarted:
			if !isExternal {
				return
			}
		}
	}
}

// called reports whether the agent of a run has called a tool with arguments that hold a text.
func called(ctx context.Context, ws *app.Workspace, id run.ID, text string) (bool, error) {
	holds := func(parts []run.Part) bool {
		return slices.ContainsFunc(parts, func(p run.Part) bool { return p.Call != nil && strings.Contains(p.Call.Arguments, text) })
	}
	for e, err := range ws.Events(ctx, id, 0) {
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
