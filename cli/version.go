package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"
)

// A build says which pawl this is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

var thisBuild = sync.OnceValue(func() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
})

// version is what events are marked with.
func version() string { return thisBuild().Version }

func versionCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show which pawl this is",
		Example: "  pawl version\n  pawl version --json",
		Args:    cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		b := thisBuild()
		if *asJSON {
			return json.NewEncoder(inv.Stdout).Encode(b)
		}
		_, err := fmt.Fprintf(inv.Stdout, "pawl %s (%s, %s)\n", b.Version, b.Go, b.Platform)
		return err
	}
	return cmd
}
