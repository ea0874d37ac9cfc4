//go:build !linux

package hook

import "os"

// shared returns content as a file that any number of commands can open by path, until it is forgotten.
func shared(content []byte) (f *os.File, path string, err error) {
	if f, err = os.CreateTemp("", "pawl-transcript-*.jsonl"); err != nil {
		return nil, "", err
	}
	_, err = f.Write(content)
	return f, f.Name(), err
}

func forget(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}
