package policy

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
	return p.TrustedFilesOf(p.o.Workspace, folder)
}

// TrustedFilesOf is TrustedFiles for the workspace or a folder above it, which is trusted as a workspace of its own.
func (p *Policy) TrustedFilesOf(dir, folder string) (files []File, untrusted []string) {
	root, owner, err := enter(dir)
	if err != nil {
		return nil, nil
	}
	defer root.Close()
	found := scanNames(root, []string{folder})
	if len(found) == 0 {
		return nil, nil
	}
	p.mu.Lock() // not before: the rules of a run are needed while many files are read
	defer p.mu.Unlock()
	p.trust.refresh()
	record := p.trust.of(dir, owner)
	sums := make(map[string]string, len(record.Files))
	for _, f := range record.Files {
		sums[f.File] = f.SHA256
	}
	for _, f := range found {
		here := dir == p.o.Workspace && f.sum == p.repo.trustedHere[f.name]
		if f.problem == "" && p.trust.err == nil && (f.sum == sums[f.name] || here) {
			files = append(files, File{f.name, f.content})
		} else {
			untrusted = append(untrusted, f.name)
		}
	}
	return files, untrusted
}
