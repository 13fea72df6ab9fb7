/**
 * The register's tables for budgets. Money is in billionths of its currency.
 *
 * `spending` has one row for each combination of workspace, day, caller, target (model or agent) and currency. Old
 * usage has rows for months instead of days. The caller is in `key_id`, or in `subject` for callers with a JWT. An
 * unused column is empty.
 *
 * `budget_counters` has the sums that are compared with budgets. Each row belongs to a holder (a workspace, key,
 * subject or task) and a period. A row is created from `spending` and `reservations` when it is first needed. From then
 * on, each call of the holder in this period updates it.
 *
 * `task_spending` has one row per call of a task, for a limited time and with a maximum number of rows per workspace.
 * The rows of a workspace are numbered. There is no index for tasks, because every call would have to update it. So
 * queries read all rows of the workspace. Calls without a task have an empty `task_id`. All such calls with the same
 * day, context, caller, model or agent, and currency share a row.
 *
 * `reservations` has one row for each call that is in progress and counts towards a budget. `owner` is the process.
 * After a crash, the next process counts an estimate for each row that no resumed task takes over: the prompt, and the
 * part of the answer that had arrived. A process also does this for each expired reservation. In both cases it sets
 * `recovered`, and keeps the row for a month. If the call ends later, only the difference between its usage and the
 * estimate is counted.
 */
export const BUDGETS_SCHEMA = `
CREATE TABLE spending_of_callers (
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
  nanos INTEGER NOT NULL,
  PRIMARY KEY (workspace, day, key_id, subject, model, agent, currency)
) STRICT, WITHOUT ROWID;
INSERT INTO spending_of_callers
  SELECT workspace, day, key_id, '', model, '', currency, uses, input_tokens, output_tokens, nanos FROM spending;
DROP TABLE spending;
ALTER TABLE spending_of_callers RENAME TO spending;
CREATE INDEX spending_of_key ON spending (key_id, day);
CREATE INDEX spending_of_subject ON spending (workspace, subject, day) WHERE subject <> '';
CREATE INDEX spending_by_day ON spending (day) WHERE length(day) = 10;

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
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_of_workspace ON reservations (workspace, day);
CREATE INDEX reservations_by_expiry ON reservations (expires_at);
`;

/**
 * Adds columns for failed calls, for the contexts of reservations, and for the names of keys in the audit log. Also
 * adds the table `task_spending`.
 */
export const ATTRIBUTION_SCHEMA = `
ALTER TABLE spending ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN context_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN actor_name TEXT;

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
CREATE UNIQUE INDEX task_spending_without_task
  ON task_spending (workspace, day, context_id, key_id, subject, model, agent, currency) WHERE task_id = '';
`;

export const RECOVERED_SCHEMA =
  'ALTER TABLE reservations ADD COLUMN recovered INTEGER NOT NULL DEFAULT 0;';
