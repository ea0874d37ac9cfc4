//go:build unix

package atomicfile

import (
	"errors"
	"os"
)

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return syncFailed(dir, err)
	}
	return nil
}
