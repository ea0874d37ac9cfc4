// Package external runs turns of external agents: command-line programs with an agent loop
// of their own, in their headless modes. It knows how each is started, what it prints and how
// it is stopped; what its turn means for the run is decided by package run.
//
//	Turn → command line, environment → process → lines → run.Observed …, run.Replied or run.RequestFailed
//
// What holds for all of them:
//
//   - The exit code is never the success of a turn; the last event of the stream is. An exit
//     without it is a broken stream.
//   - The conversation's id is yielded before anything else. Where the agent takes one, pawl
//     chooses it, so that it is known before the process exists.
//   - One process works on a conversation at a time: a lock in [Turn.State], held during the
//     turn, and processes that a killed pawl left are ended before the next one starts.
//   - A stopped agent gets SIGINT, after 5 s SIGTERM and after 5 s more SIGKILL, with all
//     processes that it started, whatever session they are in (see tree_linux.go). They carry
//     a mark in their environment.
//   - Nothing is written into the agent's own configuration: what it is told comes in flags,
//     variables and files in Turn.State.
package external

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
	"pawl/internal/jsonc"
	"pawl/internal/proc"
	"pawl/run"
	"pawl/sandbox"
	"pawl/schema"
)

// A Kind is a program that pawl knows how to drive. Its name is that of a provider: a run
// with the model NAME/MODEL is one of the program's.
type Kind struct {
	Name    string // claude-code, codex, opencode, gemini-cli
	Title   string // for people
	Program string // the name of the executable
	Install string // the command that installs it
	Login   string // the command that logs a person in
	// Obeys are the files and folders, of a workspace and of the folders above it, that the program
	// obeys whatever its flags say, with code that it runs. It must not start where they are not
	// trusted.
	Obeys []string
	// PermissionTool: the program has permissions of its own, and asks a tool of pawl's about what
	// they do not allow. The others use what their hook does not deny.
	PermissionTool bool
	// Described: a person has described it ([Load]). It works in pawl's sandbox, and asks nothing.
	Described bool
	// Calls: it takes no MCP server, and calls pawl's tools with `pawl mcp call`.
	Calls bool
	// Reads and Writes are files and folders of its own that a described program reads, and folders that it
	// changes; ~/ is the person's home. Keys are variables that it gets though they may be secret.
	Reads, Writes, Keys []string

	version []string // arguments with which a described program says its version; nil: it does not
	tested  string   // the version that pawl was tested with; empty: unknown
	prefix  string   // of the names of pawl's tools, for its model
	// tools are the program's own, by name: what Claude Code calls the one that does the same,
	// and, THEIRS=OURS, the members of its input that have another name. An empty one does nothing by
	// itself. Those that are not here are asked about by their own names.
	tools map[string]string
	// nearby are files for agents that it reads with a file which is in their folder or below it. imports: it does so in
	// the folder that it is started in, too, and reads what they import.
	nearby  []string
	imports bool
	// mentions finds what makes it read a file, without asking, that a prompt names after an @; nil: nothing does.
	mentions func() *regexp.Regexp
	// forms are what a tool's schema is adapted to, one after the other: what the provider of
	// the program's model takes.
	forms  []schema.Target
	bounds map[string]string // what Bounds says, by mode; "default" is for those that are not named
	// sandbox: its commands work in a sandbox of its own.
	sandbox bool
	keys    []string // variables with its own login
	// login are files that exist when a person is logged in: $VARIABLE/FILE, or below the
	// person's home.
	login []string
	// status are the arguments that make it print the login status, with {provider} for the provider of the model; if it fails and
	// prints out, the user is not logged in. Without status it has no such command, and needs a login or own. The check is skipped
	// if one of the files config (paths as in login) contains a word of own, as the key of a provider with its own login is.
	status      []string
	out         string
	config, own string
	hooks       string // files in which a person has hooks for the program (paths as in login)
	chooses     bool   // it takes the id of a new conversation
	resumes     string // the argument, before the id, that opens a conversation in its own terminal; empty: not supported
	// unreached is what it prints to standard error, or to its log, if it could not start pawl's
	// server; nil: it says that in its stream.
	unreached []byte
	retry     func([]byte) (retry, int) // the first retry in what it prints to standard error, and where it ends; nil: it prints none
	adapter   adapter
}

