/**
 * Stores links. A link connects a task and a context of the gateway ("our task") with the task and the context at the
 * remote agent. It also contains the sender of the task's last message. All links that are saved in one turn of the
 * event loop are stored in one transaction. A commit for each proxied message would take more time than the message
 * itself.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as z from 'zod';
import { Metadata } from '../../protocol/index.ts';
import { SecretBox, secretKeys } from '../../store/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { andThen, flushAtEndOfTurn, type MaybePromise } from '../../base/index.ts';
import { REGISTER_LOCKS } from '../register/advisory-locks.ts';
import {
  arrayStatement,
  type Register,
  type Row,
  type SqlValue,
  statement,
  type Steps,
} from '../register/register.ts';
import { type Sender, StoredSender } from './sender.ts';

export interface Link {
  readonly taskId: string;
  readonly workspace: string;
  readonly agent: string;
  readonly contextId: string;
  readonly remoteTaskId: string | undefined;
  readonly remoteContextId: string | undefined;
  readonly sender: Sender;
  /**
   * Whether the task has ended. Default: false. After the end, only the ids of the contexts are needed if the agent
   * answered with a message instead of a task.
   */
  readonly isOver?: boolean;
}

export type TaskLinks = ReturnType<typeof createTaskLinks>;

/** How long a link is kept after it was last saved, in milliseconds. */
const KEEP_MS = 90 * 86_400_000;
/**
 * Maximum number of links or contexts that one transaction of `prune` examines. The number is limited, because a
 * transaction in SQLite blocks the event loop.
 */
const PRUNE_AT_ONCE = 1000;

const Headers = z.record(z.string(), z.string());
/** The stored sender. The metadata is encrypted, in base64. */
const LinkSender = StoredSender.extend({ sealedMetadata: z.base64().optional() });

interface Options {
  readonly register: Register;
  readonly logger: Logger;
  /** Encrypts the headers and the metadata of requests. If undefined, headers and metadata are lost at a restart. */
  readonly secrets: SecretBox | undefined;
}

