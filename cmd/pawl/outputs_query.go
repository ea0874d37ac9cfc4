package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/output"
	"pawl/output/jsonpath"
)

// A query is a subcommand that asks one document what a model can ask by a tool of
// the same name: with the arguments of the tool under the names of flags, and the same
// answer with --json.
type query[A, R any] struct {
	arguments map[string]string // flag → argument of the tool
	ask       func(*output.Document, context.Context, A) (R, error)
	// print writes the answer for people.
	print func(w io.Writer, tell tell, r R) error

	// check, if not nil, looks at the arguments before anything is opened.
	check func(A) error
	// more, if not nil, returns arguments that no flag has as they are.
	more func() (map[string]any, error)
	// whole, if not nil, prints an answer for people without the bounds that there are
	// for models; done is false if it leaves that to ask and print.
	whole func(ctx context.Context, w io.Writer, tell tell, d *subject, args A) (done bool, err error)
}

// tell keeps what is worth knowing beside an answer until the answer is printed.
type tell func(hints ...string)

// add gives cmd what every question has.
func (q query[A, R]) add(a *app, cmd *cobra.Command) *cobra.Command {
	var s source
	s.flags(a, cmd)
	asJSON := cmd.Flags().Bool("json", false, "the object that models get")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.read(cmd, args); err != nil {
			return err
		}
		asked := given(cmd, q.arguments)
		if q.more != nil {
			more, err := q.more()
			if err != nil {
				return err
			}
			maps.Copy(asked, more)
		}
		decoded, err := decode[A](asked)
		if err != nil {
			return err
		}
		if q.check != nil {
			if err := q.check(decoded); err != nil {
				return err
			}
		}
		d, err := a.openSource(cmd.Context(), s)
		if err != nil {
			return err
		}
		return errors.Join(q.answer(cmd.Context(), a, d, asked, *asJSON), d.Close())
	}
	return cmd
}

func (q query[A, R]) answer(ctx context.Context, a *app, d *subject, asked map[string]any, asJSON bool) error {
	maps.Copy(asked, d.target())
	args, err := decode[A](asked)
	if err != nil {
		return err
	}
	var hints []string
	tell := func(more ...string) { hints = append(hints, more...) }
	out := bufio.NewWriterSize(a.stdout, 64<<10)
	done := false
	if q.whole != nil && !asJSON {
		done, err = q.whole(ctx, out, tell, d, args)
	}
	if !done && err == nil {
		var r R
		r, err = q.ask(d.Document, ctx, args)
		switch {
		case err != nil:
		case asJSON:
			err = a.encode(r)
		default:
			err = q.print(out, tell, r)
		}
	}
	// What was printed before an error is worth seeing.
	if flushed := out.Flush(); flushed != nil {
		return flushed
	}
	a.hint(hints...)
	return err
}

// hint prints what is worth knowing where it is in nobody's way.
func (a *app) hint(hints ...string) {
	for _, h := range hints {
		if h != "" {
			fmt.Fprintf(a.stderr, "pawl: %s\n", visible(h))
		}
	}
}

// nothing is the end of a question that nothing matches, as grep's.
func nothing(why ...string) error {
	text := strings.Join(why, "; ")
	if text == "" {
		text = "nothing matches"
	}
	return exit{exitFailed, errors.New(text)}
}

// given returns the flags that were given as arguments of a tool.
func given(cmd *cobra.Command, names map[string]string) map[string]any {
	args := map[string]any{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		name, ok := names[f.Name]
		if !ok {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			args[name] = list.GetSlice()
			return
		}
		text := f.Value.String()
		switch f.Value.Type() {
		case "string":
			args[name] = text
		case "bool":
			args[name] = text == "true"
		default:
			args[name] = json.Number(text)
		}
	})
	return args
}

// decode reads the arguments of a tool. An error is one of usage.
func decode[A any](args map[string]any) (A, error) {
	var a A
	raw, err := json.Marshal(args)
	if err != nil {
		return a, err
	}
	if err := output.Decode(raw, &a); err != nil {
		return a, usage("%w", err)
	}
	return a, nil
}

// complete offers the values that a flag may have.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // unreachable: the flag is one line above
	}
}

// checkPaths says what is wrong with paths before anything is opened: a bad path is an
// error of usage, whatever it is asked of.
func checkPaths(paths ...string) error {
	for _, p := range paths {
		if p == "" {
			continue
		}
		if _, err := jsonpath.Parse(p); err != nil {
			return badPath(err)
		}
	}
	return nil
}

// checkWithin does the same for paths that begin at an item: @.a, .a and a are the same.
func checkWithin(paths ...string) error {
	for _, p := range paths {
		p = strings.TrimSpace(p)
		switch {
		case p == "" || p[0] == '$':
		case p[0] == '@':
			p = "$" + p[1:]
		case p[0] == '.' || p[0] == '[':
			p = "$" + p
		default:
			p = "$." + p
		}
		if err := checkPaths(p); err != nil {
			return err
		}
	}
	return nil
}

func checkFilter(filter string) error {
	if filter == "" {
		return nil
	}
	_, err := jsonpath.ParseFilter(filter)
	return badPath(err)
}

// badPath shows where in a path the error is.
func badPath(err error) error {
	var syntax *jsonpath.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return usage("%w\n%s", err, syntax.Caret())
	}
	return usage("%w", err)
}

// sizeWords is a size for people: 40.2 MB.
func sizeWords(n int64) string {
	const units = "kMGT"
	if n < 1000 {
		return plural(int(n), "byte")
	}
	v, unit := float64(n)/1000, 0
	for v >= 999.95 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", v, units[unit])
}

// readSize reads a size as people write it: 5GB, 500 MB, 10GiB, or bytes.
func readSize(text string) (int64, error) {
	wrong := fmt.Errorf("%q is no size: write it with its unit, as 5GB or 500MB", text)
	number := strings.TrimRight(text, "kKmMgGtTiIbB ")
	unit := strings.ToLower(strings.TrimSpace(text[len(number):]))
	factor, ok := map[string]float64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(n > 0) || n*factor > 1<<62 {
		return 0, wrong
	}
	return int64(n * factor), nil
}

// checkPattern says what is wrong with a regular expression.
func checkPattern(args output.SearchArgs) error {
	if _, err := regexp.Compile(args.Pattern); err != nil {
		return usage("the pattern: %s (patterns are RE2: no look-around, no back-references)", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}
