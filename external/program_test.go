package external

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What npm has installed says its version in a file, and the versions that pawl says it was tested with are those of CI.
func TestAVersionThatWasNotTestedIsSaid(t *testing.T) {
	t.Parallel()
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds {
		name := strings.TrimPrefix(k.Install, "npm install -g ")
		if !strings.Contains(string(ci), " "+name+"@"+k.tested+" ") {
			t.Errorf("%s was tested with %s, and CI installs another", name, k.tested)
		}
		top := t.TempDir()
		program, link := filepath.Join(top, "node_modules", name, "bin", "program"), filepath.Join(top, "program")
		for path, content := range map[string]string{
			program: "", filepath.Join(top, "package.json"): `{"name":"mine","version":"9.9.9"}`,
			filepath.Join(top, "node_modules", name, "package.json"): `{"name":"` + name + `","version":"7.8.9"}`,
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(program, link); err != nil {
			t.Fatal(err)
		}
		version := k.Installed(link)
		if said := k.Untested(version); version != "7.8.9" || !strings.Contains(said, "this is 7.8.9") || !strings.Contains(said, "`pawl agents test "+k.Name+"`") {
			t.Errorf("of %s it says %q", version, said)
		}
		if said := k.Untested(k.tested[:strings.LastIndex(k.tested, ".")] + ".9999"); said != "" {
			t.Errorf("of another last number it says %q", said)
		}
		if version := k.Installed(filepath.Join(top, "package.json")); version != "" {
			t.Errorf("of a program that npm has not installed it says %q", version)
		}
	}
}
