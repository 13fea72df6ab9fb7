/**
 * The state of the conversation with a remote agent. It is stored in `metadata.a2a` of the agent's events and as the
 * run's checkpoint, so that another process can continue the conversation.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import * as z from 'zod';
import type { Event } from '../../agent/index.ts';
import { ConfirmationOption } from '../../protocol/development-tool/index.ts';
import { isTerminal, TaskState } from '../../protocol/index.ts';

/** How much of an artifact is already in this session: the length of its texts, and the number of its other parts. */
const SaidLength = z.tuple([z.int().min(0), z.int().min(0)]);
export type SaidLength = z.infer<typeof SaidLength>;

const RemoteNote = z.object({
  contextId: z.string().optional(),
  taskId: z.string().optional(),
  state: TaskState,
  /** The id of the last session event that the remote agent has received. */
  seen: z.string().optional(),
  /**
   * How much of each artifact is already in this session. Undefined while a new task runs, and if the task cannot be
   * continued.
   */
  said: z.record(z.string(), SaidLength).optional(),
  /**
   * The questions that were open when the note was made. Each question has our id. It also has the remote agent's id
   * if the agent has sent one.
   */
  questions: z
    .array(
      z.object({
        id: z.string(),
        remote: z.string().optional(),
        /** The options of a call of gemini-cli's server. The answer must select one of them. */
        options: z.array(ConfirmationOption).optional(),
      }),
    )
    .optional(),
});
export type RemoteNote = z.infer<typeof RemoteNote>;

export function parseNote(value: JsonValue | undefined): RemoteNote | undefined {
  return RemoteNote.safeParse(value).data;
}

export function noteOf(event: Event): RemoteNote | undefined {
  return parseNote(event.metadata?.['a2a']);
}

/** Returns the ids of this run's remote tasks that have not ended, at most one for each path in the run. */
export function openTasks(events: readonly Event[], agent: string, runId: string): string[] {
  const latest = new Map<string, RemoteNote>();
  for (const event of events) {
    const path = event.actions.checkpoint?.path;
    const note = event.author === agent && event.runId === runId ? noteOf(event) : undefined;
    if (path !== undefined && note) latest.set(path, note);
  }
  return [...latest.values()].flatMap(({ taskId, state }) =>
    taskId === undefined || isTerminal(state) ? [] : [taskId],
  );
}

/** Returns the event fields that store the note. */
export function keeping(note: RemoteNote, path: string) {
  // JSON drops members that are undefined.
  const value = JSON.parse(JSON.stringify(note)) as JsonObject;
  return { metadata: { a2a: value }, actions: { checkpoint: { path, value } } };
}
