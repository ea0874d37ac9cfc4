-- How many turns a run has had.
ALTER TABLE runs ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET turns = (SELECT count(*) FROM events WHERE run = runs.id AND type = 'prompted');

-- The run that a run was forked from; '' for most. Its outputs are the fork's too.
ALTER TABLE runs ADD COLUMN forked TEXT NOT NULL DEFAULT '';
UPDATE runs SET forked = ifnull((
  SELECT CASE WHEN json_valid(data) THEN coalesce(json_extract(data, '$.forked_from'), json_extract(data, '$.latin1.forked_from')) END
  FROM events WHERE run = runs.id AND seq = 1
), '');

CREATE INDEX runs_forked ON runs (forked) WHERE forked != '';

-- From this version on a run can be removed, and its rows in events with it.
