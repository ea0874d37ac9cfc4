package sandbox_test

import (
	"strconv"
	"testing"

	"pawl/run"
)

// What the sandbox adds to a command is the difference between these two; it is to
// be less than 5 ms.

func BenchmarkCommandPlain(b *testing.B) {
	s := newStage(b)
	b.ResetTimer()
	for b.Loop() {
		s.run(b, run.Unconfined, "/bin/true")
	}
}

func BenchmarkCommandSandboxed(b *testing.B) {
	s := newStage(b)
	s.needsSandbox(b)
	b.ResetTimer()
	for b.Loop() {
		s.run(b, run.Confined, "/bin/true")
	}
}

func BenchmarkCommandReading(b *testing.B) {
	s := newStage(b)
	s.needsReadOnly(b)
	b.ResetTimer()
	for b.Loop() {
		s.run(b, run.ReadOnly, "/bin/true")
	}
}

// Of a folder with a secret in it each entry is allowed by itself.
func BenchmarkCommandReadingBesideASecret(b *testing.B) {
	s := newStage(b)
	s.needsReadOnly(b)
	s.write(b, "project/.env", "secret")
	for i := range 50 {
		s.write(b, "project/file"+strconv.Itoa(i), "text")
	}
	s.plan(b)
	b.ResetTimer()
	for b.Loop() {
		s.run(b, run.ReadOnly, "/bin/true")
	}
}
