//go:build !unix || solaris || illumos || aix

package policy

import (
	"errors"
	"io/fs"
)

func signatureOf(info fs.FileInfo) signature {
	return signature{found: true, size: info.Size(), modified: info.ModTime().UnixNano(), mode: info.Mode()}
}

// locked refuses: there is no lock that the kernel frees with the process, and no run
// either (see package store).
func locked(string, func() error) error {
	return errors.New("pawl cannot keep rules on this system; on Windows use it inside WSL")
}
