/**
 * The function in the database that appends a batch: one round trip and one transaction for all appends of a batch.
 *
 * For each append, the function checks the sequence number, the scope, the epoch and the message ids, and then writes
 * the entries and the head. It returns one character per append: `1` if the append was written, `0` for a conflict. The
 * counters are updated last, in a fixed order, so that two batches cannot deadlock while they update the counters.
 *
 * Older nodes may still run after the database was migrated to a newer version. So a changed function gets a new name.
 */

/** Separates the message ids of an append. `toPostgresText` never returns a text that contains it. */
export const ID_SEPARATOR = '\uffff\uffff';
/** Separates the logs of the appends. A log never contains this character, because JSON.stringify escapes it. */
export const LOG_SEPARATOR = '\x1e';

/**
 * These settings make PostgreSQL prefer plain index scans. Without them, PostgreSQL could plan the statements of the
 * function while the tables are almost empty, and keep the plans while the tables grow. Such plans may read whole
 * tables.
 */
const SETTINGS =
  'SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan';

/**
 * Returns the statement that creates a version of the function. `logArray` is an SQL expression that returns the logs
 * as an array.
 *
 * `node_id` is the node of new tasks that have an epoch. The other parameters are arrays with one element per append,
 * except for the logs of `append_2`, which are one text. A log has the JSON of the entries of an append, one per line.
 * The status after an append depends on the state before it: `open_*` is for a new task and for a task that has not
 * ended, and `done_*` is for a completed task. NULL means that the status stays as it is. The status of a task that has
 * failed, or was canceled or rejected, never changes. `positions` orders the tasks of a batch in lists: a task with a
 * higher position counts as changed later.
 */
