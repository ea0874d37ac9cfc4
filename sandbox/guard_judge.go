package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// judgeRepository looks at a folder that git takes for a repository and that was not
// there before. If a program outside would run something of its choice it is taken
// away: all of a .git, of others what makes it so.
func (g *guard) judgeRepository(p *Policy, dir string, until time.Time) {
	root, rel := p.rootAt(dir)
	if root == nil || !until.IsZero() && !changedBefore(root, rel, until) {
		return
	}
	harmful := ""
	taken := g.disarmed[dir]
	if len(taken.taken) > 0 && taken.id == idOf(dir) && isDotGit(filepath.Base(dir)) {
		harmful = slices.Sorted(maps.Keys(taken.taken))[0]
		g.told = slices.DeleteFunc(g.told, func(s string) bool { return slices.Contains(taken.said, s) })
	}
	for _, name := range gitNames {
		at := filepath.Join(rel, name)
		if now := takeGuarded(root, filepath.Join(dir, name), at); !p.mayBecome(filepath.Join(dir, name), &snapshot{}, now) {
			if !isDotGit(filepath.Base(dir)) {
				g.tell(filepath.Join(dir, name), p.restore(root, at, &snapshot{}, now))
				continue
			}
			harmful = name
			break
		}
	}
	if harmful != "" {
		g.tell(dir, p.takeAway(root, rel, harmful, taken.taken))
		return
	}
	g.before.Repositories[dir] = idOf(dir)
	g.makes(dir)
	for _, name := range gitNames {
		path := filepath.Join(dir, name)
		g.before.Paths[path] = takeGuarded(root, path, filepath.Join(rel, name)).withoutStat()
	}
}

// mayBecome reports whether what is at a guarded path may stay though it is not what
// stood there.
func (p *Policy) mayBecome(path string, was, now *snapshot) bool {
	dir, name := splitGitName(path)
	switch {
	case name == "":
		return isDotGit(filepath.Base(path)) && (!now.isThere() || now.Mode.IsRegular() && p.mayLeadTo(namedIn(now.Content, filepath.Dir(path))))
	case name == "rebase-merge/git-rebase-todo":
		return !now.isThere() || now.Mode.IsRegular() && now.Stamp == "" && runsNothingNew(was.Content, now.Content)
	case name == "rebase-merge/strategy":
		return !now.isThere() || now.Mode.IsRegular() && mergeStrategies[strings.TrimSpace(string(now.Content))]
	case name == "sequencer/opts":
		if now.isThere() && (!now.Mode.IsRegular() || now.Stamp != "") {
			return false
		}
		settings, err := p.git.parseConfig(now.Content)
		return err == nil && !slices.ContainsFunc(settings, func(s setting) bool { return s.key() == "options.strategy" && !mergeStrategies[s.value] })
	case shallowNames[name]:
		return !now.isThere() || now.Mode.IsDir()
	case !now.isThere():
		return true
	case name == "hooks":
		return onlySamples(now)
	case name == "config" || name == "config.worktree" && !isOfGit(dir):
		if !now.Mode.IsRegular() || now.Stamp != "" {
			return false
		}
		settings, err := p.git.parseConfig(now.Content)
		return err == nil && harmful(settings, dir, p.Workspace) == ""
	case name == alternates:
		return now.Mode.IsRegular() && now.Stamp == "" && p.staysInside(now.Content, filepath.Join(dir, "objects"))
	case name == "commondir" || name == "gitdir":
		// That of a worktree names the repository it is in. An empty one is about to be written
		// by git, and read by no git: it is an error.
		return now.Mode.IsRegular() && filepath.Base(filepath.Dir(dir)) == "worktrees" &&
			(name == "gitdir" || now.Stamp == "" && len(now.Content) == 0 || filepath.Join(dir, strings.TrimSpace(string(now.Content))) == filepath.Dir(filepath.Dir(dir)))
	}
	return false
}

// mayLeadTo reports whether a link called .git that a command makes may lead to a repository's
// folder. A repository that is not called .git came with a clone, perhaps; no git outside
// obeys it by itself, so by a link it has to be as harmless as a new one.
func (p *Policy) mayLeadTo(dir string) bool {
	if !p.index.isRepository(dir) {
		return false
	}
	common := commonFolder(dir)
	return isOfGit(common) || slices.Contains(p.own, common) || p.runsNothing(common) && p.runsNothing(dir)
}

// runsNothing reports whether all of the folder of a repository could have been made by a command.
func (p *Policy) runsNothing(dir string) bool {
	root, rel := p.rootAt(dir)
	return root != nil && !slices.ContainsFunc(gitNames, func(name string) bool {
		path := filepath.Join(dir, name)
		return !p.mayBecome(path, &snapshot{}, takeGuarded(root, path, filepath.Join(rel, name)))
	})
}

// staysInside reports whether the folders that alternates of a folder of objects name are
// where commands work.
func (p *Policy) staysInside(content []byte, objects string) bool {
	for line := range strings.Lines(string(content)) {
		at := strings.TrimSuffix(line, "\n")
		if !filepath.IsAbs(at) {
			at = filepath.Join(objects, at)
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil || strings.HasPrefix(line, `"`) || !slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(real, f) }) {
			return false // git reads what stands in quotes
		}
		dir := filepath.Dir(real)
		if filepath.Base(real) != "objects" || !p.index.isRepository(dir) {
			return false // it could have alternates of its own, which nothing looks at
		}
		if _, err := os.Lstat(filepath.Join(dir, alternates)); err == nil && !isOfGit(dir) && !slices.Contains(p.own, dir) {
			return false // they may have come with a clone
		}
	}
	return true
}

// onlySamples reports whether a folder of hooks has none that git would run.
func onlySamples(s *snapshot) bool {
	for name, f := range s.Files {
		if !strings.HasSuffix(name, ".sample") || !f.Mode.IsRegular() {
			return false
		}
	}
	return s.Mode.IsDir()
}
