package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"pawl/internal/inside"
)

// A Record is what a user trusts of one workspace.
type Record struct {
	Workspace string `json:"workspace"`
	// Owner is the user that the workspace's folder belonged to: another's folder at
	// the same path is another workspace. -1 where there are no owners.
	Owner int           `json:"owner"`
	Files []TrustedFile `json:"files"`
}

// A TrustedFile is a file whose content a person has looked at.
type TrustedFile struct {
	File   string    `json:"file"` // relative to the workspace, with slashes
	SHA256 string    `json:"sha256"`
	By     string    `json:"by,omitempty"`
	When   time.Time `json:"when"`
}

func (r Record) sumOf(file string) string {
	for _, f := range r.Files {
		if f.File == file {
			return f.SHA256
		}
	}
	return ""
}

// A trustStore is the file trust.json of the user's folder, and beside it the contents
// that were trusted, each named by its hash: what is to be shown as a difference has
// to be there.
type trustStore struct {
	dir string
	disk
	records []Record
	err     error
}

type trustJSON struct {
	Trusted []Record `json:"trusted"`
}

func (t *trustStore) refresh() {
	content, fresh, err := t.read()
	if !fresh {
		return
	}
	t.records, t.err = nil, err
	if err == nil {
		t.records, t.err = t.parse(content)
	}
}

func (t *trustStore) parse(content []byte) ([]Record, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, nil
	}
	var file trustJSON
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	err := d.Decode(&file)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is text after the end of the object")
		}
	}
	if err != nil {
		at := t.path
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at += fmt.Sprintf(":%d", 1+bytes.Count(content[:syntax.Offset], []byte("\n")))
		}
		return nil, fmt.Errorf("%s: %w; repair it, or remove it and be asked again", at, err)
	}
	return file.Trusted, nil
}

// of returns what is trusted of a workspace that belongs to owner.
func (t *trustStore) of(workspace string, owner int) Record {
	for _, r := range t.records {
		if r.Workspace == workspace && r.Owner == owner {
			return r
		}
	}
	return Record{Workspace: workspace, Owner: owner}
}

// content returns what was trusted, by its hash.
func (t *trustStore) content(sum string) ([]byte, error) {
	d := disk{path: t.blob(sum), owners: t.owners, must: true}
	content, _, err := d.load()
	if err != nil {
		return nil, err
	}
	if sumOf(content) != sum {
		return nil, fmt.Errorf("%s is not what its name says", d.path)
	}
	return content, nil
}

func (t *trustStore) blob(sum string) string { return filepath.Join(t.dir, "trust", sum) }

// change replaces the record of a workspace by what do makes of it; without files it is
// removed. contents are the files that do trusts, by hash: they are there first.
func (t *trustStore) change(workspace string, owner int, contents map[string][]byte, do func(*Record)) error {
	return inside.Locked(t.dir, lockFile, func() error {
		before, _, err := t.load()
		if err != nil {
			return err
		}
		if t.records, err = t.parse(before); err != nil {
			return err
		}
		t.steady = false
		r := t.of(workspace, owner)
		do(&r)
		records := slices.DeleteFunc(slices.Clone(t.records), func(q Record) bool { return q.Workspace == workspace })
		if len(r.Files) > 0 {
			records = append(records, r)
		}
		for _, sum := range slices.Sorted(maps.Keys(contents)) {
			if _, err := t.content(sum); err == nil {
				continue
			}
			if err := replace(t.blob(sum), contents[sum]); err != nil {
				return err
			}
		}
		text, _ := json.MarshalIndent(trustJSON{records}, "", " ") // what was read as such, and now
		if err := replace(t.path, append(text, '\n')); err != nil {
			return err
		}
		t.records = records
		return t.sweep()
	})
}

// sweep removes the contents that no record names any more. The caller has the lock.
func (t *trustStore) sweep() error {
	used := map[string]bool{}
	for _, r := range t.records {
		for _, f := range r.Files {
			used[f.SHA256] = true
		}
	}
	dir := filepath.Join(t.dir, "trust")
	names, err := inside.ReadDir(t.dir, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range names {
		if !used[e.Name()] {
			err = errors.Join(err, inside.Remove(t.dir, filepath.Join(dir, e.Name())))
		}
	}
	return err
}
