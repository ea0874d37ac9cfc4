package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"pawl/agent"
	"pawl/config"
	"pawl/external"
	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/mcp"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/submission"
	"pawl/tool/changes"
	"pawl/worker"
)

//go:embed external.md
var externalText string

// checkModel returns what is missing before a model, or the program of an external agent, can
// be used. It does not touch the network.
func (w *Workspace) checkModel(s *settings, model string) error {
	k, _, ok := s.programs.Split(model)
	if !ok {
		return s.models.Check(model, w.Dir)
	}
	if _, err := k.Find(w.env.Get("PATH"), w.Dir); err != nil {
		return config.Errorf("%w", err)
	}
	return w.checkObeyed(s.policy, k, w.Dir)
}

// checkLogin returns an error if the program of a model's external agent is installed and the user is not logged in to it. This may
// start the program, so it is done when a run or task begins, and not for each agent in a list.
func (w *Workspace) checkLogin(s *settings, model string) error {
	k, name, _ := s.programs.Split(model)
	path, err := k.Find(w.env.Get("PATH"), w.Dir)
	if err != nil {
		return nil // which is said elsewhere
	}
	if err := k.LoggedOut(path, name, w.env.Get); err != nil {
		return config.Errorf("%w", err)
	}
	return nil
}

// obeyed returns the files and folders that programs of external agents on this machine obey.
func (w *Workspace) obeyed() (names []string) {
	programs, _ := w.programs() // an error is that of the settings
	for _, k := range programs.All() {
		if len(k.Obeys) == 0 {
			continue
		}
		if _, err := k.Find(w.env.Get("PATH")); err == nil {
			names = append(names, k.Obeys...)
		}
	}
	return names
}

