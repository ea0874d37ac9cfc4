//go:build !unix || solaris || illumos || aix

package inside

import "errors"

// Locked refuses: there is no lock that the kernel frees with the process, and no run
// either (see package store).
func Locked(string, string, func() error) error {
	return errors.New("pawl cannot keep anything on this system; on Windows use it inside WSL")
}
