package store

import (
	"errors"
	"os"
	"path/filepath"
)

// checkFileSystem refuses a folder on a network file system, where locks and shared memory
// may not work: two processes could then damage the log.
func (s *fileStore) checkFileSystem() error {
	look := s.opt.fileSystem
	if look == nil {
		look = fileSystem
	}
	name, network, err := look(s.dir)
	if err != nil {
		return fileError(s.dir, err)
	}
	if network {
		return &FileError{Kind: ErrNetworkFS, Path: s.dir, Err: errors.New(name)}
	}
	return nil
}

// lowSpace is how much a full disk may still have free: SQLite may have needed more at
// once.
const lowSpace = 256 << 10 // bytes

// diskFull reports whether the disk with the file at path has almost no free space.
func diskFull(path string) bool {
	free, err := freeSpace(path)
	return err == nil && free < lowSpace
}

// atSizeLimit reports whether the database at path, or a file beside it, is as long as
// this process may make a file.
func atSizeLimit(path string) bool {
	limit, err := fileSizeLimit()
	for _, suffix := range sideFiles {
		info, serr := os.Stat(path + suffix)
		if err == nil && serr == nil && uint64(info.Size())+lowSpace > limit {
			return true
		}
	}
	return false
}

// FreeSpace returns the bytes that this user may still write in a folder;
// [errors.ErrUnsupported] where that is not known.
func FreeSpace(dir string) (uint64, error) { return freeSpace(filepath.Join(dir, "x")) }
