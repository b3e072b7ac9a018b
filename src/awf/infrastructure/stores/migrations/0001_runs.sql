-- Runs, what their steps came to, what happened in them, and what was said to them.
CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    workflow    TEXT NOT NULL,
    source      TEXT NOT NULL,
    status      TEXT NOT NULL,
    started_at  REAL NOT NULL,
    finished_at REAL,
    exit_status INTEGER,
    error       TEXT,
    inputs      TEXT NOT NULL DEFAULT '{}',
    outputs     TEXT NOT NULL DEFAULT '{}',
    usage       TEXT,
    parent      TEXT NOT NULL DEFAULT '',
    cwd         TEXT NOT NULL DEFAULT '',
    owner       TEXT NOT NULL DEFAULT '',
    digest      TEXT NOT NULL DEFAULT '',
    definition  BLOB NOT NULL
);
CREATE INDEX runs_by_time ON runs (started_at DESC);

CREATE TABLE steps (
    run_id TEXT NOT NULL,
    path   TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    result BLOB NOT NULL,
    PRIMARY KEY (run_id, path)
) WITHOUT ROWID;

CREATE TABLE events (
    run_id TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    type   TEXT NOT NULL,
    once   TEXT NOT NULL DEFAULT '',
    body   BLOB NOT NULL,
    PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
CREATE INDEX events_once ON events (run_id, once) WHERE once <> '';
CREATE INDEX events_questions ON events (run_id, type) WHERE type IN ('approval.required', 'input.required');

-- One message answers one topic; the first one counts.
CREATE TABLE messages (
    run_id     TEXT NOT NULL,
    topic      TEXT NOT NULL,
    payload    TEXT NOT NULL,
    sender     TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    PRIMARY KEY (run_id, topic)
) WITHOUT ROWID;
