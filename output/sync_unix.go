//go:build unix

package output

import (
	"fmt"
	"os"
)

// syncFolder makes it last that names in a folder have come or changed.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closed := d.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("sync the folder %s: %w", dir, err)
	}
	return nil
}
