-- SQLite keeps the text of the statements, with comments inside of them, in its first page as
-- long as there is room; on one page they are safe from damage to another. So they are short.

-- What is known of a run at a glance, and the end of its chain, written in the transaction that
-- appends. Times are nanoseconds since 1970, UTC, as all times here. root is the root run of the
-- conversation, forked the run that it was forked from; seq and hash are of the last event;
-- ended says how the last turn ended, '' while one is open; cost is in US dollars; writer is the
-- pawl that appended last; used rises with every append to any run, and does not depend on a
-- clock; seal is SHA-256 over the rest of the row.
CREATE TABLE runs (id TEXT PRIMARY KEY, parent TEXT NOT NULL, workspace TEXT NOT NULL,
model TEXT NOT NULL, title TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
seq INTEGER NOT NULL, hash BLOB NOT NULL, ended TEXT NOT NULL, reason TEXT NOT NULL,
steps INTEGER NOT NULL, input INTEGER NOT NULL, cache_read INTEGER NOT NULL,
cache_write INTEGER NOT NULL, output INTEGER NOT NULL, cost REAL NOT NULL,
priced INTEGER NOT NULL, writer TEXT NOT NULL, root TEXT NOT NULL, used INTEGER NOT NULL,
seal BLOB NOT NULL, turns INTEGER NOT NULL, forked TEXT NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX runs_parent ON runs (parent, created, id) WHERE parent != '';
CREATE INDEX runs_root ON runs (root);
CREATE INDEX runs_used ON runs (used);
CREATE INDEX runs_forked ON runs (forked) WHERE forked != '';

-- The logs. Rows are never changed, and removed only with their run. data is JSON, hash is
-- SHA-256 over the hash before and the row.
CREATE TABLE events (run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
type TEXT NOT NULL, version INTEGER NOT NULL, data TEXT NOT NULL, hash BLOB NOT NULL,
PRIMARY KEY (run, seq)) WITHOUT ROWID;

-- What others want of a run. A row that was taken keeps its key, so that a repeated Put stays
-- without effect, and loses its payload: that is in the log. taken is the run's last event then,
-- NULL while the row waits; answer is what the owner answered.
CREATE TABLE inbox (id INTEGER PRIMARY KEY, run TEXT NOT NULL, key TEXT NOT NULL,
kind TEXT NOT NULL, payload TEXT NOT NULL, at INTEGER NOT NULL, taken INTEGER,
answer TEXT NOT NULL DEFAULT '', UNIQUE (run, key));
CREATE INDEX inbox_waiting ON inbox (run, id) WHERE taken IS NULL;

-- From here on no column is ever NULL.

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

-- Runs that a server drives, which the next one continues if it dies; host is its machine.
CREATE TABLE served (run TEXT PRIMARY KEY, host TEXT) WITHOUT ROWID;

-- The events of all tasks in the order in which they were committed; seq 0 says that the task
-- was removed. A number is never used again.
CREATE TABLE task_feed (id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT, seq INTEGER);
