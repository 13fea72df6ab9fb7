/**
 * An agent for benchmarks. The text of the message's first part specifies the amount of work:
 *
 *   echo X                    one Message with the text X, no task
 *   task N [BYTES] [PACE]     N events in all: the task, working, N-3 chunks of one artifact, completed
 *   flood N [BYTES] [PACE]    the same, but every chunk replaces the artifact
 *   hold                      working, then no event until the task is canceled
 *
 * PACE is the pause before each chunk: `burst` for no pause, or a number of milliseconds. With a number, there is also
 * a pause before `completed`. Default: one turn of the event loop.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Message, type Part, uuidv7 } from '../../protocol/index.ts';
import type { A2AAgent, ExecutionContext, ExecutorEvent } from '../../tasks/index.ts';

const UNDERSTOOD =
  'Supported requests: echo X; task N [bytes] [pace]; flood N [bytes] [pace]; hold. ' +
  'Pace is "burst" or a number of milliseconds.';
const DEFAULT_BYTES = 16;
const MAX_EVENTS = 1_000_000;
const MAX_BYTES = 1024 * 1024;
const MAX_PACE_MS = 60_000;

interface Work {
  readonly chunks: number;
  readonly bytes: number;
  readonly append: boolean;
  readonly pace: 'yield' | 'burst' | number;
}

type Order =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'hold' }
  | ({ readonly kind: 'work' } & Work);

export const bench: A2AAgent = {
  profile: {
    name: 'Bench',
    description: 'Does a given amount of work, for benchmarks: echo, task, flood, hold.',
    skills: [
      {
        id: 'bench',
        name: 'Bench',
        description: UNDERSTOOD,
        tags: ['benchmark'],
        examples: ['echo hello', 'task 100', 'task 1000 256 burst', 'flood 100 4096', 'hold'],
      },
    ],
  },

  rules: { immutableEvents: true },

  receive({ message }) {
    const order = orderOf(message);
    return order.kind === 'say' ? { reply: reply(order.text) } : undefined;
  },

  execute({ message, signal }: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    const order = orderOf(message);
    return order.kind === 'hold' ? hold(signal) : work(order, signal);
  },
};

/**
 * Waits until the execution is aborted. This function is separate from `work`, whose variables would need memory during
 * the wait.
 */
async function* hold(signal: AbortSignal): AsyncGenerator<ExecutorEvent> {
  yield { kind: 'status-update', state: 'working' };
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  signal.throwIfAborted();
}

// This is a single generator, because `yield*` would add time to every event.
async function* work(order: Order, signal: AbortSignal): AsyncGenerator<ExecutorEvent> {
  yield { kind: 'status-update', state: 'working' };
  if (order.kind === 'work') {
    const { chunks, append, pace } = order;
    const parts: Part[] = [{ kind: 'text', text: 'x'.repeat(order.bytes) }];
    const artifact = { artifactId: 'bench', parts };
    const first: ExecutorEvent = { kind: 'artifact-update', artifact };
    const other: ExecutorEvent = { kind: 'artifact-update', artifact, append };
    for (let count = 0; count < chunks; count++) {
      if (typeof pace === 'number') await sleep(pace, undefined, { signal });
      else if (pace === 'yield') await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      yield count === 0 ? first : other;
    }
    if (typeof pace === 'number') await sleep(pace, undefined, { signal });
  }
  yield { kind: 'status-update', state: 'completed' };
}

function reply(text: string): Message {
  return {
    kind: 'message',
    messageId: uuidv7(),
    role: 'agent',
    parts: [{ kind: 'text', text }],
  };
}

/**
 * The last text and its order. A benchmark repeats the same text, so the text is parsed only once.
 */
let lastText: string | undefined;
let lastOrder: Order = { kind: 'hold' };

function orderOf({ parts: [first] }: Message): Order {
  const text = first?.kind === 'text' ? first.text : '';
  if (text !== lastText) {
    lastOrder = readOrder(text);
    lastText = text;
  }
  return lastOrder;
}

function readOrder(text: string): Order {
  if (text.startsWith('echo ')) return { kind: 'say', text: text.slice(5) };
  const [verb, ...args] = text.trim().split(/\s+/);
  if (verb === 'hold' && args.length === 0) return { kind: 'hold' };
  if (verb !== 'task' && verb !== 'flood') return { kind: 'say', text: UNDERSTOOD };
  return workOf(verb, args);
}

function workOf(verb: 'task' | 'flood', [count = '', ...rest]: readonly string[]): Order {
  const burst = rest.at(-1) === 'burst';
  const [bytesText, paceText, ...surplus] = burst ? rest.slice(0, -1) : rest;
  const events = numberIn(count, 3, MAX_EVENTS);
  const bytes = bytesText === undefined ? DEFAULT_BYTES : numberIn(bytesText, 1, MAX_BYTES);
  const pace = paceText === undefined ? 'yield' : numberIn(paceText, 0, MAX_PACE_MS);
  if (events === undefined) {
    return refuse(`${verb} N: N is a number of events from 3 to ${MAX_EVENTS}.`);
  }
  if (bytes === undefined) {
    return refuse(`${verb} N BYTES: BYTES is the size of a chunk, from 1 to ${MAX_BYTES}.`);
  }
  if (pace === undefined || surplus.length > 0 || (burst && paceText !== undefined)) {
    return refuse(
      `${verb} N BYTES PACE: PACE is "burst" or a number of milliseconds up to ${MAX_PACE_MS}.`,
    );
  }
  const append = verb === 'task';
  return { kind: 'work', chunks: events - 3, bytes, append, pace: burst ? 'burst' : pace };
}

function refuse(text: string): Order {
  return { kind: 'say', text: `${text} ${UNDERSTOOD}` };
}

function numberIn(text: string, min: number, max: number): number | undefined {
  if (!/^\d{1,9}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= min && number <= max ? number : undefined;
}
