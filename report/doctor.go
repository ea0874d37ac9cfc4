package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"pawl/app"
	"pawl/config"
	"pawl/external"
	"pawl/internal/build"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/llm"
	"pawl/llm/script"
	"pawl/provider"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool"
)

// A Check is one thing that Doctor has looked at.
type Check struct {
	Topic  string  `json:"topic"` // such as pawl, models, sandbox
	Name   string  `json:"name"`
	State  Verdict `json:"state"`
	Detail string  `json:"detail"`         // a sentence; never a key
	Next   string  `json:"next,omitempty"` // the command, or what else is to be done
}

// A Verdict is how a check came out.
type Verdict string

const (
	Good    Verdict = "ok"
	Absent  Verdict = "missing" // it is not there, and need not be
	Unasked Verdict = "unasked" // it was not tried
	Bad     Verdict = "wrong"
)

// A Report is all that Doctor has seen.
type Report struct {
	Version string  `json:"version"`
	Model   string  `json:"model,omitempty"`  // the one that a run would have now; empty: none
	Source  string  `json:"source,omitempty"` // why that one
	Usable  bool    `json:"usable"`           // a run could begin
	Checks  []Check `json:"checks"`
}

// Doctor looks at the configuration, the state folder, the providers and the sandbox, and
// says what is missing and what to do next. Unless offline it asks the providers that are
// configured which models they have, all at once, 5 s at most.
func Doctor(ctx context.Context, opt app.Options, offline bool) Report {
	r := Report{Version: build.Version(), Checks: []Check{}}
	files, ok := checkFiles(opt.Env)
	r.Checks = append(r.Checks, files...)
	state := checkState(opt)
	r.Checks = append(r.Checks, state)
	if c, ok := checkUsage(ctx, opt); ok {
		r.Checks = append(r.Checks, c)
	}
	if ok {
		providers, usable := r.checkModels(ctx, opt, offline)
		r.Checks = append(r.Checks, providers...)
		r.Usable = usable && state.State == Good
	}
	r.Checks = append(r.Checks, checkExternals(opt)...)
	r.Checks = append(r.Checks, checkAgents(ctx, opt)...)
	r.Checks = append(r.Checks, checkSandbox()...)
	r.Checks = append(r.Checks, checkVariables(opt.Env))
	sortChecks(r.Checks)
	return r
}

// sortChecks puts what is wrong first and what is missing, and need not be there, last: the topics, and the checks of
// each.
func sortChecks(checks []Check) {
	rank := map[Verdict]int{Bad: 0, Good: 1, Unasked: 1, Absent: 2}
	topics := map[string]int{} // the topic's worst check, and its place among the topics
	for i, c := range checks {
		if at, ok := topics[c.Topic]; !ok {
			topics[c.Topic] = rank[c.State]*len(checks) + i
		} else if r := rank[c.State]; r < at/len(checks) {
			topics[c.Topic] = r*len(checks) + at%len(checks)
		}
	}
	stable.Sort(checks, func(a, b Check) int {
		return cmp.Or(cmp.Compare(topics[a.Topic], topics[b.Topic]), cmp.Compare(rank[a.State], rank[b.State]))
	})
}

// checkFiles looks at the user's files. ok says that they can be read.
func checkFiles(env config.Env) (checks []Check, ok bool) {
	ok = true
	_, modelsErr := provider.Load(env)
	_, programsErr := external.Load(env.ProgramsDir())
	for _, f := range []struct {
		name, path string
		err        error
	}{{"configuration", env.UserFile(), env.CheckUserFile()}, {"models", env.ModelsFile(), modelsErr}, {"programs", env.ProgramsDir(), programsErr}} {
		c := Check{Topic: "pawl", Name: f.name, State: Good, Detail: f.path}
		if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
			c.State, c.Detail = Absent, f.path+" does not exist (optional)"
		}
		if f.err != nil {
			c.State, c.Detail, c.Next = Bad, f.err.Error(), "repair the file, or rename it"
			ok = false
		}
		checks = append(checks, c)
	}
	return checks, ok
}

