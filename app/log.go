package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"pawl/config"
)

// newLogger returns the log for diagnostics: warnings, and everything with PAWL_LOG=debug.
// It never has keys or contents. The file is made by the first line.
func newLogger(env config.Env) *slog.Logger {
	level := slog.LevelWarn
	if env.Get("PAWL_LOG") == "debug" {
		level = slog.LevelDebug
	}
	file := &lazyFile{path: filepath.Join(env.StateDir(), "log", "pawl.log")}
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: level}))
}

// Log returns the log for diagnostics.
func (w *Workspace) Log() *slog.Logger { return w.logger() }

// maxLog is the size at which a log file is put aside; one old one is kept.
const maxLog = 5 << 20 // bytes

// A lazyFile is a file to append to that is opened by its first write, because most
// runs have nothing to log. It stays open until the process ends.
type lazyFile struct {
	path string

	mu sync.Mutex
	f  *os.File
}

func (l *lazyFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return 0, err
		}
		if info, err := os.Stat(l.path); err == nil && info.Size() > maxLog {
			// Two processes that do it at once lose an old log, nothing else.
			if err := os.Rename(l.path, l.path+".old"); err != nil {
				return 0, err
			}
		}
		f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, fmt.Errorf("log: %w", err)
		}
		l.f = f
	}
	return l.f.Write(p)
}
