//go:build !unix || solaris || illumos || aix

package policy

import "io/fs"

func signatureOf(info fs.FileInfo) signature {
	return signature{found: true, size: info.Size(), modified: info.ModTime().UnixNano(), mode: info.Mode()}
}
