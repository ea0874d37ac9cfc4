package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// TableWidth returns the width of the terminal that standard output is shown on; 0 if it is none,
// and nothing is cut.
func (inv *Invocation) TableWidth() int {
	f, ok := TerminalFile(inv.Stdout)
	if !ok {
		return inv.Columns
	}
	width, _ := SizeOf(f)()
	return width
}

// ColumnsOf returns how many columns a text takes on a terminal.
func ColumnsOf(text string) int { return render.Cells(text) }

// clipped returns a text, cut with a mark if it takes more than n columns.
func clipped(text string, n int) string { return render.Style{}.Clip(text, n) }

// TableLines returns rows as lines with aligned columns. If width is not 0, the last column is
// cut so that no line is wider.
func TableLines(rows [][]string, width int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ColumnsOf(cell))
		}
	}
	var lines []string
	for _, row := range rows {
		line, used := "", 0
		for i, cell := range row {
			if i == len(row)-1 {
				if width > 0 {
					cell = clipped(cell, max(1, width-used))
				}
				line += cell
				break
			}
			pad := widths[i] + 2 - ColumnsOf(cell)
			line += cell + strings.Repeat(" ", pad)
			used += widths[i] + 2
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// PrintLines prints lines to standard output.
func (inv *Invocation) PrintLines(lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(inv.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// A Narrowing is a column that is left out where the terminal is too narrow for the last column to
// have so many.
type Narrowing struct {
	Column string
	Last   int
}

// NarrowedLines is [TableLines] of rows, the first of which is a header, without the columns that
// order says, in that order, where there is no room for them.
func NarrowedLines(rows [][]string, width int, order []Narrowing) []string {
	for _, n := range order {
		used := 0
		for i := range len(rows[0]) - 1 {
			widest := 0
			for _, row := range rows {
				widest = max(widest, ColumnsOf(row[i]))
			}
			used += widest + 2
		}
		if width == 0 || used+n.Last <= width {
			break
		}
		at := slices.Index(rows[0], n.Column)
		for i, row := range rows {
			rows[i] = slices.Delete(slices.Clone(row), at, at+1)
		}
	}
	return TableLines(rows, width)
}

// ShortTime is a duration in one unit: 45s, 12m, 3h, 9d.
func ShortTime(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
		most int64
	}{{"s", time.Second, 100}, {"m", time.Minute, 100}, {"h", time.Hour, 48}} {
		if n := int64(max(0, d) / u.unit); n < u.most {
			return strconv.FormatInt(n, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
}

// CostCell returns what usage cost as a cell of a table; "-" where that is unknown or nothing
// was used yet.
func CostCell(u run.Usage) string {
	if !u.Priced {
		return "-"
	}
	return view.Money(u)
}

// RunStates are what [RunState] returns of runs that are not damaged.
var RunStates = []string{string(runlog.Working), string(runlog.Waiting), string(runlog.Killed), string(runlog.New), string(run.Completed), string(run.Asked), "limit", "loop", "guardrail",
	string(run.EndInterrupted), string(run.EndRefused), string(run.EndFailed)}

// RunState is what a run does now, or how its turn ended, in a word.
func RunState(r runlog.Run) string {
	if r.Condition != runlog.Ended {
		return string(r.Condition)
	}
	switch r.End {
	case run.LimitReached:
		return "limit"
	case run.LoopStopped:
		return "loop"
	case run.GuardrailStopped:
		return "guardrail"
	}
	return string(r.End)
}
