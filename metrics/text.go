package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is that of the text format of Prometheus
// (https://prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4).
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// maxValues bounds the values of a label: the names of tools come from servers of tools.
// What comes after them is counted as other, as is a name longer than maxValue bytes.
const (
	maxValues = 60
	maxValue  = 64
)

// A counter is a figure that only grows, for each combination of values of its labels.
type counter struct {
	name, help string
	labels     []string

	mu     sync.Mutex
	known  []map[string]bool // by label
	values map[string]float64
}

func newCounter(name, help string, labels ...string) *counter {
	c := &counter{name: name, help: help, labels: labels, values: map[string]float64{}}
	for range labels {
		c.known = append(c.known, map[string]bool{})
	}
	return c
}

// add adds n for values, one a label.
func (c *counter) add(n float64, values ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pairs := make([]string, len(values))
	for i, v := range values {
		if v == "" || len(v) > maxValue || !c.known[i][v] && len(c.known[i]) >= maxValues {
			v = "other"
		} else {
			c.known[i][v] = true
		}
		pairs[i] = label(c.labels[i], v)
	}
	c.values[strings.Join(pairs, ",")] += n
}

func (c *counter) write(b *strings.Builder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	head(b, c.name, c.help, "counter")
	for _, labels := range slices.Sorted(maps.Keys(c.values)) {
		sample(b, c.name, labels, c.values[labels])
	}
}

// A histogram counts figures by how large they are.
type histogram struct {
	name, help string
	bounds     []float64 // ascending

	mu     sync.Mutex
	counts []uint64 // counts[i] is of figures up to bounds[i], and above bounds[i-1]
	count  uint64
	sum    float64
}

func newHistogram(name, help string, bounds ...float64) *histogram {
	return &histogram{name: name, help: help, bounds: bounds, counts: make([]uint64, len(bounds))}
}

func (h *histogram) add(v float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i, _ := slices.BinarySearch(h.bounds, v); i < len(h.bounds) {
		h.counts[i]++
	}
	h.count++
	h.sum += v
}

func (h *histogram) write(b *strings.Builder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	head(b, h.name, h.help, "histogram")
	upTo := uint64(0)
	for i, bound := range h.bounds {
		upTo += h.counts[i]
		sample(b, h.name+"_bucket", label("le", number(bound)), float64(upTo))
	}
	sample(b, h.name+"_bucket", label("le", "+Inf"), float64(h.count))
	sample(b, h.name+"_sum", "", h.sum)
	sample(b, h.name+"_count", "", float64(h.count))
}

// A Gauge is a figure as it is now, for each value of a label.
type Gauge struct {
	Name, Help string
	Total      bool   // it only grows
	Label      string // "": it has none, and Values has one figure, of ""
	Values     map[string]float64
}

func (g Gauge) write(b *strings.Builder) {
	kind := "gauge"
	if g.Total {
		kind = "counter"
	}
	head(b, g.Name, g.Help, kind)
	for _, v := range slices.Sorted(maps.Keys(g.Values)) {
		labels := ""
		if g.Label != "" {
			labels = label(g.Label, v)
		}
		sample(b, g.Name, labels, g.Values[v])
	}
}

func head(b *strings.Builder, name, help, kind string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func sample(b *strings.Builder, name, labels string, v float64) {
	b.WriteString(name)
	if labels != "" {
		b.WriteString("{" + labels + "}")
	}
	b.WriteString(" " + number(v) + "\n")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(name, value string) string {
	return name + `="` + escape.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}
