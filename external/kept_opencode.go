package external

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver
)

func openCodeDB(env func(string) string) string {
	data := cmp.Or(env("XDG_DATA_HOME"), filepath.Join(env("HOME"), ".local", "share"))
	return filepath.Join(data, "opencode", "opencode.db")
}

// openCodeRows calls row with each row of a query to the database of OpenCode, which is only read.
func openCodeRows(path, query, argument string, row func(scan func(...any) error) error) error {
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&_pragma=busy_timeout(1000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query(query, argument)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (opencode) find(env func(string) string, workspace string) (all []Kept, err error) {
	path := openCodeDB(env)
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	const query = `SELECT s.id, s.time_updated, m.time_created, p.data FROM session s
		JOIN message m ON m.session_id = s.id JOIN part p ON p.message_id = m.id
		WHERE s.directory = ? AND s.parent_id IS NULL AND json_extract(m.data, '$.role') = 'user' AND json_extract(p.data, '$.type') = 'text'
		ORDER BY s.id, m.time_created, m.id, p.id`
	err = openCodeRows(path, query, workspace, func(scan func(...any) error) error {
		c, updated, began, data := Kept{File: path}, int64(0), int64(0), ""
		if err := scan(&c.ID, &updated, &began, &data); err != nil {
			return err
		}
		var part opencodePart
		if n := len(all); n > 0 && all[n-1].ID == c.ID || json.Unmarshal([]byte(data), &part) != nil || part.Synthetic {
			return nil
		}
		c.Words, c.Began, c.Last = part.Text, time.UnixMilli(began), time.UnixMilli(updated)
		all = append(all, c)
		return nil
	})
	return all, named(path, err)
}

func (opencode) turns(c Kept) ([]KeptTurn, error) {
	var r reading
	const query = `SELECT m.id, json_extract(m.data, '$.role'), m.time_created, p.data FROM message m JOIN part p ON p.message_id = m.id
		WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`
	var words, message string
	var said time.Time
	err := openCodeRows(c.File, query, c.ID, func(scan func(...any) error) error {
		var id, role, data string
		var created int64
		if err := scan(&id, &role, &created, &data); err != nil {
			return err
		}
		var p opencodePart
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			return errors.New("it has a part that is no JSON")
		}
		if id != message && words != "" {
			r.prompt(words, said)
			words = ""
		}
		message = id
		switch at := time.UnixMilli(created); {
		case role == "user" && p.Type == "text" && !p.Synthetic:
			words, said = words+p.Text+"\n", at
		case role != "assistant" || r.report == nil:
		default:
			r.at(at)
			switch p.Type {
			case "text":
				r.text(p.Text)
			case "reasoning":
				r.thinking(p.Text)
			case "tool":
				p.use(r.report)
			}
		}
		return nil
	})
	r.prompt(words, said) // one without an answer
	return r.end(), err
}
