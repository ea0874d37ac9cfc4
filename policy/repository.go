package policy

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"pawl/permission"
)

// A repository is what came with the workspace and was read of it.
type repository struct {
	// trustedHere are the hashes of what counts for the life of this process alone, by file.
	trustedHere map[string]string

	// lastCounted is the content of the rules' file that last counted as a whole in this
	// process. A change of the file during a run takes nothing from it, as long as it
	// stays trusted.
	lastCounted []byte

	// What was made of the file's last content.
	all   permission.Rules // its rules, trusted or not
	notes []string

	// read keeps what was made of contents, by hash: the file is read at every
	// decision, because what comes with a workspace is not believed to be unchanged
	// for looking so, but parsed once.
	read map[string]reading
}

// A reading is what was made of the content of a file of rules.
type reading struct {
	rules permission.Rules
	notes []string
	err   error
}

// maxReadings bounds the contents that are kept: those of now, lastCounted and trusted before.
const maxReadings = 4

func (r *repository) parse(content []byte, path string) (permission.Rules, []string, error) {
	sum := sumOf(content)
	if was, ok := r.read[sum]; ok {
		return was.rules, was.notes, was.err
	}
	if r.read == nil || len(r.read) >= maxReadings {
		r.read = map[string]reading{}
	}
	rules, notes, err := parse(content, permission.FromRepository, path)
	r.read[sum] = reading{rules, notes, err}
	return rules, notes, err
}

// trustHere lets a file count for the life of the process.
func (r *repository) trustHere(c Change) {
	trustedHere := maps.Clone(r.trustedHere)
	if trustedHere == nil {
		trustedHere = map[string]string{}
	}
	trustedHere[c.File] = c.Sum
	r.trustedHere = trustedHere
	if c.File == rulesName {
		r.lastCounted = c.Now // also if it changes before the first decision
	}
}

// repositoryRules returns the rules of the repository's file that count: all of them if
// its content is trusted; else those that forbid or ask, of what is there and of
// what was trusted. The caller holds the lock.
func (p *Policy) repositoryRules() (permission.Rules, error) {
	p.repo.all, p.repo.notes = nil, nil
	root, record, err := p.trusted()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	path := filepath.Join(p.o.Workspace, rulesName)
	trusted := record.sumOf(rulesName)
	counts := func(content []byte) bool {
		return content != nil && (sumOf(content) == trusted || sumOf(content) == p.repo.trustedHere[rulesName])
	}

	var now []byte
	g := readConfigFile(root, rulesName)
	switch {
	case g != nil && g.problem != "":
		err = fmt.Errorf("%s: %s, so what it forbids is not known; remove it", p.o.Workspace, g.problem)
	case g != nil:
		now = g.content // not nil, also of an empty file
		p.repo.all, p.repo.notes, err = p.repo.parse(now, path)
	}
	if err == nil && counts(now) {
		p.repo.lastCounted = now
		return p.repo.all, nil
	}
	rules := strict(p.repo.all)
	if counts(p.repo.lastCounted) {
		lastCounted, _, herr := p.repo.parse(p.repo.lastCounted, path)
		return permission.Merge(rules, lastCounted), errors.Join(err, herr)
	}
	if trusted == "" {
		return rules, err
	}
	// What was trusted and is not there any more still forbids what it forbade.
	content, terr := p.trust.content(trusted)
	if terr != nil {
		return rules, errors.Join(err, fmt.Errorf("what you trusted of %s cannot be read any more: %w; look at it again with `pawl trust`", path, terr))
	}
	was, _, werr := p.repo.parse(content, path)
	return permission.Merge(rules, strict(was)), errors.Join(err, werr)
}

// changeRepository replaces the rules of the repository's file by what do makes of
// them, and trusts what it wrote. The caller holds the lock.
func (p *Policy) changeRepository(do func(path string, all []entry) ([]entry, error)) error {
	return p.changeFile(rulesName, func(path string, _ bool, content []byte) ([]byte, error) {
		all, err := entries(content, path)
		if err == nil {
			all, err = do(path, all)
		}
		if err != nil {
			return nil, err
		}
		return format(all), nil
	})
}
