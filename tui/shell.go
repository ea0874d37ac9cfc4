package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"pawl/internal/owngit"
	"pawl/internal/proc"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/render"
	"pawl/run"
)

// maxShellOutput bounds what is kept of a command of the person, in bytes: its end.
const maxShellOutput = 30_000

// shell runs a command as the person, in the workspace: not confined, because the person has
// typed it.
func (m *model) shell(command string) []effect {
	m.running++
	m.print("", m.Paint(render.Accent, "!")+" "+m.Paint(render.Bold, visible.Escape(command)))
	dir := m.Dir
	return []effect{later(func(ctx context.Context, b *backend) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		b.shell(stop)
		began := time.Now()
		var out tail
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
		ownGroup(cmd)
		err := cmd.Run()
		var exit *exec.ExitError
		code := 0
		switch {
		case errors.As(err, &exit):
			code = exit.ExitCode()
		case err != nil:
			fmt.Fprintf(&out, "%v\n", err)
			code = -1
		}
		b.post(shellEnded{command, out.String(), code, time.Since(began)})
		return nil
	})}
}

// shellEnded prints what a command has printed, and keeps it for the next prompt.
func (m *model) shellEnded(s shellEnded) {
	m.running--
	out := strings.TrimRight(strings.ToValidUTF8(s.output, "\uFFFD"), "\n")
	lines := strings.Split(out, "\n")
	if out == "" {
		lines = nil
	}
	if cut := len(lines) - maxShellLines; cut > 0 {
		m.print("  " + m.Paint(render.Faint, m.Glyph(render.GlyphCut)+" "+text.Plural(int64(cut), "line")+" before"))
		lines = lines[cut:]
	}
	for _, l := range lines {
		m.print("  " + m.Clip(visible.Escape(strings.ReplaceAll(l, "\t", "    ")), m.width-3))
	}
	end := render.Took(s.took)
	if s.code != 0 {
		end = fmt.Sprintf("exit %d%s%s", s.code, m.Dot(), end)
	}
	m.print("  " + m.Paint(render.Faint, end))
	p := run.Text(fmt.Sprintf("I ran `%s` in a shell of my own (exit code %d). It printed:\n%s", s.command, s.code, out))
	p.Attached = ranBefore + oneLine(s.command) // it was shown when it ran
	m.context = append(m.context, p)
}

// ranBefore begins the name under which what a command of the person has printed is attached.
const ranBefore = "output of "

// restore keeps what commands of the person have printed for the next prompt, if it was part of a
// message that was not delivered.
func (m *model) restore(parts []run.Part) {
	for _, p := range parts {
		if strings.HasPrefix(p.Attached, ranBefore) {
			m.context = append(m.context, p)
		}
	}
}

// maxShellLines is how many lines of a command's output are printed.
const maxShellLines = 40

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if over := t.Len() - 2*maxShellOutput; over > 0 {
		t.Next(over + maxShellOutput)
	}
	return len(p), nil
}

func (t *tail) String() string {
	b := t.Bytes()
	if over := len(b) - maxShellOutput; over > 0 {
		b = b[over:]
	}
	return string(b)
}

// showDiff prints what differs from the last commit. Git's configured programs do not run.
func (m *model) showDiff(string) []effect {
	style, width, dir := m.Style, m.width, m.Dir
	return []effect{later(func(ctx context.Context, b *backend) error {
		git, err := proc.Find("git", os.Getenv("PATH"), dir)
		if err != nil {
			return err
		}
		call := owngit.Call{Program: git, Dir: dir}
		filters, err := call.Command(ctx, owngit.ListFilters...).Output()
		if err == nil {
			call.Env = owngit.WithoutFilters(string(filters))
		}
		out, err := call.Command(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--").CombinedOutput()
		switch {
		case err == nil:
		case bytes.Contains(bytes.ToLower(out), []byte("not a git repository")):
			return errors.New("this folder is not in a git repository")
		case bytes.Contains(out, []byte("bad revision 'HEAD'")):
			return errors.New("there is no commit yet to compare with")
		default:
			return fmt.Errorf("git diff: %w: %s", err, strings.TrimSpace(string(out)))
		}
		var made []byte
		err = owngit.Bounded(ctx, dir, func(ctx context.Context) error {
			made, err = newFiles(ctx, call, dir)
			return err
		})
		if err != nil {
			return err
		}
		out = append(out, made...)
		lines := []string{"  no differences"}
		if len(out) > 0 {
			lines = nil
			for l := range strings.SplitSeq(strings.TrimRight(string(out), "\n"), "\n") {
				if len(lines) == maxDiffLines {
					lines = append(lines, style.Paint(render.Faint, "  more: git diff"))
					break
				}
				lines = append(lines, "  "+style.Paint(diffPaint(l), style.Clip(visible.Escape(strings.ReplaceAll(l, "\t", "    ")), width-3)))
			}
		}
		b.post(printed{lines})
		return nil
	})}
}

// newFiles returns files that git neither knows nor ignores, as differences from nothing.
func newFiles(ctx context.Context, call owngit.Call, dir string) ([]byte, error) {
	names, err := call.Command(ctx, "ls-files", "--others", "--exclude-standard", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out bytes.Buffer
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		fmt.Fprintf(&out, "diff --git a/%s b/%s\nnew file\n", name, name)
		content, err := smallFile(root, name)
		if err != nil || !utf8.Valid(content) {
			continue // it is named
		}
		diff, _, _ := text.Diff("", string(content), maxNewFile)
		fmt.Fprintf(&out, "--- /dev/null\n+++ b/%s\n%s\n", name, strings.TrimRight(diff, "\n"))
	}
	return out.Bytes(), nil
}

// maxNewFile bounds what is shown of a new file, in bytes.
const maxNewFile = 64 << 10

// smallFile reads a regular file of at most maxNewFile bytes.
func smallFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxNewFile {
		return nil, errors.Join(err, errors.ErrUnsupported)
	}
	return root.ReadFile(name)
}

// maxDiffLines is how many lines of a difference are printed.
const maxDiffLines = 400

func diffPaint(line string) render.Paint {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
		return render.Bold
	case strings.HasPrefix(line, "+"):
		return render.Good
	case strings.HasPrefix(line, "-"):
		return render.Bad
	case strings.HasPrefix(line, "@@"):
		return render.Accent
	}
	return render.Plain
}
