/** The tables of the task store, as migration steps. */
import type { Schema } from '../base/sqlite/index.ts';

/**
 * The condition of the index `tasks_finished`. SQLite uses the index only for queries with the same condition. If this
 * condition changes, a new migration step is needed, and the old step must keep its text.
 */
export const FINISHED =
  "(state = 'completed' OR state = 'canceled' OR state = 'failed' OR state = 'rejected')";

const STEPS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

  -- The scopes of tasks. In the other tables, a small number stands for the tenant and the owner.
  CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tenant, owner)
  );

  -- The data for finding and listing tasks. The status is in entry status_seq of the log. The version of the task is
  -- the number of its last entry, so that an append without a new status does not change this row.
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

  -- The rows are in the order of arrival, so that a batch for many tasks fills a few pages instead of changing one page
  -- for each task. Writing takes a third less time than with a table that is sorted by task. The index finds the
  -- entries of a task.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- JSON array of the message ids in this entry. They are needed when the task is deleted.
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

  -- The number of tasks of a scope in each state.
  CREATE TABLE counters (
    scope INTEGER NOT NULL,
    state TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
  ) WITHOUT ROWID;

  -- The order of the ids is the order in which webhooks were first saved. config is JSON, as text or encrypted.
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
  -- Tasks that never expire are not in the index.
  ALTER TABLE tasks ADD COLUMN expires_at INTEGER;
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;

  -- In the index, the state comes before the change, so that tasks in a rare state are found fast in a large context.
  DROP INDEX tasks_by_context;
  CREATE INDEX tasks_by_context ON tasks (scope, context_id, state, changed);
  `,

  `
  -- The view in which a webhook gets the events of its task. NULL if the agent has no views.
  ALTER TABLE push ADD COLUMN view TEXT;
  `,

  `
  -- The progress of a webhook. due_at is the time of the next attempt; 0 means now. It is NULL if there is nothing to
  -- deliver until the task continues.
  ALTER TABLE push ADD COLUMN cursor INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE push ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE push ADD COLUMN failing_since INTEGER;
  ALTER TABLE push ADD COLUMN due_at INTEGER;
  CREATE INDEX push_by_due ON push (due_at) WHERE due_at IS NOT NULL;

  -- Earlier versions did not store which events were delivered, so existing webhooks get only new events.
  UPDATE push SET cursor = coalesce((SELECT max(seq) FROM events WHERE task = push.task), 0);
  UPDATE push SET due_at = 0 WHERE task IN
    (SELECT id FROM tasks WHERE state NOT IN ('completed', 'canceled', 'failed', 'rejected'));

  -- Events that could not be delivered.
  CREATE TABLE dead_letters (
    push INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (push, seq)
  ) WITHOUT ROWID;
  CREATE INDEX dead_letters_by_scope ON dead_letters (scope, at);
  `,

  `
  -- The time of an append, in milliseconds. Only its last entry has it, and only if that is an artifact event, because
  -- other events contain their time.
  ALTER TABLE events ADD COLUMN at INTEGER;
  `,

  `
  -- Finished tasks of all scopes in the order in which they ended, for retention.
  CREATE INDEX tasks_finished ON tasks (changed)
    WHERE state IN ('completed', 'canceled', 'failed', 'rejected');
  `,

  `
  -- For IN, SQLite would build a temporary table with the states each time that a task is stored.
  DROP INDEX tasks_finished;
  CREATE INDEX tasks_finished ON tasks (changed) WHERE ${FINISHED};
  `,
];

/** The application id is "Prly" in ASCII. */
export const STORE: Schema = { applicationId: 0x50726c79, steps: STEPS };
