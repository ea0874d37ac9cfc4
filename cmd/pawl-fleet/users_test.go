//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"pawl/store/postgres/pgtest"
)

// A desk is a server of a database.
type desk struct {
	t    *testing.T
	url  string // of its API
	pawl func(args ...string) string
}

var served = regexp.MustCompile(`at (http://\S+)`)

// serve starts a server of a database whose model answers with a script.
func serve(t *testing.T, database, script string) *desk {
	t.Helper()
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "model.jsonl"), []byte(script), 0o600))
	ok(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("pawl-fleet", append([]string{"-C", filepath.Join(dir, "work"), "--store", database}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "PAWL_STATE_DIR="+filepath.Join(dir, "state"), "PAWL_MODEL=script/"+filepath.Join(dir, "model.jsonl"))
		return cmd
	}
	server := &machine{cmd: command("serve", "--address", "127.0.0.1:0")}
	t.Cleanup(func() { server.end(syscall.SIGTERM) })
	return &desk{t: t, url: server.serve(t), pawl: func(args ...string) string {
		t.Helper()
		var problem bytes.Buffer
		cmd := command(args...)
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("pawl-fleet %s: %v\n%s", strings.Join(args, " "), err, &problem)
		}
		return strings.TrimSpace(string(out))
	}}
}

// serve starts a server, and returns the address of its API when it can be reached.
func (m *machine) serve(t testing.TB) (url string) {
	t.Helper()
	m.said = &lockedBuffer{}
	m.cmd.Stderr = m.said
	ok(t, m.cmd.Start())
	until(t, "the server can be reached", func() bool {
		at := served.FindStringSubmatch(m.said.String())
		if at != nil {
			url = at[1] + "/api/v1"
		}
		return at != nil
	})
	return url
}

// ask sends a request with a token, and returns the status and the answer.
func (d *desk) ask(token, method, path, body string) (int, string) {
	d.t.Helper()
	status, answer, err := ask(d.t.Context(), token, method, d.url+path, body, "")
	ok(d.t, err)
	return status, answer
}

// ask sends a request, with a key if it is not empty.
func ask(ctx context.Context, token, method, url, body, key string) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// Users see, answer, start or administer, and the log says who did what.
func TestUsersMayDoWhatTheirRoleSays(t *testing.T) {
	t.Parallel()
	d := serve(t, pgtest.Shared(t).Address(t), planned+`{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"curl -s http://127.0.0.1:9/x"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`)
	token := map[string]string{}
	for name, role := range map[string]string{"eve": "see", "ben": "answer", "anna": "start", "root": "administer"} {
		token[name] = d.pawl("users", "add", name, "--role", role)
	}
	if list := d.pawl("users", "list"); !strings.Contains(list, "anna  start") || strings.Contains(list, token["anna"]) {
		t.Errorf("the users are\n%s", list)
	}
	status, answer := d.ask(token["anna"], "POST", "/tasks", `{"description":"fetch it","start":true}`)
	if status != http.StatusCreated {
		t.Fatalf("anna adds a task: %d %s", status, answer)
	}
	var added struct{ ID string }
	ok(t, json.Unmarshal([]byte(answer), &added))
	var calls struct {
		Items []struct{ Run, Call, Digest string }
	}
	until(t, "a call waits for a person", func() bool {
		status, answer := d.ask(token["eve"], "GET", "/tasks/"+added.ID+"/approvals", "")
		return status == http.StatusOK && json.Unmarshal([]byte(answer), &calls) == nil && len(calls.Items) == 1
	})
	c := calls.Items[0]
	decide := "/tasks/" + added.ID + "/runs/" + c.Run + "/calls/" + c.Call + "/decision"
	allow, always := `{"answer":"allow","digest":"`+c.Digest+`"}`, `{"answer":"always","digest":"`+c.Digest+`"}`
	for _, try := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"eve", "POST", decide, allow, 403},
		{"eve", "POST", "/tasks/" + added.ID + "/messages", `{"text":"hello"}`, 403},
		{"eve", "GET", "/permissions", "", 200},
		{"ben", "POST", "/tasks", `{"description":"more"}`, 403},
		{"ben", "POST", decide, always, 403},
		{"ben", "POST", "/tasks/" + added.ID + "/resume", `{"budget":{"tokens":1000000}}`, 403},
		{"ben", "POST", "/tasks/" + added.ID + "/messages", `{"text":"be quick"}`, 201},
		{"anna", "POST", "/permissions", `{"rule":"allow shell(ls)"}`, 403},
		{"anna", "POST", "/login-links", "", 403},
		{"anna", "POST", "/runs", `{"prompt":"go","mode":"bypass"}`, 403},
		{"anna", "DELETE", "/tasks/" + added.ID, "", 403},
		{"root", "POST", "/login-links", "", 201},
		{"nobody", "GET", "/tasks", "", 401},
	} {
		if status, answer := d.ask(token[try.name], try.method, try.path, try.body); status != try.status {
			t.Errorf("%s %s %s: %d, want %d: %s", try.name, try.method, try.path, status, try.status, answer)
		}
	}

	// A browser has a session of the user, which ends with the user.
	status, answer = d.ask("", "POST", "/sessions", `{"code":"`+token["ben"]+`"}`)
	var session struct{ Token, Kept string }
	if json.Unmarshal([]byte(answer), &session) != nil || status != http.StatusCreated {
		t.Fatalf("ben logs in: %d %s", status, answer)
	}
	if status, answer := d.ask("", "POST", "/sessions", `{"code":"`+session.Kept+`"}`); status != http.StatusCreated {
		t.Errorf("another page of ben's browser: %d %s", status, answer)
	}
	if status, _ := d.ask(strings.Replace(session.Token, "~ben", "~root", 1), "GET", "/tasks", ""); status != http.StatusUnauthorized {
		t.Errorf("a session that was made another's: %d", status)
	}
	if status, answer := d.ask(session.Token, "POST", decide, allow); status != http.StatusOK {
		t.Errorf("ben allows it: %d %s", status, answer)
	}
	until(t, "the task is completed", func() bool { return strings.Contains(d.pawl("task", "show", added.ID), "completed") })
	if history := d.pawl("task", "show", added.ID, "--history", "--json"); !strings.Contains(history, `"by":"anna"`) {
		t.Errorf("the history does not say that anna added it:\n%s", history)
	}
	if log := d.pawl("runs", "log", c.Run, "--json"); !strings.Contains(log, `"by":"ben"`) {
		t.Errorf("the log does not say that ben allowed it:\n%s", log)
	}
	d.pawl("users", "rm", "ben")
	until(t, "ben is not let in", func() bool {
		status, _ := d.ask(session.Token, "GET", "/tasks", "")
		return status == http.StatusUnauthorized
	})
	if status, _ := d.ask("", "POST", "/sessions", `{"code":"`+session.Kept+`"}`); status != http.StatusUnauthorized {
		t.Errorf("what ben's browser keeps is good for a session: %d", status)
	}
}