// DefaultModel stands for the model that the program uses by itself, as in
// claude-code/default.
const DefaultModel = "default"

// Kinds are the programs, by name.
var Kinds = []Kind{
	{Name: "claude-code", Title: "Claude Code", Program: "claude", Install: "npm install -g @anthropic-ai/claude-code", Login: "claude auth login", PermissionTool: true, tested: "2.1.197", resumes: "--resume",
		status: []string{"auth", "status"}, out: `"loggedIn": false`,
		keys:  []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"},
		login: []string{"$CLAUDE_CONFIG_DIR/.credentials.json", ".claude/.credentials.json"}, hooks: "$CLAUDE_CONFIG_DIR/settings.json .claude/settings.json", chooses: true, prefix: "mcp__pawl__",
		forms: []schema.Target{schema.AnthropicTool},
		bounds: map[string]string{
			"default": "it asks pawl before it uses a tool of its own, and pawl's rules decide",
			"bypass":  "only pawl's deny rules hold over its own tools",
		}, tools: claudeTools, mentions: claudeMention, adapter: claude{}},
	{Name: "codex", Title: "Codex", Program: "codex", Install: "npm install -g @openai/codex", Login: "codex login", tested: "0.169.0", resumes: "resume",
		status: []string{"login", "status"}, out: "Not logged in", config: "$CODEX_HOME/config.toml .codex/config.toml", own: "model_provider", sandbox: true,
		keys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, login: []string{"$CODEX_HOME/auth.json", ".codex/auth.json"}, hooks: "$CODEX_HOME/hooks.json .codex/hooks.json $CODEX_HOME/config.toml .codex/config.toml", prefix: "mcp__pawl__",
		forms: []schema.Target{schema.OpenAI},
		bounds: map[string]string{
			"default": "pawl's rules decide before each use of a tool, and its own sandbox lets commands change this folder and temporary files alone, without network (workspace-write)",
			"plan":    "pawl's rules decide before each use of a tool, and its own sandbox lets commands change nothing (read-only)",
			"bypass":  "only pawl's deny rules hold over its own tools (danger-full-access)",
		}, tools: codexTools, retry: codexRetry, adapter: codex{}},
	{Name: "gemini-cli", Title: "Gemini CLI", Program: "gemini", Install: "npm install -g @google/gemini-cli", Login: "gemini", tested: "0.61.0", resumes: "--resume",
		Obeys: []string{".gemini"}, hooks: "$GEMINI_CLI_HOME/.gemini/settings.json .gemini/settings.json",
		keys:  []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GEMINI_BASE_URL", "CLOUD_SHELL", "GEMINI_CLI_USE_COMPUTE_ADC"},
		login: []string{".gemini/oauth_creds.json"}, config: "$GEMINI_CLI_HOME/.gemini/settings.json .gemini/settings.json $GEMINI_CLI_HOME/.gemini/.env .gemini/.env .env /etc/gemini-cli/settings.json",
		own: "selectedType enforcedType useExternal GEMINI_ GOOGLE_", chooses: true, prefix: "mcp_pawl_",
		forms: []schema.Target{schema.Gemini},
		bounds: map[string]string{
			"default": "pawl's rules decide before each use of a tool",
			"bypass":  "only pawl's deny rules hold over its own tools",
		}, tools: geminiTools, nearby: []string{"GEMINI.md"}, imports: true, mentions: geminiMention, retry: geminiRetry, unreached: []byte("Error during discovery for MCP server '" + ServerName + "':"), adapter: gemini{}},
	{Name: "opencode", Title: "OpenCode", Program: "opencode", Install: "npm install -g opencode-ai", Login: "opencode auth login", tested: "1.18.33", resumes: "--session",
		Obeys: []string{".opencode", "opencode.json", "opencode.jsonc"},
		keys:  []string{"*"}, login: []string{"$XDG_DATA_HOME/opencode/auth.json", ".local/share/opencode/auth.json"}, prefix: "pawl_",
		status: []string{"models", "{provider}"}, out: "Provider not found",
		unreached: []byte(`message="server unavailable" key=` + ServerName + " "),
		forms:     []schema.Target{schema.AnthropicTool, schema.OpenAI, schema.Gemini},
		bounds: map[string]string{
			"default": "pawl's rules decide before each use of a tool",
			"bypass":  "only pawl's deny rules hold over its own tools",
		}, tools: opencodeTools, nearby: []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}, adapter: opencode{}}, // it works with any provider,
}

