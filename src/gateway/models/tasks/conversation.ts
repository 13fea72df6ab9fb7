/**
 * Reads the earlier turns of a conversation from the completed tasks of the same context. If there are too many turns,
 * or if they are too large, the oldest turns are left out.
 */
import type { Content, ContentPart, ModelRequest } from '../../../agent/index.ts';
import {
  A2AError,
  textOf,
  type Call,
  type Message,
  type Metadata,
  type Task,
} from '../../../protocol/index.ts';
import type { RequestHandler } from '../../../tasks/index.ts';
import type { ModelTarget } from '../catalogue.ts';
import { type AskedChat, askedChat } from './chat-completion.ts';
import { modelContent, noteOn } from './content.ts';
import { accepts, promptTokens } from '../admission.ts';

/**
 * Returns the turns of a context, oldest first, without the current task. A turn consists of the request, which may
 * contain a whole conversation, and the answer. A turn may be empty.
 */
export type EarlierTurns = (
  call: Pick<Call, 'user'>,
  contextId: string,
  currentTask: string,
) => Promise<readonly (readonly Content[])[]>;

/** The id of the artifact with a model's answer. */
export const ANSWER = 'answer';

const MAX_TASKS = 50;
const MAX_CHARS = 400_000;
/**
 * Number of messages that are read from each task. A small number is enough, because a model's task has only one user
 * message.
 */
const HISTORY = 2;

/**
 * Creates the function that reads earlier turns. `handler` is a function, because the request handler does not exist
 * yet when `earlierTurns` is called.
 */
export function earlierTurns(handler: () => Pick<RequestHandler, 'listTasks'>): EarlierTurns {
  /**
   * The last read. Each read waits for the previous one, because tasks may be large, and many concurrent reads could
   * exhaust the memory.
   */
  let reading: Promise<unknown> = Promise.resolve();
  return async (call, contextId, currentTask) => {
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
    // The tasks are sorted from newest to oldest, so the oldest tasks are left out if the limit is reached.
    for (const task of tasks) {
      if (task.id === currentTask || task.metadata?.['api_type'] === 'embeddings') continue;
      const { turn, isWhole } = turnOf(task);
      chars += JSON.stringify(turn).length;
      if (chars > MAX_CHARS) break;
      turns.unshift(turn);
      // The request of this task contains the whole earlier conversation, so earlier tasks are not needed.
      if (isWhole) break;
    }
    return turns;
  };
}

/**
 * Returns the request with as many of the earlier turns as the model's context window allows. The model gets a note
 * instead of each earlier file that it does not accept.
 */
export function withEarlier(
  turns: readonly (readonly Content[])[],
  target: ModelTarget,
  request: ModelRequest,
): ModelRequest {
  const { contextWindow = Infinity } = target.limits;
  let room = contextWindow === Infinity ? Infinity : contextWindow - promptTokens(request);
  const kept: Content[][] = [];
  for (const turn of turns.toReversed()) {
    const shown = turn.map(({ role, parts }) => ({ role, parts: parts.map(shownTo(target)) }));
    if (room !== Infinity) room -= promptTokens({ messages: shown });
    if (room < 0) break;
    kept.unshift(shown);
  }
  return kept.length === 0
    ? request
    : { ...request, messages: [...kept.flat(), ...request.messages] };
}

function shownTo(target: ModelTarget): (part: ContentPart) => ContentPart {
  return (part) =>
    (part.kind === 'blob' || part.kind === 'file') && !accepts(target, part) ? noteOn(part) : part;
}

/**
 * Returns the user's message and the answer. The turn is empty if one of them is missing, because models require
 * alternating roles. If the message contains a whole conversation, the turn begins with this conversation, and
 * `isWhole` is true.
 */
function turnOf({ history = [], status, artifacts = [], metadata = {} }: Task) {
  const message = history.find(({ role }) => role === 'user');
  // Only the artifact contains a long answer completely.
  const whole = artifacts.find(({ artifactId }) => artifactId === ANSWER);
  const answer =
    textOf(whole?.parts ?? []) ||
    textOf(status.message?.parts ?? []) ||
    artifacts.map(({ parts }) => textOf(parts)).join('\n');
  if (message === undefined || answer === '') return { turn: [], isWhole: false };
  const { request, isWhole } = askedIn(message, metadata);
  const said: Content = { role: 'model', parts: [{ kind: 'text', text: answer }] };
  return { turn: [...request.messages, said], isWhole };
}

/**
 * Reads the request of an earlier task. A request from an earlier version of Parley may no longer be valid. Such a
 * request is read as ordinary content.
 */
function askedIn(message: Message, metadata: Metadata): Omit<AskedChat, 'model'> {
  try {
    return askedChat(message, metadata);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    return { request: { messages: [modelContent(message)] }, isWhole: false };
  }
}