// checkObeyed returns an error if a program would obey files in a workspace - this one, or a copy
// of it - or in a folder above it that a person has not trusted. What is in the person's home itself
// is the person's own.
func (w *Workspace) checkObeyed(p *policy.Policy, k external.Kind, workspace string) error {
	if len(k.Obeys) == 0 {
		return nil
	}
	home, _ := filepath.EvalSymlinks(w.env.Get("HOME"))
	for dir := workspace; ; dir = filepath.Dir(dir) {
		of, trust := dir, fmt.Sprintf("`pawl -C %s trust`", policy.Visible(dir))
		if dir == workspace {
			of, trust = w.Dir, "`pawl trust`"
		}
		var found []string
		if dir != home || dir == workspace {
			var err error
			if found, err = p.Unreviewed(dir, of, k.Obeys); err != nil {
				return fmt.Errorf("whether %s is trusted: %w", dir, err)
			}
		}
		if len(found) > 0 {
			return config.Errorf("%s obeys, and runs the code of, files in %s that you have not trusted: %s. Review them with %s, or remove them",
				k.Title, policy.Visible(dir), policy.Visible(text.First(strings.Join(found, ", "), 300)), trust)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// checkReadAtStart returns an error if a program would read by itself, before its first request, what the rules do not
// allow it to read.
func (w *Workspace) checkReadAtStart(t worker.AgentTurn, state run.State, k external.Kind) error {
	if !k.Imports() {
		return nil
	}
	top := t.Workspace // as the program finds it: a .git counts for it that does not for [instructions.Root]
	for dir := top; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			top = dir
			break
		}
	}
	files := k.ReadWith(top, t.Workspace)
	if len(files) == 0 {
		return nil
	}
	input, err := json.Marshal(map[string]any{"file_paths": files})
	if err != nil {
		return err
	}
	verdict, reason, err := w.hookVerdict(t.Run, state, k, &external.Asked{Tool: "Read", Input: input, Dir: t.Workspace})
	if err == nil && verdict != permission.Allow {
		err = config.Errorf("%s would read what a file for agents in %s links to or imports, and nothing allows that: %s", k.Title, policy.Visible(top), policy.Visible(reason))
	}
	return err
}

// externalPrompt returns what an external agent is told at the beginning of its conversation.
// It has a system prompt of its own, and tools of its own.
func externalPrompt(workspace, instructions string, k external.Kind, a agent.Agent, others string, o run.Output) string {
	text := externalText
	if k.Calls {
		text = strings.Replace(text, "through the MCP server `pawl`", "by the command `\"$PAWL\" mcp call TOOL 'JSON'`", 1)
	}
	prompt := promptOf(text, workspace, instructions, a, others, o)
	switch {
	case o.Schema != "" && k.Calls:
		prompt += fmt.Sprintf("\nYou have it as the command `\"$PAWL\" mcp call %s 'JSON'`. The JSON fits this schema: %s\n", submission.Wire(o.Tool), o.Schema)
	case o.Schema != "":
		prompt += fmt.Sprintf("\nYou have it as the tool %s of the MCP server %s.\n", k.ToolName(submission.Wire(o.Tool)), external.ServerName)
	}
	return prompt
}

// externalAgents runs the turns of external agents.
type externalAgents struct{ w *Workspace }

func (x externalAgents) Turn(ctx context.Context, t worker.AgentTurn) iter.Seq2[run.Payload, error] {
	return func(yield func(run.Payload, error) bool) {
		turn, notices, done, err := x.turn(t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		if len(notices) > 0 && !yield(run.Observed{Notices: notices}, nil) {
			return
		}
		known := changes.Track(x.w.State, t.Workspace)
		defer known.Release()
		if turn.Mode != string(permission.Plan) {
			known.Prepare() // else the hook of the first command looks at all of the workspace
		}
		uses := map[run.CallID]string{}
		turn.Events(ctx)(func(p run.Payload, err error) bool {
			if o, ok := p.(run.Observed); ok {
				x.w.addEdits(t, uses, o.Parts)
			}
			return yield(p, err)
		})
		x.w.endUses(t, uses)
	}
}

// turn returns a turn as package external takes it, and what people are told of it. done is to be called after it: then calls
// with its token are refused.
func (x externalAgents) turn(t worker.AgentTurn) (turn external.Turn, notices []string, done func(), err error) {
	w := x.w
	k, model, ok := w.External(t.Model)
	if !ok {
		return turn, nil, nil, fmt.Errorf("the run is one of an external agent, and its model %s is not one: there are %s", visible.Quote(t.Model), w.externalNames())
	}
	program, err := k.Find(w.env.Get("PATH"), w.Dir, w.copies(), t.Workspace)
	if err != nil {
		return turn, nil, nil, err
	}
	s, err := w.load()
	if err != nil {
		return turn, nil, nil, err
	}
	if err := w.checkObeyed(s.policy, k, t.Workspace); err != nil {
		return turn, nil, nil, err
	}
	left, err := w.EndLeftAgents(context.Background())
	if err != nil {
		return turn, nil, nil, err
	}
	for _, id := range left {
		t.Notice(fmt.Sprintf("ended the agent of run %s, which a killed process had left", id))
	}
	if err := os.RemoveAll(w.editsDir(t.Run)); err != nil { // of a turn that was cut off
		return turn, nil, nil, err
	}
	token := rand.Text()
	if err := atomicfile.Write(w.tokenFile(t.Run), []byte(tokenHash(token)), atomicfile.Durable); err != nil {
		return turn, nil, nil, err
	}
	git, remains := s.confinement.AgentGit(os.Environ(), t.Workspace)
	if remains != "" {
		return turn, nil, nil, config.Errorf("the git of %s would run what the repository names: %s. Remove it, or check it and put it into your own configuration of git", k.Title, policy.Visible(remains))
	}
	turn = external.Turn{Kind: k, Program: program, Env: append(os.Environ(), git...), Keys: s.shellOptions().Keys(), Run: t.Run, Workspace: t.Workspace,
		State: w.externalState(), Model: model, Mode: t.Mode, System: t.System, Message: t.Message, Conversation: t.Conversation, Summary: t.Summary,
		Server: external.Server{Command: []string{ownProgram(), "-C", w.Dir, "mcp", "serve", "--run", string(t.Run)}, Env: map[string]string{external.TokenVariable: token}}}
	// Not all programs pass their environment on to servers.
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "USER", "LANG", "PAWL_STATE_DIR", config.StoreVariable, "PAWL_MANAGED_RULES", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		if v := w.env.Get(name); v != "" {
			turn.Server.Env[name] = v
		}
	}
	rules, err := s.rules(ToolNames())
	if err != nil {
		return turn, nil, nil, err
	}
	b, err := json.Marshal(rules)
	if err == nil {
		err = atomicfile.Write(w.rulesFile(t.Run), b, atomicfile.NoSync)
	}
	if err != nil {
		return turn, nil, nil, err
	}
	turn.Server.Hook = []string{ownProgram(), "-C", w.Dir, "mcp", "hook", "--run", string(t.Run)}
	_, state, err := w.Load(context.Background(), t.Run)
	if err != nil {
		return turn, nil, nil, err
	}
	turn.Retry = state.Config.Retry
	if err := w.checkReadAtStart(t, state, k); err != nil {
		return turn, nil, nil, err
	}
	tools, omitted, err := w.agentTools(s, state)
	if err != nil {
		return turn, nil, nil, err
	}
	done = func() { _ = os.Remove(w.tokenFile(t.Run)) } // the next turn replaces it
	if k.Described {
		if !slices.ContainsFunc([]string{"edit", "write", "shell"}, state.Config.Tools.Has) {
			turn.Mode = string(permission.Plan) // an agent that only reads, such as a planner
		}
		open, err := w.confineProgram(s, &turn, state.Config.Dirs)
		if err != nil {
			return turn, nil, nil, err
		}
		address, stop, err := mcp.Offer(func(token string) (*mcp.Server, error) { return w.AgentServer(t.Run, token, external.DecisionPatience) })
		if err != nil {
			open()
			return turn, nil, nil, err
		}
		turn.Notice, turn.Server.Env[external.AddressVariable] = t.Notice, address
		done = func() { stop(); open(); _ = os.Remove(w.tokenFile(t.Run)) }
	}
	if t.Conversation == "" && t.Summary == "" {
		notices = w.ownWays(k, turn.Mode, program)
	}
	notices = append(notices, omitted...)
	for _, tool := range tools {
		turn.Server.Tools = append(turn.Server.Tools, tool.wire)
		if tool.spec.Name == permissionName {
			turn.Server.Permission = tool.wire
		}
	}
	return turn, notices, done, nil
}

// ownWays returns what a person is told before a first turn: what the program does in its own way, not in pawl's.
func (w *Workspace) ownWays(k external.Kind, mode, program string) []string {
	notices := []string{k.Bounds(mode)}
	if files := k.OwnHooks(w.env.Get); len(files) > 0 {
		notices = append(notices, fmt.Sprintf("%s runs your hooks in %s in this folder, outside of pawl's sandbox: "+
			"one that runs what a repository brings, such as npx or make, does so without a question", k.Title, strings.Join(files, " and ")))
	}
	if ids := k.PluginServers(w.env.Get); len(ids) > 0 {
		notices = append(notices, fmt.Sprintf("%s does not start the MCP servers of your plugins %s, as it would do so in this folder, where a repository decides what npx or uvx run; "+
			"`claude mcp add` gives it a server that works elsewhere", k.Title, policy.Visible(strings.Join(ids, ", "))))
	}
	if untested := k.Untested(k.Installed(program)); untested != "" {
		notices = append(notices, untested)
	}
	return notices
}

func (w *Workspace) externalState() string { return external.State(w.State) }

func (w *Workspace) tokenFile(id run.ID) string {
	return filepath.Join(external.Folder(w.externalState(), id), "token")
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// checkToken returns an error unless the token is that of the run's turn.
func (w *Workspace) checkToken(id run.ID, token string) error {
	want, err := atomicfile.Read(w.tokenFile(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("not granted: no turn of an external agent is at work in run %s", id)
	case err != nil:
		return err
	case subtle.ConstantTimeCompare(want, []byte(tokenHash(token))) != 1:
		return fmt.Errorf("not granted: the token in %s is not that of run %s", external.TokenVariable, id)
	}
	return nil
}

// ownProgram returns the path of this program as it was started: a name that is a link to it
// may mean something.
func ownProgram() string {
	self, err := os.Executable()
	started, lookErr := exec.LookPath(os.Args[0])
	if lookErr != nil {
		return cmp.Or(self, os.Args[0])
	}
	a, aErr := os.Stat(self)
	b, bErr := os.Stat(started)
	if abs, absErr := filepath.Abs(started); absErr == nil && (err != nil || aErr == nil && bErr == nil && os.SameFile(a, b)) {
		return abs
	}
	return self
}

// External splits a model of an external agent: see [external.Registry.Split].
func (w *Workspace) External(model string) (k external.Kind, name string, ok bool) {
	programs, _ := w.programs() // an error is that of the settings
	return programs.Split(model)
}

func (w *Workspace) externalNames() string {
	var names []string
	programs, _ := w.programs()
	for _, k := range programs.All() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}
