// Package diskuse says how much room files take on the disk: whole blocks, not the bytes
// that were written.
package diskuse

import (
	"io/fs"
	"os"
	"path/filepath"
)

// File returns the bytes that the file at path takes; 0 if there is none.
func File(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return Of(info)
}

// Tree returns the bytes that a folder and everything below it take; 0 if it does not
// exist. Links are not followed, and what cannot be read is not counted.
func Tree(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += Of(info)
		}
		return nil
	})
	return total
}
