package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// systemFolders are read by every program. Not among them: /home, /root, /mnt,
// /media, /srv, /boot, most of /var, and /run with its sockets.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys",
	"/nix", "/gnu", "/snap", "/home/linuxbrew/.linuxbrew",
	"/run/current-system", "/run/opengl-driver",
	// The name servers of machines with systemd-resolved; /etc/resolv.conf leads there.
	"/run/systemd/resolve/resolv.conf", "/run/systemd/resolve/stub-resolv.conf",
	"/var/lib/dpkg", "/var/lib/apt", "/var/lib/rpm", "/var/lib/pacman", "/var/cache/fontconfig",
	// macOS
	"/System", "/Library", "/Applications", "/private/etc", "/private/var/db",
}

// A home is the folder of the person, and the variables that put parts of it
// elsewhere.
type home struct {
	dir    string
	getenv func(string) string
}

func homeOf(getenv func(string) string) home {
	dir := getenv("HOME")
	if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) {
		return home{real, getenv}
	}
	return home{"", getenv}
}

// in returns paths below the home; with names that begin with a variable,
// "$GOCACHE|.cache/go-build", the variable's value if it is set.
func (h home) in(names ...string) []string {
	var paths []string
	for _, name := range names {
		variable, rest, ok := strings.Cut(strings.TrimPrefix(name, "$"), "|")
		if ok && strings.HasPrefix(name, "$") {
			variable, below, _ := strings.Cut(variable, "/")
			if value := h.getenv(variable); filepath.IsAbs(value) {
				paths = append(paths, filepath.Join(value, below))
				continue
			}
			name = rest
		}
		if below, ok := strings.CutPrefix(name, ".cache/"); ok && filepath.IsAbs(h.getenv("XDG_CACHE_HOME")) {
			paths = append(paths, filepath.Join(h.getenv("XDG_CACHE_HOME"), below))
		} else if h.dir != "" {
			paths = append(paths, filepath.Join(h.dir, name))
		}
	}
	// Not the home itself, nor anything above it, whatever a variable says.
	return slices.DeleteFunc(paths, func(p string) bool { return isBelow(h.dir, p) || p == "/" })
}

// readable are the toolchains of the home, and the few of its files that tools
// need. Whole folders that also hold keys (.cargo, .m2, .gradle, .npmrc) are not
// among them.
func (h home) readable() []string {
	paths := h.in(
		".gitconfig", ".config/git", ".terminfo", ".tool-versions", ".python-version",
		"$GOPATH|go", ".config/go", "$GOROOT|sdk",
		"$NVM_DIR|.nvm", "$VOLTA_HOME|.volta", "$BUN_INSTALL|.bun", "$DENO_INSTALL|.deno", ".fnm", ".local/share/fnm", ".local/share/mise", ".config/mise",
		"$PYENV_ROOT|.pyenv", "$RBENV_ROOT|.rbenv", "$ASDF_DATA_DIR|.asdf", "$SDKMAN_DIR|.sdkman", "$JAVA_HOME|.jdks", "$CONDA_PREFIX|miniconda3", "$VIRTUAL_ENV|.venv",
		".local/lib", ".local/bin", ".local/share/pipx", ".local/share/uv", ".local/pipx",
		"$RUSTUP_HOME|.rustup", "$CARGO_HOME/bin|.cargo/bin", "$CARGO_HOME/env|.cargo/env", "$CARGO_HOME/config.toml|.cargo/config.toml",
		".cache/ms-playwright", ".cache/puppeteer", ".ghcup", ".juliaup", ".elan", ".opam", ".dotnet",
	)
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"} {
		paths = append(paths, h.getenv(name))
	}
	for _, dir := range filepath.SplitList(h.getenv("PATH")) {
		if filepath.IsAbs(dir) && !isBelow(h.dir, filepath.Clean(dir)) {
			paths = append(paths, dir)
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return !filepath.IsAbs(p) || isBelow(h.dir, p) || p == "/" })
}

// toolCaches are the folders that a toolchain fills, by the program that says it is
// installed: then they are made, for the tool could not. What is in data is written
// by commands; programs are folders that hold programs which others run, and commands
// have an overlay of their own over them. A folder of data may be in one of programs,
// and the other way round: npx and uvx run what they find in such a folder. The stores
// of pnpm, bun and uv count as programs: their files are hard links that projects share.
// from is the set of hosts (permission/network) that the toolchain fills it from.
var toolCaches = []struct {
	program        string
	data, programs []string
	from           string
}{
	{"go", []string{"$GOCACHE|.cache/go-build", "$GOMODCACHE|", "$GOPATH/pkg|go/pkg"}, nil, "go"},
	{"golangci-lint", []string{".cache/golangci-lint"}, nil, ""},
	{"staticcheck", []string{".cache/staticcheck"}, nil, ""},
	{"npm", []string{"$npm_config_cache|.npm"}, []string{"$npm_config_cache/_npx|.npm/_npx"}, "npm"},
	{"node", []string{".cache/node-gyp"}, []string{".cache/node"}, ""},
	{"yarn", []string{".cache/yarn", ".yarn/berry/cache"}, []string{".yarn"}, "yarn"},
	{"pnpm", []string{".cache/pnpm", ".local/state/pnpm"}, []string{"$PNPM_HOME|.local/share/pnpm"}, "npm"},
	{"bun", nil, []string{".bun/install"}, "npm"},
	{"deno", []string{"$DENO_DIR|.cache/deno"}, nil, ""},
	{"pip", []string{"$PIP_CACHE_DIR|.cache/pip"}, nil, "pypi"},
	{"uv", []string{"$UV_CACHE_DIR|.cache/uv"}, []string{"$UV_CACHE_DIR/environments-v2|.cache/uv/environments-v2", "$UV_CACHE_DIR/archive-v0|.cache/uv/archive-v0"}, "pypi"},
	{"poetry", []string{".cache/pypoetry/cache", ".cache/pypoetry/artifacts"}, []string{".cache/pypoetry"}, "pypi"},
	{"pre-commit", nil, []string{".cache/pre-commit"}, ""},
	{"cargo", []string{"$CARGO_HOME/registry|.cargo/registry", "$CARGO_HOME/git|.cargo/git"}, nil, "crates"},
	{"mvn", []string{".m2/repository"}, nil, ""},
	{"gradle", []string{"$GRADLE_USER_HOME/caches|.gradle/caches"}, []string{"$GRADLE_USER_HOME/wrapper|.gradle/wrapper", "$GRADLE_USER_HOME/daemon|.gradle/daemon", "$GRADLE_USER_HOME/native|.gradle/native"}, ""},
	{"sbt", []string{".ivy2/cache", ".cache/coursier"}, []string{".sbt/boot"}, ""},
	{"dotnet", []string{"$NUGET_PACKAGES|.nuget/packages", ".local/share/NuGet"}, nil, ""},
	{"composer", []string{".cache/composer"}, nil, "composer"},
	{"bundle", []string{".bundle/cache"}, nil, "gems"},
	{"ccache", []string{"$CCACHE_DIR|.cache/ccache"}, nil, ""},
	{"bazel", nil, []string{".cache/bazel"}, ""},
	{"zig", []string{".cache/zig"}, nil, ""},
}

