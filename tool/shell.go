package tool

import (
	"context"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/proc"
	"pawl/internal/secret"
	"pawl/permission"
	"pawl/permission/filenames"
	"pawl/permission/network"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool/changes"
	"pawl/tool/printed"
	"pawl/tool/proxy"
	"pawl/tool/tree"
)

//go:embed shell.md
var shellText string

const shellSchema = `{"type":"object","properties":{` +
	`"command":{"type":"string"},` +
	`"timeout_seconds":{"type":"integer","description":"At most 600; default 120, none for jobs"},` +
	`"background":{"type":"boolean"},` +
	`"sandbox":{"type":"string","enum":["write","network","none"]},` +
	`"hosts":{"type":"array","items":{"type":"string"}}},` +
	`"required":["command"],"additionalProperties":false}`

const (
	defaultTimeLimit = 120
	maxTimeLimit     = 600
	// maxCommand is in bytes: Linux takes no argument of 128 KiB
	// (MAX_ARG_STRLEN, linux/binfmts.h, read 2026-11-20).
	maxCommand = 100_000
	// maxKept is how many bytes one command may print to where results are kept: a
	// command that prints without end would fill the disk long before its time is
	// over. Outputs of 1 GB are ordinary work.
	maxKept = 2 << 30
	// maxKeptReading is the same for a command that runs without a question because of the sandbox.
	maxKeptReading = 256 << 20
	// progressEvery is how often people are shown what a command prints.
	progressEvery = 100 * time.Millisecond
	maxHosts      = 50
	// startPatience is how long a job is watched before the call returns: most
	// that cannot work have ended by then.
	startPatience = 200 * time.Millisecond
)

// wrapper runs the command, its argument, and tells which folder it ended in on the
// descriptor that the shell gets as 3. What the command starts does not get it: it is
// the shell's standard input, which is another while the command runs. A shell closes
// its copy of that on exec, and has put it back when its trap runs.
const wrapper = `exec 0>&3 3>&-; trap 'pwd -P >&0 2>/dev/null' EXIT; eval "set --; $1" </dev/null`

// ShellOptions say which variables of pawl's environment commands get.
type ShellOptions struct {
	// KeyEnv names the variables with the keys of providers: no command gets them.
	KeyEnv []string
	// PassEnv names variables that commands get though they look like secrets.
	PassEnv []string
	// Memory and Disk bound what a command takes, as in [proc.Command]; 0: nothing does.
	Memory, Disk int64
	// Hidden returns the secrets to replace in what commands print; nil: none. See [ShellOptions.Secrets].
	Hidden func() *secret.Values
	// Lookup looks up the hosts that commands reach by name; nil: the resolver of the system.
	Lookup proxy.Lookup
	// Named are the secrets that rules may give to commands. Their variables are kept from all commands, like KeyEnv.
	Named []Secret
	// Roots are whose certificates the hosts of secrets have; nil: the system's.
	Roots *x509.CertPool
	// Fence returns what rules keep from the commands of a run; nil: nothing.
	Fence func(id run.ID, folders []string) sandbox.Fence

	passed *passedEnv // see Remembering; nil: there is no cache
}

// Hide returns text with the secrets of Hidden replaced.
func (o ShellOptions) Hide(text string) string {
	if o.Hidden == nil {
		return text
	}
	return o.Hidden().Hide(text)
}

// fence returns what rules keep from a command.
func (o ShellOptions) fence(env Env, c permission.Classification) (f sandbox.Fence) {
	if o.Fence != nil {
		f = o.Fence(env.Run, append([]string{env.Workspace}, env.Dirs...))
	}
	f.Git, f.Repository = c.Git, c.Repository
	return f
}

// Shell returns the tool that runs shell commands; of options at most one is given.
func Shell(options ...ShellOptions) Tool {
	t := shellTool{kept: maxKept}
	for _, o := range options {
		t.options = o
	}
	return t.tool()
}

type shellTool struct {
	options ShellOptions
	kept    int64 // how many bytes of what a command prints are written to [Call.Output]
}

func (t shellTool) tool() Tool {
	return preparedShell{&builtin{NewSpec("shell", shellText, shellSchema), func() arguments { return &shellArgs{shell: t} }}, t.options}
}

// A preparedShell is a shell tool that builds the file tree of commands before the first.
type preparedShell struct {
	*builtin
	options ShellOptions
}

// Expected returns what a command does that looks around.
func (preparedShell) Expected() Intent {
	return Intent{Class: run.Reads, Command: "ls"}
}