// checkState makes a store in the state folder, as a run would, and takes it away.
func checkState(opt app.Options) Check {
	env := opt.Env
	dir := env.StateDir()
	c := Check{Topic: "pawl", Name: "state folder", State: Good, Detail: dir + " can be written (" + env.StateSource() + ")"}
	err := func() error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		probe, err := os.MkdirTemp(dir, "doctor-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(probe) // what is left of it is an empty folder
		s, err := store.Open(probe, store.Options{Version: build.Version()})
		if err != nil {
			return err
		}
		return s.Close()
	}()
	if err != nil {
		c.State, c.Detail = Bad, err.Error()
		c.Next = "export PAWL_STATE_DIR=… names a folder on a local disk that you may write"
	} else if workspace, err := config.Workspace(opt.Dir); err == nil {
		if err := app.CheckPrivate(env, workspace); err != nil {
			c.State, c.Detail = Bad, err.Error()
		}
	}
	return c
}

// checkUsage says how much room what is kept of this folder takes; nothing if there are no
// runs.
func checkUsage(ctx context.Context, opt app.Options) (Check, bool) {
	c := Check{Topic: "pawl", Name: "this folder's runs", State: Good}
	w, err := app.Open(opt)
	if err != nil {
		return c, false // checkChoice says why
	}
	defer w.Close() // nothing was written
	u, err := w.Usage(ctx)
	switch {
	case err != nil:
		c.State, c.Detail = Bad, err.Error() // with what to do
	case u.Total() == 0:
		return c, false
	default:
		c.Detail = fmt.Sprintf("%s: logs %s, outputs %s, undo data %s, temporary files %s",
			text.Size(u.Total()), text.Size(u.Log), text.Size(u.Outputs), text.Size(u.Journal+u.Contents), text.Size(u.Temp))
		c.Next = "pawl runs prune --older-than 30d removes old ones"
	}
	return c, true
}

// checkModels looks at which providers are configured and, if it may, whether they
// answer. usable says that a model of one of them can be had.
func (r *Report) checkModels(ctx context.Context, opt app.Options, offline bool) (checks []Check, usable bool) {
	ps, err := provider.Load(opt.Env)
	if err != nil {
		return nil, false // checkFiles has said it
	}
	var sites []provider.Site
	for _, p := range ps.Providers() {
		s := ps.Site(p)
		if p.Wire != script.Wire && (p.Local && !offline || s.Key != "" || p.Source != "" && s.Missing() == "") {
			sites = append(sites, s)
		}
	}
	var answers []provider.Server
	if offline {
		for _, s := range sites {
			answers = append(answers, provider.Server{Site: s})
		}
	} else {
		answers = provider.Ask(ctx, sites)
	}
	// No one has said that there is a server on this machine.
	answers = slices.DeleteFunc(answers, func(s provider.Server) bool { return s.Err != nil && s.Local && s.Key == "" && s.Source == "" })
	can := map[string]bool{}
	for _, s := range answers {
		var c Check
		c, can[s.Name] = checkSite(s, offline)
		checks = append(checks, c)
		usable = usable || can[s.Name]
	}
	for _, name := range provider.Keyed {
		if p, ok := ps.Provider(name); ok && p.NeedsKey() && ps.Site(p).Key == "" {
			checks = append(checks, Check{Topic: "models", Name: name, State: Absent, Detail: ps.Site(p).Missing(),
				Next: "export " + p.KeyEnv[0] + "=…, a key from " + p.KeysAt})
		}
	}
	choice := r.checkChoice(ctx, opt, answers, can, offline)
	return append(checks, choice), usable || choice.State == Good
}

