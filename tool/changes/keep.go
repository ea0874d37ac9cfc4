package changes

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/owngit"
	"pawl/internal/proc"
	"pawl/internal/text"
	"pawl/permission/filenames"
	"pawl/tool/journal"
	"pawl/tool/tree"
)

const (
	// maxKeptFiles is how many bytes of a workspace are kept that git does not have. It is about as much as a command can wait
	// for; what is more are data, which nobody keeps in a repository either.
	maxKeptFiles = 250_000_000
	// fewFiles is up to how many files are stored without asking git, whose start costs as much.
	fewFiles = 16
	// gitPatience bounds a call of git: its objects are another's, and may be pipes.
	gitPatience = 3 * time.Second
)

// keep sees to it that what is there can be restored: git has its content, or the journal gets it.
func (t *Tracker) keep(ctx context.Context) {
	if len(t.toKeep) == 0 || t.files == nil {
		return
	}
	dirs := openDirs{workspace: t.key.workspace}
	defer dirs.close()
	objects := map[string]string{} // by path, what git would call it
	paths := slices.Sorted(maps.Keys(t.toKeep))
	for _, rel := range paths {
		if ctx.Err() != nil {
			break
		}
		f, ok := t.files[rel]
		if !ok || isKept(f) {
			delete(t.toKeep, rel)
			continue
		}
		content, left := dirs.read(rel, f)
		if left != "" {
			t.unkept[rel] = left
			delete(t.toKeep, rel)
			continue
		}
		f.Hash = journal.Hash(content)
		t.files[rel], t.written = f, nil
		objects[rel] = objectOf(content)
	}
	has := map[string]bool{}
	if len(objects) > fewFiles {
		has = gitHas(ctx, t.key, slices.Collect(maps.Values(objects)))
	}
	kept := int64(0)
	for _, f := range t.files {
		if f.Kept {
			kept += f.Size
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(objects)) {
		f := t.files[rel]
		if has[objects[rel]] {
			f.Git = objects[rel]
			t.files[rel] = f
			delete(t.toKeep, rel)
			continue
		}
		if ctx.Err() != nil {
			return // it is done the next time
		}
		if filenames.Secret(rel) != "" {
			t.unkept[rel] = "may hold secrets by its name, so no copy of it was kept"
			delete(t.toKeep, rel)
			continue
		}
		if kept += f.Size; kept > maxKeptFiles {
			t.unkept[rel] = fmt.Sprintf("was not kept: git does not have more than %s of the workspace", text.Size(maxKeptFiles))
			delete(t.toKeep, rel)
			kept -= f.Size
			continue
		}
		content, left := dirs.read(rel, f)
		if left == "" && journal.Hash(content) != f.Hash {
			continue // it is written just now: there is an event, or it has another time
		}
		if left == "" {
			if err := t.journal.Keep(rel, content); err != nil {
				left = fmt.Sprintf("could not be kept: %v", tree.InWords(err))
			}
		}
		delete(t.toKeep, rel)
		if left != "" {
			t.unkept[rel] = left
			continue
		}
		delete(t.unkept, rel)
		f.Kept = true
		t.files[rel] = f
	}
}

// objectOf returns the name that git has for a content.
func objectOf(content []byte) string {
	h := sha1.New() // git's name for it, and no proof: what comes of it is compared by SHA-256
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// gitHas returns which objects the repository of a workspace has.
func gitHas(ctx context.Context, of key, objects []string) map[string]bool {
	has := map[string]bool{}
	out, err := catFile(ctx, of, "--batch-check", strings.Join(objects, "\n")+"\n")
	if err != nil {
		return has
	}
	for line := range strings.Lines(string(out)) {
		if object, rest, _ := strings.Cut(line, " "); strings.HasPrefix(rest, "blob ") {
			has[object] = true
		}
	}
	return has
}

// gitContent returns the content of an object of the repository of a workspace.
func gitContent(ctx context.Context, of key, object string) ([]byte, error) {
	out, err := catFile(ctx, of, "--batch", object+"\n")
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(out))
	head, err := r.ReadString('\n')
	fields := strings.Fields(head)
	if err != nil || len(fields) != 3 || fields[1] != "blob" {
		return nil, fmt.Errorf("git does not have it any more")
	}
	length, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || length > journal.MaxFile {
		return nil, fmt.Errorf("git has it with a text.Size of %s", fields[2])
	}
	content := make([]byte, length)
	_, err = io.ReadFull(r, content)
	return content, err
}

// catFile calls git in a repository of pawl's own that borrows the objects of the workspace's: nothing that a configuration,
// an attribute or a hook there says is obeyed, and nothing is written.
func catFile(ctx context.Context, of key, form, input string) ([]byte, error) {
	objects, err := objectsOf(of.workspace)
	if err != nil {
		return nil, err
	}
	program, err := proc.Find("git", os.Getenv("PATH"), of.workspace)
	if err != nil {
		return nil, err
	}
	own := filepath.Join(of.state, "objects")
	if _, err := os.Stat(filepath.Join(own, "HEAD")); err != nil {
		for _, dir := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(own, dir), 0o700); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(filepath.Join(own, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	cmd := owngit.Call{Program: program, Dir: own, Own: true,
		Env: []string{"GIT_DIR=" + own, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects}}.Command(ctx, "cat-file", form)
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	err = cmd.Run()
	return out.Bytes(), err
}

// objectsOf returns the folder with the objects of the repository that a workspace is in, as git wants it in a list.
func objectsOf(workspace string) (string, error) {
	for top := workspace; ; top = filepath.Dir(top) {
		git := filepath.Join(top, ".git")
		info, err := os.Lstat(git)
		if err == nil {
			if info.Mode().IsRegular() { // of a worktree or a submodule
				b, err := readSmall(git)
				if err != nil {
					return "", err
				}
				git = within(top, strings.TrimPrefix(b, "gitdir: "))
			}
			if b, err := readSmall(filepath.Join(git, "commondir")); err == nil {
				git = within(git, b)
			}
			objects := filepath.Join(git, "objects")
			if strings.ContainsAny(objects, ":\"\n") {
				return "", fmt.Errorf("%s cannot be named in a list of folders", objects)
			}
			return objects, nil
		}
		if top == filepath.Dir(top) {
			return "", fmt.Errorf("%s is in no repository", workspace)
		}
	}
}

// readSmall returns the first line of a regular file. It waits for nobody: a pipe may stand in the place of any file or folder.
func readSmall(file string) (string, error) {
	f, err := atomicfile.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	line, _, _ := strings.Cut(string(b), "\n")
	return line, err
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Content returns a content by its hash that a change of a run had which worked in a workspace, from the journal or from git,
// where it is the object git if that is not empty.
func Content(stateDir, workspace, hash, git string) ([]byte, error) {
	content, missing := journal.In(stateDir).Content(hash)
	if missing == nil || git == "" {
		return content, missing
	}
	content, err := gitContent(context.Background(), key{stateDir, workspace}, git)
	if err != nil || journal.Hash(content) != hash {
		return nil, missing
	}
	return content, nil
}
