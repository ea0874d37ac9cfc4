package instructions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"pawl/internal/visible"
)

// ruleFolders are the folders of rules of a folder of the repository. The first is Claude Code's, with its front matter
// `paths` (code.claude.com/docs/en/memory, "Path-specific rules", as quoted in github.com/anthropics/claude-code/issues/22170
// and /17204, read 2026-11-27): a list, or a text with commas.
var ruleFolders = []string{".claude/rules", ".pawl/rules"}

// The bounds of how far a folder of rules is looked through.
const (
	maxRules     = 200
	maxRulesSeen = 2000 // files and folders of all kinds
	maxRulesDeep = 8
)

// A rule is a file that holds for those files of the repository that match a pattern.
type rule struct {
	name  string // in the tree of the repository; the path of a rule of the user's own
	base  string // the folder that the patterns start from, relative to the root
	level int
	user  bool
	globs []string
}

// matches reports whether the rule holds for a file, relative to the root.
func (r rule) matches(file string) bool {
	if r.base != "." {
		below, ok := strings.CutPrefix(file, r.base+"/")
		if !ok {
			return false
		}
		file = below
	}
	for _, glob := range r.globs {
		if doublestar.MatchUnvalidated(strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/"), file) {
			return true
		}
	}
	return false
}

// repositoryRules reads the rules of a folder of the repository.
func (l *loader) repositoryRules(t *tree, folder string, level int) {
	for _, dir := range ruleFolders {
		dir = path.Join(folder, dir)
		l.eachRule(t.root.FS(), dir, File{Path: filepath.Join(t.dir, filepath.FromSlash(dir))}, func(name string) {
			file := File{Path: filepath.Join(t.dir, filepath.FromSlash(name))}
			if text, ok := l.read(t, name, file, level, folder); ok {
				l.follow(t, name, text, level, 1)
			}
		})
	}
}

// userRules reads the rules of the user's own.
func (l *loader) userRules() {
	for _, dir := range l.options.Rules {
		l.eachRule(os.DirFS(dir), ".", File{Path: dir, User: true}, func(name string) {
			l.userFile(filepath.Join(dir, filepath.FromSlash(name)), ".")
		})
	}
}

// eachRule calls do with the files *.md of a folder and those below it, in order. Links to folders are not followed.
func (l *loader) eachRule(in fs.FS, dir string, file File, do func(name string)) {
	found, seen := 0, 0
	_ = fs.WalkDir(in, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if !errors.Is(err, fs.ErrNotExist) {
				l.skip(file, reason(err))
			}
			return fs.SkipDir
		case found == maxRules || seen == maxRulesSeen:
			l.skip(file, fmt.Sprintf("more than %d rules or %d files: those that follow are not read", maxRules, maxRulesSeen))
			return fs.SkipAll
		case e.IsDir() && strings.Count(strings.TrimPrefix(name, dir), "/") > maxRulesDeep:
			return fs.SkipDir
		}
		seen++
		if !e.IsDir() && path.Ext(name) == ".md" {
			found++
			do(name)
		}
		return nil
	})
}

// cutGlobs returns the text of a rule without its front matter, and the patterns of the files that it holds for.
func cutGlobs(content []byte, more bool) (text []byte, globs []string, err error) {
	if more { // the last character may be incomplete
		content = content[:lineEnd(content, len(content)-1)]
	}
	f, body, err := CutFront(content)
	if err != nil {
		return nil, nil, err
	}
	values, ok := f["paths"].([]any)
	if !ok && f["paths"] != nil {
		values = []any{f["paths"]}
	}
	for _, v := range values {
		for _, glob := range splitGlobs(visible.Strip(fmt.Sprint(v))) {
			if !doublestar.ValidatePattern(glob) {
				return nil, nil, fmt.Errorf("its pattern %s is not one: a [ or { is not closed, or a \\ stands at the end", visible.Quote(glob))
			}
			globs = append(globs, glob)
		}
	}
	return []byte(body), globs, nil
}

// splitGlobs splits a text at its commas, but for those in braces.
func splitGlobs(text string) (globs []string) {
	for _, glob := range fieldsOutside(text, ",", '{', '}') {
		if glob = strings.Trim(glob, ` "'`); glob != "" {
			globs = append(globs, glob)
		}
	}
	return globs
}