// Split splits a model of the form KIND/MODEL. ok is false if it is not one of an external
// agent.
func Split(model string) (k Kind, name string, ok bool) { return split(Kinds, model) }

func split(kinds []Kind, model string) (k Kind, name string, ok bool) {
	kind, name, _ := strings.Cut(model, "/")
	for _, k := range kinds {
		if k.Name == kind {
			if name == "" {
				name = DefaultModel
			}
			return k, name, true
		}
	}
	return Kind{}, "", false
}

// Is reports whether a model is one of an external agent.
func Is(model string) bool {
	_, _, ok := Split(model)
	return ok
}

// A MissingError says that the program of an external agent is not installed.
type MissingError struct{ Kind Kind }

func (e *MissingError) Error() string {
	install := ""
	if e.Kind.Install != "" {
		install = "; install it with `" + e.Kind.Install + "`"
	}
	return fmt.Sprintf("%s is not installed: the program %s is not found in PATH%s", e.Kind.Title, e.Kind.Program, install)
}

// Find returns the path of the program in a PATH. One in the folders not, in which agents
// write, is not the person's. The error is a [*MissingError].
func (k Kind) Find(path string, not ...string) (string, error) {
	dir, name := filepath.Split(k.Program)
	file, err := proc.Find(name, cmp.Or(dir, path), not...)
	if err != nil {
		return "", &MissingError{k}
	}
	return file, nil
}

// LoggedIn returns the first program that is installed and in which a person is logged in, as
// far as files and variables say that; env returns variables. No program is started.
func LoggedIn(env func(name string) string) (Kind, bool) {
	for _, k := range Kinds {
		if _, err := k.Find(env("PATH")); err == nil && k.hasLogin(env) {
			return k, true
		}
	}
	return Kind{}, false
}

func (k Kind) hasLogin(env func(name string) string) bool {
	if slices.ContainsFunc(k.keys, func(name string) bool { return env(name) != "" }) {
		return true
	}
	return slices.ContainsFunc(k.login, func(file string) bool {
		info, err := os.Stat(ownFile(file, env))
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	})
}

// ownFile returns the path of a file, in the form of [Kind.login]; empty: it is in no folder.
func ownFile(file string, env func(name string) string) string {
	if filepath.IsAbs(file) {
		return file
	}
	dir := env("HOME")
	if name, rest, ok := strings.Cut(file, "/"); ok && name[0] == '$' {
		dir, file = env(name[1:]), rest
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, file)
}

// What is known of a person's login to a program.
const (
	LoggedInYes     = "yes"
	LoggedInNo      = "no"
	LoggedInUnknown = "unknown"
)

// LoggedIn says whether the user is logged in to the program at path, for a model. The program is started only if it has a command
// for that, and no file or variable with a login was found.
func (k Kind) LoggedIn(path, model string, env func(name string) string) string {
	return k.loggedIn(path, model, env, askPatience)
}

func (k Kind) loggedIn(path, model string, env func(name string) string, patience time.Duration) string {
	switch {
	case k.Described:
		return LoggedInUnknown
	case k.hasLogin(env):
		return LoggedInYes
	}
	for file := range strings.FieldsSeq(k.config) {
		b, _ := atomicfile.Read(ownFile(file, env)) // one that is not there has nothing
		for own := range strings.FieldsSeq(k.own) {
			if bytes.Contains(b, []byte(own)) {
				return LoggedInUnknown
			}
		}
	}
	if k.status == nil {
		return LoggedInNo
	}
	args := slices.Clone(k.status)
	if i := slices.Index(args, "{provider}"); i >= 0 {
		provider, _, given := strings.Cut(model, "/")
		if !given {
			return LoggedInUnknown // it has models that need no login
		}
		args[i] = provider
	}
	switch out, errs, err := k.ask(path, os.Environ(), args, patience); {
	case err == nil:
		return LoggedInYes
	case strings.Contains(out+errs, k.out):
		return LoggedInNo
	}
	return LoggedInUnknown
}

