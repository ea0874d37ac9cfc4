package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/agent"
	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/external"
	"pawl/forms"
	"pawl/run"
)

func agentsCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "agents",
		Short: "List, show, write, check and test agents",
		Long: `Works with agents: configurations of runs with instructions, tools, a model, permissions
and a required result. Each is a file in your folder agents, beside config.toml, or in
.pawl/agents of the workspace, which needs trust; some are built in.`,
		Example: `  pawl agents list
  pawl agents add auditor
  pawl run --agent auditor -p "look at package store"`,
	})
	for _, c := range []func(*command.Invocation) *cobra.Command{
		agentsListCommand, agentsShowCommand, agentsAddCommand, agentsEditCommand, agentsRmCommand, agentsCheckCommand, agentsTestCommand,
	} {
		cmd.AddCommand(c(inv))
	}
	return cmd
}

// withRoster gives cmd the form of a subcommand that works on the agents of the workspace.
func withRoster(inv *command.Invocation, cmd *cobra.Command, do func(ctx context.Context, r *agent.Roster, args []string) error) *cobra.Command {
	if cmd.ValidArgsFunction == nil && cmd.Args != nil {
		cmd.ValidArgsFunction = completeAgents(inv)
	}
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		r, err := ws.Agents()
		if err == nil {
			err = do(ctx, r, args)
		}
		if errors.As(err, new(*agent.NotFoundError)) {
			err = command.Usage("%w", err)
		}
		return err
	})
}

// oneName refuses anything but the name of one thing.
func oneName(of string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes the name of one %s", cmd.CommandPath(), of)
		}
		return nil
	}
}

func agentsListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents and whether they can run",
		Long: `Lists the agents by name: what each is for, where it comes from, and why it cannot run now. After them come
the programs on this machine that agents can be: each with its version, those that pawl was tested with, whether you
are logged in, and what bounds it. Each is started to ask for its version.`,
		Example: "  pawl agents list\n  pawl agents list --json",
		Args:    cobra.NoArgs,
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	asJSON := command.JSONFlag(cmd)
	return withRoster(inv, cmd, func(ctx context.Context, r *agent.Roster, _ []string) error {
		all, err := r.All()
		if err != nil {
			inv.Notice(err.Error())
		}
		if *asJSON {
			return inv.Encode(forms.AgentListForm{List: forms.List[forms.AgentForm]{Items: forms.AgentForms(ctx, r, all)}, Programs: programs(inv)})
		}
		rows := [][]string{{"NAME", "KIND", "FROM", "FOR"}}
		for _, a := range all {
			what := a.Description
			if ok, why := r.Valid(ctx, a); !ok {
				what = "cannot run: " + why
			}
			from := string(a.Source)
			if a.Program != "" {
				from += ", " + a.Program
			}
			if a.Untrusted {
				from += ", not trusted"
			}
			rows = append(rows, []string{command.Visible(a.Name), cmp.Or(string(a.Kind), "-"), from, command.Visible(command.OneLine(what, 100))})
		}
		if err := inv.PrintLines(command.TableLines(rows, inv.TableWidth())); err != nil {
			return err
		}
		return printPrograms(inv, programs(inv))
	})
}

// programs returns the programs on this machine that agents can be.
func programs(inv *command.Invocation) []forms.ProgramForm {
	described, _ := external.Load(config.Env(inv.Env).ProgramsDir()) // what is wrong is said when the settings are read
	return forms.ProgramForms(described.Programs(config.Env(inv.Env).Get, ""))
}

// printPrograms prints programs, if there are any.
func printPrograms(inv *command.Invocation, all []forms.ProgramForm) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"PROGRAM", "VERSION", "TESTED", "LOGGED IN", "PERMISSIONS", "FILE"}}
	var notes []string
	for _, x := range all {
		rows = append(rows, []string{x.Name, command.Visible(cmp.Or(x.Version, "-")), cmp.Or(x.Tested, "-"), x.LoggedIn, x.Permissions, command.Visible(x.File)})
		for _, note := range []string{x.Warning, x.Error} {
			if note != "" {
				notes = append(notes, command.Visible(note))
			}
		}
	}
	lines := append([]string{"", "Programs that agents can be (provider: PROGRAM in their files):"}, command.TableLines(rows, inv.TableWidth())...)
	return inv.PrintLines(append(lines, notes...))
}

func agentsShowCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show an agent with its instructions",
		Long: `Prints an agent in the form of its file, after what is known of it. Of an agent of the
workspace that is not trusted, what counts is printed.`,
		Example: "  pawl agents show reviewer\n  pawl agents show reviewer --json",
		Args:    oneName("agent"),
	}
	asJSON := command.JSONFlag(cmd)
	return withRoster(inv, cmd, func(ctx context.Context, r *agent.Roster, args []string) error {
		a, err := r.Get(args[0])
		if err != nil {
			return err
		}
		form := forms.AgentFormOf(ctx, r, a)
		form.Instructions = a.Instructions
		if *asJSON {
			return inv.Encode(form)
		}
		where := string(a.Source)
		if a.Path != "" {
			where += ", " + a.Path
		}
		if a.Program != "" {
			where += ", for " + a.Program
		}
		can := "yes"
		if !form.Valid {
			can = "no: " + form.Why
		}
		fmt.Fprintf(inv.Stdout, "from:    %s\nruns:    %s\n", command.Visible(where), command.Visible(can))
		if a.Untrusted {
			fmt.Fprintln(inv.Stdout, "trust:   none: only its text counts; see pawl trust")
		}
		if len(a.LeftOut) > 0 {
			fmt.Fprintf(inv.Stdout, "without: %s\n", command.Visible(strings.Join(a.LeftOut, "; ")))
		}
		if form.Output != nil {
			fmt.Fprintf(inv.Stdout, "submits: %s\n", form.Output.Tool)
		}
		if a.Problem != "" {
			return nil
		}
		text, err := agent.Format(a)
		if err == nil {
			_, err = fmt.Fprintf(inv.Stdout, "\n%s", command.Visible(string(text)))
		}
		return err
	})
}

// An agentFile is what add and edit share: where the file of an agent goes, and how it is saved.
type agentFile struct {
	workspace bool
	json      *bool
}

func (f *agentFile) define(cmd *cobra.Command) {
	f.json = command.JSONFlag(cmd)
	cmd.Flags().BoolVar(&f.workspace, "workspace", false, "write to .pawl/agents of the workspace, and trust it")
}

// save writes the file of an agent, without its suffix if it is new, and says where.
func (f *agentFile) save(ctx context.Context, inv *command.Invocation, r *agent.Roster, file, text string, to agent.Source) error {
	if filepath.Ext(file) == "" {
		file += ".md"
		if strings.HasPrefix(text, "{") {
			file = strings.TrimSuffix(file, ".md") + ".json"
		}
	}
	name := strings.TrimSuffix(file, filepath.Ext(file))
	written, err := r.SaveFile(file, []byte(text), to)
	if err != nil {
		return command.Usage("%w", err)
	}
	err = inv.Print(*f.json, forms.AgentFileForm{Name: name, File: written}, "wrote %s\n", command.Visible(written))
	if saved, getErr := r.Get(name); getErr == nil && saved.Path != written {
		inv.Notice(fmt.Sprintf("%s of %s has the same name and is used instead", saved.Name, saved.Path))
	} else if ok, why := r.Valid(ctx, saved); !ok {
		inv.Notice(fmt.Sprintf("the agent %s cannot run now: %s", name, why))
	}
	return err
}

// readBounded reads a file of at most max bytes.
func readBounded(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(content)) > max {
		err = fmt.Errorf("%s has more than %d bytes", path, max)
	}
	return content, err
}

// agentTemplate is a first file of an agent. docs/agents.md describes each key.
const agentTemplate = `---
description: What the agent is for, in a line. Other agents choose by it.
# kind: planner                            # without it: worker
# model: anthropic/claude-sonnet-5-5       # without it: that of the settings
# tools: [read, list, glob, search, shell] # without it: all
# permissions:
#   mode: default
#   allow: [shell(go test *)]
#   deny: [write, edit]
# limits: {steps: 50, cost: 1.50, time: 20m}
---

Say here what the agent does, how, and what its answer has to hold.
`

func agentsAddCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Write a new agent",
		Long: `Writes the file of a new agent: what standard input holds, which is Markdown with or without
front matter or one JSON object, or else a template to be edited.`,
		Example: `  pawl agents add auditor && pawl agents edit auditor
  pawl agents add auditor --workspace < auditor.md`,
		Args: oneName("agent"),
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	var f agentFile
	f.define(cmd)
	return withRoster(inv, cmd, func(ctx context.Context, r *agent.Roster, args []string) error {
		if err := inv.AsPerson("write agents"); err != nil {
			return err
		}
		to := agent.FromUser
		if f.workspace {
			to = agent.FromWorkspace
		}
		if old, err := r.Get(args[0]); err == nil && old.Own() != "" && old.Source == to {
			return command.Usage("the agent %s exists, in %s: change it with `pawl agents edit %s`", old.Name, old.Path, old.Name)
		}
		text, err := inv.InputText(ctx)
		if err != nil {
			return err
		}
		return f.save(ctx, inv, r, args[0], cmp.Or(text, agentTemplate), to)
	})
}

func agentsEditCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "Change the file of an agent",
		Long: `Opens the file of an agent in $VISUAL or $EDITOR, or replaces it by what standard input holds.
A built-in agent, and one in a file of another program, is not changed: a file of its name,
which counts instead, is written to your folder, or to .pawl/agents.`,
		Example: `  pawl agents edit reviewer
  pawl agents edit auditor < auditor.md`,
		Args: oneName("agent"),
	}
	var f agentFile
	f.define(cmd)
	return withRoster(inv, cmd, func(ctx context.Context, r *agent.Roster, args []string) error {
		if err := inv.AsPerson("change agents"); err != nil {
			return err
		}
		a, err := r.Get(args[0])
		if err != nil {
			return err
		}
		to := a.Source
		switch {
		case f.workspace:
			to = agent.FromWorkspace
		case to == agent.BuiltIn:
			to = agent.FromUser
		}
		text, err := inv.InputText(ctx)
		if err != nil {
			return err
		}
		if text != "" {
			return f.save(ctx, inv, r, filepath.Base(cmp.Or(a.Own(), a.Name)), text, to)
		}
		return f.edit(ctx, inv, r, a, to)
	})
}

// edit opens the file of an agent in the person's editor, and saves what comes of it once
// it can be read.
func (f *agentFile) edit(ctx context.Context, inv *command.Invocation, r *agent.Roster, a agent.Agent, to agent.Source) error {
	name := a.Name + ".md"
	content, err := agent.Format(a)
	if own := a.Own(); own != "" {
		name = filepath.Base(own)
		content, err = readBounded(own, 1<<20)
	}
	if err != nil {
		return err
	}
	return editText(ctx, inv, name, string(content), "pawl agents edit "+a.Name, func(edited string) error {
		return f.save(ctx, inv, r, name, edited, to)
	})
}

// editText opens a text in the person's editor, as a file of that name, and saves what comes of it. If that fails the file
// stays; again is the command that takes it on standard input.
func editText(ctx context.Context, inv *command.Invocation, name, content, again string, save func(edited string) error) error {
	visual, _ := inv.Env("VISUAL")
	editor, _ := inv.Env("EDITOR")
	editor = cmp.Or(visual, editor)
	if editor == "" {
		return command.Usage("neither VISUAL nor EDITOR is set: set one, or give the text on standard input")
	}
	dir, err := os.MkdirTemp("", "pawl-edit-")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	// As git does: the variable is a command with arguments, for a shell.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.Stdin, inv.Stdout, inv.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor failed, and nothing was changed: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	edited, err := readBounded(path, 1<<20)
	if err != nil {
		return err
	}
	if string(edited) == content {
		_, err = fmt.Fprintln(inv.Stdout, "nothing was changed")
	} else if err = save(string(edited)); err != nil {
		return command.Usage("%w\nthe edited text is in %s; correct it, and %s < %[2]s", err, path, again)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func agentsRmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove the file of an agent",
		Long:    "Removes the file of an agent. A built-in agent that it replaced is there again.",
		Example: "  pawl agents rm auditor",
		Args:    oneName("agent"),
	}
	asJSON := command.JSONFlag(cmd)
	return withRoster(inv, cmd, func(_ context.Context, r *agent.Roster, args []string) error {
		if err := inv.AsPerson("remove agents"); err != nil {
			return err
		}
		file, err := r.Remove(args[0])
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, forms.AgentFileForm{Name: args[0], File: file}, "removed %s\n", command.Visible(file))
	})
}

func agentsCheckCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [NAME…]",
		Short: "Check whether agents can run",
		Long: `Checks the files of all agents, or of those named: whether they can be read, their tools
exist, and their models can be used. The network is not used.

Exit codes: 0 all can run, 1 some cannot.`,
		Example: "  pawl agents check\n  pawl agents check reviewer --json",
		Args:    cobra.ArbitraryArgs,
	}
	asJSON := command.JSONFlag(cmd)
	return withRoster(inv, cmd, func(ctx context.Context, r *agent.Roster, args []string) error {
		all, err := r.All()
		if err != nil {
			return err
		}
		for _, name := range args {
			if _, err := r.Get(name); err != nil {
				return err
			}
		}
		wrong := 0
		checked := forms.List[agentCheckForm]{Items: []agentCheckForm{}}
		for _, a := range all {
			if len(args) > 0 && !slices.Contains(args, a.Name) {
				continue
			}
			ok, why := r.Valid(ctx, a)
			if !ok {
				wrong++
			}
			if *asJSON {
				checked.Items = append(checked.Items, agentCheckForm{a.Name, ok, why, a.Path})
			} else if ok {
				_, err = fmt.Fprintf(inv.Stdout, "%s: can run\n", command.Visible(a.Name))
			} else {
				_, err = fmt.Fprintf(inv.Stdout, "%s: cannot run: %s\n", command.Visible(a.Name), command.Visible(why))
			}
			if err != nil {
				return err
			}
		}
		if *asJSON {
			if err := inv.Encode(checked); err != nil {
				return err
			}
		}
		if wrong > 0 {
			return command.Exit{Code: command.ExitFailed}
		}
		return nil
	})
}

func agentsTestCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Let an agent do a tiny task, and say what holds",
		Long: `Lets an agent, or a program such as claude-code, do a tiny task in a run of its own, and says what
that has shown: that it runs, is logged in, submits a result, does nothing that needs approval, continues its
conversation, and can be stopped. It makes a few small requests to the model.

Exit codes: 0 nothing has failed, 1 something has.`,
		Example: "  pawl agents test builder\n  pawl agents test codex --json",
		Args:    oneName("agent"),
	}
	cmd.ValidArgsFunction = completeAgents(inv)
	asJSON := command.JSONFlag(cmd)
	open := func(*pflag.FlagSet) (*app.Workspace, error) {
		opt := inv.Options(nil)
		opt.Drives = true
		return app.Open(opt)
	}
	return command.InWorkspace(cmd, open, func(ctx context.Context, ws *app.Workspace, args []string) error {
		form := agentTestForm{Name: args[0]}
		var failed error
		id, err := proveAgent(ctx, ws, args[0], func(p agentProof) {
			form.Items = append(form.Items, p)
			if p.State == "failed" {
				failed = command.Exit{Code: command.ExitFailed}
			}
			if !*asJSON {
				line := fmt.Sprintf("%-11s %s", p.What, p.State)
				if p.Why != "" {
					line += ": " + command.Visible(command.OneLine(p.Why, 300))
				}
				fmt.Fprintln(inv.Stdout, line)
			}
		})
		if errors.As(err, new(*agent.NotFoundError)) {
			return command.Usage("%w", err)
		}
		form.Run = id
		switch {
		case *asJSON:
			err = errors.Join(err, inv.Encode(form))
		case id != "":
			inv.Notice(fmt.Sprintf("see `pawl runs show %s`", id))
		}
		return cmp.Or(err, failed)
	})
}

// An agentTestForm is what a test of an agent has shown, as JSON.
type agentTestForm struct {
	Name  string       `json:"name"`
	Run   run.ID       `json:"run,omitempty"`
	Items []agentProof `json:"items"`
}

// An agentCheckForm is whether an agent can run, as JSON.
type agentCheckForm struct {
	Name  string `json:"name"`
	Valid bool   `json:"valid"`
	Why   string `json:"why,omitempty"` // it is not valid
	File  string `json:"file,omitempty"`
}

// completeAgents completes the name of an agent, with what it is for.
func completeAgents(inv *command.Invocation) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			r, err := ws.Agents()
			if err != nil {
				return nil, err
			}
			all, err := r.All()
			var found []cobra.Completion
			for _, a := range all {
				found = append(found, cobra.CompletionWithDesc(a.Name, command.OneLine(a.Description, 60)))
			}
			return command.StartingWith(found, typed), err
		})
	}
}
