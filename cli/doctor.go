package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/llm"
	"pawl/llm/models"
	"pawl/llm/script"
	"pawl/run"
	"pawl/store"
)

// A check is one thing that doctor has looked at.
type check struct {
	Topic  string  `json:"topic"` // what it is about, as pawl, models, sandbox
	Name   string  `json:"name"`
	State  verdict `json:"state"`
	Detail string  `json:"detail"`         // a sentence; never a key
	Next   string  `json:"next,omitempty"` // the command, or what else is to be done
}

// A verdict is how a check came out.
type verdict string

const (
	good    verdict = "ok"
	absent  verdict = "missing" // it is not there, and need not be
	unasked verdict = "unasked" // it was not tried
	bad     verdict = "wrong"
)

func doctorCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at what is there, what answers and what is missing, with the next command",
		Long: `Looks at the configuration, the state folder and the providers, asks those that are
configured which models they have (5 s at most, all at once), and says what is missing.
Keys are never shown.

Exit codes: 0 a model can be used, 1 none can, or pawl's own folder cannot.`,
		Example: "  pawl doctor\n  pawl doctor --offline --json",
		Args:    cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	offline := cmd.Flags().Bool("offline", false, "ask nobody")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		report := inv.examine(cmd.Context(), *offline)
		if *asJSON {
			if err := json.NewEncoder(inv.Stdout).Encode(report); err != nil {
				return err
			}
		} else if err := report.print(inv); err != nil {
			return err
		}
		if !report.Usable {
			return exit{code: exitFailed}
		}
		return nil
	}
	return cmd
}

// A report is all that doctor has seen. It is also the form of doctor --json.
type report struct {
	Version string  `json:"version"`
	Model   string  `json:"model"`  // the one that a run would have now; empty: none
	Source  string  `json:"source"` // why that one
	Usable  bool    `json:"usable"` // a run could begin
	Checks  []check `json:"checks"`
}

func (inv *invocation) examine(ctx context.Context, offline bool) report {
	r := report{Version: version(), Checks: []check{}}
	files, ok := inv.checkFiles()
	r.Checks = append(r.Checks, files...)
	state := inv.checkState()
	r.Checks = append(r.Checks, state)
	if ok {
		providers, usable := inv.checkModels(ctx, &r, offline)
		r.Checks = append(r.Checks, providers...)
		r.Usable = usable && state.State == good
	}
	r.Checks = append(r.Checks, checkSandbox()...)
	r.Checks = append(r.Checks, inv.checkVariables())
	return r
}

// checkFiles looks at the user's files. ok says that they can be read.
func (inv *invocation) checkFiles() (checks []check, ok bool) {
	ok = true
	_, modelsErr := inv.models()
	_, configErr := readFile(inv.userFile())
	for _, f := range []struct {
		name, path string
		err        error
	}{{"configuration", inv.userFile(), configErr}, {"models", inv.modelsFile(), modelsErr}} {
		c := check{Topic: "pawl", Name: f.name, State: good, Detail: f.path}
		if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
			c.State, c.Detail = absent, f.path+" is not there; it need not be"
		}
		if f.err != nil {
			c.State, c.Detail, c.Next = bad, f.err.Error(), "repair the file, or put it aside"
			ok = false
		}
		checks = append(checks, c)
	}
	return checks, ok
}

// checkState makes a store in the state folder, as a run would, and takes it away.
func (inv *invocation) checkState() check {
	dir := inv.stateDir()
	c := check{Topic: "pawl", Name: "state folder", State: good, Detail: dir + " can be written (" + inv.stateSource() + ")"}
	err := func() error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		probe, err := os.MkdirTemp(dir, "doctor-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(probe) // what is left of it is an empty folder
		s, err := store.Open(probe, store.Options{Version: version()})
		if err != nil {
			return err
		}
		return s.Close()
	}()
	if err != nil {
		c.State, c.Detail = bad, err.Error()
		c.Next = "export PAWL_STATE_DIR=… names a folder on a local disk that you may write"
	}
	return c
}

// checkModels looks at which providers are configured and, if it may, whether they
// answer. usable says that a model of one of them can be had.
func (inv *invocation) checkModels(ctx context.Context, r *report, offline bool) (checks []check, usable bool) {
	t, err := inv.models()
	if err != nil {
		return nil, false // checkFiles has said it
	}
	var sites []site
	for _, p := range t.Providers() {
		s := inv.site(p)
		if p.Wire != script.Wire && (p.Local && !offline || s.key != "" || p.Source != "" && s.missing() == "") {
			sites = append(sites, s)
		}
	}
	var answers []server
	if offline {
		for _, s := range sites {
			answers = append(answers, server{site: s})
		}
	} else {
		answers = ask(ctx, sites)
	}
	// Nobody has said that there is a server on this machine.
	answers = slices.DeleteFunc(answers, func(s server) bool { return s.err != nil && s.Local && s.key == "" && s.Source == "" })
	can := map[string]bool{}
	for _, s := range answers {
		var c check
		c, can[s.Name] = checkSite(s, offline)
		checks = append(checks, c)
		usable = usable || can[s.Name]
	}
	for _, name := range keyed {
		if p, ok := t.Provider(name); ok && p.NeedsKey() && inv.site(p).key == "" {
			checks = append(checks, check{Topic: "models", Name: name, State: absent, Detail: inv.site(p).missing(),
				Next: "export " + p.KeyEnv[0] + "=…, a key from " + p.KeysAt})
		}
	}
	choice := inv.checkChoice(r, answers, can, offline)
	return append(checks, choice), usable || choice.State == good
}