// LoggedOut returns an error if the program at path does not work with a model because the user is not logged in: see [Kind.LoggedIn].
func (k Kind) LoggedOut(path, model string, env func(name string) string) error {
	if k.loggedIn(path, model, env, beginPatience) == LoggedInNo {
		return &LoginError{k}
	}
	return nil
}

// A LoginError reports that the user is not logged in to the program of an external agent.
type LoginError struct{ Kind Kind }

func (e *LoginError) Error() string {
	key := e.Kind.keys[0]
	if key == "*" {
		key = "the key of the model's provider"
	}
	return fmt.Sprintf("not logged in to %s: log in with `%s`, or set %s", e.Kind.Title, e.Kind.Login, key)
}

// ByHand returns the shell command that opens a conversation in the program itself; empty if the program has none.
func (k Kind) ByHand(conversation, folder string) string {
	if k.resumes == "" || conversation == "" {
		return ""
	}
	return "cd " + shellQuoted(folder) + " && " + k.Program + " " + k.resumes + " " + shellQuoted(conversation)
}

// Imports reports whether the program reads files for agents in the folder that it is started in: see [Kind.ReadWith].
func (k Kind) Imports() bool { return k.imports }

// ToolName returns what the program's model calls a tool of pawl's.
func (k Kind) ToolName(tool string) string { return k.prefix + tool }

// Permissions says which level of permission holds over the program, in a mode other than bypass: that pawl's rules decide about each
// use of its tools, that a sandbox of its own bounds it too, or that all of it works in pawl's sandbox and is not asked.
func (k Kind) Permissions() string {
	switch {
	case k.Described:
		return "sandbox"
	case k.sandbox:
		return "rules, own sandbox"
	}
	return "rules"
}

// Bounds says, in a sentence, what bounds the program in a permission mode.
func (k Kind) Bounds(mode string) string {
	if k.Described {
		changes := "changes only this folder and temporary files"
		if mode == "plan" {
			changes = "changes nothing but temporary files"
		}
		return fmt.Sprintf("%s works in pawl's sandbox and is not asked about its tools: it %s, and has the network", k.Title, strings.Join(append([]string{changes}, k.Writes...), ", "))
	}
	what := k.bounds[mode]
	if what == "" {
		what = k.bounds["default"]
	}
	return k.Title + " works outside of pawl's sandbox: " + what
}