// Reconcile says in the journal what a command has changed whose process died. What became of it nobody knows.
func (s preparedShell) Reconcile(env Env, c Call) (Result, bool) {
	changes.Recover(env.StateDir, c.Run, string(c.ID))
	return Result{}, false
}

func (s preparedShell) Prepare(ctx context.Context, env Env, level run.Confinement) {
	env.tracker().Prepare()
	env.Sandbox.Prepare(ctx, level, s.options.fence(env, permission.Classification{}))
}

type shellArgs struct {
	Command    string   `json:"command"`
	Timeout    number   `json:"timeout_seconds"`
	Background bool     `json:"background"`
	Sandbox    string   `json:"sandbox"`
	Hosts      []string `json:"hosts"`

	shell  shellTool
	limit  time.Duration
	writes bool // the sandbox that it asks for is the ordinary one; see [Intent.Writes]
}

// sandboxWrite asks for the sandbox of commands that a person or a rule allows.
const sandboxWrite = "write"

func (a *shellArgs) check(env Env) error {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return errors.New("command is empty: give a command")
	case strings.ContainsRune(a.Command, 0):
		return errors.New("command has a zero byte in it, which no shell takes")
	case len(a.Command) > maxCommand:
		return fmt.Errorf("command has %s bytes, and at most %s can be run: write a file first and run that",
			commas(int64(len(a.Command))), commas(maxCommand))
	}
	a.writes = a.Sandbox == sandboxWrite
	if a.writes {
		a.Sandbox = string(run.Confined)
	}
	switch run.Confinement(a.Sandbox) {
	case run.Confined, run.WithNetwork, run.Unconfined:
	default:
		return fmt.Errorf("sandbox is %q: leave it out, or give %q, %q or %q", clip(a.Sandbox, 40), sandboxWrite, run.WithNetwork, run.Unconfined)
	}
	if len(a.Hosts) > maxHosts {
		return fmt.Errorf("there are %d hosts, and at most %d can be given: give sandbox %q", len(a.Hosts), maxHosts, run.WithNetwork)
	}
	if slices.ContainsFunc(a.Hosts, func(h string) bool { return strings.Contains(h, "@") }) {
		return errors.New("hosts: a call cannot ask for a secret (NAME@HOST), which rules give alone: name the host, or leave hosts out")
	}
	if len(a.Hosts) > 0 {
		confined, err := permission.NetworkOf(run.Confinement(a.Sandbox), append(slices.Clone(a.Hosts), permission.HostsOf(a.Command)...))
		switch {
		case err != nil:
			return fmt.Errorf("hosts: %w", err)
		case !env.Sandbox.ByHost():
			return fmt.Errorf("hosts cannot be told apart on this machine: leave them out, or give sandbox %q", run.WithNetwork)
		}
		a.Sandbox = string(confined)
	}
	def := defaultTimeLimit
	if a.Background {
		def = 0
	}
	seconds, err := a.Timeout.bounded("timeout_seconds", def, 1, maxTimeLimit)
	a.limit = time.Duration(seconds) * time.Second
	return err
}

// bash returns the path of bash. One that a command has left in the workspace is not it.
func bash(env Env) (string, error) {
	return proc.Find("bash", os.Getenv("PATH"), append([]string{env.Workspace}, env.Dirs...)...)
}

func (a *shellArgs) inspect(env Env) (Intent, error) {
	if _, err := bash(env); err != nil {
		// Another shell reads some commands differently from how they are judged.
		return Intent{}, tell("there is no bash on this machine, and no other shell is used: a person has to install it.")
	}
	c := permission.Classify(a.Command)
	in := Intent{
		Class:   c.Class,
		Polls:   c.Waits && !a.Background,
		Command: a.Command,
		Sandbox: run.Confinement(a.Sandbox),
		// A job goes on while others change the workspace, and what it makes could not be told from that.
		Writes: a.writes || a.Background,
		Title:  clip(strings.Join(strings.Fields(a.Command), " "), 120),
	}
	in.Paths, in.Below = commandPaths(env, c)
	if a.Background {
		in.Class = run.Writes // it continues when its call is over
	}
	// go asks git for the state of what it lists.
	if slices.ContainsFunc(c.Programs, func(p string) bool { return p == "git" || p == "go" }) {
		// Where git runs is the folder, or one that the command names.
		dirs := append([]string{env.Workspace, env.Session.folderOf(env)}, in.Paths...)
		in.Runs, in.Hooks = env.Sandbox.GitPrograms(dirs...)
		in.Tracked = env.Sandbox.Tracked(dirs...)
	}
	return in, nil
}

