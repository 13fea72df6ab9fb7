/** The tables of the task store, as migration steps. */
import type { Schema } from '../base/sqlite/index.ts';

const STEPS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

  -- Whose tasks: a small number stands for tenant and owner in every index.
  CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tenant, owner)
  );

  -- Just enough to find and list tasks. The status is entry status_seq of the log, and the task's version is the
  -- number of its last entry, so that an append without a new status leaves this row alone.
  CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    status_seq INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  );
  CREATE INDEX tasks_by_state ON tasks (scope, state, changed);
  CREATE INDEX tasks_by_context ON tasks (scope, context_id, changed, state);

  -- In the order of arrival, so that a batch for many tasks fills a few pages instead of touching one for each; the
  -- index finds a task's own. (A third cheaper to write than a table in the order of its key.)
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- JSON array of the message ids that came with this entry, for when the task is deleted.
    accepts TEXT,
    json TEXT NOT NULL
  );
  CREATE UNIQUE INDEX events_by_task ON events (task, seq);

  CREATE TABLE messages (
    scope INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (scope, message_id)
  ) WITHOUT ROWID;

  -- How many tasks of a scope are in a state.
  CREATE TABLE counters (
    scope INTEGER NOT NULL,
    state TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
  ) WITHOUT ROWID;

  -- id keeps the order in which webhooks were first saved. config is JSON, as text or sealed.
  CREATE TABLE push (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    config_id TEXT NOT NULL,
    version TEXT NOT NULL,
    config BLOB NOT NULL,
    UNIQUE (task, config_id)
  );

  INSERT INTO meta VALUES ('cursor_key', randomblob(32)), ('secret_salt', randomblob(16));
  `,

  `
  -- Tasks without an expiry are not in the index and cost nothing.
  ALTER TABLE tasks ADD COLUMN expires_at INTEGER;
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;

  -- The state before the change, so that the few tasks in one state are found among a context's many in another.
  DROP INDEX tasks_by_context;
  CREATE INDEX tasks_by_context ON tasks (scope, context_id, state, changed);
  `,
];

/** "Prly". */
export const STORE: Schema = { applicationId: 0x50726c79, steps: STEPS };
