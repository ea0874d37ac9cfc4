package tool_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// A internet is a server that has every host below example.com, as commands look them up.
type internet struct {
	*httptest.Server
	mux  *http.ServeMux
	port string
}

func newInternet(t testing.TB) *internet {
	t.Helper()
	n := &internet{mux: http.NewServeMux()}
	n.mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s\n", r.Host) })
	n.Server = httptest.NewServer(n.mux)
	t.Cleanup(n.Server.Close)
	n.port = n.URL[strings.LastIndexByte(n.URL, ':')+1:]
	return n
}

// at is the address of a host.
func (n *internet) at(host, path string) string { return "http://" + host + ":" + n.port + path }

// to returns the confinement of commands that reach hosts of n.
func (n *internet) to(hosts ...string) run.Confinement {
	var all []string
	for _, h := range hosts {
		all = append(all, h+":"+n.port)
	}
	return run.ToHosts(all...)
}

// shell returns the tool whose commands look up names in n.
func (n *internet) shell() tool.Tool {
	return tool.Shell(tool.ShellOptions{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
		if strings.HasSuffix(host, ".example.com") {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return nil, fmt.Errorf("there is no %s", host)
	}})
}

// run runs a command at a level of the sandbox.
func (n *internet) run(t testing.TB, env tool.Env, level run.Confinement, args map[string]any) string {
	t.Helper()
	r, err := n.shell().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Sandbox: level, Args: tooltest.Args(args)})
	if err != nil {
		t.Fatal(err)
	}
	return run.PlainText(r.Content)
}