// leadsAsBefore returns an error if a file that a command names leads elsewhere than when it was allowed: while it waited for
// its turn another run's may have put a link there, into the repository that this one can change.
func leadsAsBefore(env Env, c permission.Classification) error {
	paths, _ := commandPaths(env, permission.Classification{Paths: c.Paths})
	for _, p := range paths {
		if rel, _, err := Resolve(env, p); env.Leads != nil && (err != nil || !slices.Contains(env.Leads, rel)) {
			return fmt.Errorf("%s leads elsewhere than when it was allowed: something replaces links or folders there; try again when it has stopped", p)
		}
	}
	return nil
}

// commandPaths returns the files that a command may name, for whoever looks
// where they lead, and what it would read below them without naming it.
func commandPaths(env Env, c permission.Classification) (paths, inFolders []string) {
	dir := env.Session.folderOf(env)
	absolute := func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return dir + "/" + p // not cleaned: "link/.." is what the kernel makes of it
	}
	for _, p := range c.Paths {
		if p = absolute(p); couldBeFile(p) {
			paths = append(paths, p)
		}
	}
	for _, p := range c.Patterns {
		found, err := filepath.Glob(absolute(p))
		if err != nil {
			found = []string{absolute(p)}
		}
		paths = append(paths, found...)
	}
	if c.Recurses {
		for _, p := range paths {
			inFolders = append(inFolders, SecretsBelow(env, p, c)...)
		}
	}
	return paths, inFolders
}

// Where secrets are looked for that a command reads without naming them: so many
// entries of a folder, more where no sandbox hides the rest, and so many of what is found.
const (
	maxLookedThrough = 50_000
	maxLookedAt      = 500_000
	maxSecrets       = 20
)

// SecretsBelow returns the files below a folder that a command which goes through
// it would read though they may hold secrets; without a sandbox also the links that
// lead out of the workspace. What packages bring along are nobody's secrets, and a
// repository's own folder has none by name; but a command that follows links follows
// theirs, too.
func SecretsBelow(env Env, dir string, c permission.Classification) []string {
	called := func(name string, patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := filepath.Match(p, name)
			return ok
		})
	}
	var found []string
	seen, most, follows := 0, maxLookedThrough, false
	if env.Sandbox == nil {
		most, follows = maxLookedAt, c.Follows
	}
	dirs := []string{dir}
	for i := 0; i < len(dirs); i++ {
		dir, brought := dirs[i], "" // brought: a folder in which only links count
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if seen++; seen == most && env.Sandbox == nil {
				found = append(found, string(filepath.Separator)) // what is not looked at may lead anywhere
			}
			if seen >= most || len(found) >= maxSecrets {
				return fs.SkipAll
			}
			switch name := filepath.Base(path); {
			case err != nil:
				return fs.SkipDir
			case path == dir: // it is looked at by its own name
			case e.IsDir() && (name == ".git" || name == "node_modules"):
				if !follows {
					return fs.SkipDir
				}
				brought = path + string(filepath.Separator)
			case e.Type()&fs.ModeSymlink != 0 && env.Sandbox == nil:
				real, gone := filepath.EvalSymlinks(path)
				rel, outside, err := Resolve(env, path)
				switch info, _ := os.Stat(real); {
				case gone != nil:
				case err != nil || outside || filenames.Secret(filepath.ToSlash(rel)) != "":
					found = append(found, path)
				case follows && info != nil && info.IsDir() && !slices.Contains(dirs, real):
					dirs = append(dirs, real)
				}
			case e.IsDir() || len(c.Only) > 0 && !called(name, c.Only) || brought != "" && strings.HasPrefix(path, brought):
			default:
				rel, _ := filepath.Rel(dir, path)
				if filenames.Secret(filepath.ToSlash(rel)) != "" {
					found = append(found, path)
				}
			}
			return nil
		})
	}
	return found
}

// couldBeFile reports whether a word of a command could name a file that one
// would have to look at: no device that holds nothing, no text of many lines
// or more characters than names have.
func couldBeFile(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return false
	}
	if plausible(p) == nil && !hasLongName(p) {
		return true
	}
	_, err := os.Lstat(p)
	return err == nil
}

// hasLongName reports whether a name in p is longer than file systems take
// (NAME_MAX, linux/limits.h).
func hasLongName(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if len(name) > 255 {
			return true
		}
	}
	return false
}

