package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// WorkspaceConfig returns the workspace's own configuration, .pawl/config.toml, if it is
// trusted: the very bytes that were compared with what a person was shown. Otherwise
// why says what is there and does not count; it is empty if nothing is there.
//
// Even then not everything in it may count; see [CheckSetting].
func (p *Policy) WorkspaceConfig() (content []byte, ok bool, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	root, owner, err := p.enter()
	if err != nil {
		return nil, false, err.Error()
	}
	defer root.Close()
	p.trust.refresh()
	g := readConfigFile(root, configName)
	at := p.o.Workspace + "/" + configName
	switch {
	case g == nil:
		return nil, false, ""
	case p.trust.err != nil:
		return nil, false, p.trust.err.Error()
	case g.problem != "":
		return nil, false, at + " does not count: " + g.problem
	}
	if g.sum == p.trust.of(p.o.Workspace, owner).sumOf(configName) || g.sum == p.repo.trustedHere[configName] {
		return g.content, true, ""
	}
	return nil, false, at + " does not count: nobody has trusted it as it is; look at it with `pawl trust`"
}

// errNotText is a file of the workspace that is not taken as text for the model.
var errNotText = errors.New("no text of this workspace's own")

// Text returns the beginning of a file of the workspace that is text for the model, as
// AGENTS.md, at most limit bytes of it; cut says that there is more. Text needs no
// trust: it grants nothing. But it must be a regular file below the workspace, and
// belong to this user, to root, or to whom the workspace belongs: in a folder that
// everybody writes to (/tmp) anybody could leave words for the model. A file that is
// not there has none; other refusals are an error.
func (p *Policy) Text(name string, limit int) (text string, cut bool, err error) {
	root, owner, err := p.enter()
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", errNotText, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", errNotText, err)
	}
	if !info.Mode().IsRegular() {
		return "", false, fmt.Errorf("%w: %s is %s", errNotText, name, kind(info.Mode()))
	}
	if uid, known := ownerOf(info); known && uid != os.Getuid() && uid != 0 && uid != owner {
		return "", false, fmt.Errorf("%w: %s belongs to user %d", errNotText, name, uid)
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", errNotText, err)
	}
	if cut = len(content) > limit; cut {
		content = content[:limit]
	}
	return strings.ToValidUTF8(string(content), ""), cut, nil
}
