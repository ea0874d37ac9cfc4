package heuristic

import (
	"bytes"
	"strings"
	"testing"
)

func TestCallsAreEqualWhenTheirToolAndArgumentsAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":{"x":1,"y":[1,2]}}`, `{ "a" : {"y":[1, 2],"x":1} }` + "\n", true},
		{`{"a":"é"}`, `{"a":"\u00e9"}`, true},
		{`{"a":"\/x<y"}`, `{"a":"/x\u003cy"}`, true},
		{`{}`, ` { } `, true},
		{``, ``, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1.0}`, false}, // numbers are compared as written
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":"x"}`, `{"a":"x "}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"command":"go test ./a"}`, `{"command":"go test ./b"}`, false},
		{`{"a":1} and more`, `{"a":1}`, false},
		{`{"a":1}{"b":2}`, `{"a":1}`, false},
		{`{"a":`, `{"a":1`, false},
		{`{"a":"\u00e9"}`, `{"a":"e\u0301"}`, false}, // composed and not: another file's name
	} {
		if got := CallKey("read", c.a) == CallKey("read", c.b); got != c.same {
			t.Errorf("CallKey of %s and %s equal: %v, want %v", c.a, c.b, got, c.same)
		}
	}
	if CallKey("read", `{"a":1}`) == CallKey("list", `{"a":1}`) {
		t.Error("two tools with the same arguments have one key")
	}
}

func TestResultsAreEqualWhenTheySayTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b string }{
		// durations
		{"--- FAIL: TestKeys (0.01s)", "--- FAIL: TestKeys (1.27s)"},
		{"FAIL\tpawl/run\t0.412s", "FAIL\tpawl/run\t12.001s"},
		{"3 failed, 2 passed in 0.12s", "3 failed, 2 passed in 0.4s"},
		{"Ran 3 tests in 0.001 seconds.", "Ran 3 tests in 12 seconds."},
		{"BUILD FAILED in 3s", "BUILD FAILED in 12s"},
		{"real\t0m1.234s", "real\t1m0.002s"},
		{"took 320ms", "took 1.5µs"},
		{"64 bytes: time=0.045 ms", "64 bytes: time=12.1 ms"},
		{"# duration_ms 45.12", "# duration_ms 7.5"},
		{`{"Action":"fail","Elapsed":0.02}`, `{"Action":"fail","Elapsed":1.5}`},
		{"Up 3 minutes", "Up 12 minutes"},
		// times and dates
		{"12:30:01 refused", "12:31:59 refused"},
		{"2026-11-20T12:30:01Z down", "2026-11-21T00:00:59.123Z down"},
		{"2026-11-20T12:30:01+01:00", "2026-11-20T12:30:02.5+01:00"},
		{"2026/11/20 12:30:01 dial failed", "2026/11/21 02:00:00 dial failed"},
		{"2026-11-20 12:30:01,123 ERROR app", "2026-11-20 12:30:02,001 ERROR app"},
		{`1.2.3.4 - - [20/Nov/2026:12:30:01 +0000] "GET /"`, `1.2.3.4 - - [21/Nov/2026:02:30:09 +0000] "GET /"`},
		{"-rw-r--r-- 1 me me 512 Nov 20 12:30 a.go", "-rw-r--r-- 1 me me 512 Nov 20 12:41 a.go"},
		{"date: Fri, 20 Nov 2026 12:30:01 GMT", "date: Fri, 20 Nov 2026 12:31:44 GMT"},
		{`{"ts":1795177801,"up":false}`, `{"ts":1795177999.25,"up":false}`},
		{`{"now":1795177801123,"up":false}`, `{"now":1795177801999,"up":false}`},
		// addresses
		{"<Foo object at 0x7f3a2c1b9d30>", "<Foo object at 0x7f0011223344>"},
		{"main.f(0xc0000b2000)", "main.f(0xc000012345)"},
		{"java.lang.Object@1b6d3586", "java.lang.Object@45546173"},
		// processes, threads, goroutines, seeds
		{"started, pid 4242", "started, pid 17"},
		{"[error] pid=4242 gone", "[error] pid=99 gone"},
		{"Process 4242 exited", "Process 51234 exited"},
		{"goroutine 34 [running]:", "goroutine 7 [running]:"},
		{"(node:4242) ExperimentalWarning: x", "(node:117) ExperimentalWarning: x"},
		{"thread 'keys' (4242) panicked at src/lib.rs:5:9:", "thread 'keys' (99) panicked at src/lib.rs:5:9:"},
		{"E1120 12:30:01.123456   4242 memcache.go:265] refused", "E1120 12:31:44.000001   4311 memcache.go:265] refused"},
		{"Randomized with seed 54321", "Randomized with seed 2"},
		{"-test.shuffle 1795177801123456789", "-test.shuffle 1795177999123456789"},
		// ports of this machine
		{"dial tcp 127.0.0.1:45123: connect: refused", "dial tcp 127.0.0.1:39001: connect: refused"},
		{"GET http://localhost:45123/health 503", "GET http://localhost:39001/health 503"},
		{"read tcp 127.0.0.1:51234->127.0.0.1:8080", "read tcp 127.0.0.1:40000->127.0.0.1:8080"},
		{"listening on [::1]:45123", "listening on [::1]:39001"},
		// temporary paths
		{"mkdir /tmp/tmp.Xa9Qz: exists", "mkdir /tmp/tmp.bQ31r: exists"},
		{"/tmp/go-build3957/b001/x.test -test.v", "/tmp/go-build11/b001/x.test -test.v"},
		{"open /tmp/TestKeys123456/001/a: no such file", "open /tmp/TestKeys99/001/a: no such file"},
		{"/tmp/pytest-of-me/pytest-12/test_x0/out", "/tmp/pytest-of-me/pytest-13/test_x0/out"},
		{"open /private/var/folders/8q/abc/T/TestX12/001/a", "open /private/var/folders/8q/abc/T/TestX7/001/a"},
		{"file:///tmp/report-7a1/index.html", "file:///tmp/report-99c/index.html"},
	} {
		if textKey(c.a) != textKey(c.b) {
			t.Errorf("these say the same and have two keys:\n%s\n%s\nmasked:\n%s\n%s", c.a, c.b, mask(c.a), mask(c.b))
		}
	}
}