func (a *shellArgs) run(ctx context.Context, env Env, c Call) (Result, error) {
	state := &env.Session.shell
	dir, note := state.folder(env)
	program, err := bash(env)
	if err != nil {
		return failed(err), nil
	}
	command := proc.Command{
		Argv: []string{program, "-c", wrapper, "bash", a.Command},
		Dir:  dir,
		// By it pawl's own commands know that a run called them, and not a person.
		Env:    append(a.shell.options.childEnv(os.Environ(), dir), "PAWL_RUN="+string(env.Run)),
		Memory: a.shell.options.Memory,
		Disk:   a.shell.options.Disk,
	}
	change, is := run.MayChange, permission.Classify(a.Command)
	if !a.Background && (is.Class == run.Reads || c.Sandbox == run.Trial) {
		change = run.NoChange
	}
	turn, err := env.Sandbox.Turn(ctx, c.Sandbox, is.Repository)
	if err != nil {
		return notStarted("the command was not started: " + err.Error()), nil
	}
	defer turn.Leave()
	if c.Sandbox == run.Inside && is.Repository {
		if err := leadsAsBefore(env, is); err != nil {
			return notStarted("the command was not started: " + err.Error()), nil
		}
	}
	command, session, err := env.Sandbox.Start(command, c.Sandbox, a.shell.options.fence(env, is))
	if err != nil {
		return unconfinable(err), nil
	}
	session.Suggest(permission.HostsOf(a.Command), network.Registries) // what make has run says which
	if err := a.shell.options.openHosts(&command, session, c.Sandbox); err != nil {
		session.End()
		return notStarted("the command was not started: " + err.Error()), nil
	}
	var r Result
	var started bool
	var tracked *changes.Command
	if change == run.MayChange && c.Sandbox != run.ReadOnly {
		tracked = env.tracker().Begin(ctx, c.Run, string(c.ID), a.Background)
	}
	if a.Background {
		r, started = runJob(ctx, state, &job{command: a.Command, tracked: tracked}, command, session, a.limit)
		env.startedJob()
	} else {
		kept := a.shell.kept
		if c.Sandbox == run.ReadOnly || c.Sandbox == run.Trial || c.Sandbox == run.Inside {
			kept = min(kept, maxKeptReading)
		}
		defer tracked.End() // of a panic
		r, started = runHere(ctx, env, command, session, a.limit, kept, is.Class, c)
		r.Files = tracked.EndWith(ctx)
	}
	if r.Change = change; !started {
		r.Change, r.Files = run.NoChange, nil
		tracked.End()
	}
	return withNotes(r, append(bracketed(turn.Notes()...), note)...), nil
}

// unconfinable says that a command was not started because it could not be
// confined.
func unconfinable(err error) Result {
	if errors.Is(err, sandbox.ErrNone) {
		return notStarted(fmt.Sprintf("the command was not started: %v; to run it without a sandbox, repeat the call with \"sandbox\": %q, which a person decides", err, run.Unconfined))
	}
	return notStarted("the command was not started: " + err.Error())
}

