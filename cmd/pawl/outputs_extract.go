package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pawl/output"
	"pawl/output/jsonpath"
)

func outputsExtractCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extract [ID]",
		Short: "Print what paths select, one value a line",
		Long: `Prints what paths select, one value a line, as JSON or with --raw strings as they are. All of it is
printed; --json gives what a model would get, which is bounded. It ends with 1 if a path selects
nothing and there is no --default.`,
		Example: `  pawl outputs extract --path '$.users[*].email' --raw
  pawl outputs extract c_3 --path '$.users[?@.score > 99]' --limit 10
  pawl outputs extract --file big.json --path '$..price' --with-paths
  curl -s https://example.org/data | pawl outputs extract --file - --path '$.items[0]'`,
	}
	flags := cmd.Flags()
	flags.StringArray("path", nil, "a `path`; repeatable (default $)")
	flags.Bool("with-paths", false, "each value behind its path")
	flags.Bool("flatten", false, "with --json: one list of all values")
	fallback := flags.String("default", "", "`JSON` for a path that selects nothing")
	flags.Int("limit", 0, "at most this `many` of each path; 0: all")
	flags.Int("offset", 0, "pass over this `many` of each path")
	raw := flags.BoolP("raw", "r", false, "strings as they are, without quotes and escapes; not made safe for a terminal")
	return query[output.ExtractArgs, output.ExtractResult]{
		arguments: map[string]string{"path": "paths", "with-paths": "include_paths", "flatten": "flatten", "limit": "limit", "offset": "offset"},
		more: func() (map[string]any, error) {
			if !cmd.Flags().Changed("default") {
				return nil, nil
			}
			if !json.Valid([]byte(*fallback)) {
				return nil, usage("--default: %q is not JSON; a string has quotes, as '\"none\"'", *fallback)
			}
			return map[string]any{"default_value": json.RawMessage(*fallback)}, nil
		},
		check: func(args output.ExtractArgs) error { return checkPaths(args.Paths...) },
		ask:   (*output.Document).Extract,
		whole: func(ctx context.Context, w io.Writer, tell tell, d *subject, args output.ExtractArgs) (bool, error) {
			x := &extraction{tell: tell, d: d, args: args, out: values{w: w, raw: *raw}}
			return true, x.run(ctx)
		},
	}.add(a, cmd)
}

// An extraction prints all that paths select.
type extraction struct {
	tell tell
	d    *subject
	args output.ExtractArgs
	out  values
}

func (x *extraction) run(ctx context.Context) error {
	var missing []string
	for _, path := range x.args.Paths {
		one := x.pages
		if f := x.d.WrittenIn(); x.d.file != nil && (f == output.JSON || f == output.JSONLines) {
			one = x.stream
		}
		why, err := one(ctx, path)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		if len(x.args.Default) > 0 {
			if err := x.value(path, x.args.Default); err != nil {
				return err
			}
			continue
		}
		missing = append(missing, why)
	}
	if len(missing) > 0 {
		return nothing(missing...)
	}
	return nil
}

// value prints a value that is in memory.
func (x *extraction) value(path string, raw []byte) error {
	return x.out.print(x.shownPath(path), bytes.NewReader(raw), int64(len(raw)))
}

func (x *extraction) shownPath(path string) string {
	if !x.args.IncludePaths {
		return ""
	}
	return path
}

