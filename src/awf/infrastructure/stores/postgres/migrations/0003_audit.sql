-- The audit: one chain for all processes of all machines. Whoever adds to it holds the row of the head meanwhile.
CREATE TABLE awf.audit_head (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    origin    TEXT NOT NULL,              -- which log this is
    sequence  BIGINT NOT NULL,
    hash      TEXT NOT NULL,
    mac       TEXT NOT NULL DEFAULT '',   -- under a key that is not in the database
    key       TEXT NOT NULL DEFAULT '',   -- the public half of it
    signed    BIGINT NOT NULL DEFAULT 0,  -- how many records the newest checkpoint vouches for
    signed_at DOUBLE PRECISION NOT NULL DEFAULT 0
);
INSERT INTO awf.audit_head (one, origin, sequence, hash)
VALUES (1, 'awf-audit/' || replace(gen_random_uuid()::text, '-', ''), 0, repeat('0', 64));

-- An entry is canonical JSON, kept byte by byte; the hash is over it, the number and the previous hash. Who has written it
-- as its how manyth is not under the hash: it keeps a repeated write from adding anything twice.
CREATE TABLE awf.audit_records (
    sequence BIGINT PRIMARY KEY,
    previous TEXT NOT NULL,
    hash     TEXT NOT NULL,
    entry    BYTEA NOT NULL,
    writer   TEXT NOT NULL,
    number   BIGINT NOT NULL,
    UNIQUE (writer, number)
);

-- Decisions whose effect has not come, by who is to bring it.
CREATE TABLE awf.audit_open_calls (sequence BIGINT PRIMARY KEY, writer TEXT NOT NULL);

CREATE TABLE awf.audit_checkpoints (
    size       BIGINT PRIMARY KEY,
    head       TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    key        TEXT NOT NULL,
    signature  TEXT NOT NULL
);
