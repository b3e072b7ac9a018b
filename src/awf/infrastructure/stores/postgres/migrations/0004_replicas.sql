-- Gateways that are open now, and where the others reach them. A row belongs to one process: it goes when that leaves,
-- or when it has not been heard of for long.
CREATE TABLE awf.replicas (
    id    TEXT PRIMARY KEY,
    url   TEXT NOT NULL,
    beats BIGINT NOT NULL DEFAULT 1,
    seen  TIMESTAMPTZ NOT NULL DEFAULT now()
);
