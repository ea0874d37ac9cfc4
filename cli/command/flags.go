package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CommandNames returns the names of the subcommands of a command.
func CommandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// FlagWords returns the name of a flag's value, empty if it has none, and what the flag is.
func FlagWords(f *pflag.Flag) (value, text string) {
	value, text = pflag.UnquoteUsage(f)
	if text = strings.TrimPrefix(text, value+": "); value == "n" {
		text = strings.Replace(text, " n ", " N ", 1)
	}
	switch value {
	case "string", "stringArray":
		value = f.Name
	case "int", "int64", "uint":
		value = "n"
	}
	if !strings.ContainsRune(value, '|') { // on|off is what is typed
		value = strings.ToUpper(value)
	}
	if f.DefValue != "" && f.DefValue != "0" && f.Value.Type() != "bool" && f.DefValue != "[]" && !strings.Contains(text, "(default ") {
		text += " (default " + f.DefValue + ")"
	}
	return value, text
}
