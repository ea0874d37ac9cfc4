package outputs

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
	"regexp/syntax"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/cli/command"
	"pawl/internal/lazy"
	"pawl/internal/text"
	visibility "pawl/internal/visible"
	"pawl/output"
	"pawl/output/jsonpath"
)

// An outputQuestion is a subcommand that asks one document what a model can ask with the tool
// tool_outputs.<name>: flags are the arguments of the tool, and the answer is the tool's.
type outputQuestion struct {
	use, short, long, example string
	// flags defines the flags; arguments are the names that the tool has for them.
	flags     func(*pflag.FlagSet)
	arguments map[string]string
	// more, if not nil, adds arguments that no flag has as they are. It gets the
	// positional arguments and returns those that name the output.
	more   func(cmd *cobra.Command, positional []string, args map[string]any) ([]string, error)
	values map[string][]string // of flags, for completion
	ask    output.Question
	// print, if not nil, prints an answer for people, of any size; else the answer is
	// printed as indented JSON.
	print func(ctx context.Context, cmd *cobra.Command, w io.Writer, d *subject, args []byte) error
}

// asUsage makes an error of arguments one of usage, which names flags where it names
// arguments. names are the arguments by the flags that give them.
func asUsage(err error, names map[string]string) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		subject, rest, ok := strings.Cut(line, " must ")
		if !ok {
			continue
		}
		words := strings.Fields(subject) // such as: limit and offset
		for flag, name := range names {
			for w := range words {
				if words[w] == name {
					words[w] = "--" + flag
				}
			}
		}
		lines[i] = strings.Join(words, " ") + " must " + rest
	}
	return command.Usage("%s", strings.Join(lines, "\n"))
}

func (q outputQuestion) command(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: q.use, Short: q.short, Long: q.long, Example: q.example}
	var s source
	s.flags(inv, cmd)
	q.flags(cmd.Flags())
	for flag, values := range q.values {
		command.CompleteFlag(cmd, flag, values...)
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, positional []string) (err error) {
		args := given(cmd, q.arguments)
		if q.more != nil {
			if positional, err = q.more(cmd, positional, args); err != nil {
				return err
			}
		}
		if err := s.read(cmd, positional); err != nil {
			return err
		}
		if _, err := q.ask(cmd.Context(), nil, output.Target{}, encoded(args)); err != nil { // before anything is opened
			return asUsage(err, q.arguments)
		}
		d, err := openSource(cmd.Context(), inv, s)
		if err != nil {
			return err
		}
		if len(positional) == 0 && s.file == "" && isPiped(inv) {
			inv.Notice("standard input is not read: --file - names it")
		}
		var target output.Target
		if d.stored != nil {
			target.ID = d.scope.Ref(&d.stored.Meta)
		}
		out := bufio.NewWriterSize(inv.Stdout, 64<<10)
		if q.print != nil && !*asJSON {
			err = q.print(cmd.Context(), cmd, out, d, encoded(args))
		} else {
			var answer any
			if answer, err = q.ask(cmd.Context(), d.Document, target, encoded(args)); err == nil {
				err = printAnswer(out, answer, d, *asJSON)
			}
		}
		// What was printed before an error is worth seeing.
		return errors.Join(out.Flush(), badQuestion(err), d.Close())
	}
	return cmd
}

// isPiped reports whether standard input is a pipe.
func isPiped(inv *command.Invocation) bool {
	f, ok := inv.Stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

func encoded(args map[string]any) []byte {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // unreachable: they are texts and numbers
	}
	return raw
}

// badQuestion makes the errors of paths and patterns errors of usage, and says of all what a
// person can do instead of what a model can.
func badQuestion(err error) error {
	if err == nil || errors.As(err, new(command.Exit)) {
		return err
	}
	if text := forPerson(err.Error()); text != err.Error() {
		err = personsError{text, err}
	}
	var path *jsonpath.SyntaxError
	var pattern *syntax.Error
	if errors.As(err, &path) || errors.As(err, &pattern) {
		return command.Usage("%w", err)
	}
	return err
}

// A personsError is an error of a question, in words for a person.
type personsError struct {
	text string
	err  error
}

func (e personsError) Error() string { return e.text }
func (e personsError) Unwrap() error { return e.err }

// toolName is how errors of questions begin for a model: the tool, and the output.
var toolName = lazy.Regexp(`^tool_outputs\.[a-z]+ of .*?: `)

// forPerson returns what a tool says about an output, with commands instead of tools.
func forPerson(text string) string {
	return strings.ReplaceAll(toolName().ReplaceAllString(text, ""), "use read or search", "use `pawl outputs show` or `pawl outputs search`")
}

