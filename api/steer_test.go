package api_test

import "testing"

// A person edits the plan in its place, chooses an answer and writes one, takes words back that the agent has not read
// yet, and hands the task to another agent, all on the board.
func TestATaskIsSteeredOnTheBoard(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Paint it.","requirements":[],"acceptanceCriteria":["it is painted"],"plan":["sand it","paint it"]}}]}
{"when":{"first":"Carry out this task","contains":"Take it over as the writer"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"The writer has painted it.","output":""}}]}
{"when":{"first":"Carry out this task","contains":"matt please"},"calls":[{"tool":"ask","args":{"question":"Shall I go on?"}}]}
{"when":{"first":"Carry out this task","contains":"green"},"calls":[{"tool":"ask","args":{"question":"How?","options":["shiny"]}}]}
{"when":{"first":"Carry out this task","contains":"prime it"},"calls":[{"tool":"ask","args":{"question":"Which colour?","options":["red","green"]}}]}
`)
	s.drive()
	id := s.do("POST", "/tasks", `{"description":"Paint the fence"}`).is(201).text("id")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	b := s.browse(1000)
	b.open("#/tasks/" + id)
	b.click("Edit")
	b.sees("Save the plan")
	b.value(`(() => { const e = document.querySelector(".plan [aria-label=Steps]"); e.value = "sand it\n prime it \n\npaint it"; })()`)
	b.click("Save the plan")
	b.sees("prime it")
	if v := s.do("GET", "/tasks/"+id, "").is(200); len(v.items("plan.plan")) != 3 || v.text("plan.plan.1") != "prime it" {
		t.Errorf("the plan is %v", v.at("plan.plan"))
	}
	b.click("Start")

	b.sees("Which colour?")
	b.click("green")
	b.click("Send")
	b.sees("How?")
	b.write("answer to: How?", "matt please")
	b.click("Send")
	b.sees("Shall I go on?")
	b.write("say something to the agent", "Never mind the gate.")
	b.click("Say")
	b.click("Take back")
	b.until(`![...document.querySelectorAll(".rail button")].some((e) => e.textContent === "Take back")`)
	if v := s.do("GET", "/tasks/"+id, "").is(200); v.text("messages.0.state") != "withdrawn" {
		t.Errorf("the message is %v", v.at("messages"))
	}
	b.click("More")
	b.click("Hand off")
	b.until(`document.querySelectorAll("dialog option[value=writer]").length === 1`)
	b.value(`document.querySelector("dialog select").value = "writer"`)
	b.write("words for the agent", "Take it over as the writer.")
	b.value(`[...document.querySelectorAll("dialog button")].find((e) => e.textContent === "Hand off").click()`)
	b.sees("The writer has painted it.")
}