// stream prints what a path selects in a plain file of JSON or JSON Lines as it comes
// by, however much that is. missing says that there was nothing.
func (x *extraction) stream(ctx context.Context, text string) (missing string, err error) {
	p, err := jsonpath.Parse(text)
	if err != nil {
		return "", badPath(err)
	}
	lines := x.d.WrittenIn() == output.JSONLines
	from := jsonpath.ReaderAt(x.d.file, x.d.file.size)
	if lines {
		from = jsonpath.Reopen(func() (io.ReadCloser, error) {
			return io.NopCloser(newLines(io.NewSectionReader(x.d.file, 0, x.d.file.size))), nil
		})
	}
	opt := jsonpath.Options{Limit: maxSpooled, NoRaw: !lines}
	if strings.Contains(text, "..") {
		// As the questions of package output do: the order of the RFC would need a
		// reading of its own for each level.
		opt.Order = jsonpath.DocumentOrder
	}
	seen := 0
	var failed error
	err = p.Stream(ctx, from, opt, func(m jsonpath.Match) bool {
		seen++
		if seen <= x.args.Offset {
			return true
		}
		path := ""
		if x.args.IncludePaths {
			path = string(m.Path())
		}
		if lines {
			failed = x.out.print(path, bytes.NewReader(m.Raw), m.Size)
		} else {
			failed = x.out.print(path, io.NewSectionReader(x.d.file, m.Offset, m.Size), m.Size)
		}
		return failed == nil && (x.args.Limit == 0 || seen < x.args.Offset+x.args.Limit)
	})
	if err = errors.Join(failed, err); err != nil {
		return "", fmt.Errorf("%s: %s: %w", x.d.Name, text, err)
	}
	x.tell(p.Warnings()...)
	if seen == 0 {
		return "nothing is at " + text, nil
	}
	return "", nil
}

// pages prints what a path selects in pages of the size that models get. Each is looked
// for anew: of a file of CSV or YAML, large extractions take long.
func (x *extraction) pages(ctx context.Context, text string) (missing string, err error) {
	args := x.args
	args.Paths, args.Flatten, args.Default = output.Paths{text}, !args.IncludePaths, nil
	for first := true; ; first = false {
		r, err := x.d.Extract(ctx, args)
		if err != nil {
			return "", err
		}
		if len(r.MissingPaths) > 0 {
			if len(r.Hints) > 0 {
				return strings.Join(r.Hints, "; "), nil
			}
			return "nothing is at " + text, nil
		}
		cut := len(r.Cut) > 0 || bytes.Contains(r.Extracted, []byte(`{"$cut":`))
		if first && cut {
			if done, err := x.atOnce(ctx, text); done || err != nil {
				return "", err
			}
		}
		if err := x.page(r.Extracted); err != nil {
			return "", err
		}
		if first {
			x.tell(r.Hints...)
		}
		if len(r.Cut) == 0 {
			return "", nil
		}
		got := int(r.Cut[0].Returned)
		if got == 0 {
			return "", fmt.Errorf("%s: the value behind the first %d is too large to show: ask for a part of it", text, args.Offset)
		}
		args.Offset += got
		if args.Limit > 0 {
			args.Limit -= got
		}
	}
}

// page prints a list of values, or of {path, value}.
func (x *extraction) page(list json.RawMessage) error {
	var all []json.RawMessage
	if err := json.Unmarshal(list, &all); err != nil {
		return err
	}
	for _, raw := range all {
		path := ""
		if x.args.IncludePaths {
			var at struct {
				Path  string
				Value json.RawMessage
			}
			if err := json.Unmarshal(raw, &at); err != nil {
				return err
			}
			path, raw = at.Path, at.Value
		}
		if err := x.value(path, raw); err != nil {
			return err
		}
	}
	return nil
}

// atOnce prints what a path selects in a stored output in one reading, as a handle
// would hand it to a tool. done is false if that is too large, or less is wanted.
func (x *extraction) atOnce(ctx context.Context, text string) (done bool, err error) {
	if x.d.stored == nil || x.args.IncludePaths || x.args.Limit > 0 || x.args.Offset > 0 {
		return false, nil
	}
	handle, err := json.Marshal(map[string]string{"$output": "it", "path": text})
	if err != nil {
		return false, err
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return false, badPath(err)
	}
	key := output.Key{Conversation: x.d.stored.Conversation, Run: x.d.stored.Run, Call: x.d.stored.ID}
	all, _, err := output.Resolve(ctx, handle, nil, func(string) (*output.Output, error) { return x.d.store.Open(key) })
	if err != nil {
		return false, nil // too large to be in memory: in pages then
	}
	if p.Singular() {
		return true, x.value(text, all)
	}
	var failed error
	err = jsonpath.MustParse("$[*]").Stream(ctx, jsonpath.Bytes(all), jsonpath.Options{}, func(m jsonpath.Match) bool {
		failed = x.value("", m.Raw)
		return failed == nil
	})
	return true, errors.Join(failed, err)
}
