package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"pawl/output"
)

// A readForm is what was read as JSON. (Models get it as text.)
type readForm struct {
	output.Target
	Text     string `json:"text"`
	Unit     string `json:"unit"` // of the figures: lines, or characters where lines are very long
	Offset   int64  `json:"offset"`
	Returned int64  `json:"returned"`
	Total    int64  `json:"total"`
	Cut      bool   `json:"cut"` // the text is less than was asked for
}

func outputsShowCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Print an output as it was written, or some lines of it",
		Long: `Prints an output as it was written. What could not be seen on a terminal, or would change it, is
made visible; --raw leaves it.`,
		Example: "  pawl outputs show c_3 | less\n  pawl outputs show c_3 --offset 1000 --limit 20\n  pawl outputs show c_3 --raw > output.json",
	}
	flags := cmd.Flags()
	flags.Int64("offset", 0, "pass over this `many` lines; characters, where lines are very long")
	flags.Int64("limit", 0, "at most this `many` lines or characters; 0: all")
	raw := flags.BoolP("raw", "r", false, "as it is, not made safe for a terminal")
	return query[output.ReadArgs, readForm]{
		arguments: map[string]string{"offset": "offset", "limit": "limit"},
		ask: func(d *output.Document, ctx context.Context, args output.ReadArgs) (readForm, error) {
			r, err := d.Read(ctx, args)
			return readForm{r.Target, r.Text, r.Unit, r.Offset, r.Returned, r.Total, r.Cut}, err
		},
		whole: func(ctx context.Context, w io.Writer, _ tell, d *subject, args output.ReadArgs) (bool, error) {
			return true, show(ctx, w, d, args, *raw)
		},
	}.add(a, cmd)
}

// show prints a text in pages of the size that models get.
func show(ctx context.Context, w io.Writer, d *subject, args output.ReadArgs, raw bool) error {
	if d.file != nil && raw && args.Offset == 0 && args.Limit == 0 {
		_, err := io.Copy(w, io.NewSectionReader(d.file, 0, d.file.size))
		return err
	}
	last := "\n"
	for {
		r, err := d.Read(ctx, args)
		if err != nil {
			return err
		}
		if r.Returned == 0 {
			if args.Offset > 0 && args.Offset >= r.Total {
				return nothing("there are " + grouped(r.Total) + " " + r.Unit + " in all")
			}
			break
		}
		text := r.Text
		if !raw {
			text = visible(text)
		}
		if r.Unit == "lines" && (r.Cut || args.Offset > 0 || args.Limit > 0) {
			text += "\n" // the last one of a part is without
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if text != "" {
			last = text[len(text)-1:]
		}
		if !r.Cut {
			break
		}
		args.Offset += r.Returned
		if args.Limit > 0 {
			args.Limit -= r.Returned
		}
	}
	if last != "\n" && !raw {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}
