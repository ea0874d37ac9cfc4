-- What is known of a run at a glance, and the end of its chain. The row is written
-- in the transaction that appends.
CREATE TABLE runs (
  id          TEXT PRIMARY KEY,
  parent      TEXT NOT NULL,
  workspace   TEXT NOT NULL,
  model       TEXT NOT NULL,
  title       TEXT NOT NULL,
  created     INTEGER NOT NULL, -- nanoseconds since 1970, UTC, as all times here
  updated     INTEGER NOT NULL,
  seq         INTEGER NOT NULL, -- of the last event
  hash        BLOB NOT NULL,    -- of the last event
  ended       TEXT NOT NULL,    -- how the last turn ended; '' while a turn is open
  reason      TEXT NOT NULL,
  steps       INTEGER NOT NULL,
  input       INTEGER NOT NULL, -- tokens
  cache_read  INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  output      INTEGER NOT NULL,
  cost        REAL NOT NULL,    -- US dollars
  priced      INTEGER NOT NULL,
  writer      TEXT NOT NULL     -- the pawl that appended last
) WITHOUT ROWID;

CREATE INDEX runs_newest ON runs (created, id) WHERE parent = '';

-- The logs. Rows are never changed and never deleted.
CREATE TABLE events (
  run     TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  type    TEXT NOT NULL,
  version INTEGER NOT NULL,
  data    TEXT NOT NULL,        -- JSON
  hash    BLOB NOT NULL,        -- SHA-256 over the hash before and this row
  PRIMARY KEY (run, seq)
) WITHOUT ROWID;

-- What others want of a run. A row that was taken keeps its key, so that a
-- repeated Put stays without effect, and loses its payload: that is in the log.
CREATE TABLE inbox (
  id      INTEGER PRIMARY KEY,
  run     TEXT NOT NULL,
  key     TEXT NOT NULL,
  kind    TEXT NOT NULL,
  payload TEXT NOT NULL,
  at      INTEGER NOT NULL,
  taken   INTEGER,              -- the run's last event when it was taken; NULL: it waits
  UNIQUE (run, key)
);

CREATE INDEX inbox_waiting ON inbox (run, id) WHERE taken IS NULL;