// OwnHooks returns the person's files that contain hooks for the program. The program runs them in its working folder, with
// the person's authority and without asking.
func (k Kind) OwnHooks(env func(name string) string) (files []string) {
	for file := range strings.FieldsSeq(k.hooks) {
		file = ownFile(file, env)
		b, err := atomicfile.Read(file)
		if err != nil {
			continue
		}
		var of struct {
			Hooks  map[string]any `json:"hooks" toml:"hooks"`
			Notify any            `json:"-" toml:"notify"`
		}
		if strings.HasSuffix(file, ".toml") {
			err = toml.Unmarshal(b, &of)
		} else {
			err = json.Unmarshal(jsonc.Strict(b), &of)
		}
		if err == nil && (len(of.Hooks) > 0 || of.Notify != nil) && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// ToolSchema returns the schema of a tool as the program is offered it. A program leaves out a
// tool with a schema that the provider of its model does not take, or each request with it fails.
// Arguments are validated against the authored schema. An error says why there is no such form.
func (k Kind) ToolSchema(authored json.RawMessage) (json.RawMessage, error) {
	for _, form := range k.forms {
		adapted, err := schema.Adapt(form, authored)
		if err != nil {
			return nil, err
		}
		authored = adapted.Schema
	}
	return authored, nil
}

const (
	// askPatience is the longest wait for a program to print its version or its login status.
	askPatience = 20 * time.Second
	// beginPatience is that of what is about to begin with the program. Where fifty processes compute on two cores, OpenCode was
	// seen to need 90 seconds, and a task began although nobody was logged in.
	beginPatience = 3 * time.Minute
)

// Version asks the program at path for its version.
func (k Kind) Version(path string, env []string) (string, error) {
	args := k.version
	if !k.Described {
		args = []string{"--version"}
	} else if args == nil {
		return "", nil
	}
	out, _, err := k.ask(path, env, args, askPatience)
	if err != nil {
		return "", err
	}
	for word := range strings.FieldsSeq(out) {
		if word[0] >= '0' && word[0] <= '9' {
			return word, nil
		}
	}
	return strings.TrimSpace(out), nil
}

// ask starts the program at path and returns what it prints.
func (k Kind) ask(path string, env, args []string, patience time.Duration) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = k.environment(env), string(filepath.Separator), time.Second // some read files of the folder that they are started in
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s %s: %w", path, strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), err
}

// Installed returns the version in the package.json of the program at path, without starting it; empty if npm did not
// install it.
func (k Kind) Installed(path string) string {
	words := strings.Fields(k.Install)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || len(words) == 0 {
		return ""
	}
	for dir := filepath.Dir(real); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		var of struct{ Name, Version string }
		if b, err := atomicfile.Read(filepath.Join(dir, "package.json")); err == nil && json.Unmarshal(b, &of) == nil && of.Name == words[len(words)-1] {
			return of.Version
		}
	}
	return ""
}

// Tested returns which versions of the program pawl was tested with, such as 2.1.x; empty if that is unknown.
func (k Kind) Tested() string {
	if k.tested == "" {
		return ""
	}
	return minor(k.tested) + ".x"
}

