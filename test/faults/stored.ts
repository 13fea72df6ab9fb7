/** Reads what a run has stored, for the checkers. */
import type { Pool } from 'pg';
import type { StoredBudget } from './budget-checker.ts';
import type { StoredTask } from './checker.ts';
import type { BudgetHolder } from './gateway-clients.ts';
import { CURRENCY, PRICE } from './names.ts';

/** Reads the tasks. `hasTools` if the agent of agent.ts has executed them. */
export async function storedTasks(db: Pool, hasTools: boolean): Promise<StoredTask[]> {
  const runs = hasTools
    ? '(SELECT count(*)::integer FROM public.tool_runs r WHERE r.task_id = t.task_id)'
    : '0';
  const { rows } = await db.query<StoredTask & { log: { seq: number; json: string }[] }>(`
    SELECT t.task_id AS "taskId", t.seq, t.state, t.epoch,
      (SELECT json_agg(json_build_object('seq', e.seq, 'json', e.json) ORDER BY e.seq)
         FROM parley.events e WHERE e.task = t.id) AS log,
      (SELECT coalesce(json_agg(m.message_id), '[]') FROM parley.messages m WHERE m.task = t.id) AS "messageIds",
      ${runs} AS "toolRuns"
    FROM parley.tasks t ORDER BY t.id`);
  return rows.map(({ log, ...task }) =>
    Object.assign(task, {
      entries: log.map(({ seq, json }) => ({ seq, event: JSON.parse(json) })),
    }),
  );
}

/** Returns the number of tasks that are not settled, and of webhooks that have not got all events. */
export async function unsettled(db: Pool): Promise<number> {
  const { rows } = await db.query<{ open: number }>(
    `SELECT ((SELECT count(*) FROM parley.tasks WHERE state IN ('submitted', 'working'))
           + (SELECT count(*) FROM parley.push WHERE due_at IS NOT NULL))::integer AS open`,
  );
  return rows[0]?.open ?? 0;
}

/** Reads the budgets, in tokens. Amounts are divided by the price of a token. */
export async function storedBudgets(
  db: Pool,
  holders: readonly BudgetHolder[],
): Promise<StoredBudget[]> {
  const given = holders.map(({ name, counter, isMoney, keyIds }) => ({
    name,
    counter,
    keys: keyIds,
    currency: isMoney ? CURRENCY : '',
  }));
  const either = (money: string, tokens: string) =>
    `round(CASE WHEN h.currency <> '' THEN ${money} / $2::float8 ELSE ${tokens} END)::integer`;
  const { rows } = await db.query<Omit<StoredBudget, 'tokens'>>(
    `SELECT h.name AS "holder", ${either('s.nanos', 's.tokens')} AS spent,
       ${either('coalesce(c.nanos, 0)', 'coalesce(c.tokens, 0)')} AS counted,
       ${either('coalesce(c.reserved_nanos, 0)', 'coalesce(c.reserved_tokens, 0)')} AS reserved,
       (SELECT coalesce(json_agg(json_build_object('owner', r.owner, 'isRecovered', r.recovered,
           'tokens', ${either('r.nanos', 'r.tokens')},
           'counted', ${either('(r.input_nanos + r.seen_tokens * r.output_price)', '(r.input_tokens + r.seen_tokens)')}
         )), '[]') FROM parley.reservations r WHERE r.key_id = ANY (h.keys) AND r.agent = '') AS left
     FROM json_to_recordset($1) AS h (name text, counter text, keys text[], currency text)
     CROSS JOIN LATERAL (
       SELECT coalesce(sum(input_tokens + output_tokens), 0) AS tokens, coalesce(sum(nanos), 0) AS nanos
       FROM parley.spending WHERE key_id = ANY (h.keys)) s
     LEFT JOIN parley.budget_counters c
       ON c.holder = h.counter AND c.period = 'total' AND c.currency = h.currency`,
    [JSON.stringify(given), PRICE * 1e9],
  );
  const tokens = new Map(holders.map((holder) => [holder.name, holder.tokens]));
  return rows.map((row) => Object.assign(row, { tokens: tokens.get(row.holder) ?? 0 }));
}

/** The owners of unfinished tasks, which helps to find out why nobody executes them. */
export async function unfinished(db: Pool): Promise<unknown> {
  const { rows: nodes } = await db.query('SELECT * FROM parley.nodes');
  const { rows: tasks } = await db.query(
    `SELECT task_id, state, seq, node, epoch FROM parley.tasks WHERE state IN ('submitted', 'working')`,
  );
  return { nodes, tasks };
}
