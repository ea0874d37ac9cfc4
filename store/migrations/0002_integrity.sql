-- The root run of the conversation a run belongs to. No pawl before this version
-- made a run below a child run.
ALTER TABLE runs ADD COLUMN root TEXT NOT NULL DEFAULT '';
UPDATE runs SET root = CASE parent WHEN '' THEN id ELSE parent END;

CREATE INDEX runs_parent ON runs (parent, created, id) WHERE parent != '';
CREATE INDEX runs_root ON runs (root);

-- The order in which runs were used. It rises with every append to any run, and does
-- not depend on a clock.
ALTER TABLE runs ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET used = n FROM (SELECT id AS i, row_number() OVER (ORDER BY updated, id) AS n FROM runs) WHERE id = i;

DROP INDEX runs_newest;
CREATE INDEX runs_used ON runs (used);

-- SHA-256 over the rest of the row, computed by the migration.
ALTER TABLE runs ADD COLUMN seal BLOB NOT NULL DEFAULT x'';

-- What the owner answered to a row when it took it.
ALTER TABLE inbox ADD COLUMN answer TEXT NOT NULL DEFAULT '';
