-- Tasks. SQLite keeps the text of these statements, with comments inside of them, in its
-- first page as long as there is room; on one page they are safe from damage to another. So
-- they are short.

-- Events of tasks, numbered and chained like those of runs; they never change. run is
-- the run that an event is about, by who caused it; both may be ''. data is JSON, hash is
-- SHA-256 over the hash before and the row.
CREATE TABLE task_events (task TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL, version INTEGER NOT NULL,
run TEXT NOT NULL, by TEXT NOT NULL, data TEXT NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (task, seq)) WITHOUT ROWID;

-- What a list shows of a task, written in the transaction that appends. seq and hash are of
-- the last event; run is at work or will be resumed, so it is not removed; owes is 1 if
-- a driver has something to do; summary is JSON.
CREATE TABLE tasks (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash BLOB NOT NULL, status TEXT NOT NULL, agent TEXT NOT NULL, run TEXT NOT NULL,
priority INTEGER NOT NULL, owes INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, summary TEXT NOT NULL) WITHOUT ROWID;

CREATE INDEX tasks_order ON tasks (priority, created, id);
CREATE INDEX tasks_status ON tasks (status, priority, created, id);
CREATE INDEX tasks_agent ON tasks (agent, priority, created, id);
CREATE INDEX tasks_owing ON tasks (priority, created, id) WHERE owes;
CREATE INDEX tasks_run ON tasks (run);

CREATE TABLE task_labels (task TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY (task, label)) WITHOUT ROWID;
CREATE INDEX task_labels_label ON task_labels (label);

-- The runs of tasks, children included.
CREATE TABLE task_runs (run TEXT PRIMARY KEY, task TEXT NOT NULL) WITHOUT ROWID;

-- What was submitted: at most one result for each assignment of a run. key is that of the
-- request, if it came from outside; value is JSON.
CREATE TABLE submissions (run TEXT NOT NULL, tool TEXT NOT NULL, assignment INTEGER NOT NULL, task TEXT NOT NULL, call TEXT NOT NULL,
key TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (run, tool, assignment)) WITHOUT ROWID;
