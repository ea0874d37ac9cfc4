package run

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Config is the configuration of a run. It is part of the log, so a replay elsewhere
// gives the same result.
type Config struct {
	Model  string `json:"model,omitempty"` // provider/name
	Mode   string `json:"mode,omitempty"`  // permission mode
	Limits Limits `json:"limits,omitzero"`
	Window int64  `json:"window,omitempty"` // tokens that fit the model's context; 0: not known, no compaction before too_long
	// CompactAt is the share of Window past which the context is compacted before
	// the next request; 0 means DefaultCompactAt.
	CompactAt float64 `json:"compact_at,omitempty"`
	// Retry is how long a request that fails transiently is retried: 0 means DefaultRetry,
	// a negative duration that it is not.
	Retry time.Duration `json:"retry_ns,omitempty"`
	// Reminder is how long an agent has to submit its required result after each reminder: 0
	// means DefaultReminder, a negative duration that there is no limit.
	Reminder time.Duration `json:"reminder_ns,omitempty"`
	// WaitForLimit: a turn that fails because a limit of the provider is reached says when that limit ends, in
	// [Ended].LimitEnds, and who drives the run continues it then.
	WaitForLimit bool   `json:"wait_for_limit,omitempty"`
	Parallel     int    `json:"parallel,omitempty"` // calls that may run at once; 0 means DefaultParallel
	NoNudge      bool   `json:"no_nudge,omitempty"` // do not nudge a model that promises work and does none: end the turn
	Output       Output `json:"output,omitzero"`
	Control      string `json:"control,omitempty"` // native, controller, auto; empty: native
	Tools        Grants `json:"tools,omitempty"`   // the tools that it may call; empty: all
	// Effort is how much the model thinks, as the person asked for it; empty: as much as it
	// does by default. What it means for a model is decided where the model is known.
	Effort string `json:"effort,omitempty"`
	// Fallback is the model that a turn continues with when the retries of a request are used
	// up because the provider of Model is overloaded, limits the rate or cannot be reached.
	Fallback Fallback `json:"fallback,omitzero"`
	// Name is what a person calls the run: one line of at most MaxName characters.
	Name string `json:"name,omitempty"`
	// Dirs are folders beside the workspace that tools read and change as the workspace:
	// absolute, with links resolved.
	Dirs []string `json:"dirs,omitempty"`
}

// A Fallback is a model with what a configuration has of it; the zero value is none.
type Fallback struct {
	Model   string `json:"model,omitempty"`
	Window  int64  `json:"window,omitempty"`
	Control string `json:"control,omitempty"`
}

// MaxName is the length of a run's name in characters.
const MaxName = 80

// CheckName returns what is wrong with the name of a run. The empty name is none.
func CheckName(name string) error {
	switch {
	case name == "last":
		return errors.New(`a run cannot be named "last": that is the most recent one`)
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxName:
		return fmt.Errorf("a name must be text of at most %d characters", MaxName)
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("a name must be one line that can be printed, without spaces around it")
	}
	return nil
}

// PlanMode is the permission mode in which the model is told to end with a plan. The other
// modes mean nothing to this package.
const PlanMode = "plan"

// An Output is the result that a run must submit before its turn can complete. The zero
// value means that no result is required.
type Output struct {
	Tool   string `json:"tool,omitempty"`   // the tool that submits it; empty: the model's answer is the result
	Schema string `json:"schema,omitempty"` // JSON Schema of it
	// ByTool: only a call of Tool submits the result. Otherwise a provider that can be asked
	// for an answer by schema is asked for that instead.
	ByTool bool `json:"by_tool,omitempty"`
	// Hint is added to reminders: what the model sees the tool as, and an example.
	Hint string `json:"hint,omitempty"`
}

// Limits bound a turn. Zero means the default; a negative figure means no limit.
type Limits struct {
	Steps  int           `json:"steps,omitempty"`   // model requests
	Calls  int           `json:"calls,omitempty"`   // tool calls
	Wall   time.Duration `json:"wall_ns,omitempty"` // time in which the run was driven and did not wait for a person
	Tokens int64         `json:"tokens,omitempty"`  // all tokens of the turn
	Cost   float64       `json:"cost,omitempty"`    // US dollars, when prices are known
}

// The defaults. They are meant to stop a runaway turn, not to restrict useful work: 200
// steps is eight times the 25 that is common elsewhere.
const (
	DefaultSteps     = 200
	DefaultCalls     = 1000
	DefaultWall      = 6 * time.Hour
	DefaultTokens    = 100_000_000
	DefaultCost      = 50.0
	DefaultParallel  = 8
	DefaultCompactAt = 0.8
)

