package policy

import "strings"

// WorkspaceConfig returns the workspace's own configuration, .pawl/config.toml, if it is
// trusted: the very bytes that were compared with what a person was shown. Otherwise
// why says what is there and does not count; it is empty if nothing is there.
//
// Even then not everything in it may count; see [CheckSetting].
func (p *Policy) WorkspaceConfig() (content []byte, ok bool, why string) {
	return p.TrustedFile(configName)
}

// TrustedFile is [Policy.WorkspaceConfig] for a configuration file of the workspace, such as .mcp.json, which is named
// relative to it.
func (p *Policy) TrustedFile(name string) (content []byte, ok bool, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	root, owner, err := p.enter()
	if err != nil {
		return nil, false, err.Error()
	}
	defer root.Close()
	p.trust.refresh()
	g := readConfigFile(root, name)
	at := p.o.Workspace + "/" + name
	switch {
	case g == nil:
		return nil, false, ""
	case p.trust.err != nil:
		return nil, false, p.trust.err.Error()
	case g.problem != "":
		return nil, false, at + " does not count: " + g.problem
	}
	if g.sum == p.trust.of(p.o.Workspace, owner).sumOf(name) || g.sum == p.repo.trustedHere[name] {
		return g.content, true, ""
	}
	return nil, false, at + " does not count: it is not trusted as it is; review it with `pawl trust`"
}

// A File is a configuration file of the workspace that is trusted as it is.
type File struct {
	Name    string // relative to the workspace, with slashes
	Content []byte
}

// TrustedFiles returns the configuration files of the workspace below a folder, such as
// .pawl/commands, that a person has trusted as they are, by name, and the names of those
// that do not count.
func (p *Policy) TrustedFiles(folder string) (files []File, untrusted []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	root, owner, err := p.enter()
	if err != nil {
		return nil, nil
	}
	defer root.Close()
	p.trust.refresh()
	record := p.trust.of(p.o.Workspace, owner)
	for _, f := range scan(root, p.o.Also) {
		switch {
		case !strings.HasPrefix(f.name, folder+"/"):
		case f.problem == "" && p.trust.err == nil && (f.sum == record.sumOf(f.name) || f.sum == p.repo.trustedHere[f.name]):
			files = append(files, File{f.name, f.content})
		default:
			untrusted = append(untrusted, f.name)
		}
	}
	return files, untrusted
}
