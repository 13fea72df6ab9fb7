/** The actions of a person on a task: answer, cancel, and send the first message again. */
import { defined } from '../../../base/index.ts';
import {
  A2AError,
  uuidv7,
  type Message,
  type Metadata,
  type Part,
  type Task,
} from '../../../protocol/index.ts';
import { EXTENSIONS, type Server } from './server.ts';
import { readOpening, type TaskPlace } from './task-log.ts';

/** Makes the server answer at once. The page then follows the task. */
const AT_ONCE = { blocking: false } as const;

/** Sends the answer to a task's question. Does not wait for the result. */
export async function sendToTask(
  server: Server,
  { agent, taskId }: TaskPlace,
  parts: readonly Part[],
): Promise<void> {
  const client = await server.client(agent);
  await client.send(parts, { taskId, configuration: AT_ONCE, extensions: EXTENSIONS });
}

export async function cancelTask(server: Server, { agent, taskId }: TaskPlace): Promise<Task> {
  const client = await server.client(agent);
  return client.cancel(taskId, { extensions: EXTENSIONS });
}

/**
 * Sends the first message of a task again, in the same conversation. Returns the id of the new task, or undefined if
 * the agent answered with a Message.
 */
export async function sendAgain(server: Server, place: TaskPlace): Promise<string | undefined> {
  const opening = await readOpening(server, place);
  const first = opening?.history?.find(({ role }) => role === 'user');
  if (!opening || !first) {
    throw new A2AError('unsupportedOperation', 'The task has no message that could be sent again');
  }
  const { taskId: _, ...copied } = first;
  const message: Message = { ...copied, messageId: uuidv7(), contextId: opening.contextId };
  const metadata = settingsIn(opening.metadata);
  const client = await server.client(place.agent);
  const options = { configuration: AT_ONCE, extensions: EXTENSIONS, ...defined({ metadata }) };
  const result = await client.send(message, options);
  return result.kind === 'task' ? result.id : undefined;
}

/** Returns whether this key may answer, cancel and send tasks of the agent. */
export function mayWrite(server: Server, agent: string): boolean {
  return server.may(agent === '' ? 'tasks:write' : 'agents:use');
}

/**
 * Returns the metadata of a task without the fields that the server adds or replaces. The other fields must be sent
 * again, because the gateway uses them to choose a model or an agent.
 */
function settingsIn(metadata: Metadata | undefined): Metadata | undefined {
  if (!metadata) return undefined;
  const entries = Object.entries(metadata).filter(
    ([name]) => name !== 'expiresAt' && name !== 'usage' && !name.startsWith('parley.'),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