// The database of a server is killed. Tokens cannot be checked then, and requests fail for that reason: a refusal would log a page
// out, and make a program discard its token. The server continues when the database is back.
func TestAServerOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	database := server.Address(t)
	d := serve(t, database, planned+`{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}`)
	token := d.pawl("users", "add", "anna", "--role", "start")
	enter := func() (session struct{ Token string }, status int) {
		status, answer := d.ask("", "POST", "/sessions", `{"code":"`+token+`"}`)
		ok(t, json.Unmarshal([]byte(answer), &session))
		return session, status
	}
	session, status := enter()
	if status != http.StatusCreated {
		t.Fatalf("anna logs in: %d", status)
	}
	ok(t, server.Kill())
	until(t, "the database is missed", func() bool {
		_, status = enter()
		return status != http.StatusCreated
	})
	if status != http.StatusServiceUnavailable {
		t.Errorf("anna logs in without a database: %d", status)
	}
	for what, token := range map[string]string{"her token": token, "her session": session.Token} {
		status, answer := d.ask(token, "GET", "/tasks", "")
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "cannot be reached") {
			t.Errorf("%s without a database: %d %s", what, status, answer)
		}
	}

	ok(t, server.Up())
	conn, err := pgx.Connect(t.Context(), database)
	ok(t, err)
	defer conn.Close(t.Context())
	// As if it had been away for longer than a lease lasts, with a clock that is behind.
	_, err = conn.Exec(t.Context(), `UPDATE leases SET token = 'lost', until = clock_timestamp() + interval '6 seconds'`)
	ok(t, err)
	until(t, "the server has the right to drive all tasks again", func() (again bool) {
		ok(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM leases WHERE token <> 'lost')`).Scan(&again))
		return again
	})
	var added struct{ ID string }
	until(t, "a task is added", func() bool {
		status, answer := d.ask(session.Token, "POST", "/tasks", `{"description":"do it","start":true}`)
		return status == http.StatusCreated && json.Unmarshal([]byte(answer), &added) == nil
	})
	until(t, "it is completed", func() bool { return strings.Contains(d.pawl("task", "show", added.ID), "completed") })
}