// checkSite says how a provider answered. can says that it can be asked for answers.
func checkSite(s server, offline bool) (c check, can bool) {
	at := withoutSecrets(s.address)
	if s.keyFrom != "" {
		at += " with the key in " + s.keyFrom
	}
	c = check{Topic: "models", Name: s.Name, State: good}
	var e *llm.Error
	switch {
	case s.missing() != "":
		c.State, c.Detail = bad, s.usable().Error()
		return c, false
	case offline:
		c.State, c.Detail = unasked, at
	case errors.Is(s.err, errNoList):
		c.Detail = at + " answers; it has no list of models"
	case s.err == nil && len(s.models) == 0:
		c.State, c.Detail, c.Next = bad, at+" answers and has no models", "load one there"
	case s.err == nil:
		c.Detail = fmt.Sprintf("%s answers; it has %s", at, plural(len(s.models), "model"))
	default:
		c.State, c.Detail = bad, fmt.Sprintf("%s: %v", at, s.err)
		c.Next = "look at the network, a proxy in between, and the address (" + strings.Join(append([]string{"models.toml"}, s.BaseURLEnv...), ", ") + ")"
		if errors.As(s.err, &e) && e.Kind == run.ErrAuth && len(s.KeyEnv) > 0 {
			c.Next = "export " + s.KeyEnv[0] + "=…, a key from " + s.KeysAt
		}
	}
	return c, c.State != bad
}

// checkChoice says which model a run would have now.
func (inv *invocation) checkChoice(r *report, answers []server, can map[string]bool, offline bool) check {
	c := check{Topic: "models", Name: "model", State: bad}
	workspace, err := inv.workspace()
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	set, err := inv.readSettings(pflag.NewFlagSet("doctor", pflag.ContinueOnError), workspace)
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	if v := set.values["model"]; len(v) > 0 {
		r.Model, r.Source = v[0].value, v[0].source
	}
	for _, name := range nearby {
		i := slices.IndexFunc(answers, func(s server) bool { return s.Name == name && len(s.models) > 0 })
		if i >= 0 && r.Model == "" {
			r.Model, r.Source = name+"/"+answers[i].models[0], "the server at "+withoutSecrets(answers[i].address)
		}
	}
	if r.Model == "" {
		c.Detail, c.Next = "none: no key is set, and no server on this machine answers", "pawl demo needs neither"
		if offline {
			c.Detail, c.Next = "none: no key is set", "pawl doctor looks for a server on this machine too"
		}
		if other := otherModel(set.table, can); other != "" {
			c.Next = "pawl run --model " + other
		}
		return c
	}
	c.Detail = fmt.Sprintf("%s (%s)", r.Model, r.Source)
	p, name, err := splitModel(set.table, r.Model)
	if err != nil {
		c.Detail += ": " + err.Error()
		return c
	}
	i := slices.IndexFunc(answers, func(s server) bool { return s.Name == p.Name })
	switch {
	case inv.site(p).missing() != "":
		c.Detail += ": " + inv.site(p).usable().Error()
	case i >= 0 && !can[p.Name]:
		c.Detail += ": its provider cannot be used, see above"
		if other := otherModel(set.table, can); other != "" {
			c.Next = "pawl run --model " + other
		}
	case i >= 0 && len(answers[i].models) > 0 && !lists(answers[i].models, name):
		c.Detail += ": " + p.Name + " does not list it"
		c.Next = "pawl models " + p.Name
	default:
		c.State = good
	}
	return c
}

// otherModel returns the default model of a provider that can be used; empty: none.
func otherModel(t *models.Table, can map[string]bool) string {
	for _, p := range t.Providers() {
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

func (r report) print(inv *invocation) error {
	out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "pawl %s, %s, %s/%s\n", r.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	topic := ""
	for _, c := range r.Checks {
		if c.Topic != topic {
			topic = c.Topic
			fmt.Fprintf(out, "\n%s\n", topic)
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\n", c.State, visible(c.Name), visible(strings.ReplaceAll(c.Detail, "\n", " ")))
		if c.Next != "" {
			fmt.Fprintf(out, "  \t\t→ %s\n", visible(c.Next))
		}
	}
	last := "A run can begin: pawl run -p \"…\""
	if slices.ContainsFunc(r.Checks, func(c check) bool { return c.Name == "model" && c.State != good }) {
		last = "A run can begin when its model is named: --model provider/name"
	}
	if !r.Usable {
		last = "No run can begin yet: what is wrong or missing says above what to do."
	}
	fmt.Fprintf(out, "\n%s\n", last)
	return out.Flush()
}