// Validate returns an error if c is invalid. A run is neither created nor configured
// with an invalid Config.
func (c Config) Validate() error {
	switch {
	case c.Parallel < 0:
		return fmt.Errorf("parallel is %d: must be 1 or more, or 0 for the default", c.Parallel)
	case c.CompactAt < 0 || c.CompactAt > 1:
		return fmt.Errorf("compact_at is %g: must be a share between 0 and 1", c.CompactAt)
	case c.Window < 0:
		return fmt.Errorf("window is %d: must be a number of tokens, or 0 if it is not known", c.Window)
	case c.Control != "" && c.Control != Native && c.Control != Controller && c.Control != Auto:
		return fmt.Errorf("control is %q: must be %s, %s or %s", c.Control, Native, Controller, Auto)
	case slices.ContainsFunc(c.Dirs, func(dir string) bool { return !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" }):
		return fmt.Errorf("dirs are %q: must be absolute paths without . and .., and not the root", c.Dirs)
	case CheckName(c.Name) != nil:
		return CheckName(c.Name)
	case c.Output.Tool != "" && c.Output.Schema == "":
		return errors.New("the output has a tool and no schema")
	case c.Output.ByTool && c.Output.Tool == "":
		return errors.New("the output has to be submitted by a tool and names none")
	case c.Limits.Cost != c.Limits.Cost:
		return errors.New("the limit of cost is not a number")
	}
	return nil
}

// A ConfigChange changes fields of a [Config]: those that are not nil here, and each of
// the Limits that is not zero.
type ConfigChange struct {
	Model    *string `json:"model,omitempty"`
	Mode     *string `json:"mode,omitempty"`
	Limits   Limits  `json:"limits,omitzero"`
	Window   *int64  `json:"window,omitempty"`
	Parallel *int    `json:"parallel,omitempty"`
	NoNudge  *bool   `json:"no_nudge,omitempty"`
	Output   *Output `json:"output,omitempty"`
	Control  *string `json:"control,omitempty"`
	Tools    *Grants `json:"tools,omitempty"`
	// CompactAt, Retry and Reminder are as in Config.
	CompactAt *float64       `json:"compact_at,omitempty"`
	Retry     *time.Duration `json:"retry_ns,omitempty"`
	Reminder  *time.Duration `json:"reminder_ns,omitempty"`
	// WaitForLimit is as in Config.
	WaitForLimit *bool `json:"wait_for_limit,omitempty"`
	// Compact changes nothing of the Config: the context is compacted before the next
	// request, however full it is.
	Compact  bool      `json:"compact,omitempty"`
	Effort   *string   `json:"effort,omitempty"` // empty: the model's default
	Fallback *Fallback `json:"fallback,omitempty"`
	Name     *string   `json:"name,omitempty"`
	AddDirs  []string  `json:"add_dirs,omitempty"`
	// Reason is why pawl itself made the change; empty: a person did.
	Reason string `json:"reason,omitempty"`
}

// names reports whether d changes at most the name of the run, which means nothing to the model.
func (d ConfigChange) names() bool {
	return d.Model == nil && d.Mode == nil && d.Limits == (Limits{}) && d.Window == nil && d.Parallel == nil && d.NoNudge == nil &&
		d.Output == nil && d.Control == nil && d.Tools == nil && d.CompactAt == nil && d.Retry == nil && d.Reminder == nil && d.WaitForLimit == nil &&
		!d.Compact && d.Effort == nil && d.Fallback == nil && len(d.AddDirs) == 0
}

// Apply returns c with the change made.
func (d ConfigChange) Apply(c Config) Config {
	set(&c.Model, d.Model)
	set(&c.Mode, d.Mode)
	set(&c.Window, d.Window)
	set(&c.CompactAt, d.CompactAt)
	set(&c.Retry, d.Retry)
	set(&c.Reminder, d.Reminder)
	set(&c.WaitForLimit, d.WaitForLimit)
	set(&c.Parallel, d.Parallel)
	set(&c.NoNudge, d.NoNudge)
	set(&c.Output, d.Output)
	set(&c.Control, d.Control)
	set(&c.Effort, d.Effort)
	set(&c.Fallback, d.Fallback)
	set(&c.Name, d.Name)
	for _, dir := range d.AddDirs {
		if !slices.Contains(c.Dirs, dir) {
			c.Dirs = append(slices.Clip(c.Dirs), dir)
		}
	}
	set(&c.Tools, d.Tools)
	l := d.Limits
	c.Limits = Limits{
		Steps: cmp.Or(l.Steps, c.Limits.Steps), Calls: cmp.Or(l.Calls, c.Limits.Calls), Wall: cmp.Or(l.Wall, c.Limits.Wall),
		Tokens: cmp.Or(l.Tokens, c.Limits.Tokens), Cost: cmp.Or(l.Cost, c.Limits.Cost),
	}
	return c
}

func set[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

// InForce returns the limits with the defaults filled in; negative means none.
func (l Limits) InForce() Limits {
	return Limits{
		Steps: cmp.Or(l.Steps, DefaultSteps), Calls: cmp.Or(l.Calls, DefaultCalls), Wall: cmp.Or(l.Wall, DefaultWall),
		Tokens: cmp.Or(l.Tokens, DefaultTokens), Cost: cmp.Or(l.Cost, DefaultCost),
	}
}

// Left returns what remains of the open turn's limits at now: a negative figure means no
// limit, 0 that the limit is reached.
func (s State) Left(now time.Time) Limits {
	t, l := &s.Turn, s.Config.Limits.InForce()
	return Limits{
		Steps: left(l.Steps, t.Steps), Calls: left(l.Calls, t.Asked), Wall: left(l.Wall, s.Driven(now)),
		Tokens: left(l.Tokens, t.Usage.Total()), Cost: left(l.Cost, t.Usage.Cost),
	}
}

// Driven returns for how long the turn has been driven at now, without the time in which
// it waited for a person. A clock that was set back counts as no time.
func (s *State) Driven(now time.Time) time.Duration {
	t := &s.Turn
	if !t.Open() || t.waitsForPerson() {
		return t.driven
	}
	return t.driven + max(0, now.Sub(t.counted))
}

func left[T int | int64 | float64 | time.Duration](limit, used T) T {
	if limit < 0 {
		return -1
	}
	return max(0, limit-used)
}

// reservation returns what is set aside at now for a call that is about to start and may
// start a child run: an equal share of what is left and not reserved, where the open calls
// without a reservation and this run itself, which acts on the results, have a share each.
// Children run at the same time, so each is given half of the wall clock. A field that is 0
// means that nothing is left of it.
func (s *State) reservation(now time.Time) Limits {
	have, shares := s.Left(now), 1
	for _, c := range s.Turn.Calls {
		switch r := c.Reserved; {
		case c.Status == CallDone:
		case r != Limits{}:
			have.Steps, have.Calls = remainder(have.Steps, r.Steps), remainder(have.Calls, r.Calls)
			have.Tokens, have.Cost = remainder(have.Tokens, r.Tokens), remainder(have.Cost, r.Cost)
		case c.spawns():
			shares++
		}
	}
	return Limits{
		Steps: share(have.Steps, shares), Calls: share(have.Calls, shares), Wall: share(have.Wall, 2),
		Tokens: share(have.Tokens, int64(shares)), Cost: share(have.Cost, float64(shares)),
	}
}

func remainder[T int | int64 | float64](have, reserved T) T {
	if have < 0 {
		return have
	}
	return max(0, have-max(0, reserved))
}

func share[T int | int64 | float64 | time.Duration](have, shares T) T {
	if have < 0 {
		return -1
	}
	return have / shares
}

// spawns reports whether the call may start a child run.
func (c *CallState) spawns() bool {
	return c.Class == Resumable && !c.Question && !c.Submits && c.Problem == ""
}

// Reserved returns the limits of the child run of a call: what is reserved for the call, and
// at most wanted, where a zero field asks for all of it. It is an error if nothing is left
// of a limit.
func (s State) Reserved(id CallID, wanted Limits) (Limits, error) {
	c, _ := s.Turn.Call(id)
	r := c.Reserved
	if r.Steps == 0 || r.Calls == 0 || r.Wall == 0 || r.Tokens == 0 || r.Cost == 0 {
		return Limits{}, errors.New("too little is left of this turn's limits for a child run")
	}
	return Limits{
		Steps: atMost(r.Steps, wanted.Steps), Calls: atMost(r.Calls, wanted.Calls), Wall: atMost(r.Wall, wanted.Wall),
		Tokens: atMost(r.Tokens, wanted.Tokens), Cost: atMost(r.Cost, wanted.Cost),
	}, nil
}

func atMost[T int | int64 | float64 | time.Duration](reserved, wanted T) T {
	switch {
	case wanted <= 0:
		return reserved
	case reserved < 0:
		return wanted
	}
	return min(wanted, reserved)
}

func (c Config) parallel() int { return cmp.Or(c.Parallel, DefaultParallel) }
