-- The root run of the conversation a run belongs to. No pawl before this version
-- made a run below a child run.
ALTER TABLE runs ADD COLUMN root TEXT NOT NULL DEFAULT '';
UPDATE runs SET root = CASE parent WHEN '' THEN id ELSE parent END;

CREATE INDEX runs_parent ON runs (parent, created, id) WHERE parent != '';
CREATE INDEX runs_root ON runs (root);

-- What the owner answered to a row when it took it.
ALTER TABLE inbox ADD COLUMN answer TEXT NOT NULL DEFAULT '';

-- SHA-256 over the rest of the row, computed by the migration.
ALTER TABLE runs ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
