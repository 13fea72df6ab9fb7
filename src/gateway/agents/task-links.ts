/**
 * Stores which task and context of a remote agent belong to our tasks and contexts. All links of one turn of the event
 * loop are stored in one transaction, because a commit for each proxied message would take more time than the message
 * itself.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';

export interface Link {
  readonly taskId: string;
  readonly workspace: string;
  readonly agent: string;
  readonly contextId: string;
  readonly remoteTaskId: string | undefined;
  readonly remoteContextId: string | undefined;
}

export interface TaskLinks {
  /** Returns the id of the agent's task, or undefined if there is no link. */
  task(workspace: string, agent: string, taskId: string): string | undefined;
  /** Returns the id of the agent's context, or undefined if there is no link. */
  context(workspace: string, agent: string, contextId: string): string | undefined;
  /** Stores the link. Resolves when the link is in the database. */
  save(link: Link): Promise<void>;
  /** Removes all links of the agent. */
  forget(workspace: string, agent: string): void;
  /** Removes old links in small steps. Never throws. */
  prune(now: number, signal: AbortSignal): Promise<void>;
}

/** How long a link is kept. */
const KEEP_MS = 90 * 86_400_000;
/** Maximum number of links that one transaction removes. It is limited because a transaction blocks the event loop. */
const PRUNE_AT_ONCE = 1000;

export function createTaskLinks({
  register,
  logger,
}: {
  register: Register;
  logger: Logger;
}): TaskLinks {
  const { db } = register;
  const findTask = db.prepare(
    'SELECT remote_task_id FROM links WHERE workspace = ? AND agent = ? AND task_id = ?',
  );
  const findContext = db.prepare(
    `SELECT remote_context_id FROM links
     WHERE workspace = ? AND agent = ? AND context_id = ? AND remote_context_id IS NOT NULL
     ORDER BY id DESC LIMIT 1`,
  );
  const save = db.prepare(
    `INSERT OR REPLACE INTO links
     (workspace, agent, task_id, context_id, remote_task_id, remote_context_id, saved_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const removeOldest = db.prepare(
    `DELETE FROM links WHERE id IN
       (SELECT id FROM (SELECT id, saved_at FROM links ORDER BY id LIMIT ${PRUNE_AT_ONCE}) WHERE saved_at < ?)`,
  );
  for (const statement of [findTask, findContext]) statement.setReturnArrays(true);
  let waiting: { link: Link; resolve: () => void; reject: (error: unknown) => void }[] = [];

  function flush(): void {
    const batch = waiting;
    waiting = [];
    try {
      const now = Date.now();
      register.transaction(() => {
        for (const { link } of batch) {
          const { taskId, workspace, agent, contextId } = link;
          const { remoteTaskId = null, remoteContextId = null } = link;
          save.run(workspace, agent, taskId, contextId, remoteTaskId, remoteContextId, now);
        }
      });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    task(workspace, agent, taskId) {
      const unsaved = waiting.findLast(
        ({ link }) =>
          link.taskId === taskId && link.agent === agent && link.workspace === workspace,
      );
      if (unsaved) return unsaved.link.remoteTaskId;
      return first(register.read(() => findTask.get(workspace, agent, taskId)));
    },
    context(workspace, agent, contextId) {
      const unsaved = waiting.findLast(
        ({ link }) =>
          link.contextId === contextId && link.agent === agent && link.workspace === workspace,
      );
      if (unsaved?.link.remoteContextId !== undefined) return unsaved.link.remoteContextId;
      return first(register.read(() => findContext.get(workspace, agent, contextId)));
    },
    save: (link) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ link, resolve, reject }) === 1) setImmediate(flush);
      }),
    forget(workspace, agent) {
      db.prepare('DELETE FROM links WHERE workspace = ? AND agent = ?').run(workspace, agent);
    },
    async prune(now, signal) {
      try {
        const removed = () => register.transaction(() => removeOldest.run(now - KEEP_MS).changes);
        while (!signal.aborted && removed() > 0) await nextTurn();
      } catch (error) {
        logger.warn({ err: error }, 'failed to remove old links to tasks of remote agents');
      }
    },
  };
}

function first(row: unknown): string | undefined {
  const value: unknown = Array.isArray(row) ? row[0] : undefined;
  return typeof value === 'string' ? value : undefined;
}
