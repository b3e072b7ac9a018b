-- Runs, what their steps came to, what happened in them, and what was said to them: the same rows as in the
-- embedded store, so that the interpreter cannot tell the two apart.
CREATE TABLE awf.runs (
    id          TEXT PRIMARY KEY,
    workflow    TEXT NOT NULL,
    source      TEXT NOT NULL,
    status      TEXT NOT NULL,
    started_at  DOUBLE PRECISION NOT NULL,
    finished_at DOUBLE PRECISION,
    exit_status INTEGER,
    error       TEXT,
    inputs      TEXT NOT NULL DEFAULT '{}',
    outputs     TEXT NOT NULL DEFAULT '{}',
    usage       TEXT,
    parent      TEXT NOT NULL DEFAULT '',
    cwd         TEXT NOT NULL DEFAULT '',
    owner       TEXT NOT NULL DEFAULT '',
    digest      TEXT NOT NULL DEFAULT '',
    definition  BYTEA NOT NULL,
    -- Of runs that workers carry out.
    queue       TEXT NOT NULL DEFAULT '',   -- where it was submitted to; empty: it runs where it was started
    options     TEXT NOT NULL DEFAULT '{}', -- whom to ask, as its submitter said
    before      TEXT NOT NULL DEFAULT '',   -- how it stood when it was submitted
    submissions INTEGER NOT NULL DEFAULT 0, -- how often it was submitted
    deaths      INTEGER NOT NULL DEFAULT 0, -- how many workers died with it since it last got on
    progress    INTEGER NOT NULL DEFAULT 0  -- how many steps were recorded when it was last taken over
);
CREATE INDEX runs_by_time ON awf.runs (started_at DESC);

CREATE TABLE awf.steps (
    run_id TEXT NOT NULL,
    path   TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    result BYTEA NOT NULL,
    PRIMARY KEY (run_id, path)
);

CREATE TABLE awf.events (
    run_id TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    type   TEXT NOT NULL,
    once   TEXT NOT NULL DEFAULT '',
    body   BYTEA NOT NULL,
    PRIMARY KEY (run_id, seq)
);
CREATE INDEX events_once ON awf.events (run_id, once) WHERE once <> '';
CREATE INDEX events_questions ON awf.events (run_id, type) WHERE type IN ('approval.required', 'input.required');

-- One message answers one topic; the first one counts. The nonce tells a repeated write from a second answer.
CREATE TABLE awf.messages (
    run_id     TEXT NOT NULL,
    topic      TEXT NOT NULL,
    payload    TEXT NOT NULL,
    sender     TEXT NOT NULL DEFAULT '',
    created_at DOUBLE PRECISION NOT NULL,
    nonce      TEXT NOT NULL,
    PRIMARY KEY (run_id, topic)
);

-- Secret inputs of runs that have not completed.
CREATE TABLE awf.secrets (
    run_id TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
);

-- Output that is too big to be a value, in pieces.
CREATE TABLE awf.artifacts (
    run_id TEXT NOT NULL,
    path   TEXT NOT NULL,
    stream TEXT NOT NULL,
    piece  INTEGER NOT NULL,
    data   BYTEA NOT NULL,
    PRIMARY KEY (run_id, path, stream, piece)
);

-- Whoever writes for a run must be its owner at that very moment. A process that was thought dead and comes back finds
-- that it is not any more; the rows stay locked until its transaction ends, so nobody can take over in between.
-- One call carries what many runs of a process did meanwhile: one way there and back.
CREATE FUNCTION awf.record(
    runs TEXT[], owners TEXT[],
    step_runs TEXT[], step_paths TEXT[], step_seqs INTEGER[], step_results BYTEA[],
    event_runs TEXT[], event_seqs INTEGER[], event_types TEXT[], event_onces TEXT[], event_bodies BYTEA[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    owned INTEGER;
BEGIN
    SELECT count(*) INTO owned FROM (
        SELECT 1 FROM unnest(runs, owners) AS claim (id, owner)
        JOIN awf.runs r ON r.id = claim.id AND r.owner = claim.owner FOR SHARE OF r
    ) AS held;
    IF owned <> cardinality(runs) THEN
        RAISE EXCEPTION 'a run belongs to another process' USING ERRCODE = 'AW001';
    END IF;
    IF cardinality(step_runs) > 0 THEN
        INSERT INTO awf.steps (run_id, path, seq, result)
        SELECT * FROM unnest(step_runs, step_paths, step_seqs, step_results) ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(event_runs) > 0 THEN
        INSERT INTO awf.events (run_id, seq, type, once, body)
        SELECT * FROM unnest(event_runs, event_seqs, event_types, event_onces, event_bodies) ON CONFLICT DO NOTHING;
    END IF;
    PERFORM pg_notify('awf:' || run, '') FROM unnest(runs) AS run;
END $$;
