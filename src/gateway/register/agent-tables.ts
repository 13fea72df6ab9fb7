/** The register's tables for agents. */
export const AGENTS_SCHEMA = `
-- Agents that were registered over the API. Agents of the configuration are not stored here.
CREATE TABLE agents (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  -- The settings as JSON, without the headers.
  settings TEXT NOT NULL,
  -- The headers, encrypted; null if there are none.
  headers BLOB,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

-- Maps our tasks to the remote agent's tasks and contexts. The newest row has the highest id, so old rows are found
-- without an index on their age.
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

/**
 * Adds the data that is needed to resume a task: the sender and the headers of its last message, and the extensions of
 * its first message.
 */
export const SENDERS_SCHEMA = `
-- The sender as JSON, without the headers.
ALTER TABLE links ADD COLUMN sender TEXT NOT NULL DEFAULT '{}';
-- The forwarded headers, encrypted; null if there are none.
ALTER TABLE links ADD COLUMN headers BLOB;
`;

/**
 * Stores the ids of contexts in a separate table. If an agent answers with a message instead of a task, only the
 * context is stored. In a table without a second index, this takes a third of the time. In PostgreSQL, the ids stay in
 * the table `links`, because an additional statement would take longer than the update of the second index.
 */
export const LINK_CONTEXTS_SCHEMA = `
-- Maps our contexts to the remote agent's contexts.
CREATE TABLE link_contexts (
  workspace TEXT NOT NULL,
  agent TEXT NOT NULL,
  context_id TEXT NOT NULL,
  remote_context_id TEXT NOT NULL,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, agent, context_id)
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO link_contexts
  SELECT workspace, agent, context_id, remote_context_id, saved_at FROM links
  WHERE remote_context_id IS NOT NULL ORDER BY id;
DROP INDEX links_by_context;
`;
