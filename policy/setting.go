package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/permission"
)

// settable are the settings that a trusted workspace may make. It is a list of what is
// allowed and not of what is forbidden, so that a new setting has to be argued for:
// never in it are base addresses, keys and tokens, listeners, and where rules come from.
var settable = []string{
	"model", "fallback_model", "effort", "mode", "allow", "ask", "deny", "network", "on_ask", "window", "control", "parallel",
	"max_steps", "max_calls", "max_tokens", "max_cost", "timeout", "idle_timeout",
}

// Settable reports whether a trusted workspace may make a setting at all.
func Settable(name string) bool { return slices.Contains(settable, name) }

// CheckSetting says whether a setting of a trusted workspace's own configuration may
// count: its name as in the file, and one value.
func CheckSetting(name, value string) error {
	if !Settable(name) {
		return fmt.Errorf("%s is never taken from a workspace, trusted or not: set it in your own configuration", name)
	}
	switch name {
	case "mode":
		return permission.CheckMode(permission.Mode(value), permission.FromRepository)
	case "allow", "ask", "deny":
		return checkRule(name, value)
	case "model", "fallback_model":
		if strings.HasPrefix(value, "script/") {
			return errors.New("a workspace cannot bring its own model (script/…)")
		}
	}
	return nil
}

// checkRule judges a rule in a configuration as one in the repository's file.
func checkRule(effect, rule string) error {
	raw, _ := json.Marshal(map[string][]map[string]string{"rules": {{"rule": rule, "effect": effect}}}) // strings alone
	_, err := permission.Load(bytes.NewReader(raw), permission.FromRepository, configName)
	if one, ok := errors.AsType[*permission.RuleError](err); ok {
		return one.Err
	}
	return err
}
