/**
 * The agent for the protocol's public compatibility kits. The message id selects the behaviour. The longest matching
 * prefix in the table `BEHAVIOURS` applies. For most other ids, the task completes with a text.
 *
 * The kit for 1.0 has one id per behaviour (`tck-…`). The kit for 0.3 has only one such id,
 * `test-resubscribe-message-id`. Its other ids are `WORD-message-id-UUID`, `test-history-message-N-UUID` and
 * `test-push-…-UUID`. A message with one of these other ids ends its turn with input-required, because the kit
 * expects that it can then cancel or continue the task.
 *
 * The kits reuse message ids, so this agent is served without deduplication. The kit for 1.0 builds a history by
 * repeating the id that asks for input, so a repeated id makes the agent ask for input again.
 *
 * The agent accepts files of every type. The kit for 1.0 sends a file of an unknown type, and reports a failure if the
 * agent refuses the file. This contradicts the kit's own text (CORE-SEND-003), which requires the refusal.
 */
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ONE_TEXT_KEY, type Part } from '../../protocol/index.ts';
import type { A2AAgent, ExecutionContext, ExecutorEvent } from '../../tasks/index.ts';

const text = (content: string): Part => ({ kind: 'text', text: content });
const file = { name: 'output.txt', mimeType: 'text/plain' };
const rawFile: Part = {
  kind: 'file',
  file: { ...file, bytes: Buffer.from('Generated file content').toString('base64') },
};
const linkedFile: Part = { kind: 'file', file: { ...file, uri: 'https://example.com/output.txt' } };
const data: Part = { kind: 'data', data: { key: 'value', count: 42 } };

type Behaviour = (context: ExecutionContext) => AsyncIterable<ExecutorEvent>;

const working: ExecutorEvent = { kind: 'status-update', state: 'working' };
const completed: ExecutorEvent = { kind: 'status-update', state: 'completed' };

async function* complete(): AsyncGenerator<ExecutorEvent> {
  yield working;
  yield { kind: 'status-update', state: 'completed', message: 'Hello from TCK' };
}

/** Streams a text as an artifact. This is the answer to message ids for which the kits specify no answer. */
async function* answer(): AsyncGenerator<ExecutorEvent> {
  const artifactId = randomUUIDv7();
  const chunk = (content: string) => ({ artifactId, parts: [text(content)] });
  const first = { ...chunk('Hello '), name: 'response', metadata: { [ONE_TEXT_KEY]: true } };
  yield working;
  yield { kind: 'artifact-update', artifact: first };
  yield { kind: 'artifact-update', artifact: chunk('from TCK'), append: true, lastChunk: true };
  yield completed;
}

function produce(part: Part): Behaviour {
  return async function* () {
    const artifact = { artifactId: randomUUIDv7(), name: 'output', parts: [part] };
    yield working;
    yield { kind: 'artifact-update', artifact, lastChunk: true };
    yield completed;
  };
}

async function* chunked(): AsyncGenerator<ExecutorEvent> {
  const artifactId = randomUUIDv7();
  const chunk = (content: string) => ({ artifactId, name: 'output', parts: [text(content)] });
  yield working;
  yield { kind: 'artifact-update', artifact: chunk('chunk-1 '), append: false, lastChunk: false };
  yield { kind: 'artifact-update', artifact: chunk('chunk-2 '), append: true, lastChunk: false };
  yield { kind: 'artifact-update', artifact: chunk('chunk-3'), append: true, lastChunk: true };
  yield completed;
}

async function* askForInput(): AsyncGenerator<ExecutorEvent> {
  yield working;
  yield { kind: 'status-update', state: 'input-required', message: 'What should I do next?' };
}

async function* reject(): AsyncGenerator<ExecutorEvent> {
  yield { kind: 'status-update', state: 'rejected', message: 'rejected' };
}

/**
 * Works long enough for the kit for 0.3 to resubscribe. The kit requires at least twice its TCK_STREAMING_TIMEOUT,
 * which is 2 seconds by default.
 */
async function* takeTime({ signal }: ExecutionContext): AsyncGenerator<ExecutorEvent> {
  yield working;
  await sleep(5500, undefined, { signal });
  yield completed;
}

const MESSAGE_RESPONSE = 'tck-message-response';
const INPUT_REQUIRED = 'tck-input-required';
const OLD_KIT = /^(?:[a-z\d-]+-)?message-(?:id|\d+)-|^test-push-/;

const BEHAVIOURS: readonly (readonly [prefix: string, behaviour: Behaviour])[] = (
  [
    ['tck-complete-task', complete],
    ['tck-artifact-text', produce(text('Generated text content'))],
    ['tck-artifact-file', produce(rawFile)],
    ['tck-artifact-file-url', produce(linkedFile)],
    ['tck-artifact-data', produce(data)],
    [INPUT_REQUIRED, askForInput],
    ['tck-reject-task', reject],
    ['tck-stream-001', produce(text('Stream hello from TCK'))],
    ['tck-stream-002', produce(text('Stream message from TCK'))],
    ['tck-stream-003', produce(text('Stream task lifecycle'))],
    ['tck-stream-ordering-001', produce(text('Ordered output'))],
    ['tck-stream-artifact-text', produce(text('Streamed text content'))],
    ['tck-stream-artifact-file', produce(rawFile)],
    ['tck-stream-artifact-chunked', chunked],
    ['test-resubscribe-message-id', takeTime],
  ] as const
).toSorted(([one], [other]) => other.length - one.length);

function behaviourOf({ message, turn }: ExecutionContext): Behaviour {
  const { messageId } = message;
  const first = turn[0]?.messageId ?? messageId;
  // An answer completes a task that started with tck-input-required, unless the answer has the id of the first message.
  if (first !== messageId && first.startsWith(INPUT_REQUIRED)) return complete;
  const named = BEHAVIOURS.find(([prefix]) => messageId.startsWith(prefix));
  if (named) return named[1];
  return OLD_KIT.test(messageId) ? askForInput : answer;
}

export const conformance: A2AAgent = {
  profile: {
    name: 'Conformance',
    description:
      "Behaves as the protocol's compatibility kits expect. The message id selects the behaviour.",
    inputModes: ['text/plain', 'application/json', '*/*'],
    outputModes: ['text/plain', 'application/json'],
    skills: [
      {
        id: 'conformance',
        name: 'Conformance',
        description:
          'Completes, asks, rejects, streams or answers directly, depending on the message id.',
        tags: ['test', 'conformance'],
      },
    ],
  },

  receive({ message }) {
    if (!message.messageId.startsWith(MESSAGE_RESPONSE)) return undefined;
    const parts = [text('Direct message response')];
    return { reply: { kind: 'message', messageId: randomUUIDv7(), role: 'agent', parts } };
  },

  execute: (context) => behaviourOf(context)(context),
};
