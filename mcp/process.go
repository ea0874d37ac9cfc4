package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/lazy"
	"pawl/internal/proc"
	"pawl/internal/visible"
	"pawl/sandbox"
)

// maxIncoming bounds a message of a server, in bytes. A result of this size goes through the
// store of outputs like any other.
const maxIncoming = 64 << 20

// attach is a script that makes descriptors 3 and 4 the standard input and output of a program.
const attach = `exec "$@" <&3 >&4 3<&- 4>&-`

// A process is a server on this machine, with all that it has started.
type process struct {
	program string
	proc    *proc.Process
	session *sandbox.Session
	in      *os.File // what the server reads
	out     *os.File // what it writes
	errors  *lastLines
	closed  bool // it has no network

	cancelled chan struct{} // gets a value when the server was told that a call is cancelled
}

// cancelPatience is how long a server is waited for that does not read what it is told.
const cancelPatience = time.Second

// awaitCancelled returns when the server was told that a call is cancelled. The library tells it beside what the caller does
// next (see its call in mcp/transport.go, v1.8.0).
func (p *process) awaitCancelled() {
	select {
	case <-p.cancelled:
	case <-p.proc.Done():
	case <-time.After(cancelPatience):
	}
}

// Write writes messages to the server.
func (p *process) Write(b []byte) (int, error) {
	n, err := p.in.Write(b)
	if bytes.Contains(b[:min(len(b), 100)], []byte(`"notifications/cancelled"`)) {
		select {
		case p.cancelled <- struct{}{}:
		default:
		}
	}
	return n, err
}

// Close closes what the server reads.
func (p *process) Close() error { return p.in.Close() }

// startProcess starts a server for a workspace. It ends with ctx.
func startProcess(ctx context.Context, d Definition, workspace string, o *Options) (*process, error) {
	folder := d.Dir
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(workspace, folder)
	}
	env := append(o.Environ(), environ(d.Env)...)
	program := d.Command
	if !strings.ContainsRune(program, os.PathSeparator) {
		found, err := proc.Find(program, pathOf(env), workspace)
		if err != nil {
			return nil, fmt.Errorf("there is no program %s in PATH%s", visible.Quote(program), ofWindows(d))
		}
		program = found
	} else if !filepath.IsAbs(program) {
		if _, err := os.Stat(filepath.Join(folder, program)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no program %s in %s, the folder that it works in", visible.Quote(program), folder)
		}
	}
	shell, err := proc.Find("sh", os.Getenv("PATH"), workspace)
	if err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	p := &process{program: program, in: in, out: out, errors: &lastLines{}, closed: d.Closed, cancelled: make(chan struct{}, 1)}
	command := proc.Command{Argv: append([]string{shell, "-c", attach, "sh", program}, d.Args...), Dir: folder,
		Env: env, Extra: []*os.File{theirIn, theirOut}, Output: p.errors}
	if o.Confine != nil {
		command, p.session, err = o.Confine(d, workspace, command)
	}
	if err == nil {
		p.proc, err = proc.Start(ctx, command)
	}
	if err != nil {
		p.session.End()
		in.Close()
		out.Close()
		return nil, err
	}
	p.session.StopOn(p.proc.Stop)
	go func() {
		_, _ = p.proc.Wait()
		in.Close()
		for _, told := range p.session.End() {
			o.notice("server " + d.Name + ": " + told)
		}
	}()
	return p, nil
}

// ofWindows says what to write where a definition is for Windows alone; empty if it is not.
func ofWindows(d Definition) string {
	shell := strings.TrimSuffix(strings.ToLower(d.Command), ".exe")
	if shell != "cmd" || len(d.Args) < 2 || !strings.EqualFold(d.Args[0], "/c") || runtime.GOOS == "windows" {
		return ""
	}
	return fmt.Sprintf(": the definition is for Windows; here its command is %s, without cmd /c", visible.Quote(d.Args[1]))
}

func pathOf(env []string) (path string) {
	for _, v := range env {
		if value, is := strings.CutPrefix(v, "PATH="); is {
			path = value // the last counts
		}
	}
	return path
}

func environ(env map[string]string) []string {
	var all []string
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	return all
}

// closePatience is how long a server may take to end when its standard input has ended.
const closePatience = 300 * time.Millisecond

// stop ends the server and all it has started: its standard input ends, then it is stopped like
// a command.
func (p *process) stop(reason string) {
	p.in.Close()
	select {
	case <-p.proc.Done():
	case <-time.After(closePatience):
		p.proc.Stop(reason)
		<-p.proc.Done()
	}
	p.out.Close()
}

// why returns why the server could not be used: how it has ended, if it has and gave no answer before that, or else err with
// the last it has printed.
func (p *process) why(err error) error {
	if _, answered := errors.AsType[*jsonrpc.Error](err); !answered && p.ending(err) {
		return errors.New(p.ended())
	}
	if last := p.errors.String(); last != "" {
		return fmt.Errorf("%w; it has printed: %s", err, last)
	}
	return err
}

// ending reports whether the server has ended, or is about to because its output has: err is of
// the connection.
func (p *process) ending(err error) bool {
	if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) {
		select {
		case <-p.proc.Done():
		case <-time.After(closePatience):
		}
	}
	return p.ended() != ""
}

