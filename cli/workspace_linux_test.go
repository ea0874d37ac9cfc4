package cli

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// A folderWatch records the paths below a folder that change, also those that exist for an
// instant only, with inotify.
type folderWatch struct {
	root string
	file *os.File
	fd   int
	ends sync.WaitGroup

	mu   sync.Mutex
	dirs map[int32]string // by watch descriptor, relative to root
	seen map[string]uint32
	err  error
}

const watchedChanges = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// watchFolder starts to watch root and every folder below it.
func watchFolder(t *testing.T, root string) *folderWatch {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Skipf("needs inotify: %v", err)
	}
	w := &folderWatch{root: root, fd: fd, file: os.NewFile(uintptr(fd), "inotify"), dirs: map[int32]string{}, seen: map[string]uint32{}}
	if err := w.add("."); err != nil {
		t.Fatal(err)
	}
	w.ends.Go(w.read)
	return w
}

// add watches a folder and those below it. What such a folder holds already counts as
// changed if the watch has begun: the folder is then a new one.
func (w *folderWatch) add(dir string) error {
	return filepath.WalkDir(filepath.Join(w.root, dir), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile; its name was recorded
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.root, path)
		if err != nil {
			return err
		}
		if dir != "." {
			w.seen[rel] |= unix.IN_CREATE
		}
		if !d.IsDir() {
			return nil
		}
		n, err := unix.InotifyAddWatch(w.fd, path, watchedChanges|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			w.dirs[int32(n)] = rel
		}
		return err
	})
}

// read records events until the watch is closed.
func (w *folderWatch) read() {
	buf := make([]byte, 1<<16)
	for {
		n, err := w.file.Read(buf)
		w.mu.Lock()
		if err != nil {
			if !errors.Is(err, os.ErrClosed) {
				w.err = err
			}
			w.mu.Unlock()
			return
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			watch, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:end]), "\x00")
			b = b[end:]
			if mask&unix.IN_Q_OVERFLOW != 0 {
				w.err = errors.New("the queue of inotify has overflowed")
			}
			if mask&unix.IN_IGNORED != 0 || w.dirs[watch] == "" {
				continue
			}
			path := filepath.Join(w.dirs[watch], name)
			w.seen[path] |= mask &^ unix.IN_ISDIR
			if mask&unix.IN_ISDIR != 0 && mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
				if err := w.add(path); err != nil && w.err == nil {
					w.err = err
				}
			}
		}
		w.mu.Unlock()
	}
}

// await waits until a path has changed.
func (w *folderWatch) await(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfRun); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		seen := w.seen[path] != 0
		w.mu.Unlock()
		if seen {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not change", path)
		}
	}
}

