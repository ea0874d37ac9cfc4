-- The stored outputs of calls. head and created are for lists and quotas; the file is in parts of partSize bytes, numbered
-- from 0, under a number that no other has had. They are compressed already.
CREATE SEQUENCE output_files;
CREATE TABLE outputs (conversation TEXT COLLATE "C" NOT NULL, run TEXT COLLATE "C" NOT NULL, call BYTEA NOT NULL,
file BIGINT NOT NULL, size BIGINT NOT NULL, created BIGINT NOT NULL, head BYTEA NOT NULL, PRIMARY KEY (conversation, run, call));
CREATE INDEX outputs_run ON outputs (run);
CREATE TABLE output_parts (file BIGINT NOT NULL, part BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (file, part));
ALTER TABLE output_parts ALTER COLUMN data SET STORAGE EXTERNAL;
