package forms

import "pawl/hook"

// A HookForm is a hook as JSON.
type HookForm struct {
	Event   string  `json:"event"`
	Matcher string  `json:"matcher"`           // which tools, sources or agents; empty: all
	If      string  `json:"if,omitempty"`      // a rule that the call has to match
	Type    string  `json:"type"`              // command, http
	Runs    string  `json:"runs"`              // the command, or the address
	Timeout float64 `json:"timeout_seconds"`   // after which it is stopped
	Sandbox string  `json:"sandbox,omitempty"` // network, none; empty: all of it holds
	File    string  `json:"file"`
}

// HookFormOf returns a hook as JSON.
func HookFormOf(h hook.Hook) HookForm {
	f := HookForm{Event: string(h.Point), Matcher: h.Matcher, If: h.If, Type: "command", Runs: h.Runs(),
		Timeout: h.Timeout.Seconds(), Sandbox: string(h.Sandbox), File: h.Source}
	if h.URL != "" {
		f.Type = "http"
	}
	return f
}

// A HooksForm is the hooks that there are as JSON.
type HooksForm struct {
	Items     []HookForm `json:"items"`
	Untrusted []string   `json:"untrusted"` // files that do not count before they are reviewed
	Problems  []string   `json:"problems"`  // which do not run, and why
}
