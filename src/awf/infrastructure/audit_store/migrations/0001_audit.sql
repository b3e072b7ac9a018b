-- Which log this is.
CREATE TABLE log (origin TEXT NOT NULL);
-- The chain. An entry is canonical JSON; the hash is over it, the number and the previous hash.
CREATE TABLE records (
    sequence INTEGER PRIMARY KEY,
    previous TEXT NOT NULL,
    hash     TEXT NOT NULL,
    entry    TEXT NOT NULL
);
-- The last record, under a key: whoever cuts the end off cannot write this anew without it.
CREATE TABLE head (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    mac      TEXT NOT NULL
);
-- How many bytes of each spill file are in the chain already.
CREATE TABLE spills (name TEXT PRIMARY KEY, merged INTEGER NOT NULL) WITHOUT ROWID;
-- Decisions whose effect has not come, by who is to bring it.
CREATE TABLE open_calls (sequence INTEGER PRIMARY KEY, writer TEXT NOT NULL, request_id TEXT NOT NULL);
CREATE TABLE checkpoints (
    size       INTEGER PRIMARY KEY,
    head       TEXT NOT NULL,
    created_at REAL NOT NULL,
    key        TEXT NOT NULL,
    signature  TEXT NOT NULL
);
