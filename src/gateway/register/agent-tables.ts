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

-- Which of the agent's own tasks and contexts a task of ours stands for. The newest has the highest id, so that old
-- ones are found without an index of their age.
CREATE TABLE links (
  id INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL,
  agent TEXT NOT NULL,
  task_id TEXT NOT NULL,
  context_id TEXT NOT NULL,
  remote_task_id TEXT,
  remote_context_id TEXT,
  saved_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX links_by_task ON links (workspace, agent, task_id);
CREATE INDEX links_by_context ON links (workspace, agent, context_id);
`;