// ended says how the server has ended, with the last it has printed to standard error; empty if
// it runs.
func (p *process) ended() string {
	select {
	case <-p.proc.Done():
	default:
		return ""
	}
	status, err := p.proc.Wait()
	said := fmt.Sprintf("it has ended with exit code %d", status.Code)
	switch {
	case err != nil:
		said = err.Error()
	case status.Stopped != "":
		said = "it was stopped: " + status.Stopped
	}
	last := p.errors.String()
	if p.session != nil && (status.Code == 126 || status.Code == 127) { // of a shell that cannot execute its command
		said += fmt.Sprintf("; the sandbox may not let it see %s (with sandbox = false the server has your own rights)", p.program)
	}
	if refusal := p.refusal(status, p.errors.All()); refusal != "" {
		said += "; " + refusal
	}
	if last != "" {
		said += "; its last words: " + last
	}
	return said
}

// refusal says how the sandbox refused what the server has printed, or answered, about, and what may be done; empty if
// nothing points to it.
func (p *process) refusal(status proc.Status, printed string) string {
	why := p.session.Reason(status, printed)
	if why == "" {
		return ""
	}
	can := "a person can give the server another place in its definition, below the folder of the run or a cache, or sandbox = false"
	if p.closed && strings.Contains(why, "refused the network") {
		can = "its definition has network = false"
	}
	return why + " (" + can + ")"
}

// transport returns the transport over the server's pipes. What the server prints that is no
// message is kept with its standard error, and the first such line is told.
func (p *process) transport(strange func(line string)) sdk.Transport {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReaderSize(p.out, 64<<10)
		for told := false; ; {
			line, err := readLine(lines)
			line = bytes.TrimPrefix(line, byteOrderMark)
			line = mend(line)
			switch {
			case len(bytes.TrimSpace(line)) == 0:
			case isMessage(line):
				if _, gone := w.Write(append(line, '\n')); gone != nil {
					return
				}
			default:
				if _, _ = p.errors.Write(append(line, '\n')); !told {
					strange(string(line))
					told = true
				}
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	return &sdk.IOTransport{Reader: r, Writer: p, MaxLineLength: maxIncoming}
}

// isMessage reports whether a line is a message of the protocol, or several. Lines of a log may begin like one, or be
// JSON of their own, and one whose id is none would end the connection; what is long is not looked at whole.
func isMessage(line []byte) bool {
	if line[0] != '{' && line[0] != '[' || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return false
	}
	if len(line) > lookedAt {
		return true
	}
	var one struct {
		ID json.RawMessage `json:"id"`
	}
	var several []struct {
		ID json.RawMessage `json:"id"`
	}
	if line[0] == '[' {
		if json.Unmarshal(line, &several) != nil {
			return false
		}
	} else if json.Unmarshal(line, &one) != nil {
		return false
	}
	for _, m := range append(several, one) {
		var n int64
		var s *string
		if m.ID != nil && json.Unmarshal(m.ID, &n) != nil && json.Unmarshal(m.ID, &s) != nil || string(m.ID) == "null" {
			return false
		}
	}
	return true
}

// answerOf finds the id of an answer that is not valid JSON: programs write it before the result or at the end.
var answerOf = lazy.Regexp(`^\{"jsonrpc":\s*"2\.0",\s*"id":\s*([0-9]+),\s*"(?:result|error)":|^\{"(?:result|error)":.*"id":\s*([0-9]+)\s*\}$`)

// brokenAnswer returns, for a line that begins like the answer to a request and is not valid JSON, one that says so: nothing
// else would end the call before its time limit. It returns nil for other lines.
func brokenAnswer(line []byte) []byte {
	if json.Valid(line) {
		return nil
	}
	of := answerOf().FindSubmatch(line)
	if of == nil {
		return nil
	}
	why, _ := json.Marshal(noAnswer + "valid JSON: " + string(visible.Quote(clip(string(line), 200)))) // a text
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32700,"message":%s}}`, append(of[1], of[2]...), why)
}

// readLine reads a line without its end. One beyond maxIncoming is an error.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxIncoming {
			return nil, fmt.Errorf("it sent a message of more than %d MB", maxIncoming>>20)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// lastLines keeps the last lines that were written to it.
type lastLines struct {
	mu   sync.Mutex
	kept []byte
}

const (
	keptOfErrors  = 8 << 10
	shownOfErrors = 5 // lines
)

func (l *lastLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b...)
	if n := len(l.kept) - keptOfErrors; n > 0 {
		l.kept = append(l.kept[:0], l.kept[n:]...)
	}
	return len(b), nil
}

// All returns all that is kept.
func (l *lastLines) All() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return visible.Escape(strings.ToValidUTF8(strings.TrimSpace(string(l.kept)), "\uFFFD"))
}

// String returns the few lines that say most of why a server has ended, in one: the first that speak of an error, or
// else the last.
func (l *lastLines) String() string {
	var lines, wrong []string
	for line := range strings.Lines(l.All()) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		lines = append(lines, line)
		if errorWords().MatchString(line) {
			wrong = append(wrong, line)
		}
	}
	if len(wrong) > 0 {
		return strings.Join(wrong[:min(len(wrong), shownOfErrors)], " / ")
	}
	return strings.Join(lines[max(0, len(lines)-shownOfErrors):], " / ")
}

var errorWords = lazy.Regexp(`(?i)error|panic:|fatal|exception`)
