package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/config"
	"pawl/hook"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/task"
)

// ownHooksFile is the person's own file of hooks, in the folder of the configuration.
const ownHooksFile = "hooks.json"

// maxHooksFile bounds a file of hooks.
const maxHooksFile = 1 << 20

// hooksFound are the hooks of a workspace.
type hooksFound struct {
	all       []hook.Hook // in the order in which their files count
	problems  []string    // which do not run, and why
	missing   []string    // those of them that are said at the start of runs: a person relies on them
	untrusted []string    // files that a person has to review first
}

// Hooks returns the hooks that run here: the person's own and those of the repository that are trusted. untrusted are the
// files of the others, and problems say what else does not run, and why.
func (w *Workspace) Hooks() (all []hook.Hook, untrusted, problems []string, err error) {
	s, err := w.load()
	if err != nil {
		return nil, nil, nil, err
	}
	f := s.hooks()
	return f.all, f.untrusted, slices.Concat(f.problems, f.missing), nil
}

func (w *Workspace) findHooks(p *policy.Policy) (f hooksFound) {
	own := filepath.Join(w.env.UserDir(), ownHooksFile)
	switch content, err := config.ReadBounded(own, maxHooksFile); {
	case err == nil:
		f.add(p, w.Dir, own, content, "")
	case !errors.Is(err, fs.ErrNotExist):
		f.missing = append(f.missing, fmt.Sprintf("%s: %v", own, err))
	}
	for _, plugin := range w.plugins().all {
		f.all = append(f.all, plugin.Hooks...)
	}
	f.problems = append(f.problems, w.plugins().problems...) // who drives runs is told
	dirs := w.parents()
	if home := w.home(); home != "" && !slices.Contains(dirs, home) {
		dirs = append([]string{home}, dirs...) // Claude Code's settings of the person, reviewed as a folder of its own
	}
	for _, dir := range dirs {
		for _, name := range policy.HookFiles {
			files, others := p.TrustedFilesOf(dir, name)
			for _, file := range files {
				f.add(p, w.Dir, filepath.Join(dir, filepath.FromSlash(file.Name)), file.Content, dir)
			}
			for _, other := range others {
				f.untrusted = append(f.untrusted, filepath.Join(dir, filepath.FromSlash(other)))
			}
		}
	}
	return f
}

// add adds the hooks in a file of a folder; of "" it is the person's own.
func (f *hooksFound) add(p *policy.Policy, workspace, file string, content []byte, dir string) {
	hooks, problems, err := hook.Parse(content, file, dir == "")
	if err != nil {
		f.missing = append(f.missing, err.Error())
	}
	if dir != "" {
		reviewed := p.Reviewed(dir)
		for i := range hooks {
			hooks[i].Project = dir
			hooks[i].Files = filesOf(&hooks[i], dir, reviewed)
		}
	}
	hooks = slices.DeleteFunc(hooks, func(h hook.Hook) bool {
		unseen := len(h.Files) > 0 && dir != workspace && h.URL == ""
		if unseen {
			f.missing = append(f.missing, fmt.Sprintf("%s: %s: it runs %s, which commands of runs in %s do not see: run pawl in %s",
				file, h.Point, h.Files[0], workspace, dir))
		}
		return unseen
	})
	f.all, f.problems = append(f.all, hooks...), append(f.problems, problems...)
}

