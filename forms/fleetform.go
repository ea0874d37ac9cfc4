package forms

import (
	"time"

	"pawl/task"
)

// A FleetForm says what the workers of a shared database do.
type FleetForm struct {
	Watcher string       `json:"watcher,omitempty" doc:"The process that tells Temporal of tasks; left out: none does"`
	Workers []WorkerForm `json:"workers"`
	Tasks   []HeldForm   `json:"tasks" doc:"Tasks that have something to be done, or whose run waits for a person"`
	// Unattended are queues of tasks that no worker takes.
	Unattended []string `json:"unattended,omitempty" doc:"Queues of tasks that no worker takes"`
}

// A WorkerForm is a process that takes tasks of a queue.
type WorkerForm struct {
	Name  string    `json:"name" doc:"Its process and machine"`
	Queue string    `json:"queue"`
	Seen  time.Time `json:"seen_at" doc:"When it asked for tasks last"`
	Holds int       `json:"holds" doc:"How many of the tasks it drives"`
}

// A HeldForm is a task of a FleetForm.
type HeldForm struct {
	ID     task.ID         `json:"id"`
	Title  string          `json:"title"`
	Status task.StatusName `json:"status"`
	Queue  string          `json:"queue"`
	By     string          `json:"by,omitempty" doc:"The process that drives it; left out: none, it waits for a worker or a person"`
}