// checkSite says how a provider answered. can says that it can be asked for answers.
func checkSite(s provider.Server, offline bool) (c Check, can bool) {
	at := provider.WithoutSecrets(s.Address)
	if s.KeyFrom != "" {
		at += " with the key in " + s.KeyFrom
	}
	c = Check{Topic: "models", Name: s.Name, State: Good}
	var e *llm.Error
	switch {
	case s.Missing() != "":
		c.State, c.Detail = Bad, s.Usable().Error()
		return c, false
	case offline:
		c.State, c.Detail = Unasked, at
	case errors.Is(s.Err, provider.ErrNoList):
		c.Detail = at + " answers; it has no list of models"
	case s.Err == nil && len(s.Models) == 0:
		c.State, c.Detail, c.Next = Bad, at+" answers and has no models", "load one there"
	case s.Err == nil:
		c.Detail = fmt.Sprintf("%s answers; it has %s", at, text.Plural(int64(len(s.Models)), "model"))
	default:
		c.State, c.Detail = Bad, fmt.Sprintf("%s: %v", at, s.Err)
		c.Next = "look at the network, a proxy in between, and the address (" + strings.Join(append([]string{"models.toml"}, s.BaseURLEnv...), ", ") + ")"
		if errors.As(s.Err, &e) && e.Kind == run.ErrAuth && len(s.KeyEnv) > 0 {
			c.Next = "export " + s.KeyEnv[0] + "=…, a key from " + s.KeysAt
		}
	}
	return c, c.State != Bad
}

// checkChoice says which model a run would have now.
func (r *Report) checkChoice(ctx context.Context, opt app.Options, answers []provider.Server, can map[string]bool, offline bool) Check {
	c := Check{Topic: "models", Name: "model", State: Bad}
	w, err := app.Open(opt)
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	defer w.Close() // nothing was written
	set, err := w.Config()
	if err == nil {
		_, err = w.Policy()
	}
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	models, err := w.Models()
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	if v := set.Values("model"); len(v) > 0 {
		r.Model, r.Source = v[0].Text, v[0].Source
		if full, err := models.Resolve(ctx, r.Model); err == nil { // else Find says what is wrong
			r.Model = full
		}
	}
	for _, name := range provider.Nearby {
		i := slices.IndexFunc(answers, func(s provider.Server) bool { return s.Name == name && len(s.Models) > 0 })
		if i >= 0 && r.Model == "" {
			r.Model, r.Source = name+"/"+answers[i].Models[0], "the server at "+provider.WithoutSecrets(answers[i].Address)
		}
	}
	if k, ok := external.LoggedIn(opt.Env.Get); ok && r.Model == "" {
		r.Model, r.Source = k.Name+"/"+external.DefaultModel, k.Title+" is installed and logged in"
	}
	if r.Model == "" {
		c.Detail, c.Next = "no model: no key is set, and no server on this machine answers", "type /login in pawl, or export ANTHROPIC_API_KEY=…; pawl demo needs neither"
		if offline {
			c.Detail, c.Next = "no model: no key is set", "pawl doctor looks for a server on this machine too"
		}
		if other := otherModel(models, can); other != "" {
			c.Next = "pawl run --model " + other
		}
		return c
	}
	c.Detail = fmt.Sprintf("%s (%s)", r.Model, r.Source)
	if _, _, ok := w.External(r.Model); ok {
		if err := w.CheckModel(r.Model); err != nil {
			c.Detail += ": " + err.Error()
			return c
		}
		c.State = Good
		return c
	}
	p, name, err := models.Find(r.Model)
	if err != nil {
		c.Detail += ": " + err.Error()
		return c
	}
	i := slices.IndexFunc(answers, func(s provider.Server) bool { return s.Name == p.Name })
	switch {
	case models.Site(p).Missing() != "":
		c.Detail += ": " + models.Site(p).Usable().Error()
	case i >= 0 && !can[p.Name]:
		c.Detail += ": its provider cannot be used, see above"
		if other := otherModel(models, can); other != "" {
			c.Next = "pawl run --model " + other
		}
	case i >= 0 && len(answers[i].Models) > 0 && !lists(answers[i].Models, name):
		c.Detail += ": " + p.Name + " does not list it"
		c.Next = "pawl models " + p.Name
	default:
		c.State = Good
	}
	return c
}

// otherModel returns the default model of a provider that can be used; empty: none.
func otherModel(ps *provider.Providers, can map[string]bool) string {
	for _, p := range ps.Providers() {
		if can[p.Name] && p.Default != "" {
			return p.Name + "/" + p.Default
		}
	}
	return ""
}

