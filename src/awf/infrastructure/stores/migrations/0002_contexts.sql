-- The security context a run was started in: whoever goes on with it goes on in that one.
ALTER TABLE runs ADD COLUMN context TEXT NOT NULL DEFAULT '';
