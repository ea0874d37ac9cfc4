//go:build !linux && !darwin

package store

import "errors"

// fileSystem knows nothing about file systems here, and lets all of them pass.
func fileSystem(string) (name string, network bool, err error) { return "", false, nil }

// freeSpace is not known here.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }

// fileSizeLimit is not known here.
func fileSizeLimit() (uint64, error) { return 0, errors.ErrUnsupported }
