package forms

import (
	"slices"
	"time"

	"pawl/task"
)

// A FleetForm says what the workers of a shared database do.
type FleetForm struct {
	Watcher string       `json:"watcher,omitempty" doc:"The process that tells Temporal of tasks; left out: none does"`
	Workers []WorkerForm `json:"workers"`
	Tasks   []HeldForm   `json:"tasks" doc:"Tasks that have something to be done, or whose run waits for a person"`
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

// Unattended returns the queues of tasks that no worker takes.
func (f FleetForm) Unattended() (queues []string) {
	for _, h := range f.Tasks {
		taken := slices.ContainsFunc(f.Workers, func(w WorkerForm) bool { return w.Queue == h.Queue })
		if !taken && !slices.Contains(queues, h.Queue) {
			queues = append(queues, h.Queue)
		}
	}
	return queues
}
