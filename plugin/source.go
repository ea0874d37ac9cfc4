package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// A Source is where a plugin or a marketplace comes from: a folder, a git repository, or an entry of a marketplace,
// which says where.
type Source struct {
	Folder      string `json:"folder,omitempty"`      // absolute
	URL         string `json:"url,omitempty"`         // of a git repository
	Ref         string `json:"ref,omitempty"`         // branch, tag or commit of it; empty: its HEAD
	Commit      string `json:"commit,omitempty"`      // that was taken
	Path        string `json:"path,omitempty"`        // the folder in it
	Marketplace string `json:"marketplace,omitempty"` // that names it, as Entry
	Entry       string `json:"entry,omitempty"`
}

// Short is the source as a person has given it, or the folder of it.
func (s Source) Short() string {
	if s.Marketplace != "" {
		return s.Entry + "@" + s.Marketplace
	}
	s.Commit = ""
	return s.String()
}

// String is the source with all that is known of it.
func (s Source) String() string {
	at := cmp.Or(s.Folder, s.URL)
	if s.Ref != "" {
		at += "@" + s.Ref
	}
	if s.Path != "" {
		at = s.Path + " of " + at
	}
	if s.Marketplace != "" {
		at = strings.TrimSuffix(s.Entry+"@"+s.Marketplace+" ("+at+")", " ()")
	}
	if s.Commit != "" {
		at += ", commit " + text.First(s.Commit, 12)
	}
	return visible.Escape(at)
}

// Below makes the source a folder in the one that it is; "" is that itself.
func (s *Source) Below(folder string) (err error) {
	if folder != "" && s.Marketplace != "" {
		return errors.New("the marketplace says where its plugins are")
	}
	s.Path, err = inPlugin(folder)
	return err
}

// fresh is where the source is looked for again.
func (s Source) fresh() Source {
	if s.Marketplace != "" {
		return Source{Marketplace: s.Marketplace, Entry: s.Entry}
	}
	s.Commit = ""
	return s
}

