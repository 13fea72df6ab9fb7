/**
 * Stores links. A link contains the ids of the remote task and context that belong to our task and context, and the
 * sender of the task's last message. All links of one turn of the event loop are stored in one transaction, because a
 * commit for each proxied message would take more time than the message itself.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as z from 'zod';
import { SecretBox, secretKeys } from '../../store/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';
import { type Sender, StoredSender } from './sender.ts';

export interface Link {
  readonly taskId: string;
  readonly workspace: string;
  readonly agent: string;
  readonly contextId: string;
  readonly remoteTaskId: string | undefined;
  readonly remoteContextId: string | undefined;
  readonly sender: Sender;
}

export interface TaskLinks {
  /** Returns the id of the agent's task, or undefined if there is no link. */
  task(workspace: string, agent: string, taskId: string): string | undefined;
  /** Returns the id of the agent's context, or undefined if there is no link. */
  context(workspace: string, agent: string, contextId: string): string | undefined;
  /** Returns the sender of the task's last message, or undefined if there is no link. */
  sender(workspace: string, agent: string, taskId: string): Sender | undefined;
  /** Stores the link. Resolves when the link is in the database. */
  save(link: Link): Promise<void>;
  /** Removes all links of the agent. */
  forget(workspace: string, agent: string): void;
  /** Removes old links in small steps. Never throws. */
  prune(now: number, signal: AbortSignal): Promise<void>;
}

/** Time for which a link is kept. */
const KEEP_MS = 90 * 86_400_000;
/**
 * Maximum number of links that one transaction removes. The number is limited because a transaction blocks the event
 * loop.
 */
const PRUNE_AT_ONCE = 1000;

const Headers = z.record(z.string(), z.string());

interface Options {
  readonly register: Register;
  readonly logger: Logger;
  /** Encrypts the forwarded headers. If undefined, the headers are lost at a restart. */
  readonly secrets: SecretBox | undefined;
}

export function createTaskLinks({ register, logger, ...options }: Options): TaskLinks {
  let { secrets } = options;
  const { db } = register;
  const findTask = db.prepare(
    'SELECT remote_task_id FROM links WHERE workspace = ? AND agent = ? AND task_id = ?',
  );
  const findContext = db.prepare(
    `SELECT remote_context_id FROM links
     WHERE workspace = ? AND agent = ? AND context_id = ? AND remote_context_id IS NOT NULL
     ORDER BY id DESC LIMIT 1`,
  );
  const findSender = db.prepare(
    'SELECT sender, headers FROM links WHERE workspace = ? AND agent = ? AND task_id = ?',
  );
  const save = db.prepare(
    `INSERT OR REPLACE INTO links
     (workspace, agent, task_id, context_id, remote_task_id, remote_context_id, saved_at, sender, headers)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const removeOldest = db.prepare(
    `DELETE FROM links WHERE id IN
       (SELECT id FROM (SELECT id, saved_at FROM links ORDER BY id LIMIT ${PRUNE_AT_ONCE}) WHERE saved_at < ?)`,
  );
  for (const statement of [findTask, findContext]) statement.setReturnArrays(true);
  let waiting: { link: Link; resolve: () => void; reject: (error: unknown) => void }[] = [];

  /** Returns the SecretBox for the headers. If none is configured, creates one with a random key. */
  const box = () =>
    (secrets ??= new SecretBox(secretKeys({ secretKey: randomUUID() }), randomBytes(16)));

  function sealed(text: string, place: string): Uint8Array {
    try {
      return box().seal(text, place);
    } catch (error) {
      logger.warn(
        { err: error },
        'cannot encrypt headers for after a restart: set PARLEY_SECRET_KEY',
      );
      secrets = undefined;
      return box().seal(text, place);
    }
  }

  function flush(): void {
    const batch = waiting;
    waiting = [];
    try {
      const now = Date.now();
      register.transaction(() => {
        for (const { link } of batch) {
          const { taskId, workspace, agent, contextId } = link;
          const { remoteTaskId = null, remoteContextId = null } = link;
          const { headers, ...sender } = link.sender;
          save.run(
            workspace,
            agent,
            taskId,
            contextId,
            remoteTaskId,
            remoteContextId,
            now,
            JSON.stringify(sender),
            headers ? sealed(JSON.stringify(headers), placeOf(link)) : null,
          );
        }
      });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  function unsavedLink(workspace: string, agent: string, taskId: string): Link | undefined {
    const of = (link: Link) =>
      link.taskId === taskId && link.agent === agent && link.workspace === workspace;
    return waiting.findLast(({ link }) => of(link))?.link;
  }

  return {
    task(workspace, agent, taskId) {
      const unsaved = unsavedLink(workspace, agent, taskId);
      if (unsaved) return unsaved.remoteTaskId;
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
    sender(workspace, agent, taskId) {
      const unsaved = unsavedLink(workspace, agent, taskId);
      if (unsaved) return unsaved.sender;
      const row = register.read(() => findSender.get(workspace, agent, taskId));
      if (!row) return undefined;
      const sender = StoredSender.parse(JSON.parse(String(row['sender'])));
      const sealed = row['headers'];
      const text =
        sealed instanceof Uint8Array && box().open(sealed, placeOf({ workspace, taskId }));
      return { ...sender, ...(text && { headers: Headers.parse(JSON.parse(text)) }) };
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

function placeOf({ workspace, taskId }: Pick<Link, 'workspace' | 'taskId'>): string {
  return `link ${workspace} ${taskId}`;
}

function first(row: unknown): string | undefined {
  const value: unknown = Array.isArray(row) ? row[0] : undefined;
  return typeof value === 'string' ? value : undefined;
}
