package command

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pawl/config"
)

// settingsOf returns the settings that flags give, by their keys.
func settingsOf(flags *pflag.FlagSet) map[string][]string {
	values := map[string][]string{}
	if flags == nil {
		return values
	}
	for _, k := range config.Keys() {
		f := flags.Lookup(k.Flag())
		switch {
		case f == nil || !f.Changed:
		case k.List:
			values[k.Name] = f.Value.(pflag.SliceValue).GetSlice()
		default:
			values[k.Name] = []string{f.Value.String()}
		}
	}
	return values
}

// AddSettings gives a command the flags of settings: of those named, or else of all.
func AddSettings(flags *pflag.FlagSet, names ...string) {
	for _, k := range config.Keys() {
		if len(names) > 0 && !slices.Contains(names, k.Name) {
			continue
		}
		help := k.Help
		if k.Default != "" {
			help += " (default " + k.Default + ")"
		}
		help = "`" + k.Arg + "`: " + help
		if k.List {
			flags.StringArray(k.Flag(), nil, help)
		} else {
			flags.StringP(k.Flag(), k.Short, "", help)
		}
	}
}

// AddWaitingSettings is addSettings for a command whose runs wait for a person who decides in
// another process, unless --on-ask says otherwise.
func AddWaitingSettings(flags *pflag.FlagSet) {
	AddSettings(flags)
	f := flags.Lookup("on-ask")
	f.Usage = strings.Replace(f.Usage, "(default deny)", "(default wait)", 1)
}

// OneOf returns a check that a value is one of names.
func OneOf(names string) func(string) error { return config.OneOf(strings.Split(names, ", ")...) }
