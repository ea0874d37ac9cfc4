package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/lazy"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// A Store is the plugins and marketplaces of a person, in a folder of pawl's own:
//
//	plugins.json            which there are, where each comes from, and the digest of what was trusted
//	content/DIGEST/NAME/    the files of a plugin, as they were then; the beginning of the digest
//
// A plugin is a copy, so that nothing that changes where it came from counts before it is looked at, and its copy counts as
// long as it has the digest. The file is replaced whole after the files are written: a process that is killed leaves the
// plugins that there were, or those with the change. It is safe for concurrent use by processes.
type Store struct {
	Dir  string   // absolute
	Data string   // the folder of those that plugins may write, in a workspace; empty: none
	Path string   // PATH, for git
	Not  []string // folders where agents write: a git there is not run
}

// DataOf returns the folder that a plugin may write.
func (s Store) DataOf(name string) string { return filepath.Join(s.Data, name) }

// A record is a plugin in the file.
type record struct {
	Name   string    `json:"name"`
	Source Source    `json:"source"`
	SHA256 string    `json:"sha256"`
	When   time.Time `json:"when"`
}

// taken says that there is a plugin of that name.
func (r record) taken() error {
	return fmt.Errorf("there is a plugin %s, of %s: `pawl plugin update %s` gets what is new, `pawl plugin rm %s` removes it", r.Name, r.Source, r.Name, r.Name)
}

type listing struct {
	Plugins      []record      `json:"plugins"`
	Marketplaces []Marketplace `json:"marketplaces,omitempty"`
}

const (
	listFile  = "plugins.json"
	lockFile  = "plugins.lock"
	temporary = ".new-" // what is being made
	// kept is how long the files of a plugin stay that was replaced or removed: runs may have it still.
	kept = 7 * 24 * time.Hour
)

var digestName = lazy.Regexp(`^[0-9a-f]{16}([0-9a-f]{48})?$`)

// content returns the folder of the files with a digest. Paths are told to models: a short name is as good, for the digest
// of what is there is compared.
func (s Store) content(digest string) string { return filepath.Join(s.Dir, "content", digest[:16]) }

func (s Store) read() (l listing, err error) {
	file := filepath.Join(s.Dir, listFile)
	content, err := atomicfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &l)
	}
	if err != nil {
		return listing{}, fmt.Errorf("the plugins cannot be read: %s: %w; repair the file, or remove it and add them again", file, err)
	}
	for _, r := range l.Plugins {
		if !pluginName().MatchString(r.Name) || !digestName().MatchString(r.SHA256) {
			return listing{}, fmt.Errorf("the plugins cannot be read: %s names %s in a form that is not known; repair the file, or remove it and add them again", file, visible.Quote(r.Name))
		}
	}
	return l, nil
}

// change replaces the file by what do makes of it, and sweeps what is no longer used.
func (s Store) change(do func(*listing) error) error {
	return inside.Locked(s.Dir, lockFile, func() error {
		l, err := s.read()
		if err != nil {
			return err
		}
		before := slices.Clone(l.Plugins)
		if err := do(&l); err != nil {
			return err
		}
		stable.Sort(l.Plugins, func(a, b record) int { return cmp.Compare(a.Name, b.Name) })
		stable.Sort(l.Marketplaces, func(a, b Marketplace) int { return cmp.Compare(a.Name, b.Name) })
		content, err := json.MarshalIndent(l, "", " ")
		if err == nil {
			err = atomicfile.Write(filepath.Join(s.Dir, listFile), append(content, '\n'), atomicfile.Durable)
		}
		if err == nil {
			s.sweep(before, l.Plugins)
		}
		return err
	})
}

// sweep removes what killed processes have left, and the files of plugins that nobody has any more. What cannot be removed
// is tried again at the next change.
func (s Store) sweep(before, now []record) {
	named := func(all []record, digest string) bool {
		return slices.ContainsFunc(all, func(r record) bool { return strings.HasPrefix(r.SHA256, digest) })
	}
	for _, dir := range []string{s.Dir, filepath.Join(s.Dir, "content")} {
		entries, _ := os.ReadDir(dir) // one that is not there has none
		for _, e := range entries {
			at, name := filepath.Join(dir, e.Name()), e.Name()
			info, err := e.Info()
			old := err == nil && time.Since(info.ModTime()) > kept
			switch {
			case !strings.HasPrefix(name, temporary) && !digestName().MatchString(name) || named(now, name):
			case named(before, name):
				_ = os.Chtimes(at, time.Time{}, time.Now()) // from now on
			case old:
				_ = inside.RemoveAll(s.Dir, at)
			}
		}
	}
}

