/**
 * Reads usage from the register (the gateway's database). The SQL depends on the requested dimensions, so it is
 * prepared for each request.
 */
import { type Row, type SqlValue, statement, type Steps } from '../register/register.ts';
import { NANOS } from './grant.ts';
import {
  COLUMNS,
  FILTERS,
  isByTask,
  type UsagePage,
  type UsageQuery,
  type UsageRow,
} from './usage.ts';

const KEY_NAME = '(SELECT name FROM api_keys WHERE id = key_id)';

/**
 * The names of all workspaces with usage. Each name is found with one lookup in the primary key, so that the other rows
 * of its workspace are not read.
 */
const ALL_WORKSPACES = `
    WITH RECURSIVE used (by_workspace) AS (
      SELECT min(workspace) FROM spending
      UNION ALL
      SELECT (SELECT min(workspace) FROM spending WHERE workspace > by_workspace) FROM used
      WHERE by_workspace IS NOT NULL)`;

/** Reads the usage of a workspace, or of all workspaces if it is undefined. */
export function* readUsage(workspace: string | undefined, query: UsageQuery): Steps<UsagePage> {
  const { by, filter = {}, from, to, limit, offset } = query;
  const columns = [...new Set(by.flatMap((dimension) => COLUMNS[dimension]))];
  const used = FILTERS.filter((name) => filter[name] !== undefined);
  // With 1.0, SQLite computes a float. So a very large sum is rounded and does not cause an error.
  const sum = (column: string) => `sum(${column} * 1.0)`;
  const table = isByTask(query) ? 'task_spending' : 'spending';
  const read = statement(`
    ${workspace === undefined ? ALL_WORKSPACES : ''}
    SELECT ${[...columns, 'currency'].join(', ')},
           ${columns.includes('key_id') ? KEY_NAME : 'NULL'} AS key_name,
           ${sum('uses')} AS calls, ${sum('failures')} AS failures, ${sum('nanos')} AS nanos,
           ${sum('input_tokens')} AS input_tokens, ${sum('output_tokens')} AS output_tokens
    FROM ${workspace === undefined ? `used CROSS JOIN ${table}` : table}
    WHERE workspace = ${workspace === undefined ? 'by_workspace' : '$workspace'}
      -- A row of a whole month is included if the range contains one of its days. The first condition can use an index.
      AND day >= substr($from, 1, 7) AND day >= substr($from, 1, length(day)) AND day <= $to
      ${used.map((name) => `AND ${COLUMNS[name][0]} = $${name}`).join(' ')}
    GROUP BY ${[...columns, 'currency'].join(', ')}
    ORDER BY ${[...columns.map((name) => (name === 'day' ? 'day DESC' : name)), 'currency'].join(', ')}
    LIMIT $limit OFFSET $offset`);
  const values: Record<string, SqlValue> = Object.fromEntries(
    used.map((name) => [name, filter[name] ?? '']),
  );
  if (workspace !== undefined) values['workspace'] = workspace;
  const rows = yield* read.all({ from, to, limit: limit + 1, offset, ...values });
  return {
    rows: rows.slice(0, limit).map(usageRow),
    next: rows.length > limit ? offset + limit : undefined,
  };
}

function usageRow(row: Row): UsageRow {
  const currency = String(row['currency']);
  const named = (name: string, column: string) =>
    (row[column] ?? '') === '' ? {} : { [name]: String(row[column]) };
  return {
    ...named('day', 'day'),
    ...named('workspaceId', 'workspace'),
    ...named('keyId', 'key_id'),
    ...named('keyName', 'key_name'),
    ...named('subject', 'subject'),
    ...named('model', 'model'),
    ...named('agent', 'agent'),
    ...named('contextId', 'context_id'),
    ...named('taskId', 'task_id'),
    calls: Number(row['calls']),
    failures: Number(row['failures']),
    inputTokens: Number(row['input_tokens']),
    outputTokens: Number(row['output_tokens']),
    ...(currency !== '' && { cost: { amount: Number(row['nanos']) / NANOS, currency } }),
  };
}