// hookSet returns the hooks of runs; nil: there are none.
func (w *Workspace) hookSet(s *settings) *hook.Set {
	f := s.hooks()
	for _, problem := range f.missing {
		w.opt.Notice("hooks do not run: " + problem)
	}
	for _, file := range f.untrusted {
		switch dir := filepath.Dir(filepath.Dir(file)); dir {
		case w.home(): // of another program: who does not want them here is not told in each run
		case w.Dir:
			w.opt.Notice("hooks do not run: " + file + ": review it with `pawl trust`")
		default:
			w.opt.Notice("hooks do not run: " + file + ": review it with `pawl -C " + text.ShellWord(dir) + " trust`")
		}
	}
	if len(f.all) == 0 {
		return nil
	}
	return &hook.Set{Hooks: f.all, Options: s.shellOptions(), Workspace: w.Dir,
		Check: func(h *hook.Hook, project string) error {
			if h.URL != "" {
				d := s.policy.Decide("", permission.Bypass, permission.Request{Tool: "fetch", Class: run.Reads, URL: h.URL})
				if d.Verdict == permission.Deny {
					return fmt.Errorf("%s denies its address", cmp.Or(d.Rule, d.Reason))
				}
			}
			if h.Plugin != "" {
				return w.plugins().check(h.Plugin)
			}
			return checkHook(s.policy, h, project)
		}}
}

// TaskHooks runs the hooks that look at a task before it is added, and returns what came of them. An error says that it
// must not be added.
func (w *Workspace) TaskHooks(ctx context.Context, c task.Created) ([]run.HookRun, error) {
	s, err := w.load()
	if err != nil || !slices.ContainsFunc(s.hooks().all, func(h hook.Hook) bool { return h.Point == run.TaskCreated }) {
		return nil, err
	}
	set := w.hookSet(s)
	m := hook.Moment{Hook: run.Hook{Point: run.TaskCreated}, Mode: s.Get("mode"), Task: task.State{Created: c, Description: c.Description}}
	_, env, err := w.callEnv(run.State{})
	if err != nil {
		return nil, err
	}
	said := set.Run(ctx, env.ForCall(), m, set.For(m, w.Dir))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case said.Says == run.HookDenies || said.Halt != "":
		return nil, config.Errorf("the task was not added: a hook refused it: %s", cmp.Or(said.Reason, said.Halt))
	}
	return said.Runs, nil
}

// checkHook returns an error if a hook of a project would run without a file that it names, or with one that no one has
// trusted as it is. The project may be a copy.
func checkHook(p *policy.Policy, h *hook.Hook, project string) error {
	names := filesOf(h, project, h.Files) // of a pattern there may be others by now
	if len(names) == 0 || h.Project == "" {
		return nil
	}
	changed, err := p.Unreviewed(project, h.Project, names)
	switch {
	case err != nil:
		return err
	case len(changed) > 0:
		return fmt.Errorf("%s is not trusted as it is: review it with `pawl trust`", strings.Join(changed, ", "))
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(project, name)); err != nil {
			return fmt.Errorf("%s, which it runs, is not there", name)
		}
	}
	return nil
}

// hookScripts returns the files of the workspace that its hooks run, trusted or not: they are reviewed with them.
func (w *Workspace) hookScripts() (names []string) {
	for _, file := range policy.HookFiles {
		content, err := config.ReadBounded(filepath.Join(w.Dir, filepath.FromSlash(file)), maxHooksFile)
		if err != nil {
			continue
		}
		hooks, _, _ := hook.Parse(content, file, false) // what cannot be read names none
		for _, h := range hooks {
			names = append(names, filesOf(&h, w.Dir, nil)...)
		}
	}
	return names
}

// hookScriptsDir is where a repository keeps what its hooks run: what is there is reviewed, whatever it is called.
const hookScriptsDir = ".claude/hooks"

// filesOf returns the files of a folder that the command of a hook names, links to files among them, and those of it that
// were reviewed and are gone. Of a hook that goes through all of hookScriptsDir that folder is one.
func filesOf(h *hook.Hook, dir string, reviewed []string) (names []string) {
	for _, name := range h.Mentions(cmp.Or(h.Project, dir)) {
		found := []string{name}
		if hook.IsPattern(name) {
			found, _ = fs.Glob(os.DirFS(dir), name)
			found = append(found, path.Dir(name))
		}
		for _, name := range found {
			info, err := os.Stat(filepath.Join(dir, name))
			isLink := func() bool { _, err := os.Readlink(filepath.Join(dir, name)); return err == nil }
			if slices.Contains(reviewed, name) || err == nil && (!info.IsDir() || name == hookScriptsDir) || err != nil && isLink() {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
