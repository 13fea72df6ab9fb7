/**
 * The state of the conversation with a remote agent, stored in the `metadata.a2a` of its events and as the run's
 * checkpoint. Another process can continue from it.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import * as z from 'zod';
import type { Event } from '../../agent/index.ts';
import { isInterrupted, TaskState } from '../../protocol/index.ts';

/** How much of an artifact this session has: the length of its texts, and the number of its other parts. */
const SaidLength = z.tuple([z.int().min(0), z.int().min(0)]);
export type SaidLength = z.infer<typeof SaidLength>;

const RemoteNote = z.object({
  contextId: z.string().optional(),
  taskId: z.string().optional(),
  state: TaskState,
  /** The id of the last session event that the remote has received. */
  seen: z.string().optional(),
  /** For a task that continues: the length of each artifact. */
  said: z.record(z.string(), SaidLength).optional(),
  /** The open questions: our ids, and the remote's ids if it has any. */
  questions: z.array(z.object({ id: z.string(), remote: z.string().optional() })).optional(),
});
export type RemoteNote = z.infer<typeof RemoteNote>;

export function parseNote(value: JsonValue | undefined): RemoteNote | undefined {
  return RemoteNote.safeParse(value).data;
}

export function noteOf(event: Event): RemoteNote | undefined {
  return parseNote(event.metadata?.['a2a']);
}

/** The remote's tasks that wait for an answer in this run, one for each path in the run. */
export function waitingTasks(events: readonly Event[], agent: string, runId: string): string[] {
  const latest = new Map<string, RemoteNote>();
  for (const event of events) {
    const path = event.actions.checkpoint?.path;
    const note = event.author === agent && event.runId === runId ? noteOf(event) : undefined;
    if (path !== undefined && note) latest.set(path, note);
  }
  return [...latest.values()].flatMap(({ taskId, state }) =>
    taskId !== undefined && isInterrupted(state) ? [taskId] : [],
  );
}

/** The event fields that store the note. */
export function keeping(note: RemoteNote, path: string) {
  // JSON drops members that are undefined.
  const value = JSON.parse(JSON.stringify(note)) as JsonObject;
  return { metadata: { a2a: value }, actions: { checkpoint: { path, value } } };
}
