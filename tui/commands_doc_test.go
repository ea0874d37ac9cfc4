package tui

import (
	"os"
	"strings"
	"testing"
)

// The document of the terminal agent names every command, and every key of the help.
func TestTheDocumentNamesEveryCommand(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if !strings.Contains(string(doc), "`/"+c.name) {
			t.Errorf("docs/terminal.md has no /%s", c.name)
		}
	}
	for name := range otherCommands {
		for _, c := range commands() {
			if c.name == name {
				t.Errorf("/%s is there, and is said not to be", name)
			}
		}
	}
}
