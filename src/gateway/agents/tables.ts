/** The tables of agents in the register. */
export const AGENTS_SCHEMA = `
-- Agents that were registered over the API. Those of the configuration are not here.
CREATE TABLE agents (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  -- JSON, as the API shows it.
  settings TEXT NOT NULL,
  -- The headers, sealed; null where there are none.
  headers BLOB,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

-- Which of the agent's own tasks a task of ours stands for.
CREATE TABLE remote_tasks (
  task_id TEXT NOT NULL,
  workspace TEXT NOT NULL,
  agent TEXT NOT NULL,
  remote_task_id TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, agent, task_id)
) STRICT, WITHOUT ROWID;

-- And which of its contexts a context.
CREATE TABLE remote_contexts (
  workspace TEXT NOT NULL,
  agent TEXT NOT NULL,
  context_id TEXT NOT NULL,
  remote_context_id TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, agent, context_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX remote_tasks_by_age ON remote_tasks (updated_at);
CREATE INDEX remote_contexts_by_age ON remote_contexts (updated_at);
`;
