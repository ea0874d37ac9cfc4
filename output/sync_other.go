//go:build !unix

package output

// syncFolder does nothing: a folder cannot be synced here, and NTFS keeps names in its
// journal.
func syncFolder(string) error { return nil }
