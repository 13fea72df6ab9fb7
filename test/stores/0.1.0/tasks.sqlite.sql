CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tenant, owner)
  );
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    status_seq INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  , expires_at INTEGER);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- JSON array of the message ids in this entry. They are needed when the task is deleted.
    accepts TEXT,
    json TEXT NOT NULL
  , at INTEGER);
CREATE TABLE messages (
    scope INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (scope, message_id)
  ) WITHOUT ROWID;
CREATE TABLE counters (
    scope INTEGER NOT NULL,
    state TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
  ) WITHOUT ROWID;
CREATE TABLE push (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    config_id TEXT NOT NULL,
    version TEXT NOT NULL,
    config BLOB NOT NULL, view TEXT, cursor INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, failing_since INTEGER, due_at INTEGER,
    UNIQUE (task, config_id)
  );
CREATE TABLE dead_letters (
    push INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (push, seq)
  ) WITHOUT ROWID;
INSERT INTO "meta" ("key", "value") VALUES ('cursor_key', X'1dd9add8a30eaddeca0e59be2360d33d34c4b6faef71e3d04178c585f4351b83');
INSERT INTO "meta" ("key", "value") VALUES ('secret_salt', X'9881b76edb9712f1d29b488893f599eb');
INSERT INTO "scopes" ("id", "tenant", "owner") VALUES (1, '', '');
INSERT INTO "tasks" ("id", "task_id", "scope", "context_id", "state", "status_seq", "changed", "created_at", "expires_at") VALUES (1, '01a1e527-ff8d-78d8-9fca-5a1b27b17e90', 1, '01a1e527-ff8d-73b3-a5b7-da48c129c453', 'completed', 4, 1837922269460480, 1794845966237, NULL);
INSERT INTO "tasks" ("id", "task_id", "scope", "context_id", "state", "status_seq", "changed", "created_at", "expires_at") VALUES (2, '01a1e528-0032-762d-8a97-916eeea5b7fe', 1, '01a1e528-0032-7294-a517-21f739ccbaa8', 'input-required', 3, 1837922269600768, 1794845966386, NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (1, 1, 1, '["01a1e527-ff53-7afc-93b4-d43d7c246c4c"]', '{"kind":"task","id":"01a1e527-ff8d-78d8-9fca-5a1b27b17e90","contextId":"01a1e527-ff8d-73b3-a5b7-da48c129c453","status":{"state":"submitted","timestamp":"2026-11-16T16:19:26.221Z"},"history":[{"kind":"message","messageId":"01a1e527-ff53-7afc-93b4-d43d7c246c4c","role":"user","parts":[{"kind":"text","text":"hello"}],"taskId":"01a1e527-ff8d-78d8-9fca-5a1b27b17e90","contextId":"01a1e527-ff8d-73b3-a5b7-da48c129c453"}]}', NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (2, 1, 2, NULL, '{"kind":"status-update","taskId":"01a1e527-ff8d-78d8-9fca-5a1b27b17e90","contextId":"01a1e527-ff8d-73b3-a5b7-da48c129c453","status":{"state":"working","timestamp":"2026-11-16T16:19:26.262Z"},"final":false}', NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (3, 1, 3, NULL, '{"kind":"artifact-update","taskId":"01a1e527-ff8d-78d8-9fca-5a1b27b17e90","contextId":"01a1e527-ff8d-73b3-a5b7-da48c129c453","artifact":{"artifactId":"response-01a1e527-ff53-7afc-93b4-d43d7c246c4c","name":"response","parts":[{"kind":"text","text":"you said hello"}],"metadata":{"parley.oneText":true}},"lastChunk":true}', NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (4, 1, 4, NULL, '{"kind":"status-update","taskId":"01a1e527-ff8d-78d8-9fca-5a1b27b17e90","contextId":"01a1e527-ff8d-73b3-a5b7-da48c129c453","status":{"state":"completed","timestamp":"2026-11-16T16:19:26.270Z"},"final":true}', NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (5, 2, 1, '["01a1e528-0014-7749-aae3-bb923de8fe8e"]', '{"kind":"task","id":"01a1e528-0032-762d-8a97-916eeea5b7fe","contextId":"01a1e528-0032-7294-a517-21f739ccbaa8","status":{"state":"submitted","timestamp":"2026-11-16T16:19:26.386Z"},"history":[{"kind":"message","messageId":"01a1e528-0014-7749-aae3-bb923de8fe8e","role":"user","parts":[{"kind":"text","text":"ask"}],"taskId":"01a1e528-0032-762d-8a97-916eeea5b7fe","contextId":"01a1e528-0032-7294-a517-21f739ccbaa8"}]}', NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (6, 2, 2, NULL, '{"kind":"status-update","taskId":"01a1e528-0032-762d-8a97-916eeea5b7fe","contextId":"01a1e528-0032-7294-a517-21f739ccbaa8","status":{"state":"working","timestamp":"2026-11-16T16:19:26.406Z"},"final":false}', NULL);
INSERT INTO "events" ("id", "task", "seq", "accepts", "json", "at") VALUES (7, 2, 3, NULL, '{"kind":"status-update","taskId":"01a1e528-0032-762d-8a97-916eeea5b7fe","contextId":"01a1e528-0032-7294-a517-21f739ccbaa8","status":{"state":"input-required","timestamp":"2026-11-16T16:19:26.407Z","message":{"kind":"message","messageId":"01a1e528-0047-7bfd-9250-a1bc7c2bd526","role":"agent","parts":[{"kind":"text","text":"Which city?"}],"contextId":"01a1e528-0032-7294-a517-21f739ccbaa8","taskId":"01a1e528-0032-762d-8a97-916eeea5b7fe"}},"final":true}', NULL);
INSERT INTO "messages" ("scope", "message_id", "task") VALUES (1, '01a1e527-ff53-7afc-93b4-d43d7c246c4c', 1);
INSERT INTO "messages" ("scope", "message_id", "task") VALUES (1, '01a1e528-0014-7749-aae3-bb923de8fe8e', 2);
INSERT INTO "counters" ("scope", "state", "n") VALUES (1, 'completed', 1);
INSERT INTO "counters" ("scope", "state", "n") VALUES (1, 'input-required', 1);
INSERT INTO "counters" ("scope", "state", "n") VALUES (1, 'submitted', 0);
CREATE INDEX tasks_by_state ON tasks (scope, state, changed);
CREATE UNIQUE INDEX events_by_task ON events (task, seq);
CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX tasks_by_context ON tasks (scope, context_id, state, changed);
CREATE INDEX push_by_due ON push (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX dead_letters_by_scope ON dead_letters (scope, at);
CREATE INDEX tasks_finished ON tasks (changed)
    WHERE state IN ('completed', 'canceled', 'failed', 'rejected');
PRAGMA application_id = 1349676153;
PRAGMA user_version = 6;
