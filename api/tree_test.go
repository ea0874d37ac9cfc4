package api_test

import (
	"testing"
)

// A run's page shows its agents as a tree: the run of each agent is below the call that started it, is updated while it
// works, and is folded with that call.
func TestTheRunsOfAgentsAreATree(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Let one"},"calls":[{"tool":"agent","args":{"prompt":"look at the left half"}}]}
{"when":{"first":"Let one"},"text":"Both have looked."}
{"when":{"first":"the left half"},"calls":[{"tool":"agent","args":{"prompt":"look at the corner"}}]}
{"when":{"first":"the left half"},"text":"The left half is <b>fine</b>."}
{"when":{"first":"the corner"},"text":"The corner is empty."}
`)
	id := s.do("POST", "/runs", `{"prompt":"Let one look."}`).is(201).text("run")
	b := s.browse(1000)
	b.open("#/runs/" + id)
	b.sees("Both have looked.")
	b.value(`document.querySelector(".call summary").click()`)
	b.sees("The left half is <b>fine</b>.")
	b.until(`document.querySelector(".child .call summary") !== null`)
	b.value(`document.querySelector(".child .call summary").click()`)
	b.sees("The corner is empty.")
	if n := b.value(`document.querySelectorAll(".child .child .prose").length`); n == 0. {
		t.Error("the corner is not below the left half")
	}
	b.value(`document.querySelector(".call summary").click()`)
	b.until(`![...document.querySelectorAll(".child")].some((e) => e.checkVisibility())`)
}
