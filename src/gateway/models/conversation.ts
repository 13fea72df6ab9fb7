/**
 * Reads the earlier turns of a conversation from the completed tasks of the same context. If they are too large, the
 * oldest turns are left out.
 */
import type { Content } from '../../agent/index.ts';
import { fromA2AParts } from '../../bridge/index.ts';
import { textOf, type Call, type Task } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';

/** Returns the turns of a context, oldest first, without the task `beforeTask`. */
export type EarlierTurns = (
  call: Pick<Call, 'user'>,
  contextId: string,
  beforeTask: string,
) => Promise<readonly Content[]>;

/** The id of the artifact with a model's answer. */
export const ANSWER = 'answer';

const MAX_TASKS = 50;
const MAX_CHARS = 400_000;
/** A task that a model executes has only one user message, so a short history is enough. */
const HISTORY = 2;

/**
 * `handler` is a function, because the request handler is created after the executor that uses the result of
 * `earlierTurns`.
 */
export function earlierTurns(handler: () => Pick<RequestHandler, 'listTasks'>): EarlierTurns {
  /**
   * The last read. Each read waits for the previous one, because tasks may be large, and many concurrent reads could
   * exhaust the memory.
   */
  let reading: Promise<unknown> = Promise.resolve();
  return async (call, contextId, beforeTask) => {
    const page = reading.then(() =>
      handler().listTasks(
        {
          contextId,
          status: 'completed',
          pageSize: MAX_TASKS,
          historyLength: HISTORY,
          includeArtifacts: true,
        },
        call,
        { total: false, maxBytes: MAX_CHARS },
      ),
    );
    reading = page.catch(() => undefined);
    const { tasks } = await page;
    const turns: Content[][] = [];
    let chars = 0;
    // The tasks are sorted from newest to oldest, so the oldest ones are left out.
    for (const task of tasks) {
      if (task.id === beforeTask || task.metadata?.['api_type'] === 'embeddings') continue;
      const turn = turnOf(task);
      chars += JSON.stringify(turn).length;
      if (chars > MAX_CHARS) break;
      turns.unshift(turn);
    }
    return turns.flat();
  };
}

/**
 * Returns the user's message and the answer. Returns an empty array if one of them is missing, because models require
 * alternating roles.
 */
function turnOf({ history = [], status, artifacts = [] }: Task): Content[] {
  const asked = history.filter(({ role }) => role === 'user').flatMap(({ parts }) => parts);
  // A long answer is complete only in its artifact.
  const whole = artifacts.find(({ artifactId }) => artifactId === ANSWER);
  const answer =
    textOf(whole?.parts ?? []) ||
    textOf(status.message?.parts ?? []) ||
    artifacts.map(({ parts }) => textOf(parts)).join('\n');
  if (asked.length === 0 || answer === '') return [];
  return [
    { role: 'user', parts: fromA2AParts(asked) },
    { role: 'model', parts: [{ kind: 'text', text: answer }] },
  ];
}
