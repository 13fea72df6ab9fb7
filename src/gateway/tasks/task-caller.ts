/**
 * Stores the caller in the metadata of a task. So a task that is resumed after a restart is charged to the same key or
 * subject. The stored caller is hidden from clients.
 */
import * as z from 'zod';
import { defined } from '../../base/index.ts';
import type { Metadata, Task } from '../../protocol/index.ts';
import type { LogView, LogViews, ViewRequest } from '../../tasks/index.ts';
import type { Caller } from '../api/caller.ts';

const CALLER_KEY = 'parley.caller';

export const StoredCaller = z.object({
  keyId: z.string().optional(),
  keyName: z.string().optional(),
  subject: z.string().optional(),
});
export type StoredCaller = Readonly<z.infer<typeof StoredCaller>>;

/** Returns the metadata with the caller. Replaces a value that a client sent in the same field. */
export function withCaller(
  metadata: Metadata,
  { keyId, keyName, subject }: Pick<Caller, keyof StoredCaller>,
): Metadata {
  return { ...metadata, [CALLER_KEY]: defined({ keyId, keyName, subject }) };
}

/**
 * Returns the caller in the metadata of a task. Returns an empty object if the metadata has no caller, as in tasks of
 * earlier versions of Parley.
 */
export function storedCaller(metadata: Metadata | undefined): StoredCaller {
  return StoredCaller.safeParse(metadata?.[CALLER_KEY]).data ?? {};
}

/** Returns views that hide the stored caller from clients. */
export function hidingCaller(views: LogViews): LogViews {
  const hiding = new Map(
    views.all.map((view) => [view, { ...view, task: (task: Task) => view.task(hidden(task)) }]),
  );
  const choose = (request: ViewRequest): LogView => {
    const view = views.choose(request);
    return hiding.get(view) ?? view;
  };
  return { ...views, all: [...hiding.values()], choose };
}

function hidden(task: Task): Task {
  if (task.metadata?.[CALLER_KEY] === undefined) return task;
  const { [CALLER_KEY]: _, ...metadata } = task.metadata;
  return { ...task, metadata };
}