var (
	fromMarketplace = lazy.Regexp(`^([A-Za-z0-9][\w.-]*)@([A-Za-z0-9][\w.-]*)$`)
	onGitHub        = lazy.Regexp(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*$`)
	scpAddress      = lazy.Regexp(`^[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:[^-\s]\S*$`)
	refName         = lazy.Regexp(`^[A-Za-z0-9_][\w./+-]*$`)
	commitName      = lazy.Regexp(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// ParseSource reads what a person has typed: a folder, relative to dir; a git address, or owner/name of GitHub, each with
// @ref or #ref; or plugin@marketplace.
func ParseSource(typed, dir string) (Source, error) {
	there := func(folder string) bool {
		info, err := os.Stat(filepath.Join(dir, folder))
		return err == nil && info.IsDir()
	}
	if typed == "" {
		return Source{}, errors.New("the source is empty: name a folder, . for the current one, or a git address")
	}
	address, ref := cutRef(typed)
	switch m := fromMarketplace().FindStringSubmatch(typed); {
	case strings.Contains(typed, "://"), scpAddress().MatchString(address):
	case strings.HasPrefix(typed, "."), !onGitHub().MatchString(address) && m == nil:
		folder := typed
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return Source{}, fmt.Errorf("there is no folder %s; a source is a folder, a git address (https://…, ssh://…, file://…, OWNER/NAME of GitHub), each with @REF or without, or PLUGIN@MARKETPLACE", visible.Quote(folder))
		}
		real, err := filepath.EvalSymlinks(folder)
		return Source{Folder: real}, err
	case m != nil:
		return Source{Marketplace: m[2], Entry: m[1]}, nil
	case there(address):
		return Source{}, fmt.Errorf("is it the folder ./%s or https://github.com/%s? Write one of them", typed, typed)
	}
	return gitSource(address, ref, "")
}

// cutRef cuts a git address at the @ or # after its host.
func cutRef(typed string) (address, ref string) {
	_, rest, is := strings.Cut(typed, "://")
	host := strings.Index(rest, "/")
	at := len(typed) - len(rest) + host
	if !is {
		at = strings.IndexAny(typed, "/:") // of host:path, or of owner/name
		host = at
	}
	if host < 0 {
		return typed, ""
	}
	if i := strings.IndexAny(typed[at:], "@#"); i >= 0 {
		return typed[:at+i], typed[at+i+1:]
	}
	return typed, ""
}

// gitSource returns the source of a git address, or says why pawl gets nothing from it.
func gitSource(address, ref, commit string) (s Source, err error) {
	if onGitHub().MatchString(address) {
		address = "https://github.com/" + address
	}
	u, err := url.Parse(address)
	switch {
	case scpAddress().MatchString(address):
	case err != nil || strings.ContainsFunc(address, visible.Hidden) || strings.ContainsAny(address, " \n\t"):
		return s, fmt.Errorf("%s is not an address", visible.Quote(address))
	case u.Scheme == "" || u.Scheme != "file" && (u.Host == "" || strings.HasPrefix(u.Host, "-")):
		return s, fmt.Errorf("%s is not a git address", visible.Quote(address))
	case u.Scheme != "https" && u.Scheme != "ssh" && u.Scheme != "file":
		return s, fmt.Errorf("%s: plugins are fetched by https, ssh or file alone", visible.Quote(address))
	case u.User != nil && u.Scheme == "https":
		return s, fmt.Errorf("the address of %s has a name or password in it, which would be stored: give it without, by ssh, or clone it and give the folder", visible.Quote(u.Host))
	}
	if ref != "" && (!refName().MatchString(ref) || strings.Contains(ref, "..")) {
		return s, fmt.Errorf("%s is not the name of a branch, a tag or a commit", visible.Quote(ref))
	}
	if commit != "" && !commitName().MatchString(commit) {
		return s, fmt.Errorf("%s is not a commit", visible.Quote(commit))
	}
	return Source{URL: address, Ref: cmp.Or(commit, ref)}, nil // a commit is exacter than the branch beside it
}

// marketplaceFile is where a marketplace says what it has, and manifestFile where a plugin says what it is.
const (
	marketplaceFile = ".claude-plugin/marketplace.json"
	manifestFile    = ".claude-plugin/plugin.json"
)

// A Marketplace is a list of plugins that somebody keeps.
type Marketplace struct {
	Name    string  `json:"name"`
	Source  Source  `json:"source"`
	Entries []Entry `json:"plugins"`
}

// An Entry is a plugin of a marketplace.
type Entry struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Why         string `json:"why,omitempty"` // it cannot be had

	source Source
	same   bool // it is in the marketplace's own repository, at source.Path
	raw    json.RawMessage
}

// maxEntries bounds the entries of a marketplace.
const maxEntries = 2000

// parseMarketplace reads the file of a marketplace (code.claude.com/docs/en/plugins/marketplace-reference, read
// 2026-11-28). One that is local may name repositories of this machine.
func parseMarketplace(content []byte, local bool) (m Marketplace, err error) {
	if content == nil {
		return m, errors.New("it is no marketplace: it has no " + marketplaceFile)
	}
	var file struct {
		Name     string `json:"name"`
		Metadata struct {
			Root string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return m, fmt.Errorf("its %s cannot be read: %w", marketplaceFile, err)
	}
	if m.Name = file.Name; !fromMarketplace().MatchString("a@" + m.Name) {
		return m, fmt.Errorf("its %s has the name %s, which cannot be used: it has to be letters, digits, - and _", marketplaceFile, visible.Quote(m.Name))
	}
	if len(file.Plugins) > maxEntries {
		return m, fmt.Errorf("it has more than %d plugins", maxEntries)
	}
	for i, raw := range file.Plugins {
		var read struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Source      json.RawMessage `json:"source"`
		}
		err := json.Unmarshal(raw, &read)
		e := Entry{Name: read.Name, Description: text.OneLine(read.Description, 300), raw: raw}
		if err != nil || !pluginName().MatchString(e.Name) {
			e.Name, e.Why = fmt.Sprintf("(entry %d)", i+1), "it cannot be read, or its name cannot be used"
		} else if e.source, e.same, err = entrySource(read.Source, file.Metadata.Root, local); err != nil {
			e.Why = err.Error()
		}
		m.Entries = append(m.Entries, e)
	}
	return m, nil
}

// entrySource reads where an entry says that its plugin is.
func entrySource(raw json.RawMessage, root string, local bool) (s Source, same bool, err error) {
	var inside string
	if json.Unmarshal(raw, &inside) == nil {
		if !strings.HasPrefix(inside, ".") { // a bare name is in the folder of plugins
			inside = path.Join(root, inside)
		}
		s.Path, err = inPlugin(inside)
		return s, true, err
	}
	var of struct{ Source, Repo, URL, Ref, Sha, Path string }
	if err := json.Unmarshal(raw, &of); err != nil {
		return s, false, errors.New("it does not say where it is")
	}
	switch address := cmp.Or(of.URL, of.Repo); of.Source {
	case "github", "git", "url", "git-subdir":
		if s, err = gitSource(address, of.Ref, of.Sha); err == nil && strings.HasPrefix(s.URL, "file:") && !local {
			err = errors.New("it is a repository of this machine, which a marketplace from elsewhere cannot name")
		}
	default:
		err = fmt.Errorf("sources of the kind %s are not supported: a folder, github, git and url are", visible.Quote(of.Source))
	}
	if err == nil && of.Path != "" {
		s.Path, err = inPlugin(of.Path)
	}
	return s, false, err
}

// inPlugin returns a path that a file names, relative to its plugin or marketplace; "" is that itself.
func inPlugin(written string) (string, error) {
	name := path.Clean(strings.TrimPrefix(written, "./"))
	switch {
	case !filepath.IsLocal(name) || strings.Contains(name, `\`) || strings.ContainsFunc(name, visible.Hidden):
		return "", fmt.Errorf("the path %s leads out of it", visible.Quote(written))
	case name == ".":
		return "", nil
	}
	return name, nil
}