// lists reports whether a list has a model or an edition of it.
func lists(names []string, model string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == model || strings.HasPrefix(name, model+"-") || strings.HasPrefix(name, model+":")
	})
}

// checkExternals says which programs of external agents there are.
func checkExternals(opt app.Options) []Check {
	var checks []Check
	programs, _ := external.Load(opt.Env.ProgramsDir()) // checkFiles says what is wrong
	for _, x := range programs.Programs(opt.Env.Get, opt.Dir) {
		c := Check{Topic: "external agents", Name: x.Name, State: Good, Detail: fmt.Sprintf("%s, %s", strings.TrimSpace(x.Title+" "+x.Version), x.Path)}
		switch {
		case x.Path == "":
			c.State, c.Detail, c.Next = Absent, x.Title+": the program "+x.Program+" is not in PATH (optional)", x.Install
		case x.Err != nil:
			c.State, c.Detail = Bad, x.Err.Error()
		}
		if x.Note != "" {
			c.Detail += "; " + x.Note
		}
		checks = append(checks, c)
	}
	return checks
}

// checkAgents names the runs whose external agents are at work, with the memory that they take, and which of them a
// killed process has left.
func checkAgents(ctx context.Context, opt app.Options) (checks []Check) {
	w, err := app.Open(opt)
	if err != nil {
		return nil // checkChoice says why
	}
	defer w.Close() // nothing was written
	left, err := w.LeftAgents(ctx)
	if err != nil {
		return nil // checkUsage says why
	}
	memory := w.AgentMemory()
	for _, id := range slices.Sorted(maps.Keys(memory)) {
		c := Check{Topic: "external agents", Name: "at work", State: Good, Detail: "an agent of run " + string(id)}
		of, _ := w.TaskOf(ctx, id) // or checkUsage says why
		if of != nil {
			c.Detail += " of task " + string(of.Created.Task)
		}
		c.Detail += " is at work"
		if slices.Contains(left, id) {
			c.Name, c.State, c.Detail = "left", Bad, c.Detail+" though no process drives the run"
			c.Next = "the next run of an external agent in this folder ends it, and so does `pawl runs stop " + string(id) + "`"
			if of != nil {
				c.Next = "`pawl task watch " + string(of.Created.Task) + "` ends it, and continues what is to be done for the task"
			}
		}
		if n := memory[id]; n > 0 {
			c.Detail += ", and takes " + text.Size(n) + " of memory"
		}
		checks = append(checks, c)
	}
	return checks
}

// checkSandbox says what of the sandbox is in force.
func checkSandbox() []Check {
	var checks []Check
	report := sandbox.Probe()
	for _, p := range report.Parts {
		c := Check{Topic: "sandbox", Name: p.Name, State: Good, Detail: p.By, Next: p.Missing}
		if !p.InForce {
			c.State, c.Detail, c.Next = Absent, "not in force", p.Missing
		}
		checks = append(checks, c)
	}
	if !report.Confines() {
		checks = append(checks, Check{Topic: "sandbox", Name: "commands", State: Absent,
			Detail: "they have your own authority, so more of them ask"})
	}
	return checks
}

// checkVariables says which variables of this environment commands do not get.
func checkVariables(env config.Env) Check {
	set, err := config.Load(config.Sources{Env: env})
	if err != nil {
		set = &config.Config{} // checkFiles has said what is wrong
	}
	models, _ := provider.Load(env)
	c := Check{Topic: "sandbox", Name: "variables", State: Good, Detail: "no variables are removed for commands",
		Next: "Removed when set: keys of providers, values that look like keys, and names like " + strings.Join(tool.SecretVariables(), " ") + ". To pass one on purpose: pass_env = [\"NAME\"] in " + env.UserFile()}
	if names := app.ShellOptions(set, models).Withheld(os.Environ()); len(names) > 0 {
		c.Detail = "removed for commands: " + strings.Join(names, ", ")
	}
	return c
}
