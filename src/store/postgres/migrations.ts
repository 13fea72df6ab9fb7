/** The tables of the task store in PostgreSQL, as migration steps. */
import type { PostgresSchema } from '../../base/postgres/index.ts';
import { APPEND_1, APPEND_2 } from './append-function.ts';

/**
 * Ids are compared by bytes (COLLATE "C"). JSON is stored as text, because jsonb refuses \u0000 and changes the order
 * of fields. Times are in milliseconds.
 *
 * An update of a task without a new status changes no indexed column. If its page has room (fillfactor), no index is
 * written (a HOT update). Tables with many changed or deleted rows are vacuumed early, so that their space is reused.
 */
const STEPS: readonly string[] = [
  `
  CREATE TABLE parley.meta (key text PRIMARY KEY, value bytea NOT NULL);

  -- The scopes of tasks. In the other tables, a number stands for the tenant and the owner. Both may be long, so their
  -- hash is the key.
  CREATE TABLE parley.scopes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea NOT NULL UNIQUE,
    tenant text NOT NULL,
    owner text NOT NULL
  );

  -- The heads of tasks. The status is in entry status_seq of the log. node and epoch say which process may append.
  CREATE TABLE parley.tasks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id text COLLATE "C" NOT NULL UNIQUE,
    scope bigint NOT NULL,
    context_id text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    seq integer NOT NULL,
    status_seq integer NOT NULL,
    -- Position in lists: the time of the last status change on the clock of the database, in 1/1024 milliseconds.
    changed bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    -- Time of the last append, if its last entry is an artifact event.
    artifact_at bigint,
    -- Rough size of the log, and the part of it that is in the counters.
    bytes bigint NOT NULL,
    counted bigint NOT NULL,
    epoch integer NOT NULL DEFAULT 0,
    node text COLLATE "C"
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
  CREATE INDEX tasks_by_state ON parley.tasks (scope, state, changed, id);
  CREATE INDEX tasks_by_context ON parley.tasks (scope, context_id, state, changed, id);
  CREATE INDEX tasks_by_expiry ON parley.tasks (expires_at, id) WHERE expires_at IS NOT NULL;
  CREATE INDEX tasks_finished ON parley.tasks (changed, id)
    WHERE state IN ('completed', 'canceled', 'failed', 'rejected');
  CREATE INDEX tasks_unfinished ON parley.tasks (node, id) WHERE state IN ('submitted', 'working');

  -- The logs.
  CREATE TABLE parley.events (
    task bigint NOT NULL,
    seq integer NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (task, seq)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);

  CREATE TABLE parley.messages (
    scope bigint NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    task bigint NOT NULL,
    PRIMARY KEY (scope, message_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX messages_by_task ON parley.messages (task);

  -- The number and the size of the tasks of a scope in each state. A count is the sum of several rows (shards), so that
  -- appends on different connections rarely wait for each other.
  CREATE TABLE parley.counters (
    scope bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    shard smallint NOT NULL,
    n bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (scope, state, shard)
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

  -- The order of the ids is the order in which webhooks were first saved. config is JSON, encrypted if sealed is true.
  -- due_at is the time of the next attempt; 0 means now. It is NULL if there is nothing to deliver.
  CREATE TABLE parley.push (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task bigint NOT NULL,
    config_id text COLLATE "C" NOT NULL,
    version text NOT NULL,
    config bytea NOT NULL,
    sealed boolean NOT NULL,
    view text,
    cursor integer NOT NULL,
    attempts integer NOT NULL,
    failing_since bigint,
    due_at bigint,
    UNIQUE (task, config_id)
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX push_by_due ON parley.push (due_at, id) WHERE due_at IS NOT NULL;

  -- Events that could not be delivered.
  CREATE TABLE parley.dead_letters (
    push bigint NOT NULL,
    seq integer NOT NULL,
    scope bigint NOT NULL,
    reason text NOT NULL,
    attempts integer NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (push, seq)
  );
  CREATE INDEX dead_letters_by_scope ON parley.dead_letters (scope, at, seq);

  INSERT INTO parley.meta VALUES
    ('cursor_key', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')),
    ('secret_salt', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'));
  `,
  APPEND_1,
  APPEND_2,
  `
  -- For the check of readiness, which inserts rows that need new pages, and rolls back (NodeDatabase.probe). A row fills
  -- a page. The rows are not in the write-ahead log. They are vacuumed early, and the file becomes empty again.
  CREATE UNLOGGED TABLE parley.probe (data bytea NOT NULL)
    WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50);
  ALTER TABLE parley.probe ALTER data SET STORAGE PLAIN;
  `,
];

/** The tables of the task store. */
export const TASKS: PostgresSchema = { name: 'tasks', steps: STEPS };
