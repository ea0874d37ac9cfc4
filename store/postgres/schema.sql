-- The columns are those of schema.sql of package store, which says what they are; where text may
-- be any bytes, as the path of a folder, it is BYTEA. Texts are compared byte by byte.
CREATE TABLE runs (id TEXT COLLATE "C" PRIMARY KEY, parent TEXT COLLATE "C" NOT NULL, workspace BYTEA NOT NULL,
model BYTEA NOT NULL, title BYTEA NOT NULL, created BIGINT NOT NULL, updated BIGINT NOT NULL,
seq BIGINT NOT NULL, hash BYTEA NOT NULL, ended TEXT NOT NULL, reason BYTEA NOT NULL,
steps BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL,
cache_write BIGINT NOT NULL, output BIGINT NOT NULL, cost DOUBLE PRECISION NOT NULL,
priced BOOLEAN NOT NULL, writer BYTEA NOT NULL, root TEXT COLLATE "C" NOT NULL, used BIGINT NOT NULL,
seal BYTEA NOT NULL, turns BIGINT NOT NULL, forked TEXT COLLATE "C" NOT NULL, name BYTEA NOT NULL);
CREATE INDEX runs_parent ON runs (parent, created, id) WHERE parent != '';
CREATE INDEX runs_root ON runs (root);
CREATE INDEX runs_used ON runs (used) WHERE parent = '';
CREATE INDEX runs_forked ON runs (forked) WHERE forked != '';

-- Where runs.used is from.
CREATE SEQUENCE appends;

CREATE TABLE events (run TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL,
type TEXT NOT NULL, version BIGINT NOT NULL, data TEXT NOT NULL, hash BYTEA NOT NULL,
PRIMARY KEY (run, seq));

CREATE TABLE inbox (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run TEXT COLLATE "C" NOT NULL, key TEXT NOT NULL,
kind TEXT NOT NULL, payload TEXT NOT NULL, at BIGINT NOT NULL, taken BIGINT,
answer TEXT NOT NULL DEFAULT '', UNIQUE (run, key));
CREATE INDEX inbox_waiting ON inbox (run, id) WHERE taken IS NULL;

-- Who owns a run, for as long as the clock of the database is before until. token is of one lease.
CREATE TABLE leases (run TEXT COLLATE "C" PRIMARY KEY, token TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,
socket TEXT NOT NULL, waits TEXT NOT NULL DEFAULT '', until TIMESTAMPTZ NOT NULL);

CREATE TABLE task_events (task TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, type TEXT NOT NULL,
version BIGINT NOT NULL, run TEXT NOT NULL, by TEXT NOT NULL, data TEXT NOT NULL, hash BYTEA NOT NULL, PRIMARY KEY (task, seq));

CREATE TABLE tasks (id TEXT COLLATE "C" PRIMARY KEY, seq BIGINT NOT NULL, hash BYTEA NOT NULL, status TEXT NOT NULL,
agent TEXT NOT NULL, run TEXT COLLATE "C" NOT NULL, priority BIGINT NOT NULL, owes BOOLEAN NOT NULL,
created BIGINT NOT NULL, updated BIGINT NOT NULL, summary TEXT NOT NULL);
CREATE INDEX tasks_order ON tasks (priority, created, id);
CREATE INDEX tasks_status ON tasks (status, priority, created, id);
CREATE INDEX tasks_agent ON tasks (agent, priority, created, id);
CREATE INDEX tasks_owing ON tasks (priority, created, id) WHERE owes;
CREATE INDEX tasks_run ON tasks (run);

CREATE TABLE task_labels (task TEXT COLLATE "C" NOT NULL, label TEXT COLLATE "C" NOT NULL, PRIMARY KEY (task, label));
CREATE INDEX task_labels_label ON task_labels (label);

CREATE TABLE task_runs (run TEXT COLLATE "C" PRIMARY KEY, task TEXT COLLATE "C" NOT NULL);
CREATE INDEX task_runs_task ON task_runs (task);

CREATE TABLE submissions (run TEXT COLLATE "C" NOT NULL, tool TEXT NOT NULL, assignment BIGINT NOT NULL,
task TEXT COLLATE "C" NOT NULL, call TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, at BIGINT NOT NULL,
PRIMARY KEY (run, tool, assignment));
CREATE INDEX submissions_task ON submissions (task);

-- Who writes to the tables of tasks has locked this one, so that the order of the numbers is that
-- of the commits.
CREATE TABLE task_feed (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL);
CREATE INDEX task_feed_task ON task_feed (task);
