//go:build !unix

package owner

import "io/fs"

// Of reports that the owner is not known.
func Of(fs.FileInfo) (uid int, known bool) { return 0, false }
