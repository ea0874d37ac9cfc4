//go:build !unix

package diskuse

import "io/fs"

// Of returns the bytes that a file takes: here its length.
func Of(info fs.FileInfo) int64 { return info.Size() }
