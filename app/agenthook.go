package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl/external"
	"pawl/internal/atomicfile"
	"pawl/judge"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
	"pawl/worker"
)

// AgentHook answers the hook of an external agent, which asks before every use of a tool of the
// agent's own; input is in the form of [external.Kind.Asked]. Claude Code is told what pawl's rules say
// before it looks at rules of its own (PreToolUse, as observed in 2.1.197): deny, ask, or nothing
// where it decides, and asks pawl about what it does not allow by itself. The other programs have
// no further question: a person is asked here, for as long as patience, and no answer allows. With an
// error, whose text the agent is told, the tool must not be used.
func (w *Workspace) AgentHook(ctx context.Context, id run.ID, input []byte, patience time.Duration) ([]byte, error) {
	_, state, err := w.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	k, _, _ := w.External(state.Config.Model)
	asked, ok, err := k.Asked(input)
	if err != nil || !ok {
		return nil, err
	}
	verdict, reason, err := w.hookVerdict(id, state, k, &asked)
	switch {
	case err != nil:
		return nil, err
	case verdict == "" || verdict == permission.Allow:
		return nil, w.keepEdited(ctx, id, state, asked)
	case k.PermissionTool:
		type decision struct {
			Event   string             `json:"hookEventName"`
			Verdict permission.Verdict `json:"permissionDecision"`
			Reason  string             `json:"permissionDecisionReason"`
		}
		return json.Marshal(struct {
			Decision decision `json:"hookSpecificOutput"`
		}{decision{"PreToolUse", verdict, "pawl: " + reason}})
	case verdict == permission.Deny:
		return nil, errors.New(reason)
	}
	answer, err := (&agentServer{w: w, id: id, patience: patience}).permission(ctx, "hook-"+rand.Text(), asked)
	if err == nil && answer.IsError {
		err = errors.New(answer.Text)
	}
	if err == nil {
		err = w.keepEdited(ctx, id, state, asked)
	}
	return nil, err
}

// hookVerdict is what the rules say of a use. "" leaves it to the program, which has permissions of its own.
func (w *Workspace) hookVerdict(id run.ID, state run.State, k external.Kind, asked *external.Asked) (permission.Verdict, string, error) {
	dir := state.Created.Workspace
	if asked.Dir == dir {
		asked.Dir = ""
	} else if asked.Dir != "" && k.PermissionTool { // for the question that the agent may ask after this
		if err := atomicfile.Write(w.agentDirFile(id, asked.ID), []byte(asked.Dir), atomicfile.NoSync); err != nil {
			return "", "", err
		}
	}
	p, err := w.openPolicy()
	if err != nil {
		return "", "", err
	}
	given, err := atomicfile.Read(w.rulesFile(id))
	if err != nil {
		return "", "", fmt.Errorf("the rules of the run's flags and settings: %w", err)
	}
	var rules permission.Rules
	if err := json.Unmarshal(given, &rules); err != nil {
		return "", "", fmt.Errorf("the rules of the run's flags and settings: %w", err)
	}
	p.SetRules(rules)

	args, err := json.Marshal(asked)
	if err != nil {
		return "", "", err
	}
	env := tool.Env{Workspace: dir, Dirs: state.Config.Dirs, StateDir: w.State, Session: &tool.Session{}}
	in, err := permissionTool{}.Inspect(env, args)
	if err != nil {
		return permission.Deny, err.Error(), nil
	}
	if slices.Contains(ToolNames(), in.As) && !state.Config.Tools.Has(in.As) {
		return permission.Deny, worker.NotGranted(state, in.As, state.Config.Tools.Names()).Error(), nil
	}
	if in.Class == run.Writes && len(in.Paths) > 0 && in.Command == "" && sandbox.Probe().Confines() {
		known, err := sandbox.For(dir, w.folderOptions(dir, ""))
		if err != nil {
			return "", "", err
		}
		defer known.Close()
		env.Sandbox = known
	}
	mode := permission.ModeOf(state.Config.Mode)
	r := w.judge(p).Of(judge.Call{Run: id, Mode: mode, Intent: in, Args: args, Env: env}).Request
	if dir != w.Dir && r.Edits && slices.ContainsFunc(r.Resolved, filepath.IsAbs) {
		return permission.Deny, "the task works in a copy of the repository: it changes files there, and not " + in.Paths[0], nil
	}
	// A sandbox of the program's own keeps commands from changing things, and lets them read all that the person may.
	confines := k.Confines(state.Config.Mode)
	r.ReadsUnconfined = confines || k.PermissionTool
	if !k.PermissionTool {
		r.Sandboxed, r.EnforcesReadOnly = confines, confines
		d := p.Decide(id, mode, r)
		return d.Verdict, because(d), nil
	}
	if mode == permission.Plan && in.As != permissionName {
		// What only reads is not refused for want of a sandbox: without this hook the agent
		// allows it by itself.
		reading := r
		reading.Sandboxed, reading.EnforcesReadOnly = true, true
		if d := p.Decide(id, mode, reading); d.Verdict == permission.Deny {
			return permission.Deny, because(d), nil
		}
		mode = permission.Default
	}
	// The agent has lists of commands that read; but it does not see where a link or a folder leads, nor what is secret.
	if d := p.Decide(id, mode, r); d.Verdict != permission.Allow {
		return d.Verdict, because(d), nil
	}
	// In this mode only what a rule denies, or might deny, does not run.
	if d := p.Decide(id, permission.Bypass, r); d.Verdict != permission.Allow {
		return d.Verdict, because(d), nil
	}
	return "", "", nil
}

// because is the reason of a decision with the rule that made it.
func because(d permission.Decision) string {
	if d.Rule == "" {
		return d.Reason
	}
	return d.Reason + " (rule " + d.Rule + ")"
}

// rulesFile is where the hook of a run's agent finds the rules of flags, environment and
// configuration, which only the process knows that drives the run.
func (w *Workspace) rulesFile(id run.ID) string {
	return filepath.Join(external.Folder(w.externalState(), id), "rules.json")
}

// agentDirFile is where the hook leaves the folder that the agent is in when it uses a tool.
func (w *Workspace) agentDirFile(id run.ID, use string) string {
	sum := sha256.Sum256([]byte(use))
	return filepath.Join(external.Folder(w.externalState(), id), "cwd-"+hex.EncodeToString(sum[:12]))
}

// agentDir returns the folder that the agent is in when it uses a tool; empty: the workspace.
func (w *Workspace) agentDir(id run.ID, use string) (string, error) {
	file := w.agentDirFile(id, use)
	b, err := atomicfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), cmp.Or(err, os.Remove(file))
}