func TestACommandReachesTheHostsThatItWasGivenAndNoOther(t *testing.T) {
	t.Parallel()
	env, n := confinedEnv(t), newInternet(t)
	outside := filepath.Join(filepath.Dir(env.Workspace), "outside")
	if err := os.WriteFile(outside, []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	level := n.to("a.example.com")
	got := n.run(t, env, level, map[string]any{"command": "curl -sS " + n.at("a.example.com", "/hello") + "; curl -sS " + n.at("b.example.com", "/hello") + "; curl -sS http://169.254.169.254/latest/meta-data; cat " + outside + "; echo x > /usr/x"})
	for _, want := range []string{"hello from a.example.com:" + n.port, "does not have b.example.com:" + n.port,
		"[network: a.example.com:" + n.port + " allowed; b.example.com:" + n.port + `, 169.254.169.254 refused. If it needs what was refused, repeat the call with "hosts": ["a.example.com:` + n.port + `","b.example.com:` + n.port + `"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if strings.Contains(got, "theirs") || strings.Contains(got, "hello from b") {
		t.Errorf("more than the network was lifted: %q", got)
	}
	if _, err := os.Lstat("/usr/x"); err == nil {
		t.Error("a file outside was written")
	}
	// What goes past the proxy goes nowhere.
	for name, command := range map[string]string{
		"without the proxy":         "curl -sS -m 5 --noproxy '*' " + n.at("127.0.0.1", "/hello"),
		"by address":                "exec 3<>/dev/tcp/192.0.2.1/80",
		"over UDP":                  "exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3 && echo sent",
		"by IPv6":                   "exec 3<>/dev/tcp/2001:db8::1/80",
		"by the machine's loopback": "exec 3<>/dev/tcp/127.0.0.1/" + n.port,
		"by a lookup":               "getent hosts a.example.com && echo sent",
	} {
		if got := n.run(t, env, level, map[string]any{"command": command}); !strings.Contains(got, "[exit code ") || strings.Contains(got, "hello") || strings.Contains(got, "sent") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := n.run(t, env, level, map[string]any{"command": "exec 3<>/dev/tcp/192.0.2.1/80"}); !strings.Contains(got, "It reaches a.example.com:"+n.port+" by the proxy that HTTP_PROXY and HTTPS_PROXY name, and nothing else.") {
		t.Errorf("what is told of it: %q", got)
	}
	// Without one, a package manager does not try for a minute.
	retries := map[string]any{"command": "echo $npm_config_fetch_retries$PIP_RETRIES$CARGO_NET_RETRY$UV_HTTP_RETRIES ."}
	for _, at := range []run.Confinement{run.Confined, run.Trial, level, run.WithNetwork} {
		if got, none := n.run(t, env, at, retries), at == run.Confined || at == run.Trial; strings.HasPrefix(got, "0000 .") != none {
			t.Errorf("retries at %s: %q", at, got)
		}
	}
	if got := n.run(t, env, run.Confined, map[string]any{"command": "env | grep -ci _proxy=; curl -sS -m 5 " + n.at("a.example.com", "/hello")}); strings.Contains(got, "hello") || !strings.HasPrefix(got, "0\n") {
		t.Errorf("without hosts: %q", got)
	}
}

// A registry in a company's own network is found by a name: it is open only where its port is spelled out, and the result
// says so. Nothing leads to the services of the machine.
func TestAHostWithinIsOpenWithItsPort(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"10.1.2.3":  `reg.example.com (reg.example.com leads to 10.1.2.3: a private network) refused. If it needs what was refused, repeat the call with "hosts": ["reg.example.com","reg.example.com:80"]`,
		"127.0.0.1": "reg.example.com (reg.example.com leads to 127.0.0.1: this machine) refused]",
	} {
		shell := tool.Shell(tool.ShellOptions{Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(address)}, nil
		}})
		env := confinedEnv(t)
		r, err := shell.Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Sandbox: run.ToHosts("reg.example.com"), Args: tooltest.Args(map[string]any{"command": "curl -sS http://reg.example.com/x"})})
		if err != nil {
			t.Fatal(err)
		}
		if got := run.PlainText(r.Content); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// What make runs is not known before. When it has failed, what it printed says whose registry it needs, and not the whole
// network is proposed.
func TestARegistryThatIsPrintedIsProposed(t *testing.T) {
	t.Parallel()
	env, n := confinedEnv(t), newInternet(t)
	const leaves = "; exec 3<>/dev/tcp/192.0.2.1/80"
	for printed, want := range map[string]string{
		`Get "https://proxy.golang.org/github.com/a/b/@v/list": dial tcp: lookup proxy.golang.org`: `"hosts": ["proxy.golang.org","sum.golang.org"]`,
		"getaddrinfo EAI_AGAIN registry.npmjs.org":                                                 `"hosts": ["registry.npmjs.org"]`,
		"HTTPSConnectionPool(host='pypi.org', port=443)":                                           `"hosts": ["files.pythonhosted.org","pypi.org"]`,
		"lookup proxy.golang.org.evil.example, xpypi.org":                                          `"sandbox": "network"`,
		"cannot reach github.com":                                                                  `"sandbox": "network"`,
	} {
		command := map[string]any{"command": "cat <<'EOF'\n" + printed + "\nEOF\nfalse" + leaves}
		if got := n.run(t, env, run.Confined, command); !strings.Contains(got, "If it is needed, repeat the call with "+want+";") {
			t.Errorf("%s: %q", printed, got)
		}
	}
	// What is known of the command itself comes first.
	if got := n.run(t, env, run.Confined, map[string]any{"command": "echo pypi.org >&2; npm --version >/dev/null; npx -y x" + leaves}); !strings.Contains(got, `"hosts": ["registry.npmjs.org"]`) {
		t.Errorf("npx: %q", got)
	}
}

// A command with other hosts, or none, does not come to the way out of one that has more.
func TestTheWayOutOfACommandIsItsOwn(t *testing.T) {
	t.Parallel()
	env, n := confinedEnv(t), newInternet(t)
	defer env.Session.Close()
	got := n.run(t, env, n.to("a.example.com"), map[string]any{"command": "echo ${HTTP_PROXY##*:} > port; exec sleep 100", "background": true})
	if !strings.Contains(got, "job_1") {
		t.Fatal(got)
	}
	var port string
	for deadline := time.Now().Add(20 * time.Second); port == ""; {
		b, _ := os.ReadFile(filepath.Join(env.Workspace, "port"))
		if port = strings.TrimSpace(string(b)); time.Now().After(deadline) {
			t.Fatal("the job does not begin")
		}
	}
	use := "curl -sS -m 5 -x http://127.0.0.1:" + port + " " + n.at("a.example.com", "/hello")
	for _, level := range []run.Confinement{run.Confined, run.Trial, run.Inside, run.ReadOnly, run.WithNetwork, run.Unconfined, n.to("b.example.com"), n.to("a.example.com", "b.example.com")} {
		if got := n.run(t, env, level, map[string]any{"command": use}); strings.Contains(got, "hello") {
			t.Errorf("at %q: %q", level, got)
		}
	}
}

// The way out of a job is there as long as the job, and no longer.
func TestAJobReachesItsHostsUntilItEnds(t *testing.T) {
	t.Parallel()
	env, n := confinedEnv(t), newInternet(t)
	asked := make(chan string, 100)
	n.mux.HandleFunc("/asked", func(w http.ResponseWriter, r *http.Request) { asked <- r.URL.RawQuery })
	command := "for i in 1 2 3; do read -r line < go; curl -sS '" + n.at("a.example.com", "/asked") + "?'$line; done; curl -sS " + n.at("evil.example.com", "/hello")
	if err := exec.Command("mkfifo", filepath.Join(env.Workspace, "go")).Run(); err != nil {
		t.Fatal(err)
	}
	n.run(t, env, n.to("a.example.com"), map[string]any{"command": command, "background": true})
	for _, word := range []string{"one", "two", "three"} {
		if err := os.WriteFile(filepath.Join(env.Workspace, "go"), []byte(word+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := <-asked; got != word {
			t.Errorf("asked %q, want %q", got, word)
		}
	}
	r, err := tool.ShellOutput().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_2", Args: tooltest.Args(map[string]any{"id": "job_1", "wait_seconds": 20})})
	if got := run.PlainText(r.Content); err != nil || !strings.Contains(got, "[network: a.example.com:"+n.port+" allowed; evil.example.com:"+n.port+" refused.") {
		t.Errorf("%q, %v", got, err)
	}
}

// A download that is interrupted ends with its command.
func TestAnInterruptEndsADownload(t *testing.T) {
	t.Parallel()
	env, n := confinedEnv(t), newInternet(t)
	begun, ended := make(chan bool), make(chan bool)
	n.mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 1<<20))
		begun <- true
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				break
			}
		}
		close(ended)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan string)
	go func() {
		r, err := n.shell().Run(ctx, env, tool.Call{Run: env.Run, ID: "c_1", Sandbox: n.to("a.example.com"), Args: tooltest.Args(map[string]any{"command": "curl -s -o /dev/null " + n.at("a.example.com", "/endless")})})
		done <- fmt.Sprint(run.PlainText(r.Content), err)
	}()
	<-begun
	at := time.Now()
	cancel()
	if got := <-done; !strings.Contains(got, "stopped") {
		t.Errorf("it ended with %q", got)
	}
	<-ended
	t.Logf("all had ended after %v", time.Since(at))
}

// What people run reaches its registry by the proxy, and gets from it what it needs.
func TestPackageManagersReachTheirRegistries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, env tool.Env, n *internet)
		command string
		want    string
	}{
		"curl":  {command: "curl -sS $AT/hello", want: "hello from reg.example.com"},
		"wget":  {command: "wget -qO- $AT/hello", want: "hello from reg.example.com"},
		"git":   {prepareGit, "git clone -q $AT/repo.git cloned && cat cloned/file", "from the repository"},
		"npm":   {prepareNPM, "npm install --registry $AT/npm --no-audit --no-fund --fetch-retries 0 --cache /tmp/npm && node -e 'console.log(require(\"little\"))'", "from the package"},
		"pip":   {preparePip, "python3 -m venv /tmp/v && /tmp/v/bin/pip install --disable-pip-version-check -q --retries 0 --no-cache-dir --index-url $AT/simple --trusted-host reg.example.com -r requirements.txt && /tmp/v/bin/python -c 'import little; print(little.text)'", "from the wheel"},
		"go":    {prepareGo, "GOMODCACHE=/tmp/m GOFLAGS=-mod=mod GOPROXY=$AT/go GONOSUMDB='*' GONOSUMCHECK=1 GOSUMDB=off go test ./... -run X -v 2>&1 && GOMODCACHE=/tmp/m GOFLAGS=-mod=mod GOPROXY=off GOSUMDB=off go run .", "from the module"},
		"cargo": {prepareCargo, "CARGO_HOME=/tmp/c cargo run -q 2>&1", "from the crate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, n := confinedEnv(t), newInternet(t)
			program, _, _ := strings.Cut(name, " ")
			if name == "pip" {
				program = "python3"
			}
			if got := n.run(t, env, run.Confined, map[string]any{"command": program + " --version || " + program + " version"}); strings.Contains(got, "[exit code") {
				t.Skip(program, " cannot be run here: ", got)
			}
			if c.prepare != nil {
				c.prepare(t, env, n)
			}
			command := map[string]any{"command": "AT=" + n.at("reg.example.com", "") + "; " + c.command, "timeout_seconds": 300}
			if got := n.run(t, env, run.Confined, command); strings.Contains(got, c.want) {
				t.Errorf("without its registry: %q", got)
			}
			if got := n.run(t, env, n.to("reg.example.com"), command); !strings.Contains(got, c.want) || !strings.Contains(got, "[network: reg.example.com:"+n.port+" allowed") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// serve serves files at a path.
func (n *internet) serve(path string, files map[string]string) {
	n.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[strings.TrimPrefix(r.URL.Path, path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, content)
	})
}

// tarball returns a compressed archive of files, each by its name.
func tarball(files map[string]string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
		io.WriteString(w, content)
	}
	w.Close()
	z.Close()
	return b.String()
}

func zipped(files map[string]string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, _ := w.Create(name)
		io.WriteString(f, content)
	}
	w.Close()
	return b.String()
}

func prepareGit(t *testing.T, _ tool.Env, n *internet) {
	dir := t.TempDir()
	for _, words := range [][]string{{"init", "-q", "work"}, {"-C", "work", "add", "-A"}, {"-C", "work", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"},
		{"clone", "-q", "--bare", "work", "repo.git"}, {"-C", "repo.git", "update-server-info"}} {
		if words[0] == "-C" && words[2] == "add" {
			if err := os.WriteFile(filepath.Join(dir, "work", "file"), []byte("from the repository\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", words...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", words, out)
		}
	}
	n.mux.Handle("/repo.git/", http.StripPrefix("/repo.git/", http.FileServer(http.Dir(filepath.Join(dir, "repo.git")))))
}

func prepareNPM(t *testing.T, env tool.Env, n *internet) {
	archive := tarball(map[string]string{"package/package.json": `{"name":"little","version":"1.0.0","main":"i.js"}`, "package/i.js": "module.exports='from the package'"})
	sum := sha1.Sum([]byte(archive))
	n.serve("/npm/", map[string]string{
		"little-1.0.0.tgz": archive,
		"little": fmt.Sprintf(`{"name":"little","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"little","version":"1.0.0","main":"i.js","dist":{"shasum":"%x","tarball":"%s"}}}}`,
			sum, n.at("reg.example.com", "/npm/little-1.0.0.tgz")),
	})
	tooltest.WriteFile(t, env, "package.json", `{"name":"x","version":"1.0.0","dependencies":{"little":"1.0.0"}}`)
}

