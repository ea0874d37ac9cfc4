//go:build !linux

package policy

import "os"

func openUnlinked(*os.File, string) *os.File { return nil }