// All returns the plugins that a person has added, by name. problems say which do not count, and why.
func (s Store) All() (all []Plugin, problems []string, err error) {
	l, err := s.read()
	for _, r := range l.Plugins {
		p, why := s.load(r)
		if why != nil {
			problems = append(problems, fmt.Sprintf("the plugin %s does not count: %v", r.Name, why))
			p = Plugin{Name: r.Name, Digest: r.SHA256, Problems: []string{why.Error()}}
		}
		p.Source = r.Source
		all = append(all, p)
	}
	return all, problems, err
}

// load reads a plugin from its copy.
func (s Store) load(r record) (Plugin, error) {
	dir := s.content(r.SHA256)
	t, err := readFolder(filepath.Join(dir, r.Name))
	if err != nil || t.digest() != r.SHA256 {
		return Plugin{}, fmt.Errorf("its copy %s is not what you have trusted: `pawl plugin update %s` gets it again", dir, r.Name)
	}
	return parse(t, r.Name, dir, s.Data)
}

// Check returns an error if the files of a plugin that was added are not those that were trusted.
func (p Plugin) Check() error {
	if t, err := readFolder(p.Dir); err != nil || t.digest() != p.Digest {
		return fmt.Errorf("the files of the plugin %s are not what you have trusted: `pawl plugin update %s` gets them again", p.Name, p.Name)
	}
	return nil
}

// Get gets the plugin of a source, for a person to look at. Nothing of it counts.
func (s Store) Get(ctx context.Context, src Source) (Plugin, error) {
	src = src.fresh()
	at, entry := src, Entry{}
	var o *origin
	if src.Marketplace != "" {
		m, from, err := s.marketplace(ctx, src.Marketplace)
		if err != nil {
			return Plugin{}, err
		}
		defer from.close()
		var names []string
		for _, e := range m.Entries {
			if names = append(names, e.Name); e.Name == src.Entry {
				entry = e
			}
		}
		switch {
		case entry.Name == "":
			return Plugin{}, fmt.Errorf("the marketplace %s has no plugin %s%s", m.Name, visible.Quote(src.Entry), text.DidYouMean(src.Entry, names))
		case entry.Why != "":
			return Plugin{}, fmt.Errorf("the plugin %s of %s cannot be had: %s", entry.Name, m.Name, entry.Why)
		case entry.same:
			at, o = from.Source, from
			at.Path = entry.source.Path
		default:
			at = entry.source
		}
	}
	if o == nil {
		var err error
		if o, err = s.open(ctx, at); err != nil {
			return Plugin{}, err
		}
		defer o.close()
	}
	t, err := o.tree(ctx, at.Path)
	if err != nil {
		return Plugin{}, fmt.Errorf("the plugin of %s cannot be read: %w", src, err)
	}
	if t.file(manifestFile) == nil && entry.raw != nil { // then the marketplace says what it is
		t.Files = append(t.Files, File{Name: manifestFile, Content: entry.raw})
		t.sort()
	}
	name := nameOf(cmp.Or(at.Path, at.Folder, at.URL))
	p, err := parse(t, cmp.Or(entry.Name, name), s.content(t.digest()), s.Data)
	if err != nil {
		if t.file(manifestFile) == nil && t.file(marketplaceFile) != nil {
			err = errors.New("it is a marketplace: `pawl plugin marketplace add` adds it, and `pawl plugin add NAME@MARKETPLACE` a plugin of it")
		}
		return p, fmt.Errorf("the plugin of %s cannot be used: %w", src, err)
	}
	p.Source = Source{Folder: at.Folder, URL: at.URL, Ref: at.Ref, Commit: o.Commit, Path: at.Path, Marketplace: src.Marketplace, Entry: src.Entry}
	return p, nil
}

var notOfNames = lazy.Regexp(`[^A-Za-z0-9]+`)

// nameOf returns a name for a plugin that has none of its own, from where it is.
func nameOf(address string) string {
	return strings.Trim(notOfNames().ReplaceAllString(strings.TrimSuffix(path.Base(address), ".git"), "-"), "-")
}

// Free returns an error if there is a plugin of that name.
func (s Store) Free(name string) error {
	l, err := s.read()
	for _, r := range l.Plugins {
		if r.Name == name {
			return r.taken()
		}
	}
	return err
}

// Put stores a plugin that a person has seen and trusts, in the place of the one with that digest; "": there must be none.
func (s Store) Put(p Plugin, replaces string) error {
	return s.change(func(l *listing) error {
		i := slices.IndexFunc(l.Plugins, func(r record) bool { return r.Name == p.Name })
		switch {
		case i >= 0 && replaces == "":
			return l.Plugins[i].taken()
		case i < 0 && replaces != "", i >= 0 && l.Plugins[i].SHA256 != replaces:
			return fmt.Errorf("the plugin %s was changed or removed meanwhile: nothing is changed", p.Name)
		}
		if err := s.put(p); err != nil {
			return fmt.Errorf("the files of the plugin %s cannot be stored, and nothing is changed: %w", p.Name, err)
		}
		r := record{p.Name, p.Source, p.Digest, time.Now().UTC()}
		if i < 0 {
			l.Plugins = append(l.Plugins, r)
		} else {
			l.Plugins[i] = r
		}
		return nil
	})
}

