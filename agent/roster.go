package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/external"
	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/owner"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/permission/spelling"
	"pawl/policy"
	"pawl/run"
)

// Folder is the folder of the workspace's agents, relative to it.
const Folder = ".pawl/agents"

// maxAgents bounds how many files of one folder are read.
const maxAgents = 500

// Options say where agents are and what there is for them.
type Options struct {
	// User is the folder of the user's agents, an absolute path; it need not exist. Empty:
	// there is none.
	User string
	// Home is where the user's files for other programs are; empty: there are none.
	Home string
	// Brought are the agents of plugins, in Claude Code's form.
	Brought []Brought
	// Policy reads the files of the workspace and knows which are trusted; nil: the workspace
	// has none.
	Policy *policy.Policy
	// Workspace is the folder of the workspace, for the paths of its files.
	Workspace string
	// Programs are the external agents that a person has described.
	Programs external.Registry
	// Tools returns the names of the tools that runs can have; nil: they are not checked.
	Tools func() []string
	// Model returns why a model cannot be used now; an empty model is the one that a run has
	// without an agent. It does not touch the network. nil: models are not checked.
	Model func(ctx context.Context, model string) error
	// Family returns the model, as provider/name, that a word such as sonnet means now; empty: none. nil: none has one.
	Family func(word string) string
}

// A Brought is the file of an agent of a plugin, which is called PLUGIN:NAME.
type Brought struct {
	Plugin, Path string
	Content      []byte
}

// A Roster is the agents that there are. It reads the files whenever it is asked, so what
// it says is what holds now. It is safe for concurrent use.
type Roster struct{ o Options }

// New returns a roster.
func New(o Options) *Roster { return &Roster{o} }

// All returns all agents, by name. An error says that a folder cannot be read; then the
// agents of the others are returned.
func (r *Roster) All() ([]Agent, error) {
	found := map[string]Agent{}
	for _, a := range Seeds() {
		found[a.Name] = a
	}
	user, userErr := r.userFiles()
	workspace, workspaceErr := r.workspaceFiles()
	for _, a := range slices.Concat(r.brought(), workspace, user) { // the user's replace those before them
		old, taken := found[a.Name]
		switch {
		case taken && a.Untrusted:
			continue
		case old.Internal && a.Program != "":
			continue
		case taken && old.Source == a.Source && old.Own() != "" && a.Own() != "": // NAME.md and NAME.json
			old = Agent{Name: a.Name, Source: a.Source, Path: a.Path, Problem: fmt.Sprintf("there are two files for it: %s and %s", filepath.Base(old.Path), filepath.Base(a.Path))}
		case old.Internal:
			old = replacement(old, a)
		default:
			old = a
		}
		found[a.Name] = old
	}
	return stable.Sorted(maps.Values(found), func(x, y Agent) int { return cmp.Compare(x.Name, y.Name) }), errors.Join(userErr, workspaceErr)
}

// replacement returns an internal agent with what a file may replace of it.
func replacement(internal, a Agent) Agent {
	with := internal
	with.Source, with.Path = a.Source, a.Path
	switch {
	case a.Problem != "":
		with.Problem = a.Problem
	case a.Kind != internal.Kind && a.Kind != "", a.Declared.Schema != "", a.Tools.Limited(), a.Mode != "", len(a.Rules) > 0:
		with.Problem = fmt.Sprintf("%s is internal: a file can replace its description, model, limits and instructions, and must say kind: %s", a.Name, internal.Kind)
	case a.Instructions == "":
		with.Problem = "the file has no instructions"
	default:
		with.Description, with.Model, with.Limits, with.Instructions = cmp.Or(a.Description, internal.Description), a.Model, a.Limits, a.Instructions
	}
	return with
}

// A NotFoundError says that there is no agent of a name.
type NotFoundError struct {
	Name  string
	There []string // the names that there are
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no agent %s%s; there are %s", visible.Quote(text.OneLine(e.Name, 64)), text.DidYouMean(e.Name, e.There), strings.Join(e.There, ", "))
}