// end stops the watch after all that has happened so far is recorded, and returns the paths.
func (w *folderWatch) end(t *testing.T) []string {
	t.Helper()
	const last = "the-end-of-the-watch"
	if err := os.WriteFile(filepath.Join(w.root, last), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.await(t, last)
	w.file.Close()
	w.ends.Wait()
	if w.err != nil {
		t.Fatal(w.err)
	}
	delete(w.seen, last)
	var paths []string
	for path := range w.seen {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// Nothing is written into the workspace but what the agent's calls write, not even for an
// instant, and not when pawl is killed in the middle. The one exception is part of an edit:
// the new content is written to a file .pawl-RANDOM beside the file that it then replaces.
func TestNothingIsWrittenIntoTheWorkspaceButWhatTheAgentEdits(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: the calls are commands, the workspace a repository", program)
		}
	}
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	dir, home := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"README.md": "a project\n", "Makefile": "test:\n\tgo test ./...\n", "src/a.go": "package a\n", "src/b.go": "package a // b\n", "docs/long.txt": strings.Repeat("a long line of text\n", 5000),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/.config", "PAWL_STATE_DIR="+home+"/state", "PAWL_MODEL=anthropic/m",
		"ANTHROPIC_API_KEY=k", "OLLAMA_HOST=127.0.0.1:1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	shell := func(command string) script.Call {
		return toolCall("shell", map[string]any{"command": command, "timeout_seconds": 300})
	}
	edit := func(path, old, new string) script.Call {
		return toolCall("edit", map[string]any{"path": path, "edits": []map[string]any{{"old": old, "new": new}}})
	}

	watch := watchFolder(t, dir)
	address, stop, err := fake.New(script.Script{
		{Text: "I read.", Calls: []script.Call{
			toolCall("read", map[string]any{"path": "README.md"}), toolCall("list", map[string]any{}), toolCall("glob", map[string]any{"pattern": "**/*.go"}),
			toolCall("search", map[string]any{"pattern": "package"}), toolCall("read", map[string]any{"path": "src/a.go"}), toolCall("read", map[string]any{"path": "src/b.go"}),
			shell("cat docs/long.txt"), shell("grep -rn package src; git log --oneline; ls -la"),
		}},
		{Text: "I look at what was stored.", Calls: []script.Call{toolCall("tool_outputs.search", map[string]any{"id": "c_7", "pattern": "long"})}},
		{Text: "I change.", Calls: []script.Call{edit("src/a.go", "package a", "package aa")}},
		{Text: "I make a file.", Calls: []script.Call{toolCall("write", map[string]any{"path": "new/folder/file.txt", "content": "new\n"})}},
		{Text: "I run commands.", Calls: []script.Call{shell("printf x > by-command.txt; mkdir -p made/here; printf y > made/here/y; seq 1 30000")}},
		{Text: "I wait.", Calls: []script.Call{shell("touch ready; sleep 300")}},
		// Killed here; what follows is for the process that continues.
		{Text: "I continue.", Calls: []script.Call{edit("src/b.go", "// b", "// c"), shell("git status --short")}},
		{Text: "All done."},
	}, true).Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	pawl := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "ANTHROPIC_BASE_URL="+address)
		return cmd
	}
	run := []string{"run", "--mode", "accept-edits", "--allow", "shell(touch *)", "--allow", "shell(mkdir *)", "--control", "native"}
	cmd := pawl(append(run, "-p", "do the work")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch.await(t, "ready")
	_ = cmd.Process.Kill() // it waits for its command
	_ = cmd.Wait()
	for _, args := range [][]string{
		append(run, "--continue"),
		{"runs", "list"}, {"runs", "show", "last"}, {"runs", "log", "last"}, {"runs", "why", "last"}, {"runs", "verify", "last"}, {"runs", "export", "last"},
		{"permissions", "add", "shell(go test *)"}, {"permissions", "list"}, {"permissions", "explain", "git log | sh"}, {"permissions", "replay"}, {"permissions", "rm", "1"},
		{"outputs", "list"}, {"outputs", "show", "c_7", "--limit", "3"}, {"outputs", "stats", "c_7"}, {"outputs", "search", "c_7", "long"},
		{"trust"}, {"config"}, {"models"}, {"stats"}, {"init", "--print"}, {"runs", "undo", "last"}, {"runs", "prune"}, {"outputs", "prune"},
	} {
		if out, err := pawl(args...).CombinedOutput(); err != nil {
			t.Errorf("pawl %v: %v\n%s", args, err, out)
		}
	}
	edited := []string{
		"src/a.go", "src/b.go", "new", "new/folder", "new/folder/file.txt", // by edit, write and undo
		"by-command.txt", "made", "made/here", "made/here/y", "ready", // by commands
	}
	besideAnEdit := regexp.MustCompile(`^(src|new/folder)/\.pawl-[A-Z2-7]{26}$`)
	for _, path := range watch.end(t) {
		if !slices.Contains(edited, path) && !besideAnEdit.MatchString(path) {
			t.Errorf("%s was written (events %#x)", path, watch.seen[path])
		}
	}
	for _, path := range edited {
		if watch.seen[path] == 0 {
			t.Errorf("%s was not seen to change: the watch or the run does not work", path)
		}
	}
}
