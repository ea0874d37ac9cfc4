-- The files that are attached to tasks, each as a whole: they are bounded.
CREATE TABLE task_files (task TEXT COLLATE "C" NOT NULL, file TEXT COLLATE "C" NOT NULL, content BYTEA NOT NULL, PRIMARY KEY (task, file));
ALTER TABLE task_files ALTER COLUMN content SET STORAGE EXTERNAL;