// Get returns the agent of a name, or the only one of a plugin that it is short for. The error is a [*NotFoundError] if
// there is none.
func (r *Roster) Get(name string) (Agent, error) {
	all, err := r.All()
	if i := text.Named(name, all, func(a Agent) string { return a.Name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, a := range all {
		if !a.Internal {
			names = append(names, a.Name)
		}
	}
	return Agent{}, errors.Join(&NotFoundError{name, names}, err)
}

// Valid reports whether runs of an agent can be started now and, if not, why.
func (r *Roster) Valid(ctx context.Context, a Agent) (ok bool, why string) {
	if a.Problem != "" {
		return false, a.Problem
	}
	if err := r.checkTools(a, false); err != nil {
		return false, err.Error()
	}
	why = r.unusable(ctx, a.Model)
	return why == "", why
}

// unusable returns in one line why a model cannot be used now; empty: it can, or models are not checked.
func (r *Roster) unusable(ctx context.Context, model string) string {
	if r.o.Model == nil {
		return ""
	}
	err := r.o.Model(ctx, model)
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(first, ":")
}

// CheckTools returns an error for a tool of an agent, or of its rules, that does not exist. Tools
// of MCP servers, which come and go, are not looked at.
func (r *Roster) CheckTools(a Agent) error { return r.checkTools(a, true) }

func (r *Roster) checkTools(a Agent, coming bool) error {
	if r.o.Tools == nil {
		return nil
	}
	there := r.o.Tools()
	unknown := func(name string, coming bool) bool {
		return !strings.HasSuffix(name, "*") && !slices.Contains(there, name) && !(coming && permission.IsServerTool(name))
	}
	for _, name := range a.Tools.Names() {
		if unknown(name, coming) {
			return fmt.Errorf("there is no tool %s%s", visible.Quote(name), spelling.DidYouMean(name, there))
		}
	}
	for _, rule := range a.Rules {
		if unknown(rule.Tool, true) {
			return fmt.Errorf("permissions: the rule %s is for a tool that does not exist%s", rule, spelling.DidYouMean(rule.Tool, there))
		}
	}
	return nil
}

// userFiles reads the user's agents: those in the files of other programs, then pawl's.
func (r *Roster) userFiles() (all []Agent, err error) {
	var errs []error
	for _, of := range programs {
		for _, folder := range of.user {
			if r.o.Home != "" {
				some, err := r.filesIn(filepath.Join(r.o.Home, filepath.FromSlash(folder)), of)
				all, errs = append(all, some...), append(errs, err)
			}
		}
	}
	if r.o.User != "" {
		own, err := r.filesIn(r.o.User, program{})
		all, errs = append(all, own...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// filesIn reads the agents in a folder of the user's, in the form of a program; the zero program is pawl.
func (r *Roster) filesIn(folder string, of program) ([]Agent, error) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []Agent
	seen := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch seen++; {
		case err != nil:
			return fmt.Errorf("%s: %w", folder, err)
		case seen > maxAgents+1:
			return fmt.Errorf("%s has more than %d files", folder, maxAgents)
		case e.IsDir() && name != "." && (!of.nested || strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case e.IsDir() || !agentFile(e.Name()):
			return nil
		}
		content, err := readFile(root, name)
		if a, ok := r.parse(of, FromUser, folder, name, content, err); ok {
			all = append(all, a)
		}
		return nil
	})
	return all, err
}

// agentFile reports whether a file of that name is one of an agent.
func agentFile(name string) bool {
	ext := path.Ext(name)
	return !strings.HasPrefix(name, ".") && (ext == ".md" || ext == ".json") && !strings.EqualFold(name, "README.md")
}

// readFile reads one file of the user's folder. Links inside of the folder are followed.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := inside.OpenChecked(root, name, root.Stat, checkFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// checkFile returns why a file is not read as an agent. One that belongs to another user, who
// could change it, is none of this user's.
func checkFile(info fs.FileInfo) error {
	switch uid, known := owner.Of(info); {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case known && uid != os.Getuid() && uid != 0:
		return fmt.Errorf("it belongs to user %d", uid)
	case known && info.Mode().Perm()&0o002 != 0:
		return errors.New("every user can write it")
	}
	return nil
}

// parse returns the agent of a file in a folder in the form of a program. Not ok means that it is switched off there.
func (r *Roster) parse(of program, from Source, folder, name string, content []byte, err error) (a Agent, ok bool) {
	var parseErr error
	file := filepath.Join(folder, filepath.FromSlash(name))
	a.Name, ok = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), true
	switch {
	case err == nil && of.read != nil:
		a, ok, parseErr = r.parseForeign(of, name, content)
	case err == nil:
		a, parseErr = Parse(filepath.ToSlash(file), content, r.o.Programs)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if err := errors.Join(err, parseErr); err != nil {
		a = Agent{Name: a.Name, Problem: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	a.Source, a.Path, a.Program = from, file, of.title
	for i := range a.Rules {
		a.Rules[i].Why = "agent " + a.Name
	}
	return a, ok
}

// workspaceFiles reads the agents of the workspace, as far as they count: those in the files of other programs, then pawl's.
func (r *Roster) workspaceFiles() (all []Agent, err error) {
	if r.o.Policy == nil {
		return nil, nil
	}
	var errs []error
	for _, of := range append(slices.Clone(programs), program{workspace: []string{Folder}}) {
		for _, folder := range of.workspace {
			some, err := r.workspaceFilesIn(folder, of)
			all, errs = append(all, some...), append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

func (r *Roster) workspaceFilesIn(folder string, of program) (all []Agent, err error) {
	files, err := r.o.Policy.ConfigFiles(folder)
	for _, f := range files {
		name := strings.TrimPrefix(f.Name, folder+"/")
		if !agentFile(path.Base(name)) || strings.Contains(name, "/") && !of.nested {
			continue
		}
		var problem error
		if f.Problem != "" {
			problem = errors.New(f.Problem)
		}
		a, ok := r.parse(of, FromWorkspace, filepath.Join(r.o.Workspace, folder), name, f.Content, problem)
		if !ok {
			continue
		}
		if !f.Trusted {
			a = textOnly(a)
		} else if a.Problem == "" {
			if err := admit(a); err != nil {
				a = Agent{Name: a.Name, Source: a.Source, Path: a.Path, Program: a.Program, Problem: err.Error()}
			}
		}
		all = append(all, a)
	}
	return all, err
}

// brought returns the agents of plugins. They may say no more than those of a workspace.
func (r *Roster) brought() (all []Agent) {
	for _, b := range r.o.Brought {
		a, ok := r.parse(claudeCode, FromPlugin, filepath.Dir(b.Path), filepath.Base(b.Path), b.Content, nil)
		if err := admit(a); err != nil && a.Problem == "" {
			a = Agent{Name: a.Name, Source: a.Source, Path: a.Path, Problem: err.Error()}
		}
		if a.Name, a.Program = b.Plugin+":"+a.Name, b.Plugin; ok {
			all = append(all, a)
		}
	}
	return all
}

// readingTools are the tools that an agent has whose file is not trusted.
var readingTools = run.Grant("read", "list", "glob", "search", "todo", "ask")

// textOnly returns what counts of an agent whose file no one has trusted as it is: its
// text. What it has is less than what a run has without an agent.
func textOnly(a Agent) Agent {
	return Agent{Name: a.Name, Description: a.Description, Kind: a.Kind, Declared: a.Declared, Instructions: a.Instructions,
		Tools: readingTools, Source: a.Source, Path: a.Path, Program: a.Program, Untrusted: true, Problem: a.Problem}
}

// admit says what a workspace cannot have in an agent, trusted or not; see
// [policy.CheckSetting].
func admit(a Agent) error {
	check := func(setting, value string) error {
		if value == "" {
			return nil
		}
		return policy.CheckSetting(setting, value)
	}
	errs := []error{check("model", a.Model), check("mode", string(a.Mode))}
	for _, rule := range a.Rules {
		errs = append(errs, check(string(rule.Effect), rule.String()))
	}
	return errors.Join(errs...)
}

// Save writes the file of an agent, whole or not at all, into the user's folder or into that
// of the workspace, which is trusted then. One that is there is replaced, in the form that
// it has only if that is Markdown. It fails for an agent that could not be used, and for what
// cannot be changed of an internal one.
func (r *Roster) Save(a Agent, to Source) (file string, err error) {
	content, err := Format(a)
	if err != nil {
		return "", err
	}
	return r.SaveFile(a.Name+".md", content, to)
}

// SaveFile is Save for the content of a file, as a person wrote it.
func (r *Roster) SaveFile(name string, content []byte, to Source) (file string, err error) {
	a, err := Parse(name, content, r.o.Programs)
	if err == nil && name != filepath.Base(name) {
		err = errors.New("the name of a file, not a path")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	for _, seed := range Seeds() {
		if seed.Name == a.Name && seed.Internal {
			if with := replacement(seed, a); with.Problem != "" {
				return "", errors.New(with.Problem)
			}
		}
	}
	other := map[string]string{".md": ".json", ".json": ".md"}[path.Ext(name)]
	twin := strings.TrimSuffix(name, path.Ext(name)) + other
	switch to {
	case FromUser:
		file, twin = filepath.Join(r.o.User, name), filepath.Join(r.o.User, twin)
		if err := r.free(twin); err != nil {
			return "", err
		}
		return file, atomicfile.Write(file, content, atomicfile.Durable)
	case FromWorkspace:
		if r.o.Policy == nil {
			return "", errors.New("there is no workspace")
		}
		if err := admit(a); err != nil {
			return "", err
		}
		file = filepath.Join(r.o.Workspace, filepath.FromSlash(Folder), name)
		if err := r.free(filepath.Join(filepath.Dir(file), twin)); err != nil {
			return "", err
		}
		return file, r.o.Policy.ReplaceFile(path.Join(Folder, name), content)
	}
	return "", fmt.Errorf("agents cannot be written to %s", visible.Quote(to))
}

// free returns an error if there is a file of the same agent in the other form.
func (r *Roster) free(twin string) error {
	if _, err := os.Lstat(twin); err == nil {
		return fmt.Errorf("there is %s: edit or remove that", twin)
	}
	return nil
}

// Remove deletes the file of an agent. A built-in agent has none: it cannot be removed, only
// replaced by a file of its name.
func (r *Roster) Remove(name string) (file string, err error) {
	a, err := r.Get(name)
	switch {
	case err != nil:
		return "", err
	case a.Path == "":
		return "", fmt.Errorf("%s is built in and cannot be removed; a file of that name replaces it", name)
	case a.Source == FromPlugin:
		return "", fmt.Errorf("%s is an agent of the plugin %s, which is removed as a whole: pawl plugin rm %s", name, a.Program, a.Program)
	case a.Program != "":
		return "", fmt.Errorf("%s is an agent of %s: remove %s yourself if %s is to lose it too, or write one of that name with `pawl agents edit %s`, which counts here instead", name, a.Program, a.Path, a.Program, name)
	case a.Source == FromWorkspace:
		return a.Path, r.o.Policy.ReplaceFile(path.Join(Folder, filepath.Base(a.Path)), nil)
	}
	if err := os.Remove(a.Path); err != nil {
		return "", err
	}
	return a.Path, atomicfile.SyncDir(filepath.Dir(a.Path))
}
