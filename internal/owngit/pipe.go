package owngit

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/visible"
)

// A PipeError says that git waits for ever, because it reads a named pipe as a file with patterns.
type PipeError struct{ Path string }

func (e *PipeError) Error() string {
	return fmt.Sprintf("%s is a named pipe, and git waits for who writes into it: remove it", visible.Quote(e.Path))
}

// pipePatience is how long a call takes before its folder is searched for a pipe.
const pipePatience = time.Second

// Bounded calls do with a context that ends with a [*PipeError] as its cause once a call of git in dir takes long and there is
// a pipe that git reads. It returns that error, if there is one, or the one of do.
func Bounded(ctx context.Context, dir string, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for wait := pipePatience; ; wait *= 2 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			if pipe := pipeIn(ctx, dir); pipe != "" {
				cancel(&PipeError{pipe})
			}
		}
	}()
	err := do(ctx)
	if pipe, ok := context.Cause(ctx).(*PipeError); ok && err != nil {
		err = pipe
	}
	cancel(nil)
	<-looked
	return err
}

// pipeIn returns the path of a named pipe below dir that git reads, such as .gitignore; empty: there is none.
func pipeIn(ctx context.Context, dir string) (pipe string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.Type()&os.ModeNamedPipe != 0 && strings.HasPrefix(e.Name(), ".git"):
			pipe = path
			return fs.SkipAll
		}
		return nil
	})
	return pipe
}
