-- The rules that were stored for one run, as package policy has them in a file.
CREATE TABLE run_rules (run TEXT COLLATE "C" PRIMARY KEY, content BYTEA NOT NULL);
