/**
 * What a remote agent's events keep of the conversation with it, in `metadata.a2a` and as the run's checkpoint: enough
 * for another process to go on, and nothing that the remote can use to say more than it may.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import * as z from 'zod';
import type { Event } from '../../agent/index.ts';
import { isInterrupted, TaskState } from '../../protocol/index.ts';

/** How much of an artifact has been said here: the length of its texts, and the number of its other parts. */
const SaidLength = z.tuple([z.int().min(0), z.int().min(0)]);
export type SaidLength = z.infer<typeof SaidLength>;

const RemoteNote = z.object({
  contextId: z.string().optional(),
  taskId: z.string().optional(),
  state: TaskState,
  /** The last event of the session that the remote was told of. */
  seen: z.string().optional(),
  /** Of the artifacts of a task that goes on. */
  said: z.record(z.string(), SaidLength).optional(),
  /** What the remote waits for: our questions, and the remote's own ids of them where it has some. */
  questions: z.array(z.object({ id: z.string(), remote: z.string().optional() })).optional(),
});
export type RemoteNote = z.infer<typeof RemoteNote>;

export function parseNote(value: JsonValue | undefined): RemoteNote | undefined {
  return RemoteNote.safeParse(value).data;
}

export function noteOf(event: Event): RemoteNote | undefined {
  return parseNote(event.metadata?.['a2a']);
}

/** The tasks in which the remote waits for somebody to answer in this run: one for each path at which it was run. */
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

/** The fields of an event that keep the note. */
export function keeping(note: RemoteNote, path: string) {
  // Through JSON, so that what is undefined is absent.
  const value = JSON.parse(JSON.stringify(note)) as JsonObject;
  return { metadata: { a2a: value }, actions: { checkpoint: { path, value } } };
}
