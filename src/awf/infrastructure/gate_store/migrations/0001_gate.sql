-- What the gate remembers: grants, approvals, security contexts; and how often each of them was changed.
CREATE TABLE grants (
    place       INTEGER PRIMARY KEY,
    grant_id    TEXT NOT NULL UNIQUE,
    capability  TEXT NOT NULL,
    issued_at   REAL NOT NULL,
    expires_at  REAL,
    workspace   TEXT NOT NULL,
    user        TEXT NOT NULL,
    session     TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    issued_by   TEXT NOT NULL,
    revoked_at  REAL
);
CREATE INDEX grants_by_time ON grants (issued_at, place);

CREATE TABLE approvals (
    place          INTEGER PRIMARY KEY,
    approval_id    TEXT NOT NULL UNIQUE,
    tool_id        TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    context        TEXT NOT NULL,
    asked_at       REAL NOT NULL,
    expires_at     REAL NOT NULL,
    reason         TEXT NOT NULL,
    rule           TEXT NOT NULL,
    summary        TEXT NOT NULL,
    client         TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'granted', 'denied', 'used', 'expired')),
    decided_at     REAL,
    decided_by     TEXT NOT NULL
);
CREATE INDEX approvals_alive ON approvals (tool_id, arguments_hash, context)
    WHERE status IN ('pending', 'granted');
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';

CREATE TABLE contexts (
    place           INTEGER PRIMARY KEY,
    context_id      TEXT NOT NULL UNIQUE,
    confidentiality TEXT NOT NULL CHECK (confidentiality IN ('public', 'confidential', 'secret')),
    integrity       TEXT NOT NULL CHECK (integrity IN ('trusted', 'untrusted')),
    parent          TEXT NOT NULL,
    minted          INTEGER NOT NULL,
    created_at      REAL NOT NULL,
    raised_at       REAL,
    raised_by       TEXT NOT NULL,
    resets          INTEGER NOT NULL
);

-- Lets a process know cheaply that what it remembers is no longer so.
CREATE TABLE changes (
    what  TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO changes VALUES ('grants', 0), ('approvals', 0), ('contexts', 0);

CREATE TRIGGER grant_added AFTER INSERT ON grants
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'grants'; END;
CREATE TRIGGER grant_changed AFTER UPDATE ON grants
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'grants'; END;
CREATE TRIGGER grant_dropped AFTER DELETE ON grants
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'grants'; END;
CREATE TRIGGER approval_added AFTER INSERT ON approvals
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'approvals'; END;
CREATE TRIGGER approval_changed AFTER UPDATE ON approvals
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'approvals'; END;
CREATE TRIGGER approval_dropped AFTER DELETE ON approvals
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'approvals'; END;
CREATE TRIGGER context_added AFTER INSERT ON contexts
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'contexts'; END;
CREATE TRIGGER context_changed AFTER UPDATE ON contexts
    BEGIN UPDATE changes SET count = count + 1 WHERE what = 'contexts'; END;
