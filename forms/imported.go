package forms

import (
	"cmp"

	"pawl/archive"
	"pawl/run"
	"pawl/task"
)

// An ImportedForm is what an archive has of a task or of a conversation, as `pawl runs import` prints it.
type ImportedForm struct {
	Task    task.ID  `json:"task,omitempty"`  // empty: a conversation
	Run     run.ID   `json:"run,omitempty"`   // the root run of a conversation
	Title   string   `json:"title,omitempty"` // of the task, or the name or first words of the run
	Runs    []run.ID `json:"runs"`
	Events  int64    `json:"events"`  // of the runs
	Outputs int      `json:"outputs"` // stored ones
	Bytes   int64    `json:"bytes"`   // that outputs and files have
	State   string   `json:"state"`   // new, added, there, left
	Why     string   `json:"why,omitempty"`
}

// ImportedFormOf returns what became of a part of an archive.
func ImportedFormOf(i archive.Imported) ImportedForm {
	f := ImportedForm{Task: i.Unit.Task, Run: i.Unit.Run, Title: i.Card.Title(), Runs: []run.ID{}, Outputs: i.Outputs, Bytes: i.Bytes, State: i.State}
	for _, r := range i.Runs {
		f.Runs = append(f.Runs, r.Run)
		f.Events += r.Summary.Seq
	}
	if i.Unit.Task == "" && len(i.Runs) > 0 {
		f.Title = cmp.Or(i.Runs[0].Summary.Name, i.Runs[0].Summary.Title)
	}
	if i.Why != nil {
		f.Why = i.Why.Error()
	}
	return f
}
