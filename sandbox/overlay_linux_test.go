package sandbox_test

import (
	"os"
	"strings"
	"testing"
)

// leaf 2A.7: what others run is not what a command made of it.
func TestProgramsInCachesAreNotChangedByCommands(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		programs := map[string]string{}
		for _, name := range []string{".yarn/lib/cli.js", ".bun/install/global/node_modules/eslint/bin/eslint.js", ".cache/node/corepack/v1/yarn/4.0.0/yarn.js", ".cache/pre-commit/repo1/py_env/bin/python",
			".local/share/pnpm/pnpm", ".local/share/pnpm/store/v3/files/00/x", ".bun/install/cache/x/index.js", ".cache/pypoetry/virtualenvs/x/bin/python", ".gradle/wrapper/dists/g/bin/gradle", ".sbt/boot/x.jar", ".cache/bazel/install/a", "go/pkg/mod/golang.org/toolchain@v0.0.1-go1.30.0.linux-amd64/bin/go"} {
			programs[name] = s.write(t, name, "good")
		}
		for _, name := range []string{".npm/_npx/1f/node_modules/x/cli.js", ".cache/uv/environments-v2/1f/bin/x", ".cache/uv/archive-v0/1f/x.py"} { // in a cache of data
			programs[name] = s.write(t, name, "good")
		}
		data := s.write(t, ".cache/yarn/v6/x/package.json", "good")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		for name, path := range programs {
			if !tree && strings.HasPrefix(name, "go/pkg") {
				continue // Landlock only adds rights: in a cache that is written nothing can be taken out
			}
			o := s.sh(t, "cat "+path+"; echo evil > "+path+"; rm -f "+path+"; echo evil > "+path+".new; ls -la "+path+"; true")
			if !strings.HasPrefix(o.printed, "good") {
				t.Errorf("%s cannot be read: %+v", name, o)
			}
			text, err := os.ReadFile(path)
			if _, newErr := os.Lstat(path + ".new"); err != nil || string(text) != "good" || newErr == nil {
				t.Errorf("%s is %q, %v; something new: %v", name, text, err, newErr)
			}
		}
		if o := s.sh(t, "echo more > "+data); o.status.Code != 0 {
			t.Errorf("data cannot be written: %+v", o)
		}
		if !tree { // it has such caches of its own, which stay
			const script = `echo kept > $npm_config_cache/x; mkdir -p $UV_CACHE_DIR/archive-v0; ! touch ~/.npm/x; ls ~/.npm`
			if o := s.sh(t, script); o.status.Code != 0 || !strings.Contains(o.printed, "_npx") {
				t.Errorf("%+v", o)
			}
			if o := s.sh(t, "cat $npm_config_cache/x"); o.printed != "kept\n" {
				t.Errorf("%+v", o)
			}
			return
		}
		// Those that are not there yet cannot be made.
		late := newStage(t)
		late.env = append(late.env, "npm_config_cache="+late.home+"/npm", "UV_CACHE_DIR="+late.home+"/uv")
		late.write(t, "npm/_cacache/x", "data")
		late.write(t, "uv/wheels-v5/x", "data")
		late.plan(t)
		late.sh(t, "for d in npm/_npx uv/environments-v2; do mkdir -p ../$d; echo evil > ../$d/x; mv ../$d ../$d.old; mkdir -p ../$d; echo evil > ../$d/x; done")
		for _, name := range []string{"npm/_npx/x", "uv/environments-v2/x"} {
			if _, err := os.Lstat(late.home + "/" + name); err == nil {
				t.Errorf("there is %s", name)
			}
		}
		// What a command changed the next one of the workspace finds, where overlays can be had.
		path := programs[".yarn/lib/cli.js"]
		if o := s.sh(t, "echo mine > "+path); o.status.Code != 0 {
			t.Skip("needs overlays on the file system of the state folder")
		}
		if o := s.sh(t, "cat "+path); o.printed != "mine\n" {
			t.Errorf("%+v", o)
		}
		other := newStage(t)
		other.home, other.state = s.home, s.state
		other.env[0] = s.env[0]
		other.plan(t)
		if o := other.sh(t, "cat "+path); o.printed != "good" {
			t.Errorf("in another workspace: %+v", o)
		}
	})
}
