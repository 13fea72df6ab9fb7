CREATE TABLE key_salt (one INTEGER PRIMARY KEY CHECK (one = 1), salt BLOB NOT NULL) STRICT;
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  rate_limit TEXT,
  budget TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  rotated_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE key_secrets (
  prefix TEXT PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES api_keys (id),
  hash BLOB NOT NULL,
  pepper TEXT NOT NULL,
  ends_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  workspace TEXT NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT, actor_name TEXT,
  PRIMARY KEY (workspace, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE card_workspaces (
  number  INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  live    INTEGER NOT NULL DEFAULT 0,  -- totals, so that no query has to count
  deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE cards (
  row       INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL REFERENCES card_workspaces,
  id        TEXT NOT NULL,
  version   INTEGER NOT NULL,
  created   INTEGER NOT NULL,          -- milliseconds, like the other times
  updated   INTEGER NOT NULL,
  deleted   INTEGER,                   -- null: not deleted
  slug      TEXT NOT NULL,
  name      TEXT NOT NULL
) STRICT;
CREATE TABLE card_versions (
  card        INTEGER NOT NULL REFERENCES cards ON DELETE CASCADE,
  version     INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  slug        TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  content     TEXT NOT NULL,           -- JSON
  PRIMARY KEY (card, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE agents (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  -- The settings as JSON, without the headers.
  settings TEXT NOT NULL,
  -- The headers, encrypted; null if there are none.
  headers BLOB,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE links (
  id INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL,
  agent TEXT NOT NULL,
  task_id TEXT NOT NULL,
  context_id TEXT NOT NULL,
  remote_task_id TEXT,
  remote_context_id TEXT,
  saved_at INTEGER NOT NULL
, sender TEXT NOT NULL DEFAULT '{}', headers BLOB) STRICT;
CREATE TABLE "spending" (
  workspace TEXT NOT NULL,
  day TEXT NOT NULL,
  key_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  model TEXT NOT NULL,
  agent TEXT NOT NULL,
  currency TEXT NOT NULL,
  uses INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL, failures INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace, day, key_id, subject, model, agent, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE budget_counters (
  holder TEXT NOT NULL,
  period TEXT NOT NULL,
  currency TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_nanos INTEGER NOT NULL,
  used_on TEXT NOT NULL,
  PRIMARY KEY (holder, period, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  workspace TEXT NOT NULL,
  key_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  task_id TEXT NOT NULL,
  day TEXT NOT NULL,
  model TEXT NOT NULL,
  agent TEXT NOT NULL,
  currency TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  seen_tokens INTEGER NOT NULL,
  input_nanos INTEGER NOT NULL,
  output_price REAL NOT NULL,
  tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL
, context_id TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
CREATE TABLE task_spending (
  workspace TEXT NOT NULL,
  number INTEGER NOT NULL,
  day TEXT NOT NULL,
  context_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  model TEXT NOT NULL,
  agent TEXT NOT NULL,
  currency TEXT NOT NULL,
  uses INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL,
  PRIMARY KEY (workspace, number)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE card_search USING fts5(
  letters, marks, content='', contentless_delete=1, tokenize='ascii'
);
INSERT INTO "key_salt" ("one", "salt") VALUES (1, X'807d85cc2ad9d08239d615670caf7f828ab9510576d07649a71e37278020f92a');
INSERT INTO "api_keys" ("id", "workspace", "name", "scopes", "rate_limit", "budget", "created_at", "expires_at", "rotated_at", "revoked_at", "last_used_at") VALUES ('01a1e528-013a-7c64-a79e-05c0cba841fa', 'default', 'fixture', '["*"]', NULL, NULL, 1794845966650, NULL, NULL, NULL, NULL);
INSERT INTO "key_secrets" ("prefix", "key_id", "hash", "pepper", "ends_at") VALUES ('02750b93db1a', '01a1e528-013a-7c64-a79e-05c0cba841fa', X'4ea01d6ad41ce06665415969015e0e4a49236161c6e0ce34657980d769e82e9a', 'b3f1b06a031ca26f', NULL);
INSERT INTO "audit" ("workspace", "number", "at", "actor", "action", "subject", "detail", "actor_name") VALUES ('default', 1, 1794845966667, 'program', 'key.create', '01a1e528-013a-7c64-a79e-05c0cba841fa', '{"name":"fixture","scopes":["*"]}', NULL);
CREATE INDEX api_keys_of_workspace ON api_keys (workspace, created_at, id);
CREATE INDEX key_secrets_of_key ON key_secrets (key_id);
CREATE UNIQUE INDEX cards_id ON cards (workspace, id);
CREATE UNIQUE INDEX cards_live_slug ON cards (workspace, slug) WHERE deleted IS NULL;
CREATE INDEX cards_deleted ON cards (workspace, deleted) WHERE deleted IS NOT NULL;
CREATE INDEX cards_name ON cards (workspace, name COLLATE NOCASE, row, deleted);
CREATE INDEX cards_slug ON cards (workspace, slug, row, deleted);
CREATE INDEX cards_created ON cards (workspace, created, row, deleted);
CREATE INDEX cards_updated ON cards (workspace, updated, row, deleted);
CREATE UNIQUE INDEX links_by_task ON links (workspace, agent, task_id);
CREATE INDEX links_by_context ON links (workspace, agent, context_id);
CREATE INDEX spending_of_key ON spending (key_id, day);
CREATE INDEX spending_of_subject ON spending (workspace, subject, day) WHERE subject <> '';
CREATE INDEX spending_by_day ON spending (day) WHERE length(day) = 10;
CREATE INDEX reservations_of_workspace ON reservations (workspace, day);
CREATE INDEX reservations_by_expiry ON reservations (expires_at);
CREATE UNIQUE INDEX task_spending_without_task
  ON task_spending (workspace, day, context_id, key_id, subject, model, agent, currency) WHERE task_id = '';
PRAGMA application_id = 1349676103;
PRAGMA user_version = 4;
