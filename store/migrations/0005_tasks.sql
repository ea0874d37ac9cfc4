-- Tasks. SQLite keeps the text of these statements, with comments inside of them, in its
-- first page as long as there is room; on one page they are safe from damage to another. So
-- they are short. No column is ever NULL.

-- Events of tasks, numbered and chained like those of runs; they never change. run is
-- the run that an event is about, by who caused it; both may be ''. data is JSON, hash is
-- SHA-256 over the hash before and the row.
CREATE TABLE task_events (task TEXT, seq INTEGER, at INTEGER, type TEXT, version INTEGER,
run TEXT, by TEXT, data TEXT, hash BLOB, PRIMARY KEY (task, seq)) WITHOUT ROWID;

-- What a list shows of a task, written in the transaction that appends. seq and hash are of
-- the last event; run is at work or will be resumed, so it is not removed; owes is 1 if
-- a driver has something to do; summary is JSON.
CREATE TABLE tasks (id TEXT PRIMARY KEY, seq INTEGER, hash BLOB, status TEXT, agent TEXT, run TEXT,
priority INTEGER, owes INTEGER, created INTEGER, updated INTEGER, summary TEXT) WITHOUT ROWID;

CREATE INDEX tasks_order ON tasks (priority, created, id);
CREATE INDEX tasks_status ON tasks (status, priority, created, id);
CREATE INDEX tasks_agent ON tasks (agent, priority, created, id);
CREATE INDEX tasks_owing ON tasks (priority, created, id) WHERE owes;
CREATE INDEX tasks_run ON tasks (run);

CREATE TABLE task_labels (task TEXT, label TEXT, PRIMARY KEY (task, label)) WITHOUT ROWID;
CREATE INDEX task_labels_label ON task_labels (label);

-- The runs of tasks, children included.
CREATE TABLE task_runs (run TEXT PRIMARY KEY, task TEXT) WITHOUT ROWID;

-- What was submitted: at most one result for each assignment of a run. key is that of the
-- request, if it came from outside; value is JSON.
CREATE TABLE submissions (run TEXT, tool TEXT, assignment INTEGER, task TEXT, call TEXT,
key TEXT, value TEXT, at INTEGER, PRIMARY KEY (run, tool, assignment)) WITHOUT ROWID;