interface Waiting {
  readonly link: Link;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type Cell = readonly [string | null];
type ContextName = readonly [workspace: string, agent: string, contextId: string];

const LINK_VALUES = `
  (workspace, agent, task_id, context_id, remote_task_id, remote_context_id, saved_at, sender, headers)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const SQL = {
  task: arrayStatement<Cell>(
    'SELECT remote_task_id FROM links WHERE workspace = ? AND agent = ? AND task_id = ?',
  ),
  context: arrayStatement<Cell>(
    'SELECT remote_context_id FROM link_contexts WHERE workspace = ? AND agent = ? AND context_id = ?',
    `SELECT remote_context_id FROM links
     WHERE workspace = ? AND agent = ? AND context_id = ? AND remote_context_id IS NOT NULL
     ORDER BY id DESC LIMIT 1`,
  ),
  sender: statement(
    'SELECT sender, headers FROM links WHERE workspace = ? AND agent = ? AND task_id = ?',
  ),
  // A link that is saved again gets a new id, so that the order of the ids is the order of `saved_at`.
  save: statement(
    `INSERT OR REPLACE INTO links ${LINK_VALUES}`,
    `INSERT INTO links ${LINK_VALUES} ON CONFLICT (workspace, agent, task_id) DO UPDATE SET
       (id, context_id, remote_task_id, remote_context_id, saved_at, sender, headers) =
       (excluded.id, excluded.context_id, excluded.remote_task_id, excluded.remote_context_id, excluded.saved_at,
        excluded.sender, excluded.headers)`,
  ),
  saveContext: statement('INSERT OR REPLACE INTO link_contexts VALUES (?, ?, ?, ?, ?)'),
  forget: statement('DELETE FROM links WHERE workspace = ? AND agent = ?'),
  forgetContexts: statement('DELETE FROM link_contexts WHERE workspace = ? AND agent = ?'),
  alone: statement(
    'SELECT 1 AS alone',
    `SELECT pg_try_advisory_xact_lock(${REGISTER_LOCKS.links})::integer AS alone`,
  ),
  removeOldest: statement(
    `DELETE FROM links WHERE id IN
       (SELECT id FROM (SELECT id, saved_at FROM links ORDER BY id LIMIT ${PRUNE_AT_ONCE}) oldest WHERE saved_at < ?)`,
  ),
  /** Reads the next PRUNE_AT_ONCE contexts after a given context, and returns the last of them. */
  nextContexts: arrayStatement<ContextName>(
    `SELECT * FROM
       (SELECT workspace, agent, context_id FROM link_contexts WHERE (workspace, agent, context_id) > (?, ?, ?)
        ORDER BY 1, 2, 3 LIMIT ${PRUNE_AT_ONCE})
     ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT 1`,
  ),
  removeContexts: statement(
    `DELETE FROM link_contexts
     WHERE (workspace, agent, context_id) > (?, ?, ?) AND (workspace, agent, context_id) <= (?, ?, ?) AND saved_at < ?`,
  ),
};

export function createTaskLinks({ register, logger, ...options }: Options) {
  let { secrets } = options;
  /** Whether the register has the table `link_contexts`. PostgreSQL finds contexts with an index of `links` instead. */
  const hasContexts = register.kind === 'sqlite';
  let waiting: Waiting[] = [];
  /** The links of the transaction in progress. */
  let saving: readonly Waiting[] = [];

  /** Returns the SecretBox for headers and metadata. If none is configured, creates one with a random key. */
  const box = () =>
    (secrets ??= new SecretBox(secretKeys({ secretKey: randomUUID() }), randomBytes(16)));

  function sealed(text: string, place: string): Uint8Array {
    try {
      return box().seal(text, place);
    } catch (error) {
      logger.warn(
        { err: error },
        'cannot encrypt the headers and the metadata for an agent, so they are lost at a restart: set PARLEY_SECRET_KEY',
      );
      secrets = undefined;
      return box().seal(text, place);
    }
  }

  function* store(link: Link, now: number): Steps<void> {
    const { workspace, agent, contextId, remoteContextId } = link;
    if (hasContexts && remoteContextId !== undefined) {
      yield* SQL.saveContext.run(workspace, agent, contextId, remoteContextId, now);
      if (link.isOver && link.remoteTaskId === undefined) return;
    }
    yield* SQL.save.run(...valuesOf(link, now));
  }

  function valuesOf(link: Link, now: number): SqlValue[] {
    const { taskId, workspace, agent, contextId } = link;
    const { remoteTaskId = null, remoteContextId = null } = link;
    const { headers, metadata, ...rest } = link.sender;
    const sender: z.infer<typeof LinkSender> = rest;
    if (metadata) {
      const bytes = sealed(JSON.stringify(metadata), metadataPlaceOf(link));
      sender.sealedMetadata = Buffer.from(bytes).toString('base64');
    }
    return [
      workspace,
      agent,
      taskId,
      contextId,
      remoteTaskId,
      remoteContextId,
      now,
      JSON.stringify(sender),
      headers ? sealed(JSON.stringify(headers), placeOf(link)) : null,
    ];
  }

  function flush(): void {
    const batch = waiting;
    waiting = [];
    saving = batch;
    const ended = (settle: (each: Waiting) => void) => {
      saving = [];
      if (waiting.length > 0) flushAtEndOfTurn(flushable);
      batch.forEach(settle);
    };
    const done = () => ended(({ resolve }) => resolve());
    const failed = (error: unknown) => ended(({ reject }) => reject(error));
    try {
      const now = Date.now();
      const saved = register.transaction(function* () {
        for (const { link } of batch) yield* store(link, now);
      });
      if (saved instanceof Promise) void saved.then(done, failed);
      else done();
    } catch (error) {
      failed(error);
    }
  }

  const flushable = { flush };

  /** Returns the newest matching link that is not yet stored, or undefined if there is none. */
  function unsaved(matches: (link: Link) => boolean): Link | undefined {
    const of = ({ link }: Waiting) => matches(link);
    return (waiting.findLast(of) ?? saving.findLast(of))?.link;
  }

  function unsavedLink(workspace: string, agent: string, taskId: string): Link | undefined {
    return unsaved(
      (link) => link.taskId === taskId && link.agent === agent && link.workspace === workspace,
    );
  }

  function senderIn(workspace: string, taskId: string, row: Row | undefined): Sender | undefined {
    if (!row) return undefined;
    const { sealedMetadata, ...sender } = LinkSender.parse(JSON.parse(String(row['sender'])));
    const link = { workspace, taskId };
    const opened = (sealed: unknown, place: string) =>
      sealed instanceof Uint8Array ? box().open(sealed, place) : undefined;
    const headers = opened(row['headers'], placeOf(link));
    const metadata =
      sealedMetadata !== undefined &&
      opened(Buffer.from(sealedMetadata, 'base64'), metadataPlaceOf(link));
    return {
      ...sender,
      ...(headers && { headers: Headers.parse(JSON.parse(headers)) }),
      ...(metadata && { metadata: Metadata.parse(JSON.parse(metadata)) }),
    };
  }

  return {
    /** Returns the id of the agent's task, or undefined if it is unknown. */
    task(workspace: string, agent: string, taskId: string): MaybePromise<string | undefined> {
      const found = unsavedLink(workspace, agent, taskId);
      if (found) return found.remoteTaskId;
      return andThen(
        register.read(() => SQL.task.get(workspace, agent, taskId)),
        (row) => row?.[0] ?? undefined,
      );
    },
    /** Returns the id of the agent's context, or undefined if it is unknown. */
    context(workspace: string, agent: string, contextId: string): MaybePromise<string | undefined> {
      const found = unsaved(
        (link) =>
          link.remoteContextId !== undefined &&
          link.contextId === contextId &&
          link.agent === agent &&
          link.workspace === workspace,
      );
      if (found) return found.remoteContextId;
      return andThen(
        register.read(() => SQL.context.get(workspace, agent, contextId)),
        (row) => row?.[0] ?? undefined,
      );
    },
    /** Returns the sender of the task's last message, or undefined if there is no link. */
    sender(workspace: string, agent: string, taskId: string): MaybePromise<Sender | undefined> {
      const found = unsavedLink(workspace, agent, taskId);
      if (found) return found.sender;
      return andThen(
        register.read(() => SQL.sender.get(workspace, agent, taskId)),
        (row) => senderIn(workspace, taskId, row),
      );
    },
    /** Stores the link. Resolves when the link is in the database. */
    save: (link: Link) =>
      new Promise<void>((resolve, reject) => {
        waiting.push({ link, resolve, reject });
        // If a transaction is in progress, the link is stored by the next one.
        if (waiting.length === 1 && saving.length === 0) flushAtEndOfTurn(flushable);
      }),
    /** Removes all links of the agent. Must run inside the caller's `register.change`. */
    *forget(workspace: string, agent: string): Steps<void> {
      yield* SQL.forget.run(workspace, agent);
      if (hasContexts) yield* SQL.forgetContexts.run(workspace, agent);
    },
    /** Removes old links in small steps. Never throws. */
    async prune(now: number, signal: AbortSignal): Promise<void> {
      try {
        const before = now - KEEP_MS;
        const removed = () => register.transaction(() => removeOldest(before));
        while (!signal.aborted && (await removed()) > 0) await nextTurn();
        let last: ContextName | undefined = hasContexts ? ['', '', ''] : undefined;
        while (last && !signal.aborted) {
          const after: ContextName = last;
          last = await register.transaction(() => removeContexts(after, before));
          await nextTurn();
        }
      } catch (error) {
        logger.warn({ err: error }, 'failed to remove old links to tasks of remote agents');
      }
    },
  };
}

/**
 * Removes some of the links that were saved before `before`, oldest first. Returns their number. Removes nothing if
 * another gateway is doing this now.
 */
function* removeOldest(before: number): Steps<number> {
  if ((yield* SQL.alone.get())?.['alone'] !== 1) return 0;
  return yield* SQL.removeOldest.run(before);
}

/**
 * Examines the next PRUNE_AT_ONCE contexts after `after`, and removes those that were saved before `before`. Returns
 * the last examined context, or undefined if there was none.
 */
function* removeContexts(after: ContextName, before: number): Steps<ContextName | undefined> {
  const last = yield* SQL.nextContexts.get(...after);
  if (last) yield* SQL.removeContexts.run(...after, ...last, before);
  return last;
}

function placeOf({ workspace, taskId }: Pick<Link, 'workspace' | 'taskId'>): string {
  return `link ${workspace} ${taskId}`;
}

function metadataPlaceOf(link: Pick<Link, 'workspace' | 'taskId'>): string {
  return `${placeOf(link)} metadata`;
}
