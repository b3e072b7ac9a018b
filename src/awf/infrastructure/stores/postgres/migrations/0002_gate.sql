-- What the gate remembers, for all machines: grants, approvals, security contexts, long results, and the key of its page.
-- A nonce tells a write that is repeated, because its answer was lost, from another one.
CREATE TABLE awf.grants (
    place       BIGINT GENERATED ALWAYS AS IDENTITY,
    grant_id    TEXT PRIMARY KEY,
    capability  TEXT NOT NULL,
    issued_at   DOUBLE PRECISION NOT NULL,
    expires_at  DOUBLE PRECISION,
    workspace   TEXT NOT NULL,
    holder      TEXT NOT NULL,
    session     TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    issued_by   TEXT NOT NULL,
    revoked_at  DOUBLE PRECISION,
    nonce       TEXT NOT NULL DEFAULT ''
);

CREATE TABLE awf.approvals (
    place          BIGINT GENERATED ALWAYS AS IDENTITY,
    approval_id    TEXT PRIMARY KEY,
    tool_id        TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    context        TEXT NOT NULL,
    asked_at       DOUBLE PRECISION NOT NULL,
    expires_at     DOUBLE PRECISION NOT NULL,
    reason         TEXT NOT NULL,
    rule           TEXT NOT NULL,
    summary        TEXT NOT NULL,
    client         TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'granted', 'denied', 'used', 'expired')),
    decided_at     DOUBLE PRECISION,
    decided_by     TEXT NOT NULL,
    about          BIGINT NOT NULL, -- tool, arguments and context in one number; they may be too long for an index
    nonce          TEXT NOT NULL DEFAULT ''
);
CREATE INDEX approvals_alive ON awf.approvals (about) WHERE status IN ('pending', 'granted');
CREATE INDEX approvals_pending ON awf.approvals (expires_at) WHERE status = 'pending';

-- In the order in which they get worse.
CREATE TYPE awf.confidentiality AS ENUM ('public', 'confidential', 'secret');
CREATE TYPE awf.integrity AS ENUM ('trusted', 'untrusted');

CREATE TABLE awf.contexts (
    place           BIGINT GENERATED ALWAYS AS IDENTITY,
    context_id      TEXT PRIMARY KEY,
    confidentiality awf.confidentiality NOT NULL DEFAULT 'public',
    integrity       awf.integrity NOT NULL DEFAULT 'trusted',
    parent          TEXT NOT NULL DEFAULT '',
    minted          BOOLEAN NOT NULL DEFAULT false,
    created_at      DOUBLE PRECISION NOT NULL,
    raised_at       DOUBLE PRECISION,
    raised_by       TEXT NOT NULL DEFAULT '',
    resets          INTEGER NOT NULL DEFAULT 0,
    nonce           TEXT NOT NULL DEFAULT ''
);

-- Each statement sees what was committed before it, and an UPDATE looks again at a row that it had to wait for: whoever
-- races, the label is the worst of all.
CREATE FUNCTION awf.raise_label(
    wanted TEXT, secret awf.confidentiality, trust awf.integrity, tool TEXT, moment DOUBLE PRECISION,
    OUT changed BOOLEAN, OUT now_is awf.contexts
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO awf.contexts (context_id, created_at) VALUES (wanted, moment) ON CONFLICT DO NOTHING;
    changed := FOUND;
    UPDATE awf.contexts c
        SET confidentiality = greatest(c.confidentiality, secret), integrity = greatest(c.integrity, trust),
            raised_at = moment, raised_by = tool
        WHERE c.context_id = wanted AND (c.confidentiality < secret OR c.integrity < trust);
    changed := changed OR FOUND;
    SELECT * INTO now_is FROM awf.contexts c WHERE c.context_id = wanted;
END $$;

-- Results that were too long, in pieces.
CREATE TABLE awf.results (
    artifact_id     TEXT PRIMARY KEY,
    tool_id         TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    context         TEXT NOT NULL,
    confidentiality awf.confidentiality NOT NULL,
    integrity       awf.integrity NOT NULL,
    created_at      DOUBLE PRECISION NOT NULL,
    byte_size       BIGINT NOT NULL,
    line_count      BIGINT NOT NULL,
    content_hash    TEXT NOT NULL,
    mime_type       TEXT NOT NULL
);
CREATE INDEX results_by_time ON awf.results (created_at);
CREATE TABLE awf.result_pieces (
    artifact_id TEXT NOT NULL REFERENCES awf.results ON DELETE CASCADE,
    piece       INTEGER NOT NULL,
    data        BYTEA NOT NULL,
    PRIMARY KEY (artifact_id, piece)
);

-- By which the gateways' page knows a person. There is one.
CREATE TABLE awf.operator (
    only_one BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_one),
    key      TEXT NOT NULL
);

-- Lets processes know that what they remember is no longer so: which table, and who changed it.
CREATE FUNCTION awf.tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('awf:gate', TG_TABLE_NAME || ' ' || coalesce(current_setting('awf.writer', true), ''));
    RETURN NULL;
END $$;
CREATE TRIGGER grants_changed AFTER INSERT OR UPDATE OR DELETE ON awf.grants
    FOR EACH ROW EXECUTE FUNCTION awf.tell_change();
CREATE TRIGGER approvals_changed AFTER INSERT OR UPDATE OR DELETE ON awf.approvals
    FOR EACH ROW EXECUTE FUNCTION awf.tell_change();
CREATE TRIGGER contexts_changed AFTER INSERT OR UPDATE OR DELETE ON awf.contexts
    FOR EACH ROW EXECUTE FUNCTION awf.tell_change();