// runHere runs a command to its end, and reports whether it started. A command that
// prints more than kept bytes where they are kept is stopped.
func runHere(ctx context.Context, env Env, command proc.Command, session *sandbox.Session, limit time.Duration, kept int64, class run.Class, c Call) (r Result, started bool) {
	defer session.End()
	state := &env.Session.shell
	folder, tell, err := os.Pipe()
	if err != nil {
		return notStarted("the command was not started: " + tree.InWords(err).Error()), false
	}
	defer folder.Close()
	limited, cancel := context.WithTimeoutCause(ctx, limit, timeLimit(limit))
	defer cancel()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	tooMuch := fmt.Errorf("it printed more than %s, the most that is kept of one command", size(kept))
	out := printed.Kept(c.Output, kept, func() { stop(tooMuch) })
	command.Output = out
	command.Extra = []*os.File{tell}
	p, err := proc.Start(limited, command)
	tell.Close()
	if err != nil {
		return notStarted("the command was not started: " + err.Error()), false
	}
	session.StopOn(p.Stop)
	ended := watch(limited, p, out, c.Progress, stopPatience)

	written := c.Output != nil && ctx.Err() == nil && out.Long()
	r = TextResult(out.Take())
	notes := state.notices(nil)
	var last, refusal string
	switch {
	case !ended:
		r.IsError = true
		last = fmt.Sprintf("[stopped: %v; something of it could not be ended and may still run]", context.Cause(limited))
	default:
		status, err := p.Wait()
		notes = append(notes, bracketed(session.End()...)...)
		if status.OutputCut {
			notes = append(notes, "[the end of what it printed may be missing: something of it could not be ended and still holds the output]")
		}
		refusal = session.Refusal(status, r.Content[0].Text)
		// What a command prints to its folder pipe fits the pipe: nobody waits.
		folder.SetReadDeadline(time.Now().Add(progressEvery))
		to, _ := io.ReadAll(io.LimitReader(folder, maxPath+1))
		if moved := state.move(env, command.Dir, strings.TrimSuffix(string(to), "\n")); moved != "" {
			notes = append(notes, moved)
		}
		switch {
		case err != nil:
			r.IsError = true
			last = fmt.Sprintf("[%v]", err)
		case status.Stopped != "":
			r.IsError = true
			last = fmt.Sprintf("[stopped: %s; all it had started is ended, what it had done by then is done]", status.Stopped)
		case status.Lost:
			r.IsError = true
			last = "[" + lostWords + "]"
		case context.Cause(limited) == tooMuch: // and had ended by the time it was to be stopped
			r.IsError = true
			last = fmt.Sprintf("[%v: the rest is lost]", tooMuch)
		default:
			r.ExitCode = &status.Code
			if status.Code != 0 {
				last = "[" + run.ExitWords(status.Code) + "]"
			}
		}
	}
	if c.Sandbox == run.Trial && class != run.Reads && refusal == "" && r.ExitCode != nil {
		refusal = "nothing in the workspace could be changed; \"sandbox\": \"" + sandboxWrite + "\" asks for that"
	}
	notes = append(append(notes, bracketed(refusal)...), last)
	if written {
		r.Content, r.Written = nil, true
	}
	return withNotes(r, notes...), true
}

// bracketed returns sentences as notes, the empty ones left out.
func bracketed(sentences ...string) []string {
	var notes []string
	for _, s := range sentences {
		if s != "" {
			notes = append(notes, "["+s+"]")
		}
	}
	return notes
}

// watch waits for a command to end, showing what it prints, until ctx is done and
// patience is over. It reports whether the command has ended.
func watch(ctx context.Context, p *proc.Process, out *printed.Text, progress func(string), patience time.Duration) bool {
	show := time.NewTicker(progressEvery)
	defer show.Stop()
	stopping := ctx.Done()
	var over <-chan time.Time
	for {
		select {
		case <-p.Done():
			return true
		case <-stopping:
			stopping = nil
			over = time.After(patience)
		case <-over:
			return false
		case <-show.C:
			if progress == nil {
				continue
			}
			if lines, fresh := out.News(5); fresh {
				progress(lines)
			}
		}
	}
}

// runJob starts a command in the background, and reports whether it started.
func runJob(ctx context.Context, state *shellState, j *job, command proc.Command, session *sandbox.Session, limit time.Duration) (r Result, started bool) {
	// The folder a job ends in is nobody's; /dev/null is told.
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		session.End()
		return notStarted("the job was not started: " + tree.InWords(err).Error()), false
	}
	defer null.Close()
	command.Extra = []*os.File{null}
	if err := state.launch(j, command, session, limit); err != nil {
		session.End()
		return failed(err), false
	}
	if ctx.Err() != nil { // who ends all jobs at an interrupt may have looked before this one was there
		j.process.Stop("the turn was interrupted")
	}
	j.wait(ctx, startPatience, nil)
	return jobResult(state, j), true
}

// jobResult tells what a job printed since it was last told, and how it stands.
func jobResult(state *shellState, j *job) Result {
	ending := j.ending() // before its text: what it prints last is not missed
	if !j.running() {
		state.leave(j)
	}
	r := TextResult(j.printed.Take())
	notes := state.notices(j)
	notes = append(notes, bracketed(state.refusal(j, r.Content[0].Text))...)
	if !j.running() {
		state.mu.Lock()
		j.told = true
		state.mu.Unlock()
	}
	return withNotes(r, append(notes, fmt.Sprintf("[%s %s]", j.id, ending))...)
}

// withNotes puts what is to be said under what was printed.
func withNotes(r Result, notes ...string) Result {
	text := strings.TrimSuffix(run.PlainText(r.Content), "\n")
	for _, n := range notes {
		if n == "" {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += n
	}
	switch {
	case text == "" && r.Written:
		r.Content = nil
		return r
	case text == "":
		text = "(no output)"
	}
	r.Content = []run.Part{run.Text(text)}
	return r
}
