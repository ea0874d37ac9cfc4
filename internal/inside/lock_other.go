//go:build !unix || solaris || illumos || aix

package inside

import "errors"

// Locked fails: these systems have no lock that the kernel releases when the process ends, and pawl runs nothing on
// them either (see package store).
func Locked(string, string, func() error) error {
	return errors.New("pawl cannot keep anything on this system; on Windows use it inside WSL")
}
