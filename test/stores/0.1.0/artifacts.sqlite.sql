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
INSERT INTO "artifacts" ("id", "app", "user", "session_id", "name", "version", "json") VALUES (1, 'fixture', 'ann', 's1', 'note.txt', 0, '{"kind":"text","text":"a note"}');
CREATE INDEX sessions_by_change ON sessions (app, user, changed);
CREATE INDEX events_by_session ON events (session);
PRAGMA application_id = 1348560756;
PRAGMA user_version = 1;
