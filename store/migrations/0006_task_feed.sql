-- The events of all tasks in the order in which they were committed; seq 0 says that the task
-- was removed. A number is never used again.
CREATE TABLE task_feed (id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT, seq INTEGER);
INSERT INTO task_feed (task, seq) SELECT task, seq FROM task_events ORDER BY at, task, seq;
