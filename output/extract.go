package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pawl/output/jsonpath"
)

// ExtractArgs are the arguments of tool_outputs.extract.
type ExtractArgs struct {
	Target
	Paths        Paths           `json:"paths"`         // $ if left out
	Flatten      bool            `json:"flatten"`       // one list of all values; wins over IncludePaths
	IncludePaths bool            `json:"include_paths"` // a list of {path, value}
	Default      json.RawMessage `json:"default_value"` // for a path that selects nothing; null if left out
	Limit        int             `json:"limit"`         // matches of each path; 0 is as many as fit
	Offset       int             `json:"offset"`        // matches of each path to pass over
}

func (a *ExtractArgs) defaults() {}

func (a *ExtractArgs) check() error {
	if len(a.Paths) == 0 {
		a.Paths = Paths{"$"}
	}
	if a.Limit < 0 || a.Offset < 0 {
		return fmt.Errorf("limit and offset must not be negative, got %d and %d", a.Limit, a.Offset)
	}
	if len(a.Default) > maxResult/4 {
		return errors.New("default_value is too large to be one")
	}
	return a.Paths.check()
}

// ExtractResult is the result of tool_outputs.extract.
type ExtractResult struct {
	Target
	// Extracted is an object by path: the value of a path that selects one node at most
	// (names and indices only), the list of values of any other. With include_paths or
	// flatten it is a list.
	Extracted    json.RawMessage `json:"extracted"`
	MissingPaths []string        `json:"missing_paths"`
	// Cut says of each path that did not fit how many of its values are here.
	Cut   []CutPath `json:"cut,omitempty"`
	Hints []string  `json:"hints,omitempty"`
}

// CutPath says that not all values of a path are in a result.
type CutPath struct {
	Path     string `json:"path"`
	Returned int64  `json:"returned"`
	Total    int64  `json:"total"`
	// More is how to get the next.
	More string `json:"more"`
}

// Extract answers tool_outputs.extract.
func (d *Document) Extract(ctx context.Context, args ExtractArgs) (ExtractResult, error) {
	x := &extraction{d: d, args: args, budget: budget{room: maxResult}}
	x.result = ExtractResult{Target: args.Target, MissingPaths: []string{}}
	_, err := d.source()
	for _, path := range args.Paths {
		if err == nil {
			_, err = d.parse(path)
		}
	}
	for _, path := range args.Paths {
		if err != nil {
			break
		}
		if err = x.path(ctx, path); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	brackets := "{}"
	if args.Flatten || args.IncludePaths {
		brackets = "[]"
	}
	x.result.Extracted = joined(brackets, x.out)
	return x.result, d.explain("extract", err)
}

// joined returns parts as a JSON array or object.
func joined(brackets string, parts [][]byte) json.RawMessage {
	return fmt.Appendf(nil, "%c%s%c", brackets[0], bytes.Join(parts, []byte(",")), brackets[1])
}

type extraction struct {
	d      *Document
	args   ExtractArgs
	result ExtractResult
	budget budget
	out    [][]byte // elements or members of what is extracted
}

// path extracts what one path selects.
func (x *extraction) path(ctx context.Context, path string) error {
	p, err := x.d.parse(path)
	if err != nil {
		return err
	}
	withPaths := x.args.IncludePaths && !x.args.Flatten
	var values [][]byte
	var seen, returned int64
	full := false
	err = x.d.each(ctx, p, jsonpath.Options{MaxRaw: maxRaw}, func(m jsonpath.Match) bool {
		if seen++; seen <= int64(x.args.Offset) || full {
			return true // continue counting
		}
		if x.args.Limit > 0 && returned == int64(x.args.Limit) {
			seen--
			return false
		}
		at := p.String()
		if withPaths {
			at = string(m.Path())
		}
		value, ok := x.budget.put(m, at)
		if full = !ok; full {
			return true
		}
		returned++
		if withPaths {
			value = located(at, value)
			x.budget.room -= len(at) + 20
		}
		values = append(values, value)
		return true
	})
	if err != nil {
		return err
	}
	x.result.Hints = append(x.result.Hints, p.Warnings()...)
	if seen == 0 {
		x.result.MissingPaths = append(x.result.MissingPaths, path)
		if s := x.d.shape(); s.nearest(p) != "" {
			x.result.Hints = append(x.result.Hints, x.d.missing(p, path))
		}
	}
	if full {
		x.result.Cut = append(x.result.Cut, CutPath{path, returned, seen, fmt.Sprintf("the same with offset %d", int64(x.args.Offset)+returned)})
	}
	x.add(path, p, values, seen == 0)
	return nil
}

func located(path string, value []byte) []byte {
	return fmt.Appendf(nil, `{"path":%s,"value":%s}`, jsonpath.AppendString(nil, path), value)
}

// add puts the values of a path where they belong.
func (x *extraction) add(path string, p *jsonpath.Path, values [][]byte, missing bool) {
	fallback := []byte(x.args.Default)
	list := x.args.Flatten || x.args.IncludePaths
	switch {
	case list && missing && len(fallback) > 0 && x.args.Flatten:
		x.out = append(x.out, fallback)
	case list && missing && len(fallback) > 0:
		x.out = append(x.out, located(path, fallback))
	case list:
		x.out = append(x.out, values...)
	default:
		value := []byte(joined("[]", values))
		switch {
		case missing && len(fallback) > 0:
			value = fallback
		case missing:
			value = []byte("null")
		case p.Singular() && len(values) == 1:
			value = values[0]
		case p.Singular() && len(values) == 0:
			return // it did not fit, as Cut says
		}
		x.out = append(x.out, append(append(jsonpath.AppendString(nil, path), ':'), value...))
	}
}
