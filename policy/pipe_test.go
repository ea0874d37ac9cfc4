//go:build unix

package policy_test

import (
	"syscall"
	"testing"
)

func pipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("needs named pipes: %v", err)
	}
}