// builtCaches are those of toolCaches.data in which a toolchain keeps what it built, and which it cannot work without.
var builtCaches = []string{
	"$GOCACHE|.cache/go-build", ".cache/golangci-lint", ".cache/staticcheck", "$DENO_DIR|.cache/deno", "$GRADLE_USER_HOME/caches|.gradle/caches",
	"$CCACHE_DIR|.cache/ccache", ".cache/zig",
}

// caches are the folders of toolchains that commands may write, and those with
// programs: those that are there, and those of toolchains that are. mixed are the variables that name
// folders of data with programs in them.
func (h home) caches() (data, programs []string, mixed map[string]string) {
	mixed = map[string]string{}
	for _, t := range toolCaches {
		_, err := exec.LookPath(t.program)
		for _, folder := range h.in(t.data...) {
			if strings.HasSuffix(folder, "/") || slices.Contains(data, folder) {
				continue
			}
			if err == nil && isBelow(folder, h.dir) {
				os.MkdirAll(folder, 0o755) // what cannot be made is not there below
			}
			if info, err := os.Stat(folder); err == nil && info.IsDir() {
				data = append(data, folder)
			}
		}
		for _, folder := range h.in(t.programs...) {
			if i := slices.IndexFunc(data, func(d string) bool { return isBelow(folder, d) }); i >= 0 {
				os.MkdirAll(folder, 0o755) // a command would make it otherwise
				variable, _, _ := strings.Cut(strings.TrimPrefix(t.data[0], "$"), "|")
				mixed[variable] = data[i]
			}
			if _, statErr := os.Stat(folder); err == nil || statErr == nil {
				programs = append(programs, resolved(folder))
			}
		}
	}
	return data, programs, mixed
}

// filledFrom returns the set of hosts from which a toolchain fills the cache that a path is in; empty: it is in none.
func (h home) filledFrom(path string) string {
	for _, t := range toolCaches {
		for _, folder := range h.in(slices.Concat(t.data, t.programs)...) {
			if t.from != "" && (isBelow(path, folder) || isBelow(path, resolved(folder))) {
				return t.from
			}
		}
	}
	return ""
}

// toolchains returns what in caches of data is run: those of Go are modules, and the
// go command runs the one that a project asks for.
func toolchains(caches []string) []string {
	var found []string
	for _, c := range caches {
		for _, pattern := range []string{"golang.org/toolchain@*", "mod/golang.org/toolchain@*"} {
			at, _ := filepath.Glob(filepath.Join(c, pattern))
			found = append(found, at...)
		}
	}
	return found
}

// secrets are where programs keep keys: hidden where they lie in a folder that
// commands may read, which is so when the workspace is the home.
func (h home) secrets() []string {
	return h.in(
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/op", ".netrc",
		".git-credentials", ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf",
		"$CARGO_HOME/credentials.toml|.cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties",
		".password-store", ".local/share/keyrings", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
		".bash_history", ".zsh_history", ".python_history", ".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode",
		".config/pawl",
	)
}

// rootsSecrets are the files of /etc that root alone may read, and what of the kernel shows
// what other programs do: a command of root's must not read them.
func rootsSecrets() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	return append(closedToOthers("/etc", 4), "/sys/kernel/tracing", "/sys/kernel/debug", "/sys/kernel/security", "/sys/firmware", "/sys/fs/pstore", "/sys/fs/bpf")
}

// maxClosed bounds how many such files are hidden, each by a mount; a folder counts as one.
const maxClosed = 200

// closedToOthers returns the files and folders below a folder that other users cannot read.
func closedToOthers(dir string, deep int) (closed []string) {
	entries, err := os.ReadDir(dir)
	if err != nil || deep == 0 {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() && !e.Type().IsRegular() {
			continue // half of /etc are links
		}
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		switch {
		case err != nil || len(closed) >= maxClosed:
		case e.IsDir() && info.Mode()&0o005 == 0o005:
			closed = append(closed, closedToOthers(path, deep-1)...)
		case e.IsDir() && info.Mode()&0o005 == 0, info.Mode().IsRegular() && info.Mode()&0o004 == 0:
			closed = append(closed, path)
		}
	}
	return closed
}