// put writes the files of a plugin, if they are not there as they should be.
func (s Store) put(p Plugin) error {
	to := s.content(p.Digest)
	if t, err := readFolder(p.Dir); err == nil && t.digest() == p.Digest {
		return nil
	}
	if err := atomicfile.MkdirAll(filepath.Dir(to), atomicfile.Durable); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), temporary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // which after the last step is not there
	if err = p.Tree.write(filepath.Join(temp, "files", p.Name)); err != nil {
		return err
	}
	if err = os.Rename(to, filepath.Join(temp, "damaged")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err = atomicfile.SyncDir(filepath.Join(temp, "files")); err == nil {
		err = os.Rename(filepath.Join(temp, "files"), to)
	}
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(to))
}

// Remove removes a plugin. It reports whether there was one.
func (s Store) Remove(name string) (was bool, err error) {
	err = s.change(func(l *listing) error {
		n := len(l.Plugins)
		l.Plugins = slices.DeleteFunc(l.Plugins, func(r record) bool { return r.Name == name })
		was = len(l.Plugins) < n
		return nil
	})
	return was, err
}

// Marketplaces returns the marketplaces that a person has added, by name, as they were when they were last looked at.
func (s Store) Marketplaces() ([]Marketplace, error) {
	l, err := s.read()
	return l.Marketplaces, err
}

// marketplace gets a marketplace anew, and where it was read, which is to be closed.
func (s Store) marketplace(ctx context.Context, name string) (Marketplace, *origin, error) {
	all, err := s.Marketplaces()
	if err != nil {
		return Marketplace{}, nil, err
	}
	var names []string
	for _, m := range all {
		if names = append(names, m.Name); m.Name == name {
			return s.openMarketplace(ctx, m.Source)
		}
	}
	return Marketplace{}, nil, fmt.Errorf("there is no marketplace %s%s; `pawl plugin marketplace add SOURCE` adds one", visible.Quote(name), text.DidYouMean(name, names))
}

func (s Store) openMarketplace(ctx context.Context, src Source) (m Marketplace, o *origin, err error) {
	if src.Marketplace != "" {
		return m, nil, fmt.Errorf("%s is a plugin of a marketplace: a marketplace is a folder or a git address", visible.Quote(src.String()))
	}
	if o, err = s.open(ctx, src.fresh()); err != nil {
		return m, nil, err
	}
	var content []byte
	t, err := o.tree(ctx, path.Dir(marketplaceFile))
	if err == nil || errors.Is(err, fs.ErrNotExist) || strings.HasPrefix(err.Error(), "there is no folder") {
		content = t.file(path.Base(marketplaceFile))
		m, err = parseMarketplace(bytes.TrimPrefix(content, []byte("\ufeff")), src.Folder != "" || strings.HasPrefix(src.URL, "file:"))
	}
	if err != nil {
		o.close()
		return m, nil, fmt.Errorf("the marketplace of %s cannot be used: %w", src, err)
	}
	m.Source = o.Source
	return m, o, nil
}

// PutMarketplace gets a marketplace and stores it; with update it is the one of that name, else there must be none of
// its name.
func (s Store) PutMarketplace(ctx context.Context, src Source, update string) (m Marketplace, err error) {
	var o *origin
	if update != "" {
		m, o, err = s.marketplace(ctx, update)
	} else {
		m, o, err = s.openMarketplace(ctx, src)
	}
	if err != nil {
		return m, err
	}
	o.close()
	if update != "" && m.Name != update {
		return m, fmt.Errorf("the marketplace %s calls itself %s now: remove it and add it again", update, m.Name)
	}
	return m, s.change(func(l *listing) error {
		i := slices.IndexFunc(l.Marketplaces, func(have Marketplace) bool { return have.Name == m.Name })
		switch {
		case i >= 0 && update == "":
			return fmt.Errorf("there is a marketplace %s, of %s: `pawl plugin marketplace update %s` gets what is new", m.Name, l.Marketplaces[i].Source, m.Name)
		case i >= 0:
			l.Marketplaces[i] = m
		case update != "":
			return fmt.Errorf("the marketplace %s was removed meanwhile: nothing is changed", update)
		default:
			l.Marketplaces = append(l.Marketplaces, m)
		}
		return nil
	})
}

// RemoveMarketplace removes a marketplace; the plugins that it named stay. It reports whether there was one.
func (s Store) RemoveMarketplace(name string) (was bool, err error) {
	err = s.change(func(l *listing) error {
		n := len(l.Marketplaces)
		l.Marketplaces = slices.DeleteFunc(l.Marketplaces, func(m Marketplace) bool { return m.Name == name })
		was = len(l.Marketplaces) < n
		return nil
	})
	return was, err
}
