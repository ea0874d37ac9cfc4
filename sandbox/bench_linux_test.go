package sandbox_test

import (
	"strconv"
	"testing"
	"time"

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

// A network by host takes a socket more.
func BenchmarkCommandWithHosts(b *testing.B) {
	s := newStage(b)
	s.needsSandbox(b)
	b.ResetTimer()
	for b.Loop() {
		s.run(b, run.ToHosts("example.com"), "/bin/true")
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

// The bar is that a command that only reads takes no more time than one that may write:
// the metric is how many times as long it takes, measured by turns.
func BenchmarkCommandReadingAgainstConfined(b *testing.B) {
	s := newStage(b)
	s.needsReadOnly(b)
	var took [2]time.Duration
	s.run(b, run.Confined, "/bin/true")
	s.run(b, run.ReadOnly, "/bin/true")
	for b.Loop() {
		for i, level := range []run.Confinement{run.Confined, run.ReadOnly} {
			began := time.Now()
			s.run(b, level, "/bin/true")
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}
