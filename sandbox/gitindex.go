package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Git takes the names in an index for paths in the folder that is worked in, and looks at them
// only when it adds them itself: git 2.39 restores ".git/hooks/pre-commit", "../x" and "/x" from
// an index that has such names (git restore, git checkout with a path, git checkout-index). So
// an index that a command leaves behind must have none.

// maxIndexFile bounds what is read of an index, in bytes; one of 256 MB has millions of files.
const maxIndexFile = 256 << 20

// indexesIn returns the files of a repository's folder that git reads names of files from.
func indexesIn(dir string, entries []fs.DirEntry) (paths []string) {
	for _, e := range entries {
		if !e.IsDir() && (e.Name() == "index" || strings.HasPrefix(e.Name(), "sharedindex.")) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// indexWritten is how long an index that cannot be read may be one that a program still writes;
// git itself renames one that is complete.
const indexWritten = 5 * time.Second

// checkIndexes takes away the indexes of repositories that were changed and have names by which
// git would write elsewhere. While commands run, one that cannot be read may be being written.
func (g *guard) checkIndexes(p *Policy, repositories []string, running bool) {
	for _, dir := range repositories {
		for _, path := range indexesIn(dir, g.list(dir)) {
			root, rel := p.rootAt(path)
			if root == nil {
				continue
			}
			info, err := root.Lstat(rel)
			if err != nil || g.before.indexes[path].same(statOf(info)) {
				continue
			}
			why := p.badIndex(root, rel, dir)
			if why == unreadable && running && g.mayBeWritten(path) {
				continue
			}
			if delete(g.unreadable, path); why == "" {
				continue
			}
			to := p.refusedAt(rel)
			if moveOut(root, rel, to) == nil {
				g.tell(path, fmt.Sprintf("The command left %s %s. It was taken away and is kept in %s; `git reset` creates a new one", rel, why, to))
			} else if err := root.RemoveAll(rel); err == nil {
				g.tell(path, fmt.Sprintf("The command left %s %s. It was removed; `git reset` creates a new one", rel, why))
			} else {
				g.tell(path, fmt.Sprintf("The command left %s %s, and that could not be undone (%v): remove it before you use git", rel, why, err))
			}
		}
	}
}

// mayBeWritten reports whether an index that cannot be read was not seen so for long. The time
// of its last change does not count: a command can set that again and again.
func (g *guard) mayBeWritten(path string) bool {
	since, seen := g.unreadable[path]
	if !seen {
		if g.unreadable == nil {
			g.unreadable = map[string]time.Time{}
		}
		g.unreadable[path] = time.Now()
	}
	return !seen || time.Since(since) < indexWritten
}

// unreadable says that what names an index has is not known.
const unreadable = "unreadable, so where git would write is unknown"

// badIndex says what is wrong with an index of the repository of a folder; empty if nothing is.
func (p *Policy) badIndex(root *os.Root, rel, dir string) string {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	names, err := p.git.readIndex(f, err, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return unreadable
	}
	if at := slices.IndexFunc(names, leavesWork); at >= 0 {
		return fmt.Sprintf("with the name %q, which makes git write elsewhere", names[at])
	}
	return ""
}

// Tracked returns the files, absolute, that git tracks in the repositories which it finds from dirs. What the
// policy has read it reads again only if it has changed; a nil Policy remembers nothing.
func (p *Policy) Tracked(dirs ...string) (files []string) {
	git := p.gitFor(dirs)
	seen := map[string]bool{}
	for _, dir := range dirs {
		if at, work := foundGit(dir); at != "" && !seen[at] {
			seen[at] = true
			files = append(files, p.trackedIn(git, at, work)...)
		}
	}
	return files
}

// trackedIn returns the files that git tracks in a folder that is worked in, with the repository of another.
func (p *Policy) trackedIn(git gitProgram, dir, work string) []string {
	type reading struct {
		stats []fileStat
		files []string
	}
	entries, _ := os.ReadDir(dir) // what cannot be read no git reads
	indexes := indexesIn(dir, entries)
	var now reading
	for _, path := range indexes {
		if info, err := os.Lstat(path); err == nil {
			now.stats = append(now.stats, statOf(info))
		}
	}
	if p != nil {
		if known, ok := p.readings.Load(dir); ok && slices.EqualFunc(known.(reading).stats, now.stats, fileStat.same) {
			return known.(reading).files
		}
	}
	for _, path := range indexes {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		names, _ := git.readIndex(f, err, dir) // what cannot be read is not tracked
		for _, name := range names {
			now.files = append(now.files, filepath.Join(work, name))
		}
	}
	if p != nil {
		p.readings.Store(dir, now)
	}
	return now.files
}

// readIndex returns the names in an index of the repository of a folder, and closes the index. It is given what
// came of opening that with os.O_RDONLY|syscall.O_NONBLOCK: a pipe would wait for its writer.
func (g gitProgram) readIndex(f *os.File, err error, dir string) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndexFile {
		return nil, errNoIndex
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	settings, _ := g.readConfig(filepath.Join(commonFolder(dir), "config"))
	hash := 20
	if last(settings, "extensions.objectformat") == "sha256" {
		hash = 32
	}
	return indexNames(text, hash)
}

var errNoIndex = errors.New("no index that git could have written")

// leavesWork reports whether a name in an index leads out of the folder that is worked in, or
// into that of a repository, on any file system.
func leavesWork(name string) bool {
	if name == "" {
		return false // in a split index it stands for one of the shared index
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") { // one with a slash is a folder of a sparse index
		visible := strings.Map(func(c rune) rune { // some file systems ignore characters that have no width
			if c >= 0x80 {
				return -1
			}
			return c
		}, part)
		if part == "" || part == "." || part == ".." || isDotGit(visible) {
			return true
		}
	}
	return false
}

var errIndex = errors.New("not an index as git writes it")

// indexNames returns the names in an index, gitformat-index(5), read 2026-11-23. hash is the
// length of an object's name. What git could read in another way is an error.
func indexNames(text []byte, hash int) (names []string, err error) {
	if len(text) < 12+hash || string(text[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(text[4:]), int(binary.BigEndian.Uint32(text[8:]))
	end := len(text) - hash
	if version < 2 || version > 4 || count > len(text)/(42+hash) {
		return nil, errIndex
	}
	const stat = 40 // bytes before the object's name
	at, name := 12, ""
	starts := map[int]int{} // where entries begin that share nothing with the one before, and which they are
	for i := range count {
		start := at
		if at += stat + hash + 2; at > end {
			return nil, errIndex
		}
		flags := binary.BigEndian.Uint16(text[at-2:])
		if flags&0x4000 != 0 {
			if at += 2; version == 2 {
				return nil, errIndex
			}
		}
		kept := 0 // of the name before
		if version == 4 {
			drop, n := varint(text[min(at, end):end])
			if at += n; n == 0 || drop > len(name) {
				return nil, errIndex
			}
			kept = len(name) - drop
		}
		length := bytes.IndexByte(text[min(at, end):end], 0)
		if length < 0 {
			return nil, errIndex
		}
		name = name[:kept] + string(text[at:at+length])
		if inFlags := int(flags & 0xfff); inFlags != min(len(name), 0xfff) {
			return nil, errIndex // git takes the length in the flags for that of the name
		}
		if names = append(names, name); kept == 0 {
			starts[start] = i
		}
		if at += length + 1; version < 4 {
			at = start + (at-1-start+8)&^7
		}
	}
	if at > end {
		return nil, errIndex
	}
	return names, checkExtensions(text[:end], at, count, hash, starts)
}

// checkExtensions looks for tables of entries in what follows these: with them git reads the
// entries in several threads, from where the tables say.
func checkExtensions(text []byte, entriesEnd, count, hash int, starts map[int]int) error {
	// Git looks for the one that says where the entries end at the end of the file.
	atEnd := len(text) - (4 + 4 + 4 + hash)
	endSeen := atEnd < 0 || string(text[atEnd:atEnd+4]) != "EOIE"
	at := entriesEnd
	for at < len(text) {
		if len(text)-at < 8 {
			return errIndex
		}
		size := int(binary.BigEndian.Uint32(text[at+4:]))
		if size > len(text)-at-8 {
			return errIndex
		}
		content := text[at+8 : at+8+size]
		switch string(text[at : at+4]) {
		case "EOIE":
			if at != atEnd || size != 4+hash || int(binary.BigEndian.Uint32(content)) != entriesEnd {
				return errIndex
			}
			endSeen = true
		case "IEOT":
			next := 0 // the entry that the next block begins with
			if size%8 != 4 {
				return errIndex
			}
			for b := content[4:]; len(b) > 0; b = b[8:] {
				if first, ok := starts[int(binary.BigEndian.Uint32(b))]; !ok || first != next {
					return errIndex
				}
				next += int(binary.BigEndian.Uint32(b[4:]))
			}
			if next != count {
				return errIndex
			}
		}
		at += 8 + size
	}
	if !endSeen {
		return errIndex
	}
	return nil
}

// varint reads a number as git writes it where an offset is meant; n is how many bytes it has,
// 0 if it is none.
func varint(b []byte) (value, n int) {
	for i, c := range b[:min(len(b), 5)] {
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