func minor(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// Untested returns a warning if pawl was tested with another major or minor version of the program; empty otherwise, and if
// a version is unknown.
func (k Kind) Untested(version string) string {
	if k.tested == "" || version == "" || minor(version) == minor(k.tested) {
		return ""
	}
	return fmt.Sprintf("pawl was tested with %s %s, and this is %s, which may behave differently; `pawl agents test %s` tries it", k.Title, k.tested, version, k.Name)
}

// A Turn is a turn of an external agent.
type Turn struct {
	Kind    Kind
	Program string   // its path
	Env     []string // of this process, as os.Environ has it; see [Kind.environment]
	// Keys are the names of variables with keys of model providers. The program gets those
	// that are its own login.
	Keys      []string
	Run       run.ID
	Workspace string
	// State is a folder for what pawl keeps of external agents: locks, and the files that a
	// turn's flags name. Only the user can read it.
	State string
	Model string // as the program names it; DefaultModel: none is given
	Mode  string // permission mode of the run
	// System is for the beginning of a conversation, and Message what is said now.
	System  string
	Message []run.Part
	// Conversation is the program's id for the conversation; empty: it is a new one.
	Conversation string
	// Summary says what was done in the run before, for a conversation that cannot be
	// continued.
	Summary string
	// Server is the MCP server with pawl's tools; without a command there is none.
	Server Server
	// Silence ends a turn in which the program prints nothing for so long; 0: DefaultSilence.
	Silence time.Duration
	// Retry is how long the program may make a failed request to its provider again; 0: run.DefaultRetry, negative: not at all.
	Retry time.Duration
	// Patience is how long a stopped agent has after SIGINT, and again after SIGTERM; 0:
	// DefaultPatience.
	Patience time.Duration
	// Confine puts the program into a sandbox; nil: it has none. Notice is told what the sandbox has undone.
	Confine func(proc.Command) (proc.Command, *sandbox.Session, error)
	Notice  func(sentence string)
}

// DefaultPatience is between the signals that stop an agent.
const DefaultPatience = 5 * time.Second

// DecisionPatience is how long an external agent waits for a person to decide about a permission.
// After it the agent is told to end its turn; the later decision begins another.
const DecisionPatience = 10 * time.Minute

// DefaultSilence is how long an agent may print nothing. A command that it runs prints
// nothing either, and agents bound these by themselves, mostly to minutes.
const DefaultSilence = 30 * time.Minute

// A Server is an MCP server on standard input and output.
type Server struct {
	Command []string
	// Env is what the server needs. Secret variables are in no command line.
	Env   map[string]string
	Tools []string // the names of its tools
	// Permission is the tool among them that is asked before the program uses one of its own;
	// empty: none.
	Permission string
	// Hook is a command that the program runs before every use of a tool, also of those that it
	// allows by itself, with what it is about on standard input: see [Kind.Asked]. Its failure
	// denies, with the end of standard error as the reason. Empty: none.
	Hook []string
}

// ServerName is what the server is called in the program's configuration.
const ServerName = "pawl"

// words returns the message as text.
func (t Turn) words() string {
	var b strings.Builder
	for _, p := range t.Message {
		text := p.Text
		if p.Type != run.TextPart {
			text = "[" + string(p.Type) + " that cannot be passed on to this agent]"
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	return b.String()
}

// prompt returns what is written to the program's standard input. What it mentions was attached where the rules allow
// that, and much of it is the words of others: the program attaches nothing.
func (t Turn) prompt(fresh bool) string {
	var all []string
	if fresh && t.System != "" && !t.Kind.adapter.hasSystem() {
		all = append(all, t.System)
	}
	if fresh && t.Summary != "" {
		all = append(all, "This continues work whose conversation is lost. What is known of it:\n\n"+t.Summary)
	}
	text := strings.Join(append(all, t.words()), "\n\n---\n\n")
	if t.Kind.mentions == nil || !t.Kind.mentions().MatchString(text) {
		return text
	}
	return t.Kind.mentions().ReplaceAllString(text, `${1}\@`) + "\n\n(Here `\\@` stands for an at sign.)"
}

// markName is the variable that the processes of a turn carry, with the run's id and folder.
const markName = "PAWL_EXTERNAL_AGENT"

// mark returns what tells the processes of a run's turns from all others.
func (t Turn) mark() string { return markName + "=" + t.State + ":" + string(t.Run) }

// environment returns env without variables that are pawl's own or those of another agent
// that pawl was started by.
func (k Kind) environment(env []string, remove ...string) []string {
	var kept []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "PAWL_"), name == "PWD", name == "OLDPWD",
			name == "CLAUDECODE", strings.HasPrefix(name, "CLAUDE_CODE_ENTRYPOINT"), strings.HasPrefix(name, "CLAUDE_CODE_SSE_PORT"):
			continue
		case slices.Contains(remove, name) && !slices.Contains(k.keys, name) && !slices.Contains(k.keys, "*"):
			continue
		}
		kept = append(kept, v)
	}
	return kept
}

// invocation is how a program is started for a turn.
type invocation struct {
	args []string
	env  []string // beside the person's
	log  string   // the file that the program writes its log to, in the run's folder; empty: none
	// prompted: the prompt is in args, or in a file that they name.
	prompted bool
}

// Confines reports whether commands of the program run in a sandbox of its own, in a permission mode,
// that keeps them from the network and, but for temporary files, from changing anything outside of the
// workspace; in mode plan anything at all.
func (k Kind) Confines(mode string) bool { return k.Name == "codex" && mode != "bypass" }

// An adapter knows one program.
type adapter interface {
	// invoke returns the command line of a turn in a conversation: an existing one, or a new
	// one, whose id is then empty if the program makes it.
	invoke(t Turn, conversation string, resume bool) (invocation, error)
	// stream returns what reads the lines that the program prints.
	stream() stream
	// hasSystem: invoke passes on Turn.System; else it is a part of the first message.
	hasSystem() bool
}

// A stream reads the lines that a program prints in a turn.
type stream interface {
	// line reads one line into r. What it does not know it passes over.
	line(b []byte, r *report)
	// end is called after the last line.
	end(r *report)
}
