package pawl_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// A goreleaserConfig is the part of .goreleaser.yaml that says how pawl is built. Other keys
// are checked against those that pawl uses.
type goreleaserConfig struct {
	Version     int
	ProjectName string `yaml:"project_name"`
	Before      struct{ Hooks []string }
	Builds      []struct {
		Main, Binary        string
		Env, Flags, Ldflags []string
		ModTimestamp        string `yaml:"mod_timestamp"`
		Goos, Goarch        []string
		Ignore              []struct{ Goos, Goarch string }
	}
	Archives []struct {
		Formats      []string
		NameTemplate string `yaml:"name_template"`
		WrapInFolder bool   `yaml:"wrap_in_directory"`
		Files        []yaml.Node
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string
	}
	Changelog struct{ Disable bool }
}

func TestEveryBuildHasTheSameFlagsAndTargets(t *testing.T) {
	t.Parallel()
	const want = "CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' ./cmd/pawl"
	command := regexp.MustCompile(`CGO_ENABLED=\S+ .*go build.*|go build .*-o .*`)
	varies := regexp.MustCompile(` GOOS=\S+| GOARCH=\S+| -o \S+`)
	for file, n := range map[string]int{"Makefile": 1, ".ci/release": 1, ".ci/run": 0} {
		found := command.FindAllString(read(t, file), -1)
		if len(found) != n {
			t.Errorf("%s builds pawl %d times, want %d: %q", file, len(found), n, found)
		}
		for _, line := range found {
			if got := varies.ReplaceAllString(line, ""); got != want {
				t.Errorf("%s builds with\n%s\nwant\n%s", file, got, want)
			}
		}
	}

	var c goreleaserConfig
	decoder := yaml.NewDecoder(strings.NewReader(read(t, ".goreleaser.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		t.Fatal(".goreleaser.yaml: ", err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 {
		t.Fatalf(".goreleaser.yaml has %d builds and %d archives, want one of each", len(c.Builds), len(c.Archives))
	}
	b := c.Builds[0]
	if got := strings.Join(b.Env, " ") + " go build " + strings.Join(b.Flags, " ") + " -ldflags='" + strings.Join(b.Ldflags, " ") + "' " + b.Main; got != want {
		t.Errorf(".goreleaser.yaml builds with\n%s\nwant\n%s", got, want)
	}
	targets := map[string]bool{}
	for _, system := range b.Goos {
		for _, arch := range b.Goarch {
			targets[system+"/"+arch] = true
		}
	}
	for _, not := range b.Ignore {
		delete(targets, not.Goos+"/"+not.Goarch)
	}
	m := regexp.MustCompile(`for target in (.*); do`).FindStringSubmatch(read(t, ".ci/release"))
	if m == nil {
		t.Fatal(".ci/release has no list of targets")
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(strings.Fields(m[1]))), slices.Sorted(maps.Keys(targets))); diff != "" {
		t.Errorf("targets (-.ci/release +.goreleaser.yaml)\n%s", diff)
	}
}

func TestAnArchiveHasTheDocumentsAndTheExtras(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash, for .ci/release: ", err)
	}
	dir := t.TempDir()
	cmd := exec.Command(bash, ".ci/release", "--extras", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"man/pawl.1", "man/pawl-run.1", "completions/pawl.bash", "completions/_pawl", "completions/pawl.fish", "completions/pawl.ps1"} {
		if info, err := os.Stat(dir + "/" + name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, or empty", name, err)
		}
	}
	configured := read(t, ".goreleaser.yaml")
	for _, part := range []string{"README.md", "LICENSE", ".extras/man/*", ".extras/completions/*", "checksums.txt"} {
		if !strings.Contains(configured, part) {
			t.Errorf(".goreleaser.yaml has no %s", part)
		}
	}
	script := read(t, ".ci/release")
	for _, part := range []string{"README.md", "LICENSE", "checksums.txt"} {
		if !strings.Contains(script, part) {
			t.Errorf(".ci/release has no %s", part)
		}
	}
}
