-- The name that a person gave a run; '' for most. The seal of a row without one is that of
-- the version before.
ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';
