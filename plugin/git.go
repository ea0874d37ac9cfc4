package plugin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl/internal/owngit"
	"pawl/internal/proc"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// fetchTimeout bounds how long a repository is waited for.
const fetchTimeout = 3 * time.Minute

// An origin is where the files of a source are read: a folder, or a bare repository of pawl's own with the one commit.
// Nothing is checked out, so that no filter, hook or submodule of what was fetched has a say.
type origin struct {
	Source
	git string
	ssh string // what git runs for it
	dir string // of the repository
}

// open gets what a source names; it has to be closed.
func (s Store) open(ctx context.Context, src Source) (*origin, error) {
	o := &origin{Source: src}
	if src.Folder != "" {
		return o, nil
	}
	var err error
	if o.git, err = proc.Find("git", s.Path, s.Not...); err != nil {
		return nil, errors.New("plugins are fetched by git, which is not installed")
	}
	if ssh, err := proc.Find("ssh", s.Path, s.Not...); err == nil {
		o.ssh = text.ShellWord(ssh) + " -oBatchMode=yes -oConnectTimeout=30"
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	if o.dir, err = os.MkdirTemp(s.Dir, temporary+"git-"); err != nil {
		return nil, err
	}
	if err := o.fetch(ctx); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *origin) close() {
	if o.dir != "" {
		_ = os.RemoveAll(o.dir) // what stays is swept later
	}
}

func (o *origin) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("it took longer than %v", fetchTimeout))
	defer cancel()
	if _, err := o.run(ctx, "init", "--quiet", "--bare", "--template=", "."); err != nil {
		return err
	}
	const one = "refs/pawl/source"
	ref := cmp.Or(o.Ref, "HEAD")
	wanted := one
	_, err := o.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--", o.URL, "+"+ref+":"+one)
	if err != nil && commitName().MatchString(ref) && ctx.Err() == nil { // a server need not give out single commits
		if _, all := o.run(ctx, "fetch", "--quiet", "--no-tags", "--", o.URL, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); all == nil {
			wanted, err = ref, nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s cannot be fetched: %w", visible.Quote(o.URL), err)
	}
	if o.Commit, err = o.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted+"^{commit}"); err != nil {
		return fmt.Errorf("%s has no commit %s", visible.Quote(o.URL), visible.Quote(ref))
	}
	return nil
}

// run returns what git prints on one line, or what it says is wrong.
func (o *origin) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := o.stream(ctx, "", func(r io.Reader) error {
		_, err := io.Copy(&out, io.LimitReader(r, 1<<20))
		return err
	}, args...)
	return strings.TrimSpace(out.String()), err
}

// stream calls read with what git prints. An error of read ends git.
func (o *origin) stream(ctx context.Context, input string, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	env := []string{"GIT_ALLOW_PROTOCOL=https:ssh:file", "GIT_DIR=" + o.dir, "GIT_SSH_COMMAND=" + cmp.Or(o.ssh, "false"),
		"GIT_HTTP_LOW_SPEED_LIMIT=1000", "GIT_HTTP_LOW_SPEED_TIME=30"}
	cmd := owngit.Call{Program: o.git, Dir: o.dir, Own: true, Env: env}.Command(ctx, args...)
	grouped(cmd)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.WaitDelay = strings.NewReader(input), &said, 5*time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case readErr != nil:
		return readErr
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return errors.New(gitSaid(said.String()))
	}
	return nil
}

// gitSaid returns what git said in a line that says what to do.
func gitSaid(said string) string {
	for _, asks := range []string{"could not read Username", "could not read Password", "Authentication failed",
		"Permission denied (publickey", "Host key verification failed"} {
		if strings.Contains(said, asks) {
			return "it asks who you are, and pawl answers no such question: clone it yourself and give the folder, or use an ssh address that needs no password"
		}
	}
	for line := range strings.Lines(said) {
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok && !strings.HasPrefix(rest, "Could not read from remote repository") {
			return visible.Escape(strings.TrimSpace(rest))
		}
	}
	return visible.Escape(text.OneLine(said, 300))
}

// tree returns the files of a folder of the source.
func (o *origin) tree(ctx context.Context, folder string) (t Tree, err error) {
	if o.Folder != "" {
		dir := filepath.Join(o.Folder, filepath.FromSlash(folder))
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			return t, fmt.Errorf("there is no folder %s, or a link is on the way to it", visible.Quote(dir))
		}
		return readFolder(dir)
	}
	type blob struct {
		name string
		exec bool
		size int64
	}
	var blobs []blob
	var wanted strings.Builder
	err = o.stream(ctx, "", func(r io.Reader) error {
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString(0)
			if err != nil {
				return nil // what was cut is said by git's exit
			}
			head, name, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
			field := strings.Fields(head) // mode, type, object, size
			switch {
			case len(field) != 4:
				return errors.New("git lists its files in a form that is not known")
			case field[0] != "100644" && field[0] != "100755":
				t.leave(name, "it is a link or a submodule, which a plugin cannot have")
			default:
				size, _ := strconv.ParseInt(field[3], 10, 64) // the next command prints it too
				blobs = append(blobs, blob{name, field[0] == "100755", size})
				wanted.WriteString(field[2] + "\n")
			}
			if len(blobs)+len(t.Left) > maxFiles {
				return fmt.Errorf("it has more than %d files: is it the folder of a plugin?", maxFiles)
			}
		}
	}, "ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", o.Commit+":"+folder)
	if err != nil {
		if folder != "" && strings.Contains(err.Error(), "Not a valid object name") {
			err = fmt.Errorf("there is no folder %s in it", visible.Quote(folder))
		}
		return t, err
	}
	err = o.stream(ctx, wanted.String(), func(r io.Reader) error {
		contents := bufio.NewReader(r)
		for _, b := range blobs {
			err := t.add(b.name, b.size, b.exec, func() ([]byte, error) {
				if _, err := contents.ReadString('\n'); err != nil { // object, type, size
					return nil, err
				}
				content := make([]byte, b.size)
				if _, err := io.ReadFull(contents, content); err != nil {
					return nil, err
				}
				_, err := contents.Discard(1) // the line end
				return content, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", "--batch")
	t.sort()
	return t, err
}