function appendFunction(version: { name: string; logs: string; logArray: string }): string {
  const { name, logs, logArray } = version;
  return `
CREATE FUNCTION parley.${name}(
  node_id text, task_ids text[], scopes bigint[], context_ids text[], expected_seqs integer[], counts integer[],
  epochs integer[], logs ${logs}, message_lists text[], open_states text[], open_seqs integer[], done_states text[],
  done_seqs integer[], sizes bigint[], artifact_times bigint[], expiry_times bigint[], positions integer[]
) RETURNS text LANGUAGE plpgsql ${SETTINGS} AS $$
DECLARE
  a record;
  t record;
  outcomes text := '';
  base bigint := extract(epoch FROM clock_timestamp()) * 1024000;
  now_at bigint;
  ids text[];
  new_state text;
  new_seq integer;
  new_size bigint;
  row_id bigint;
  moved_scopes bigint[] := '{}';
  moved_states text[] := '{}';
  moved_numbers bigint[] := '{}';
  moved_sizes bigint[] := '{}';
BEGIN
  FOR a IN
    SELECT * FROM unnest(task_ids, scopes, context_ids, expected_seqs, counts, epochs, ${logArray}, message_lists,
      open_states, open_seqs, done_states, done_seqs, sizes, artifact_times, expiry_times, positions)
      AS u (task_id, scope, context_id, expected, entries, epoch, log, messages, open_state, open_seq, done_state,
        done_seq, size, artifact_at, expires_at, position)
  LOOP
    now_at := base + a.position;
    ids := string_to_array(a.messages, U&'\\FFFF\\FFFF');
    IF ids IS NOT NULL AND EXISTS
      (SELECT FROM parley.messages m WHERE m.scope = a.scope AND m.message_id = ANY (ids)) THEN
      outcomes := outcomes || '0';
      CONTINUE;
    END IF;
    IF a.expected = 0 THEN
      INSERT INTO parley.tasks AS k (task_id, scope, context_id, state, seq, status_seq, changed, created_at,
          expires_at, artifact_at, bytes, counted, epoch, node)
        VALUES (a.task_id, a.scope, a.context_id, a.open_state, a.entries, a.open_seq, now_at, now_at / 1024,
          a.expires_at, a.artifact_at, a.size, a.size, coalesce(a.epoch, 0),
          CASE WHEN a.epoch IS NOT NULL THEN node_id END)
        ON CONFLICT (task_id) DO NOTHING RETURNING k.id INTO row_id;
      IF row_id IS NULL THEN
        outcomes := outcomes || '0';
        CONTINUE;
      END IF;
      moved_scopes := moved_scopes || a.scope;
      moved_states := moved_states || a.open_state;
      moved_numbers := moved_numbers || 1::bigint;
      moved_sizes := moved_sizes || a.size;
    ELSE
      SELECT k.id, k.state, k.counted INTO t FROM parley.tasks k
        WHERE k.task_id = a.task_id AND k.seq = a.expected AND k.scope = a.scope
          AND (a.epoch IS NULL OR k.epoch = a.epoch)
        FOR NO KEY UPDATE;
      row_id := t.id;
      IF row_id IS NULL THEN
        outcomes := outcomes || '0';
        CONTINUE;
      END IF;
      new_state := CASE
        WHEN t.state = 'completed' THEN a.done_state
        WHEN t.state IN ('failed', 'canceled', 'rejected') THEN NULL
        ELSE a.open_state END;
      new_seq := CASE WHEN t.state = 'completed' THEN a.done_seq ELSE a.open_seq END;
      IF new_state IS NULL THEN
        UPDATE parley.tasks k SET
            seq = a.expected + a.entries, artifact_at = a.artifact_at, bytes = k.bytes + a.size
          WHERE k.id = row_id;
      ELSE
        UPDATE parley.tasks k SET
            seq = a.expected + a.entries, artifact_at = a.artifact_at, bytes = k.bytes + a.size,
            state = new_state, status_seq = new_seq, changed = greatest(k.changed + 1, now_at),
            counted = CASE WHEN k.state = new_state THEN k.counted ELSE k.bytes + a.size END
          WHERE k.id = row_id RETURNING k.counted INTO new_size;
        IF new_state <> t.state THEN
          moved_scopes := moved_scopes || a.scope || a.scope;
          moved_states := moved_states || t.state || new_state;
          moved_numbers := moved_numbers || (-1)::bigint || 1::bigint;
          moved_sizes := moved_sizes || -t.counted || new_size;
        END IF;
      END IF;
      IF t.state NOT IN ('submitted', 'working', 'unknown') THEN
        UPDATE parley.push p SET due_at = 0 WHERE p.task = row_id AND p.due_at IS NULL;
      END IF;
    END IF;
    IF ids IS NOT NULL THEN
      INSERT INTO parley.messages (scope, message_id, task)
        SELECT DISTINCT a.scope, m.id, row_id FROM unnest(ids) AS m (id);
    END IF;
    INSERT INTO parley.events (task, seq, json)
      SELECT row_id, a.expected + e.n, e.json
      FROM unnest(string_to_array(a.log, E'\\n')) WITH ORDINALITY AS e (json, n);
    outcomes := outcomes || '1';
  END LOOP;
  IF moved_scopes <> '{}' THEN
    INSERT INTO parley.counters AS c (scope, state, shard, n, bytes)
      SELECT u.scope, u.state, pg_backend_pid() % 8, sum(u.n), sum(u.bytes)
      FROM unnest(moved_scopes, moved_states, moved_numbers, moved_sizes) AS u (scope, state, n, bytes)
      GROUP BY u.scope, u.state ORDER BY u.scope, u.state
      ON CONFLICT (scope, state, shard) DO UPDATE SET n = c.n + excluded.n, bytes = c.bytes + excluded.bytes;
  END IF;
  RETURN outcomes;
END $$;
`;
}

/** Used only by older nodes. */
export const APPEND_1 = appendFunction({ name: 'append_1', logs: 'text[]', logArray: 'logs' });

/**
 * `logs` is one text, with LOG_SEPARATOR between the appends. The driver sends a text as it is. In an array it escapes
 * each element, which takes a second and hundreds of megabytes for a message of ten megabytes.
 */
export const APPEND_2 = appendFunction({
  name: 'append_2',
  logs: 'text',
  logArray: `string_to_array(logs, E'\\x1e')`,
});
