-- Who may use the servers. token is a hash.
CREATE TABLE users (name TEXT COLLATE "C" PRIMARY KEY, role TEXT NOT NULL, token TEXT NOT NULL UNIQUE, since BIGINT NOT NULL);
