/**
 * What was said before in a context: its completed tasks, as a model's conversation. Bounded: the oldest is left out.
 */
import type { Content } from '../../agent/index.ts';
import { fromA2AParts } from '../../bridge/index.ts';
import { textOf, type Call, type Task } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';

/** The earlier turns of a context, oldest first, without the task that asks. */
export type Conversation = (
  call: Pick<Call, 'user'>,
  contextId: string,
  beforeTask: string,
) => Promise<readonly Content[]>;

/** The artifact that a model's answer is. */
export const ANSWER = 'answer';

const MAX_TASKS = 50;
const MAX_CHARS = 400_000;
/** A task of the gateway's own has one message of the user's. */
const HISTORY = 2;

/** The handler is asked for when it is needed: it is made after the executor that this is for. */
export function conversationOf(handler: () => Pick<RequestHandler, 'listTasks'>): Conversation {
  /** One after the other: a task may be large, and many at once would be more than there is memory. */
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
    // Newest first, so that it is the oldest that has no room.
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

/** What the user said, and what was answered. Nothing, where one of them is missing: models want them in turn. */
function turnOf({ history = [], status, artifacts = [] }: Task): Content[] {
  const said = history.filter(({ role }) => role === 'user').flatMap(({ parts }) => parts);
  // A long answer is whole only there.
  const whole = artifacts.find(({ artifactId }) => artifactId === ANSWER);
  const answer =
    textOf(whole?.parts ?? []) ||
    textOf(status.message?.parts ?? []) ||
    artifacts.map(({ parts }) => textOf(parts)).join('\n');
  if (said.length === 0 || answer === '') return [];
  return [
    { role: 'user', parts: fromA2AParts(said) },
    { role: 'model', parts: [{ kind: 'text', text: answer }] },
  ];
}