// printAnswer prints what a tool returns: indented, with exit code 1 for an answer that has
// nothing in it, as grep's; or on one line, which says so itself.
func printAnswer(w io.Writer, answer any, d *subject, oneLine bool) error {
	if r, ok := answer.(output.StatsResult); ok {
		for i := range r.Hints {
			r.Hints[i] = forPerson(r.Hints[i])
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(answer); err != nil {
		return err
	}
	raw := visibility.JSON(b.Bytes())
	if oneLine && d.stored != nil { // with the run, as every object of pawl about one has it
		raw = append(fmt.Appendf(nil, `{"run":%q,`, d.stored.Conversation), raw[1:]...)
	}
	if _, err := w.Write(raw); err != nil || oneLine {
		return err
	}
	switch r := answer.(type) {
	case output.SearchResult:
		if r.Total == 0 {
			return nothing("nothing matches")
		}
	case output.SampleResult:
		if len(r.Sample) == 0 && r.Cut == 0 {
			return nothing(append(r.Hints, "there are no items to choose from")...)
		}
	}
	return nil
}

// nothing is the end of a question that nothing matches.
func nothing(why ...string) error {
	return command.Exit{Code: command.ExitFailed, Err: errors.New(strings.Join(why, "; "))}
}

// given returns the flags that were given as arguments of a tool.
func given(cmd *cobra.Command, names map[string]string) map[string]any {
	args := map[string]any{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		name, ok := names[f.Name]
		if !ok {
			return
		}
		list, isList := f.Value.(pflag.SliceValue)
		switch says := f.Value.String(); {
		case isList:
			args[name] = list.GetSlice()
		case f.Value.Type() == "string":
			args[name] = says
		case f.Value.Type() == "bool":
			args[name] = says == "true"
		default:
			args[name] = json.Number(says)
		}
	})
	return args
}

// maxPrinted is up to which size a value is printed on one line, in bytes; a larger one is
// printed as it is written.
const maxPrinted = 64 << 20

// printValue prints a value on a line, after its path if that is not empty. If raw, a
// string is printed as what it says.
func printValue(w io.Writer, path string, size int64, value io.Reader, raw bool) error {
	if path != "" {
		if _, err := fmt.Fprintf(w, "%s\t", command.Visible(path)); err != nil {
			return err
		}
	}
	if size > maxPrinted {
		_, err := io.Copy(w, io.MultiReader(value, strings.NewReader("\n")))
		return err
	}
	written, err := io.ReadAll(value)
	if err != nil {
		return err
	}
	var says string
	if raw && written[0] == '"' && json.Unmarshal(written, &says) == nil {
		_, err := io.WriteString(w, says+"\n")
		return err
	}
	var line bytes.Buffer
	if json.Compact(&line, written) != nil { // too many arrays in one another
		line.Reset()
		line.Write(written)
	}
	if !raw {
		written = visibility.JSON(line.Bytes())
	} else {
		written = line.Bytes()
	}
	_, err = w.Write(append(written, '\n'))
	return err
}

// printValues prints all that paths select.
func printValues(ctx context.Context, cmd *cobra.Command, w io.Writer, d *subject, raw []byte) error {
	asIs, _ := cmd.Flags().GetBool("raw")
	var args output.ExtractArgs
	if err := output.Decode(raw, &args); err != nil {
		return asUsage(err, nil)
	}
	enough := errors.New("enough")
	var missing []string
	for _, path := range args.Paths {
		seen := 0
		err := d.Values(ctx, path, func(at string, size int64, value io.Reader) error {
			if seen++; seen <= args.Offset {
				return nil
			}
			if !args.IncludePaths {
				at = ""
			}
			err := printValue(w, at, size, value, asIs)
			if err == nil && args.Limit > 0 && seen == args.Offset+args.Limit {
				return enough
			}
			return err
		})
		if err != nil && !errors.Is(err, enough) {
			return err
		}
		switch {
		case seen > 0:
		case len(args.Default) > 0:
			if err := printValue(w, "", int64(len(args.Default)), bytes.NewReader(args.Default), asIs); err != nil {
				return err
			}
		default:
			missing = append(missing, d.Missing(path))
		}
	}
	if len(missing) > 0 {
		return nothing(missing...)
	}
	return nil
}

// printText prints a text in pages of the size that models get, or as it is.
func printText(ctx context.Context, cmd *cobra.Command, w io.Writer, d *subject, raw []byte) error {
	asIs, _ := cmd.Flags().GetBool("raw")
	var args output.ReadArgs
	if err := output.Decode(raw, &args); err != nil {
		return asUsage(err, nil)
	}
	if asIs && args.Offset == 0 && args.Limit == 0 {
		_, err := io.Copy(w, d.Reader())
		return err
	}
	last := byte('\n')
	for {
		r, err := d.Read(ctx, args)
		switch {
		case err != nil:
			return err
		case r.Returned == 0 && args.Offset > 0:
			return nothing("there are " + text.Commas(r.Total) + " " + r.Unit + " in all")
		}
		page := r.Text
		if !asIs {
			page = command.Visible(page)
		}
		if r.Unit == "lines" && (r.Cut || args.Offset > 0 || args.Limit > 0) {
			page += "\n" // the last line of a part comes without
		}
		if _, err := io.WriteString(w, page); err != nil {
			return err
		}
		if page != "" {
			last = page[len(page)-1]
		}
		if !r.Cut {
			break
		}
		args.Offset += r.Returned
		if args.Limit > 0 {
			args.Limit -= r.Returned
		}
	}
	if last != '\n' && !asIs {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}
