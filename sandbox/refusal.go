package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/helper"
	"pawl/internal/lazy"
	"pawl/internal/proc"
	"pawl/run"
)

// Refusal says why a command that failed was refused by the sandbox, if it was, and
// what may be done; empty if nothing points to it.
//
// Only one refusal is known for certain, an attempt to reach a network that is not
// there ([proc.Status.NoRoute]); without privileges nobody is told what Landlock or a
// filter refused. The others are read from what the command printed, with what the
// policy says of the files it names, and are called probable.
func (s *Session) Refusal(status proc.Status, printed string) string {
	why, ask := s.refused(status, printed)
	if why == "" {
		return ""
	}
	return why + ". " + ask
}

// Reason says what [Session.Refusal] says of why, as the beginning of a sentence in the middle of another.
func (s *Session) Reason(status proc.Status, printed string) string {
	why, _ := s.refused(status, printed)
	if why == "" {
		return ""
	}
	return "t" + why[1:] // The sandbox
}

// refused returns why a command was refused, a sentence without its end, and what may be done.
func (s *Session) refused(status proc.Status, printed string) (why, ask string) {
	if s == nil || status.Code == 0 || status.Stopped != "" {
		return "", ""
	}
	asking := func(what run.Confinement) string {
		return fmt.Sprintf("If it is needed, repeat the call with \"sandbox\": %q; a person decides that anew.", what)
	}
	withHosts := func(hosts ...string) string {
		list, _ := json.Marshal(hosts)
		return fmt.Sprintf("If it is needed, repeat the call with \"hosts\": %s; a person decides that anew.", list)
	}
	network := asking(run.WithNetwork)
	switch {
	case s.level.Hosts() != nil:
		var names []string
		for _, h := range s.level.Hosts() {
			_, h = run.CutSecret(h)
			names = append(names, h)
		}
		network = "It reaches " + strings.Join(slices.Compact(names), ", ") + " by the proxy that HTTP_PROXY and HTTPS_PROXY name, and nothing else. " + network
	case len(s.hosts) > 0:
		network = withHosts(s.hosts...)
	case s.find != nil:
		if found := s.find(printed); len(found) > 0 {
			network = withHosts(found...)
		}
	}
	if status.NoRoute {
		return "The sandbox refused the network: something of the command tried to reach it", network
	}
	if status.Code == 128+31 {
		return "The sandbox refused this program: it uses system calls of another architecture", asking(run.Unconfined)
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	protected := s.policy.guarded()
	for _, line := range lines[max(0, len(lines)-maxLines):] {
		if len(line) > maxLine {
			continue
		}
		if s.level != run.WithNetwork && networkWords().MatchString(line) {
			return fmt.Sprintf("The sandbox probably refused the network (%q): the command has one of its own, with nothing on it but what it starts itself", excerpt(line)), network
		}
		if why, from := s.refusedUnasked(line); why != "" {
			ask = asking("write")
			if from != "" && s.policy.ByHost() { // to write there without the network would fail, and be asked about again
				ask = withHosts(from)
			}
			return fmt.Sprintf("The sandbox refused this (%q): %s", excerpt(line), why), ask
		}
		if why := s.refusedFile(line, protected); why != "" {
			return fmt.Sprintf("The sandbox probably refused this (%q): %s", excerpt(line), why), asking(run.Unconfined)
		}
	}
	return "", ""
}

// What of the output is looked at: the reason of a failure is near its end.
const (
	maxLines   = 200
	maxLine    = 1000
	maxExcerpt = 160
)

func excerpt(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > maxExcerpt {
		return strings.ToValidUTF8(line[:maxExcerpt], "") + "…"
	}
	return line
}

// The words are those of the C library (strerror(3), gai_strerror(3)), of Node.js,
// Go, curl and git; read 2026-11-20.
var (
	networkWords = lazy.Regexp(`(?i)network is unreachable|ENETUNREACH|temporary failure in name resolution|EAI_AGAIN|ENOTFOUND|could not resolve host|name or service not known|nodename nor servname|no such host|connection refused|ECONNREFUSED`)
	refusalWords = lazy.Regexp(`(?i)read-only file system|EROFS|permission denied|EACCES|operation not permitted|EPERM|no such file or directory|ENOENT|device or resource busy|EBUSY|address family not supported`)
	erofsWords   = lazy.Regexp(`(?i)read-only file system|EROFS|device or resource busy|EBUSY`)
	kernelWords  = lazy.Regexp(`(?i)ptrace|unshare|setns|namespace|io_uring|perf_event|\bbpf\b|keyctl|no new privileges|\bmount`)
	pathWords    = lazy.Regexp(`(?:^|[\s:;,'"` + "`" + `(=<>])((?:/|\.git\b|\.pawl\b|\.mcp\.json\b)[^\s:;,'"` + "`" + `()<>|]*)`)
)

// refusedUnasked says why a line of output tells of what a command may not do because it runs unasked; empty if it
// does not. from is the set of hosts from which what it could not write is filled, if that is known.
func (s *Session) refusedUnasked(line string) (why, from string) {
	if !isContained(s.level) || !refusalWords().MatchString(line) {
		return "", ""
	}
	for _, found := range pathWords().FindAllStringSubmatch(line, -1) {
		path := found[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.policy.Workspace, path)
		}
		n, _ := s.places.nearest(filepath.Clean(path))
		usual, _ := s.policy.places().nearest(filepath.Clean(path))
		switch {
		case n.kind == helper.NoFile || n.kind == helper.Empty:
			if usual.kind != n.kind {
				return path + " may hold secrets, and is not there for a command that runs unasked", ""
			}
			return "", ""
		case n.kind != helper.Writable && usual.kind == helper.Writable, n.kind == helper.ReadOnly && usual.kind == helper.Overlay:
			return "a command that runs unasked cannot change " + n.path, homeOf(s.policy.options.Getenv).filledFrom(path)
		case filepath.IsAbs(found[1]) && usual.kind != helper.Writable:
			return "", ""
		}
	}
	if !erofsWords().MatchString(line) {
		return "", ""
	}
	if s.level == run.Trial {
		return "it ran unasked because it could change nothing in the workspace", ""
	}
	return "it ran unasked, and so could change neither the repository nor what other programs obey by themselves", ""
}

