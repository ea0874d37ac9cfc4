// Package cache answers a request that was answered before from a local file: for CI,
// demos and work on prompts, where the same request is sent repeatedly. It wraps a
// provider.
//
// Equal means equal byte for byte, in everything that goes to the model and to which
// model it goes. Only whole answers are kept; an error is asked for again. It does
// not judge whether an answer is still valid: to get a new one, empty the folder or turn
// the cache off.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"

	"pawl/internal/atomicfile"
	"pawl/internal/stable"
	"pawl/llm"
	"pawl/run"
)

// MaxSize is how many bytes of answers a folder keeps; the oldest go first.
const MaxSize = 256 << 20

// form is part of every key: answers kept by a pawl with another form are not found.
const form = "pawl answer 1"

// A Provider keeps the answers of another one. It is safe for concurrent use, also by
// several processes on one folder.
type Provider struct {
	llm.Provider
	address string
	dir     string
	log     *slog.Logger
}

// New returns a provider that keeps p's answers in dir, which is created when needed.
// address distinguishes providers of one wire format. Answers that cannot be kept are
// reported to log, if it is not nil, and requested again.
func New(p llm.Provider, address, dir string, log *slog.Logger) *Provider {
	return &Provider{Provider: p, address: address, dir: dir, log: log}
}

// Stream answers r from the folder, marked as [llm.Answer.Cached], or asks the
// provider and keeps what it answers.
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	file := filepath.Join(p.dir, p.key(r)+".json")
	return func(yield func(llm.Delta, error) bool) {
		if a, ok := p.read(file); ok {
			if ctx.Err() != nil {
				yield(llm.Delta{}, &llm.Error{Kind: run.ErrAborted, Err: context.Cause(ctx)})
				return
			}
			replay(a, yield)
			return
		}
		for d, err := range p.Provider.Stream(ctx, r) {
			if err == nil && d.Answer != nil {
				p.keep(file, d.Answer)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// replay yields an answer as if it had just arrived.
func replay(a *llm.Answer, yield func(llm.Delta, error) bool) {
	for _, part := range a.Parts {
		var d llm.Delta
		switch part.Type {
		case run.TextPart:
			d.Text = part.Text
		case run.ThinkingPart:
			d.Thinking = part.Text
		}
		if d != (llm.Delta{}) && !yield(d, nil) {
			return
		}
		if !yield(llm.Delta{Part: &part}, nil) {
			return
		}
	}
	yield(llm.Delta{Answer: a}, nil)
}

// key is a hash over all of a request. Each piece has its length in front of it, so
// that no two requests are the same bytes.
func (p *Provider) key(r llm.Request) string {
	h := sha256.New()
	add := func(piece []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(piece)))
		h.Write(n[:])
		h.Write(piece)
	}
	for _, s := range []string{form, p.Wire(), p.address, r.Model, r.System, fmt.Sprint(r.NoCalls, r.MaxTokens, len(r.Tools))} {
		add([]byte(s))
	}
	for _, t := range r.Tools {
		add(t)
	}
	add(r.Output)
	if r.Effort != (llm.Effort{}) { // without one the key is that of older pawls
		add(fmt.Append(nil, r.Effort))
	}
	for _, m := range r.Messages {
		add([]byte(m.Role))
		add(m.Body)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// read returns a kept answer. A file that cannot be read, or is not one of ours, is
// treated as missing.
func (p *Provider) read(file string) (*llm.Answer, bool) {
	content, err := atomicfile.Read(file)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			p.warn("a kept answer cannot be read", err)
		}
		return nil, false
	}
	var a llm.Answer
	if err := json.Unmarshal(content, &a); err != nil {
		p.warn("a cached answer is damaged", fmt.Errorf("%s: %w", file, err))
		return nil, false
	}
	a.Cached = true
	return &a, true
}

// keep writes an answer; others see all of it or nothing.
func (p *Provider) keep(file string, a *llm.Answer) {
	err := func() error {
		content, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if err := atomicfile.Write(file, content, atomicfile.NoSync); err != nil {
			return err
		}
		return p.prune()
	}()
	if err != nil {
		p.warn("an answer could not be kept", err)
	}
}

// prune removes the oldest answers until the folder is within its size.
func (p *Provider) prune() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	var infos []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // another process may have removed it
			infos = append(infos, info)
			total += info.Size()
		}
	}
	if total <= MaxSize {
		return nil
	}
	stable.Sort(infos, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range infos {
		if total <= MaxSize {
			break
		}
		if err := os.Remove(filepath.Join(p.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= info.Size()
	}
	return nil
}

func (p *Provider) warn(what string, err error) {
	if p.log != nil {
		p.log.Warn(what, "error", err)
	}
}
