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
	r := ExtractResult{Target: args.Target, MissingPaths: []string{}}
	if err := d.prepare(); err != nil {
		return r, d.explain("extract", err)
	}
	x := &extraction{d: d, args: args, result: &r, basket: basket{room: maxResult}}
	paths := make([]*jsonpath.Path, len(args.Paths))
	for i, text := range args.Paths {
		p, err := d.parse(text)
		if err != nil {
			return r, d.explain("extract", err)
		}
		paths[i] = p
	}
	for i, text := range args.Paths {
		if err := x.path(ctx, text, paths[i]); err != nil {
			return r, d.explain("extract", fmt.Errorf("%s: %w", text, err))
		}
	}
	list := args.Flatten || args.IncludePaths
	if list {
		r.Extracted = slicesJSON('[', x.out, ']')
	} else {
		r.Extracted = slicesJSON('{', x.out, '}')
	}
	return r, nil
}

func slicesJSON(open byte, parts [][]byte, end byte) json.RawMessage {
	return append(append([]byte{open}, bytes.Join(parts, []byte(","))...), end)
}

type extraction struct {
	d      *Document
	args   ExtractArgs
	result *ExtractResult
	basket basket
	out    [][]byte // elements or members of what is extracted
}

// path extracts what one path selects.
func (x *extraction) path(ctx context.Context, text string, p *jsonpath.Path) error {
	var values [][]byte
	var seen, returned int64
	full := false
	q := query{path: p, most: 4 * maxResult, places: x.args.IncludePaths && !x.args.Flatten, enough: &full}
	err := x.d.each(ctx, q, func(n node) bool {
		seen++
		if seen <= int64(x.args.Offset) || full {
			return true
		}
		if x.args.Limit > 0 && returned == int64(x.args.Limit) {
			seen--
			return false
		}
		at := n.path
		if at == "" {
			at = p.String()
		}
		value, ok := x.basket.put(n, at)
		if !ok {
			full = true // go on counting
			return true
		}
		returned++
		if q.places {
			value = fmt.Appendf(nil, `{"path":%s,"value":%s}`, appendText(nil, n.path), value)
			x.basket.room -= len(n.path) + 20
		}
		values = append(values, value)
		return true
	})
	if err != nil {
		return err
	}
	x.result.Hints = append(x.result.Hints, p.Warnings()...)
	missing := seen == 0
	if missing {
		x.result.MissingPaths = append(x.result.MissingPaths, text)
		if s := x.d.shape(); s != nil {
			if near := s.nearest(p); near != "" {
				x.result.Hints = append(x.result.Hints, fmt.Sprintf("nothing is at %s: %s", text, near))
			}
		}
	}
	if full {
		x.result.Cut = append(x.result.Cut, CutPath{text, returned, seen, fmt.Sprintf("the same with offset %d", int64(x.args.Offset)+returned)})
	}
	x.add(text, p, values, missing)
	return nil
}

// add puts the values of a path where they belong.
func (x *extraction) add(text string, p *jsonpath.Path, values [][]byte, missing bool) {
	fallback := []byte(x.args.Default)
	if len(fallback) == 0 {
		fallback = []byte("null")
	}
	switch {
	case x.args.Flatten:
		if missing && len(x.args.Default) > 0 {
			values = [][]byte{fallback}
		}
		x.out = append(x.out, values...)
	case x.args.IncludePaths:
		if missing && len(x.args.Default) > 0 {
			values = [][]byte{fmt.Appendf(nil, `{"path":%s,"value":%s}`, appendText(nil, text), fallback)}
		}
		x.out = append(x.out, values...)
	default:
		value := []byte(slicesJSON('[', values, ']'))
		switch {
		case missing:
			value = fallback
		case p.Singular() && len(values) == 1:
			value = values[0]
		case p.Singular() && len(values) == 0:
			return // it did not fit, as Cut says
		}
		x.out = append(x.out, append(append(appendText(nil, text), ':'), value...))
	}
}