// refusedFile says why the policy would refuse what a line of output complains of;
// empty if it would not. protected is [Policy.guarded].
func (s *Session) refusedFile(line string, protected []string) string {
	privileges := strings.Contains(line, "no new privileges")
	if !privileges && !refusalWords().MatchString(line) {
		return ""
	}
	if privileges || kernelWords().MatchString(line) && strings.Contains(strings.ToLower(line), "not permitted") {
		return "it keeps commands from gaining privileges and from tracing, mounting and making namespaces"
	}
	missing := strings.Contains(strings.ToLower(line), "no such file") || strings.Contains(line, "ENOENT")
	for _, found := range pathWords().FindAllStringSubmatch(line, -1) {
		path := found[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.policy.Workspace, path)
		}
		path = filepath.Clean(path)
		if strings.HasPrefix(path, "/proc") || strings.HasPrefix(path, "/dev") || path == "/" {
			continue
		}
		_, err := os.Lstat(path)
		n, granted := s.places.nearest(path)
		guarded := false
		for _, g := range protected {
			_, name := splitGitName(g)
			guarded = guarded || isBelow(path, g) && (name == "" || fixedNames[name])
		}
		switch {
		case guarded && !missing:
			return fmt.Sprintf("commands may not change %s", path)
		case missing && err == nil && (!granted || n.source != n.path):
			return fmt.Sprintf("%s is not there for commands", path)
		case s.level == run.ReadOnly && !missing && slices.ContainsFunc(s.policy.workFolders(), func(f string) bool { return isBelow(path, f) }):
			return "the command was allowed as one that only reads, so it could change nothing, and files that hold secrets were hidden"
		case !missing && granted && n.kind != helper.Writable && n.kind != helper.Temporary && n.path != "/dev":
			return fmt.Sprintf("%s may be read and not changed", n.path)
		case !missing && !granted:
			return fmt.Sprintf("%s is outside what commands may reach", path)
		}
	}
	return ""
}
