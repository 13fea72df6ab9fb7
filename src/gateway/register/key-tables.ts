/**
 * The register's tables for keys and the audit log, and the first version of the table `spending`. The statements in
 * budget-tables.ts replace this version of `spending` by a newer one. Times are milliseconds since 1970.
 *
 * A key's secrets are in a separate table, so that a rotated key keeps its id and its spending. The current secret has
 * no `ends_at`. A limited number of rows of revoked keys is kept (keys/keys.ts).
 */
export const KEYS_SCHEMA = `
CREATE TABLE key_salt (one INTEGER PRIMARY KEY CHECK (one = 1), salt BLOB NOT NULL) STRICT;
INSERT INTO key_salt VALUES (1, randomblob(32));

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
CREATE INDEX api_keys_of_workspace ON api_keys (workspace, created_at, id);

CREATE TABLE key_secrets (
  prefix TEXT PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES api_keys (id),
  hash BLOB NOT NULL,
  pepper TEXT NOT NULL,
  ends_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX key_secrets_of_key ON key_secrets (key_id);

CREATE TABLE spending (
  workspace TEXT NOT NULL,
  key_id TEXT NOT NULL,
  day TEXT NOT NULL,
  model TEXT NOT NULL,
  currency TEXT NOT NULL,
  uses INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL,
  PRIMARY KEY (workspace, key_id, day, model, currency)
) STRICT, WITHOUT ROWID;
CREATE INDEX spending_of_key ON spending (key_id, day);
CREATE INDEX spending_by_day ON spending (day) WHERE length(day) = 10;

CREATE TABLE audit (
  workspace TEXT NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT,
  PRIMARY KEY (workspace, number)
) STRICT, WITHOUT ROWID;
`;
