package external

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl/internal/golden"
)

// keepers are the programs whose conversations are read.
var keepers = []string{"claude-code", "codex", "gemini-cli", "opencode"}

// keptHome is a home with the conversations of testdata/kept.txtar, each file a minute newer than that before it.
func keptHome(t *testing.T) (home string, env func(string) string) {
	t.Helper()
	home = t.TempDir()
	archive, err := txtar.ParseFile("testdata/kept.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range archive.Files {
		path := filepath.Join(home, filepath.FromSlash(f.Name))
		at := time.Date(2026, 11, 29, 12, i, 0, 0, time.UTC)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if db, isDB := strings.CutSuffix(path, ".sql"); isDB {
			err = errors.Join(err, execSQL(db+".db", string(f.Data)))
		} else {
			err = errors.Join(err, os.WriteFile(path, f.Data, 0o600), os.Chtimes(path, at, at))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return home, homeEnv(home)
}

func homeEnv(home string) func(string) string {
	return func(name string) string { return map[string]string{"HOME": home}[name] }
}

func execSQL(path, statements string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statements)
	return errors.Join(err, db.Close())
}

// Of what programs have kept, the conversations of this folder are read as the person had them: without sub-agents,
// branches that were left, what a program says in the person's name, and lines that are half written.
func TestConversationsThatProgramsHaveKept(t *testing.T) {
	t.Parallel()
	home, env := keptHome(t)
	var b strings.Builder
	for _, name := range keepers {
		k, _, _ := Split(name)
		all, err := k.Keeps(env, "/w")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			path, _ := filepath.Rel(home, c.File)
			fmt.Fprintf(&b, "%s %s: %s, %s to %s\n\t%s\n", c.Kind.Name, c.ID, c.Words, stamp(c.Began), stamp(c.Last), filepath.ToSlash(path))
			turns, err := c.Turns()
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				fmt.Fprintf(&b, "\t%s > %q\n", stamp(turn.Began), turn.Words)
				for _, o := range turn.Observed {
					parts, _ := json.Marshal(o.Parts)
					fmt.Fprintf(&b, "\t\t%s\n", parts)
				}
				fmt.Fprintf(&b, "\t%s < %q\n", stamp(turn.Ended), turn.Answer)
			}
		}
	}
	golden.Compare(t, "kept.golden", []byte(b.String()))
}

func stamp(t time.Time) string { return t.UTC().Format("02 15:04:05") }

// What keeps a conversation from being read is said with the file, and hides no other conversation.
func TestAConversationThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	home, env := keptHome(t)
	var all []Kept
	for _, name := range keepers {
		k, _, _ := Split(name)
		found, err := k.Keeps(env, "/w")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if err := execSQL(filepath.Join(home, ".local/share/opencode/opencode.db"), `UPDATE part SET data = 'nonsense' WHERE id IN ('prt_5', 'prt_10')`); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Kind.Name != "opencode" { // whose database stays
			if err := os.WriteFile(c.File, []byte("[]\n{}\nnonsense"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Turns(); err == nil || !strings.HasPrefix(err.Error(), c.File+": it has ") {
			t.Errorf("%s %s: %v", c.Kind.Name, c.ID, err)
		}
	}
	if len(all) != 7 {
		t.Errorf("%d conversations", len(all))
	}

	for name, file := range map[string]string{"gemini-cli": ".gemini/projects.json", "opencode": ".local/share/opencode/opencode.db"} {
		path := filepath.Join(home, file)
		if err := os.WriteFile(path, []byte("nonsense, and more of it"), 0o600); err != nil {
			t.Fatal(err)
		}
		k, _, _ := Split(name)
		if found, err := k.Keeps(env, "/w"); len(found) > 0 || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// Somebody who has a program, but no conversations in it, has none, without a word about it; and the list of Gemini CLI
// leads to no folder outside of its own.
func TestWhereNothingIsKept(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, k := range Kinds {
		if found, err := k.Keeps(homeEnv(empty), "/w"); len(found) > 0 || err != nil {
			t.Errorf("%s: %v, %v", k.Name, found, err)
		}
	}
	home, env := keptHome(t)
	k, _, _ := Split("gemini-cli")
	for _, name := range []string{"../tmp/w-1", filepath.ToSlash(home) + "/.gemini/tmp/w-1", ""} {
		list := fmt.Sprintf(`{"projects":{"/w":%q}}`, name)
		if err := os.WriteFile(filepath.Join(home, ".gemini/projects.json"), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := k.Keeps(env, "/w"); len(found) > 0 || err != nil {
			t.Errorf("%q: %v, %v", name, found, err)
		}
	}
}
