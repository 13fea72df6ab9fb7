CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Orders the owner's sessions by their last change, whatever the clock does.
    changed INTEGER NOT NULL,
    -- Characters of all its events.
    size INTEGER NOT NULL,
    UNIQUE (app, user, session_id)
  );
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (session, event_id)
  );
CREATE TABLE state (
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (app, user, session, key)
  ) WITHOUT ROWID;
CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (app, user, session_id, name, version)
  );
INSERT INTO "sessions" ("id", "app", "user", "session_id", "created_at", "updated_at", "changed", "size") VALUES (1, 'fixture', 'ann', 's1', 1794845966448, 1794845966597, 3, 681);
INSERT INTO "events" ("id", "session", "event_id", "json") VALUES (1, 1, '01a1e528-007f-79c9-995e-5be566c0f5a7', '{"id":"01a1e528-007f-79c9-995e-5be566c0f5a7","runId":"01a1e528-006f-7dec-86ca-8cd28075e708","author":"user","timestamp":1794845966463,"actions":{},"content":{"role":"user","parts":[{"kind":"text","text":"remember the fixture"}]},"metadata":{"first":"host"}}');
INSERT INTO "events" ("id", "session", "event_id", "json") VALUES (2, 1, '01a1e528-00a7-70d4-b42e-283ace1ad726', '{"id":"01a1e528-00a7-70d4-b42e-283ace1ad726","runId":"01a1e528-006f-7dec-86ca-8cd28075e708","author":"host","timestamp":1794845966597,"actions":{"checkpoint":{"path":"host","value":"done"}},"content":{"role":"model","parts":[{"kind":"text","text":"I cannot do \"remember TEXT\" here: the tool save_memory is not available."}]},"usage":{"inputTokens":5,"outputTokens":18},"metadata":{"model":"offline","finishReason":"stop"}}');
CREATE INDEX sessions_by_change ON sessions (app, user, changed);
CREATE INDEX events_by_session ON events (session);
PRAGMA application_id = 1348560756;
PRAGMA user_version = 1;