func TestResultsDifferWhenTheySayDifferentThings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b string }{
		// counts
		{"3 failed, 2 passed in 0.12s", "4 failed, 2 passed in 0.12s"},
		{"Tests: 10/2/0", "Tests: 10/1/1"},
		{"process 3 files", "process 4 files"},
		{"coverage: 71.2% of statements", "coverage: 71.9% of statements"},
		{"12 of 40 done", "13 of 40 done"},
		{"step 12/30", "step 13/30"},
		{"exit code 1", "exit code 2"},
		{"elapsed\n3 failed", "elapsed\n4 failed"},
		{"pid\n3 failed", "pid\n4 failed"},
		{"want 4, got 5", "want 4, got 6"},
		{"1,234 rows", "1,235 rows"},
		{"index out of range [500] with length 3", "index out of range [501] with length 3"},
		// lines and columns
		{"main.go:12:5: undefined: x", "main.go:13:5: undefined: x"},
		{"main.go:12:5: undefined: x", "main.go:12:7: undefined: x"},
		{"error at 12:30", "error at 12:31"},
		{"/tmp/work/main.go:12:5: undefined: x", "/tmp/work/main.go:15:5: undefined: x"},
		{"line 12, column 3", "line 12, column 4"},
		// names
		{"/tmp/work/a.go: no such file", "/tmp/work/b.go: no such file"},
		{"/app/tmp/a.log", "/app/tmp/b.log"},
		{"/tmp/work/001_users.sql", "/tmp/work/002_users.sql"},
		{"2026-11-20-users.sql", "2026-11-20-orders.sql"},
		{"http://localhost:8080/health 503", "http://localhost:8080/ready 503"},
		{"test_x[12] failed", "test_x[13] failed"},
		{"CVE-2026-1234", "CVE-2026-1235"},
		// versions, hashes, sizes, values
		{"go1.26.7", "go1.26.8"},
		{"v1.2.3", "v1.2.4"},
		{"lodash@4.17.20", "lodash@4.17.21"},
		{"node:20", "node:22"},
		{"commit 1b6d358", "commit 4554617"},
		{"512 bytes", "513 bytes"},
		{"1712345678 bytes", "1834567890 bytes"},
		{"4.0K a.out", "4.1K a.out"},
		{"1.5MB/s", "1.7MB/s"},
		{"got 0x1f, want 0x20", "got 0x1e, want 0x20"},
		{"10.0.0.1:8080 refused", "10.0.0.1:8081 refused"},
		{"HTTP/1.1 404 Not Found", "HTTP/1.1 503 Service Unavailable"},
		{"status: pending", "status: done"},
		{"120 ns/op", "80 ns/op"},
		{"", "\n"},
	} {
		if textKey(c.a) == textKey(c.b) {
			t.Errorf("these say different things and have one key:\n%s\n%s\nmasked: %s", c.a, c.b, mask(c.a))
		}
	}
	if ResultKey(false, []string{"a"}, nil) == ResultKey(true, []string{"a"}, nil) {
		t.Error("an error and a result of the same words have one key")
	}
	if ResultKey(false, []string{"a", "b"}, nil) == ResultKey(false, []string{"ab"}, nil) {
		t.Error("two texts and one have one key")
	}
	picture := func(b byte) string { return ResultKey(false, []string{"a"}, [][]byte{{b}}) }
	if picture(1) == picture(2) {
		t.Error("two images have one key")
	}
}

