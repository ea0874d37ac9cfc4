package tui

import (
	"context"
	"time"

	"pawl/approval"
	"pawl/instructions"
	"pawl/run"
	"pawl/runlog"
	"pawl/tui/editor"
	"pawl/tui/keys"
	"pawl/view"
)

// A message is something that has happened and that the model takes in: a key, news of the
// run, the result of an effect.
type message any

type (
	// tick says that time has passed, while something on the screen depends on it.
	tick struct{}
	// pressed is a key of the person.
	pressed struct{ keys.Key }
	// pasted is text that the person has pasted.
	pasted struct {
		text    string
		dropped int // bytes at its end
	}
	// resized is the size of the terminal.
	resized struct{ width, height int }
	// replied is an answer of the terminal to a query.
	replied struct{ keys.Reply }
	// focused says whether the terminal's window has the focus.
	focused struct{ yes bool }
	// stopped says that the program is to end.
	stopped struct{}

	// opened says that a conversation is open.
	opened struct {
		n        int
		id       run.ID
		state    run.State
		attached bool
		config   run.Config // in which it continues
	}
	// configured is the configuration in which the conversation with number n continues.
	configured struct {
		n      int
		config run.Config
	}
	// history is what a resumed run's log has. It comes before the run is opened.
	history struct {
		updates []view.Update // with events alone
		tell    bool          // it is to be shown
	}
	// news is an update of the conversation with number n.
	news struct {
		n int
		view.Update
		state run.State // after it, if it is an event
	}
	// childNews is an update of a run below the conversation with number n. It comes after the news
	// that its call has started, and before the news that it has ended.
	childNews struct {
		n  int
		id run.ID
		view.Update
	}
	// unfollowed says that no process drives the conversation with number n any more.
	unfollowed struct{ n int }
	// approvals are the calls that wait for a person, and the questions of runs below.
	approvals struct {
		n         int
		calls     []approval.Approval
		questions []runlog.Question
	}
	// undecided says that an answer to a call was not taken.
	undecided struct {
		n    int
		call callOf
	}
	// unanswered says that an answer to a question was not taken.
	unanswered struct {
		n        int
		question callOf
		parts    []run.Part
	}
	// finished is what can be said of a turn that has ended.
	finished struct {
		n       int
		state   run.State
		denials []approval.Denial
	}
	// failed says that an effect has failed.
	failed struct{ err error }
	// notice is a sentence for the person.
	notice struct{ text string }
	// printed are lines that are to be printed above.
	printed struct{ lines []string }
	// picked has entries to choose from.
	picked struct {
		*picker
		first bool // it is for a person who has no run yet
	}
	// viewed are the calls of the conversation, and the id of the one to show; "": the last.
	viewed struct {
		calls []view.Item
		which string
	}
	// searchable is what is searched of the entries of a picker beside what is shown.
	searchable struct {
		*picker
		texts []string
	}
	// withdrawn is a message that was taken back.
	withdrawn struct{ parts []run.Part }
	// resumed says that the terminal is back after another program or the shell had it.
	resumed struct{}
	// inserted is text that is to stand in the input.
	inserted struct {
		text   string
		images []editor.Image // whose labels it may have
	}
	// pictured is a pasted text that is the path of a picture, with the picture; without parts
	// it is text after all.
	pictured struct {
		text  string
		parts []run.Part
	}
	// modelKnown says which model a new run would have, or why none.
	modelKnown struct {
		name string
		err  error
	}
	// modelChosen is the model that the next run has.
	modelChosen struct{ name string }
	// branchKnown is the branch of the workspace's repository; "": none.
	branchKnown struct{ name string }
	// commandsKnown are the commands that people have written.
	commandsKnown struct {
		commands  []instructions.Command
		untrusted []string // folders with some that the person has to review first
	}
	// filesKnown are the files of the workspace, for completion.
	filesKnown struct{ names []string }
	// shellEnded is what a command of the person has printed.
	shellEnded struct {
		command, output string
		code            int
		took            time.Duration
	}
	// panicked says that an effect has panicked. The model panics with it, where the terminal
	// is given back.
	panicked struct{ text string }
	// leaving says that the program ends.
	leaving struct{}
)

// An effect does what the model may not: it works with files, runs and the network. It runs in
// a goroutine of its own and posts what comes of it.
type effect struct {
	// ordered effects run one after the other, in the order in which they were returned.
	ordered bool
	// exclusive effects have the terminal: nothing is drawn and no key is read meanwhile.
	exclusive bool
	do        func(ctx context.Context, b *backend) error
}

// A callOf is a call of a run.
type callOf struct {
	run   run.ID
	call  run.CallID
	words string // of what a call asks while it runs, which can be several things
}

// later returns an effect that may run at any time.
func later(do func(ctx context.Context, b *backend) error) effect { return effect{do: do} }

// inOrder returns an ordered effect.
func inOrder(do func(ctx context.Context, b *backend) error) effect {
	return effect{ordered: true, do: do}
}

// exclusive returns an effect that has the terminal.
func exclusive(do func(ctx context.Context, b *backend) error) effect {
	return effect{exclusive: true, do: do}
}

// with returns an ordered effect on the open conversation. Without one it does nothing.
func with(do func(ctx context.Context, c conversation) error) effect {
	return inOrder(func(ctx context.Context, b *backend) error {
		if c, _ := b.current(); c != nil {
			return do(ctx, c)
		}
		return nil
	})
}
