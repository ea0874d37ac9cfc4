package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/helper"
)

// profile returns the policy in the language of macOS's sandbox-exec; experimental.
// Of rules that fit the last one counts, so they go from the whole to the parts:
// everything is denied, what a program needs to run is allowed, then come the
// folders, parents first, and at the end what is protected.
//
// The operations are those of Apple's own profiles in
// /System/Library/Sandbox/Profiles, read 2026-11-20.
func profile(g places, protected []string, temp string, network bool) string {
	var b strings.Builder
	rule := func(effect, operations, path string) {
		fmt.Fprintf(&b, "(%s %s (subpath %s))\n", effect, operations, quoted(path))
	}
	b.WriteString("(version 1)\n(deny default)\n" +
		"(allow process-exec process-fork sysctl-read mach-lookup ipc-posix-shm* file-ioctl)\n" +
		"(allow signal process-info* (target same-sandbox))\n" +
		"(allow file-read-metadata)\n" +
		"(allow file-read* (literal \"/\"))\n" +
		"(allow file-read* file-write* (regex #\"^/dev/(null|zero|tty|ptmx|fd/|ttys)\"))\n" +
		"(allow file-read* (subpath \"/dev\"))\n")
	for _, path := range slices.Sorted(maps.Keys(g)) {
		switch n := g[path]; {
		case path == "/tmp" || path == "/var/tmp" || path == "/dev":
		case n.kind == helper.ReadOnly || n.kind == helper.Overlay:
			rule("allow", "file-read*", path)
		case n.kind == helper.Writable:
			rule("allow", "file-read* file-write*", path)
		case n.kind == helper.Empty || n.kind == helper.NoFile:
			rule("deny", "file-read* file-write*", path)
		}
	}
	rule("allow", "file-read* file-write*", temp)
	for _, path := range protected {
		if !strings.HasSuffix(path, "/.git") {
			rule("deny", "file-write*", path)
		}
	}
	if network {
		b.WriteString("(allow network*)\n(allow system-socket)\n")
	}
	return b.String()
}

// quoted writes a path as a string of the profile's language.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
