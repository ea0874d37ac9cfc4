package task

import (
	"encoding/json"
	"fmt"
	"iter"
)

// kinds has every type of event: its name on disk and in the history, which never changes,
// and the version of its form. The form is the JSON of the Go type.
var kinds = []kind{
	of[Created]("task_created"),
	of[Edited]("task_edited"),
	of[StatusChanged]("status_changed"),
	of[PlanningStarted]("planning_started"),
	of[PlanningCompleted]("planning_completed"),
	of[PlanningFailed]("planning_failed"),
	of[PlanningQuestionsReturned]("planning_questions_returned"),
	of[QuestionAsked]("question_asked"),
	of[AnswersSubmitted]("answers_submitted"),
	of[PlannerOutputSubmitted]("planner_output_submitted"),
	of[AgentStarted]("agent_started"),
	of[AgentPrompted]("agent_prompted"),
	of[AgentCompleted]("agent_completed"),
	of[AgentHandoffStarted]("agent_handoff_started"),
	of[AgentHandoffCompleted]("agent_handoff_completed"),
	of[CompletionReportSubmitted]("completion_report_submitted"),
	of[ToolExecuted]("tool_executed"),
	of[PermissionRequested]("permission_requested"),
	of[PermissionDecided]("permission_decided"),
	of[OutputReminderSent]("output_reminder_sent"),
	of[Interrupted]("interrupted"),
	of[MessageQueued]("message_queued"),
	of[MessageDelivered]("message_delivered"),
	of[MessageReturned]("message_returned"),
	of[MessageWithdrawn]("message_withdrawn"),
	of[AttachmentAdded]("attachment_added"),
	of[AttachmentRemoved]("attachment_removed"),
	of[CopyMade]("copy_made"),
	of[CopyMerged]("copy_merged"),
	of[CopyDiscarded]("copy_discarded"),
}

// EventTypes yields the name of every type of event with a payload of it.
func EventTypes() iter.Seq2[string, Payload] {
	return func(yield func(string, Payload) bool) {
		for _, k := range kinds {
			if !yield(k.name, k.zero) {
				return
			}
		}
	}
}

type kind struct {
	name    string
	version int
	zero    Payload
	is      func(Payload) bool
	decode  func([]byte) (Payload, error)
}

func of[P Payload](name string) kind {
	return kind{
		name, 1, *new(P),
		func(p Payload) bool { _, ok := p.(P); return ok },
		func(data []byte) (Payload, error) {
			var p P
			err := json.Unmarshal(data, &p)
			return p, err
		},
	}
}

// Encode returns the form on disk of a payload.
func Encode(p Payload) (typ string, version int, data []byte, err error) {
	for i := range kinds {
		if k := &kinds[i]; k.is(p) {
			data, err = json.Marshal(p)
			return k.name, k.version, data, err
		}
	}
	return "", 0, nil, fmt.Errorf("encode task event: %T has no name on disk", p)
}

// Decode is the inverse of [Encode]. known is false for a type or version that this release
// of pawl does not know.
func Decode(typ string, version int, data []byte) (p Payload, known bool, err error) {
	for i := range kinds {
		if k := &kinds[i]; k.name == typ && k.version == version {
			p, err = k.decode(data)
			return p, true, err
		}
	}
	return nil, false, nil
}
