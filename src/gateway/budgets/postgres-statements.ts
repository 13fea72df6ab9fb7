/**
 * The statements of the budget store in PostgreSQL. Rows are given as JSON, so that one statement can store many rows.
 */
import { isAlive } from '../../store/index.ts';
import { REGISTER_LOCKS } from '../register/advisory-locks.ts';
import { statement } from '../register/register.ts';
import { added, CALLER, NUMBERS } from './shared-store.ts';

const { counters: COUNTERS_LOCK, fold: FOLD_LOCK } = REGISTER_LOCKS;

const COUNTER = 'calls, tokens, nanos, reserved_tokens, reserved_nanos';
const COUNTER_TYPES = `holder text, period text, currency text, calls bigint, tokens bigint, nanos bigint,
  reserved_tokens bigint, reserved_nanos bigint, used_on text`;
const USAGE_TYPES = `workspace text, day text, context_id text, task_id text, key_id text, subject text, model text,
  agent text, currency text, uses bigint, failures bigint, input_tokens bigint, output_tokens bigint, nanos bigint`;
const RESERVATION = `id, owner, expires_at, workspace, key_id, subject, task_id, context_id, day, model, agent, currency,
  input_tokens, seen_tokens, input_nanos, output_price, tokens, nanos`;
const RESERVATION_TYPES = `id text, owner text, expires_at bigint, workspace text, key_id text, subject text, task_id text,
  context_id text, day text, model text, agent text, currency text, input_tokens bigint, seen_tokens bigint,
  input_nanos bigint, output_price double precision, tokens bigint, nanos bigint`;

const rowsOf = (types: string) => `json_to_recordset($rows::json) AS given (${types})`;
export const BUDGET_SQL = {
  /**
   * Every transaction that reserves, settles or recovers calls takes this lock in shared mode. A transaction that
   * creates the counter of a workspace, key or subject takes the lock in exclusive mode (`alone`), because it computes
   * the counter from usage and reservations. Usage and reservations must not change during the computation.
   */
  share: statement(`SELECT pg_advisory_xact_lock_shared(${COUNTERS_LOCK})`),
  alone: statement(`SELECT pg_advisory_xact_lock(${COUNTERS_LOCK})`),
  /** Locks the counters, always in the same order, to avoid deadlocks. */
  lockCounters: statement(`
    SELECT holder, period, currency, ${COUNTER} FROM budget_counters
    WHERE (holder, period) IN (SELECT holder, period FROM ${rowsOf('holder text, period text')})
    ORDER BY holder, period, currency FOR UPDATE`),
  addCounters: statement(`
    INSERT INTO budget_counters (holder, period, currency, ${COUNTER}, used_on)
    SELECT holder, period, currency, ${COUNTER}, used_on FROM ${rowsOf(COUNTER_TYPES)}
    ORDER BY holder, period, currency ON CONFLICT DO NOTHING`),
  setCounters: statement(`
    UPDATE budget_counters SET calls = given.calls, tokens = given.tokens, nanos = given.nanos,
      reserved_tokens = given.reserved_tokens, reserved_nanos = given.reserved_nanos, used_on = given.used_on
    FROM ${rowsOf(COUNTER_TYPES)}
    WHERE budget_counters.holder = given.holder AND budget_counters.period = given.period
      AND budget_counters.currency = given.currency`),
  addReservations: statement(`
    INSERT INTO reservations (${RESERVATION}) SELECT ${RESERVATION} FROM ${rowsOf(RESERVATION_TYPES)}`),
  takeReservations: statement(`
    DELETE FROM reservations WHERE id IN (SELECT id FROM ${rowsOf('id text')}) RETURNING *`),
  adopt: statement(`
    UPDATE reservations SET owner = $owner, left_at = NULL
    WHERE workspace = $workspace AND task_id = $task AND agent <> '' AND owner <> $owner AND NOT recovered RETURNING *`),
  /**
   * `markLeft` marks the reservations whose nodes are gone. `left` returns three kinds of reservations:
   * - the expired ones;
   * - the marked ones for calls to models;
   * - the marked ones for calls to agents, from `$adopt` seconds after the mark. Until then, `adopt` can take them
   *   over.
   */
  markLeft: statement(`
    UPDATE reservations SET left_at = clock_timestamp() WHERE id IN (
      SELECT r.id FROM reservations r WHERE NOT r.recovered AND r.left_at IS NULL AND NOT ${isAlive('r.owner')}
      ORDER BY r.id LIMIT 1000 FOR UPDATE SKIP LOCKED)`),
  left: statement(`
    SELECT r.* FROM reservations r
    WHERE NOT r.recovered AND (r.expires_at < $now OR r.left_at <=
      clock_timestamp() - make_interval(secs => CASE WHEN r.agent = '' THEN 0 ELSE $adopt::double precision END))
    ORDER BY r.id LIMIT 1000 FOR UPDATE OF r SKIP LOCKED`),
  markRecovered: statement(`
    UPDATE reservations SET recovered = true WHERE id IN (SELECT id FROM ${rowsOf('id text')})`),
  /**
   * Marks the batches as stored, and returns the batches that were not marked before. If another transaction is marking
   * one of them, waits until that transaction has ended.
   */
  mark: statement(`
    INSERT INTO settled (batch) SELECT id FROM ${rowsOf('id text')} ON CONFLICT DO NOTHING RETURNING batch`),
  addUsage: statement(`
    INSERT INTO spending (${CALLER}, ${NUMBERS}) SELECT ${CALLER}, ${NUMBERS} FROM ${rowsOf(USAGE_TYPES)}
    ORDER BY ${CALLER} ON CONFLICT (${CALLER}) DO UPDATE SET ${added('spending', 'least')}`),
  addTasks: statement(`
    INSERT INTO task_spending (context_id, task_id, ${CALLER}, ${NUMBERS})
    SELECT context_id, task_id, ${CALLER}, ${NUMBERS} FROM ${rowsOf(USAGE_TYPES)}
    ORDER BY ${CALLER}, context_id
    ON CONFLICT (workspace, day, context_id, key_id, subject, model, agent, currency) WHERE task_id = ''
    DO UPDATE SET ${added('task_spending', 'least')}`),
  trimTasks: statement(`
    DELETE FROM task_spending WHERE workspace = $workspace AND number <=
      (SELECT number FROM task_spending WHERE workspace = $workspace ORDER BY number DESC LIMIT 1 OFFSET $kept)`),

  mayFold: statement(`SELECT pg_try_advisory_xact_lock(${FOLD_LOCK}) AS alone`),
  dropSettled: statement("DELETE FROM settled WHERE at < now() - interval '1 day'"),
  dropBuckets: statement("DELETE FROM rate_buckets WHERE at < now() - interval '1 day'"),
};
