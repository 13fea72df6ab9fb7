/** Reads usage from the register. The statement depends on the dimensions, so it is prepared for each request. */
import type { DatabaseSync } from 'node:sqlite';
import { NANOS } from './grant.ts';
import {
  type Dimension,
  isByTask,
  type UsagePage,
  type UsageQuery,
  type UsageRow,
} from './usage.ts';

const COLUMNS: Readonly<Record<Dimension, readonly string[]>> = {
  day: ['day'],
  key: ['key_id', 'subject'],
  subject: ['subject'],
  model: ['model'],
  agent: ['agent'],
  context: ['context_id'],
  task: ['task_id'],
};
const FILTERS = {
  key: 'key_id',
  subject: 'subject',
  model: 'model',
  agent: 'agent',
  context: 'context_id',
  task: 'task_id',
} as const;
const KEY_NAME = '(SELECT name FROM api_keys WHERE id = key_id)';
const FILTER_NAMES = ['key', 'subject', 'model', 'agent', 'context', 'task'] as const;

export function readUsage(db: DatabaseSync, workspace: string, query: UsageQuery): UsagePage {
  const { by, filter = {}, from, to, limit, offset } = query;
  const columns = [...new Set(by.flatMap((dimension) => COLUMNS[dimension]))];
  const used = FILTER_NAMES.filter((name) => filter[name] !== undefined);
  // total() returns a float. So a very large sum is rounded and does not cause an error.
  const statement = db.prepare(`
    SELECT ${[...columns, 'currency'].join(', ')},
           ${columns.includes('key_id') ? KEY_NAME : 'NULL'} AS key_name,
           total(uses) AS calls, total(failures) AS failures, total(nanos) AS nanos,
           total(input_tokens) AS inputTokens, total(output_tokens) AS outputTokens
    FROM ${isByTask(query) ? 'task_spending' : 'spending'}
    WHERE workspace = $workspace
      -- A row of a whole month is included if the range contains one of its days.
      AND day >= substr($from, 1, length(day)) AND day <= $to
      ${used.map((name) => `AND ${FILTERS[name]} = $${name}`).join(' ')}
    GROUP BY ${[...columns, 'currency'].join(', ')}
    ORDER BY ${[...columns.map((name) => (name === 'day' ? 'day DESC' : name)), 'currency'].join(', ')}
    LIMIT $limit OFFSET $offset`);
  const values = Object.fromEntries(used.map((name) => [name, filter[name] ?? '']));
  const rows = statement.all({ workspace, from, to, limit: limit + 1, offset, ...values });
  return {
    rows: rows.slice(0, limit).map(usageRow),
    next: rows.length > limit ? offset + limit : undefined,
  };
}

function usageRow(row: Readonly<Record<string, unknown>>): UsageRow {
  const currency = String(row['currency']);
  const named = (name: string, column: string) =>
    (row[column] ?? '') === '' ? {} : { [name]: String(row[column]) };
  return {
    ...named('day', 'day'),
    ...named('keyId', 'key_id'),
    ...named('keyName', 'key_name'),
    ...named('subject', 'subject'),
    ...named('model', 'model'),
    ...named('agent', 'agent'),
    ...named('contextId', 'context_id'),
    ...named('taskId', 'task_id'),
    calls: Number(row['calls']),
    failures: Number(row['failures']),
    inputTokens: Number(row['inputTokens']),
    outputTokens: Number(row['outputTokens']),
    ...(currency !== '' && { cost: { amount: Number(row['nanos']) / NANOS, currency } }),
  };
}