func textKey(s string) string { return ResultKey(false, []string{s}, nil) }

// FuzzResultKey: no text breaks the mask, masking the mask's own output changes no
// line's count, and what has no digit and no slash is not touched.
func FuzzResultKey(f *testing.F) {
	for _, s := range []string{"", "0x", "0xfffff", "1:2", "12:30:01", "/tmp/", "/var/folders/", "/tmp/x:1", "localhost:", "pid", "pid 1",
		"3 ", "3 s", "::1]:4", "2026-", "20/Nov/2026:", ",123", "\xff1\xc2", "(node:1)", "12:30:01,123 s", "E1120 12:30:01 4 x", "@12345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		masked := mask(s)
		if got, want := bytes.Count(masked, []byte("\n")), strings.Count(s, "\n"); got != want {
			t.Errorf("%q has %d lines, masked %d", s, want, got)
		}
		if !strings.ContainsAny(s, "0123456789/") && string(masked) != s {
			t.Errorf("%q became %q", s, masked)
		}
		if first, second := textKey(s), textKey(s); first != second {
			t.Errorf("%q has two keys", s)
		}
	})
}

// A result is at most 32 KB (spec/outputs.md) and every one gets a key: this must
// stay far under a millisecond.
func BenchmarkResultKey(b *testing.B) {
	line := "--- FAIL: TestKeys (0.01s) at 12:30:01: main.go:12:5: open /tmp/TestKeys123/001/a: 0xc0000b2000 is not 4242, pid 17\n"
	for name, text := range map[string]string{
		"test_output": strings.Repeat(line, 32768/len(line)),
		"source":      strings.Repeat("func (g *guard) settled(c *CallState) { return c.Key != nil }\n", 32768/62),
		"numbers":     strings.Repeat("1 22 333 4444 ", 32768/14),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			texts := []string{text}
			for b.Loop() {
				ResultKey(false, texts, nil)
			}
		})
	}
}
