import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, Part, Task, TaskState, TaskStatusUpdateEvent } from '../index.ts';
import {
  extensionMetadata,
  readStatus,
  readTask,
  waitingCallsIn,
  type DevelopmentToolEvent,
  type ToolCall,
} from './index.ts';

const CALL: ToolCall = {
  tool_call_id: 'c1',
  status: 'PENDING',
  tool_name: 'write_file',
  input_parameters: {},
  confirmation_request: {
    options: [{ id: 'proceed_once', name: 'Allow once' }],
    generic_details: { description: 'Write a.txt' },
  },
};
const ANSWER = { tool_call_id: 'c1', selected_option_id: 'proceed_once' };

function message(role: Message['role'], ...parts: (string | object)[]): Message {
  return {
    kind: 'message',
    messageId: 'm',
    role,
    parts: parts.map((part): Part =>
      typeof part === 'string' ? { kind: 'text', text: part } : { kind: 'data', data: part },
    ),
  };
}

function update(
  state: TaskState,
  kind: DevelopmentToolEvent['kind'],
  said?: Message,
): TaskStatusUpdateEvent {
  return {
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    status: { state, ...(said && { message: said }) },
    final: false,
    metadata: extensionMetadata({ kind, model: 'm', source: { client: 'phone' } }),
  };
}

function task(state: TaskState, history: Message[], last?: Message): Task {
  const status = { state, ...(last && { message: last }) };
  return { kind: 'task', id: 't', contextId: 'c', status, history };
}

test('a status update becomes facts: text, thought, call, prompt, answer, state', () => {
  const facts = (...event: Parameters<typeof update>) => readStatus(update(...event)).facts;
  const thought = { subject: 's', description: 'd' };
  const source = { client: 'phone' };
  assert.deepEqual(facts('working', 'TEXT_CONTENT', message('agent', 'hi')), [
    { kind: 'text', text: 'hi' },
  ]);
  assert.deepEqual(facts('working', 'THOUGHT', message('agent', thought)), [
    { kind: 'thought', thought },
  ]);
  assert.deepEqual(facts('working', 'TOOL_CALL_UPDATE', message('agent', CALL)), [
    { kind: 'call', call: CALL },
  ]);
  assert.deepEqual(facts('working', 'TEXT_CONTENT', message('user', 'do it')), [
    { kind: 'prompt', parts: [{ kind: 'text', text: 'do it' }], source },
  ]);
  assert.deepEqual(facts('working', 'TOOL_CALL_CONFIRMATION', message('user', ANSWER)), [
    { kind: 'answer', confirmation: ANSWER, source },
  ]);
  assert.deepEqual(facts('failed', 'STATE_CHANGE', message('agent', 'It failed.')), [
    { kind: 'state', state: 'failed', text: 'It failed.' },
  ]);
});

test('metadata that are missing or invalid do not prevent reading', () => {
  const event = update('working', 'TEXT_CONTENT', message('agent', 'hi'));
  for (const metadata of [undefined, {}, { ...event.metadata, other: 1 }]) {
    const { facts } = readStatus({ ...event, metadata });
    assert.deepEqual(facts, [{ kind: 'text', text: 'hi' }]);
  }
});

test('a task is read turn by turn; a prompt while a call waits does not end the turn', () => {
  const kinds = (of: Task) =>
    readTask(of).map((fact) => (fact.kind === 'state' ? fact.state : fact.kind));
  const first = [message('user', 'one'), message('agent', 'a'), message('agent', 'a')];
  assert.deepEqual(
    kinds(task('completed', [...first, message('user', 'two')], message('agent', 'b'))),
    ['prompt', 'text', 'completed', 'prompt', 'completed'],
  );
  const asks = [message('user', 'one'), message('agent', CALL), message('user', 'yes')];
  assert.deepEqual(kinds(task('working', asks)), ['prompt', 'call', 'input-required', 'prompt']);
});

test('a call waits until it is answered, changes or its turn ends', () => {
  const asks = [message('user', 'one'), message('agent', CALL)];
  const ended = { ...CALL, status: 'CANCELLED', confirmation_request: undefined };
  assert.deepEqual(waitingCallsIn(task('input-required', asks)), [CALL]);
  assert.deepEqual(waitingCallsIn(task('working', [...asks, message('user', ANSWER)])), []);
  assert.deepEqual(waitingCallsIn(task('working', [...asks, message('agent', ended)])), []);
  assert.deepEqual(waitingCallsIn(task('canceled', asks)), []);
});

test('a call that asks again under the same id waits again, also without the id of a request', () => {
  const answered = [message('agent', CALL), message('user', ANSWER)];
  const runs = { ...CALL, status: 'EXECUTING', confirmation_request: undefined };
  for (const between of [[], [message('agent', runs)]]) {
    const again = [...answered, ...between, message('agent', CALL)];
    assert.deepEqual(waitingCallsIn(task('input-required', again)), [CALL]);
  }
});

test('a text does not end the waiting of a call, because not every agent takes it as an answer', () => {
  const said = [message('agent', CALL), message('user', 'yes')];
  assert.deepEqual(waitingCallsIn(task('input-required', said)), [CALL]);
});
