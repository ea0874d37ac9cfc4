-- The columns are those of schema.sql of package store.
CREATE TABLE served (run TEXT COLLATE "C" PRIMARY KEY, host TEXT NOT NULL);
