package run

import "time"

// Config is what a run is told about how to work. It is data of the run, so a
// replay elsewhere works the same way.
type Config struct {
	Model  string // provider/name
	Mode   string // permission mode
	Limits Limits
	Window int64 // tokens that fit the model's context; 0: not known, no compaction before too_long
	// CompactAt is the share of Window past which the next request is compacted
	// first; 0 means DefaultCompactAt.
	CompactAt  float64
	Parallel   int  // calls that may run at once; 0 means DefaultParallel
	NoNudge    bool // answers that promise and do not act end the turn
	StepByStep bool // the turn stops after each step's results until the person says go on
	Output     Output
	Control    string // native, controller, auto; empty: native
}

// An Output is the result that a run has to hand in before a turn of it is
// completed. The zero value: none.
type Output struct {
	Tool   string // the tool that it is handed in with, where the model's answer itself cannot be it
	Schema string // JSON Schema of it
}

// Limits bound a turn. Zero means the default; a negative figure means no limit.
type Limits struct {
	Steps  int           // model requests
	Calls  int           // tool calls
	Wall   time.Duration // wall clock
	Tokens int64         // all tokens of the turn
	Cost   float64       // US dollars, where prices are known
}

// The defaults. 200 steps is some eight times the classic 25; the rest is meant
// to stop what nobody watches, not what somebody wants.
const (
	DefaultSteps     = 200
	DefaultCalls     = 1000
	DefaultWall      = 6 * time.Hour
	DefaultTokens    = 100_000_000
	DefaultCost      = 50.0
	DefaultParallel  = 8
	DefaultCompactAt = 0.8
)

func or[T int | int64 | float64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// The limits in force; negative means none.
func (l Limits) steps() int          { return or(l.Steps, DefaultSteps) }
func (l Limits) calls() int          { return or(l.Calls, DefaultCalls) }
func (l Limits) wall() time.Duration { return or(l.Wall, DefaultWall) }
func (l Limits) tokens() int64       { return or(l.Tokens, DefaultTokens) }
func (l Limits) cost() float64       { return or(l.Cost, DefaultCost) }

// Left is what is left of a turn's limits; a negative figure means no limit.
type Left struct {
	Steps, Calls int
	Tokens       int64
	Wall         time.Duration
	Cost         float64
}

// Left returns what is left of the turn's limits.
func (s State) Left(now time.Time) Left {
	t, l := &s.Turn, s.Config.Limits
	out := Left{Steps: -1, Calls: -1, Tokens: -1, Wall: -1, Cost: -1}
	if n := l.steps(); n > 0 {
		out.Steps = max(0, n-t.Steps)
	}
	if n := l.calls(); n > 0 {
		out.Calls = max(0, n-t.Asked)
	}
	if n := l.tokens(); n > 0 {
		out.Tokens = max(0, n-t.Usage.Total())
	}
	if at := s.Deadline(); !at.IsZero() {
		out.Wall = max(0, at.Sub(now))
	}
	if n := l.cost(); n > 0 {
		out.Cost = max(0, n-t.Usage.Cost)
	}
	return out
}

func (c Config) parallel() int { return or(c.Parallel, DefaultParallel) }