func preparePip(t *testing.T, env tool.Env, n *internet) {
	wheel := zipped(map[string]string{"little.py": "text = 'from the wheel'\n", "little-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: little\nVersion: 1.0\n",
		"little-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "little-1.0.dist-info/RECORD": ""})
	n.mux.HandleFunc("/simple/little/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!DOCTYPE html><html><body><a href="/wheels/little-1.0-py3-none-any.whl">little-1.0-py3-none-any.whl</a></body></html>`)
	})
	n.serve("/wheels/", map[string]string{"little-1.0-py3-none-any.whl": wheel})
	tooltest.WriteFile(t, env, "requirements.txt", "little==1.0\n")
}

func prepareGo(t *testing.T, env tool.Env, n *internet) {
	module := "module example.com/little\n\ngo 1.21\n"
	n.serve("/go/example.com/little/@v/", map[string]string{
		"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}`, "v1.0.0.mod": module,
		"v1.0.0.zip": zipped(map[string]string{"example.com/little@v1.0.0/go.mod": module, "example.com/little@v1.0.0/l.go": "package little\n\nconst Text = \"from the module\"\n"}),
	})
	tooltest.WriteFile(t, env, "go.mod", "module x\n\ngo 1.21\n\nrequire example.com/little v1.0.0\n")
	tooltest.WriteFile(t, env, "main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/little\"\n)\n\nfunc main() { fmt.Println(little.Text) }\n")
}

func prepareCargo(t *testing.T, env tool.Env, n *internet) {
	crate := tarball(map[string]string{"little-1.0.0/Cargo.toml": "[package]\nname = \"little\"\nversion = \"1.0.0\"\nedition = \"2021\"\n", "little-1.0.0/src/lib.rs": "pub const TEXT: &str = \"from the crate\";\n"})
	sum := sha256.Sum256([]byte(crate))
	n.serve("/crates/", map[string]string{
		"config.json":  fmt.Sprintf(`{"dl":"%s"}`, n.at("reg.example.com", "/dl/{crate}-{version}")),
		"li/tt/little": fmt.Sprintf(`{"name":"little","vers":"1.0.0","deps":[],"cksum":"%s","features":{},"yanked":false}`+"\n", hex.EncodeToString(sum[:])),
	})
	n.serve("/dl/", map[string]string{"little-1.0.0": crate})
	tooltest.WriteFile(t, env, "Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nlittle = \"1.0.0\"\n")
	tooltest.WriteFile(t, env, "src/main.rs", "fn main() { println!(\"{}\", little::TEXT); }\n")
	tooltest.WriteFile(t, env, ".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\"\n\n[source.x]\nregistry = \"sparse+"+n.at("reg.example.com", "/crates/")+"\"\n")
}
