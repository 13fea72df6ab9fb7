import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvent, memorySessions, openRun, type EventFields } from '../../agent/index.ts';
import { readMessage, type ToolCall } from '../../protocol/development-tool/index.ts';
import type { Message, Task } from '../../protocol/index.ts';
import type { ExecutionContext, StatusEvent } from '../../tasks/index.ts';
import { APP } from '../session/workspace-agent.ts';
import { DevelopmentToolPresenter } from './presenter.ts';

const key = { app: APP, user: 'ann', id: 's' };
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const call: EventFields = {
  content: { role: 'model', parts: [{ kind: 'function-call', id: 'c1', name: 'look', args: {} }] },
};
const response: EventFields = {
  content: {
    role: 'user',
    parts: [{ kind: 'function-response', id: 'c1', name: 'look', response: 'seen' }],
  },
};
const request = {
  options: [{ id: 'proceed_once', name: 'Allow once' }],
  generic_details: { description: 'Look' },
};
const question: EventFields = {
  actions: {
    questions: [
      {
        id: 'c1',
        kind: 'confirmation',
        text: 'Look',
        agent: APP,
        tool: 'look',
        args: {},
        detail: { request, correlationId: 'q1' },
      },
    ],
  },
};
const pending: ToolCall = {
  tool_call_id: 'c1',
  status: 'PENDING',
  tool_name: 'look',
  input_parameters: {},
};
const asked: ToolCall = { ...pending, confirmation_request: request, correlationId: 'q1' };
const ended: ToolCall = { ...pending, status: 'SUCCEEDED', output: { text: 'seen' } };

/** What is added to a task's log with these calls, when the session's log has these events. */
async function added(events: readonly EventFields[], logged: readonly ToolCall[]) {
  const sessions = memorySessions();
  await sessions.open(key);
  const stored = events.map((fields) => createEvent({ runId: 'r', author: APP }, fields));
  await sessions.append(key, stored);
  using run = await openRun(sessions, key, 'r');
  const history = logged.map((data, index): Message => ({
    kind: 'message',
    messageId: `m${index}`,
    role: 'agent',
    parts: [{ kind: 'data', data: { ...data } }],
  }));
  const task: Task = {
    kind: 'task',
    id: 't',
    contextId: 's',
    status: { state: 'working' },
    history,
  };
  const context: Pick<ExecutionContext, 'task' | 'turn' | 'resumed'> = {
    task,
    turn: [],
    resumed: true,
  };
  const model = { name: 'scripted', generate: () => assert.fail('the model is not asked') };
  const agent: ConstructorParameters<typeof DevelopmentToolPresenter>[0]['agent'] = {
    model,
    modelOf: () => model,
    mode: 'ask',
    loosest: 'ask',
    priceOf: () => undefined,
    describe: () => undefined,
  };
  const presenter = new DevelopmentToolPresenter({
    context,
    isActive: true,
    isLive: false,
    agent,
    run,
    model: model.name,
    logger: silent,
  });
  const missing: string[] = [];
  for await (const event of presenter.recall(run)) missing.push(statusIn(event));
  return missing;
}

function statusIn({ message }: StatusEvent): string {
  const [fact] = typeof message === 'object' ? readMessage(message) : [];
  assert.ok(fact?.kind === 'call');
  return fact.call.confirmation_request ? `${fact.call.status} asks` : fact.call.status;
}

test('a call that ended after the log was written last gets its end', async () => {
  assert.deepEqual(await added([call, response], []), ['PENDING', 'SUCCEEDED']);
  assert.deepEqual(await added([call, response], [pending]), ['SUCCEEDED']);
  assert.deepEqual(await added([call, question, response], [asked]), ['SUCCEEDED']);
});

test('a call whose end is in the log is not shown again', async () => {
  assert.deepEqual(await added([call, response], [pending, ended]), []);
});

test('a question is shown once', async () => {
  assert.deepEqual(await added([call, question], []), ['PENDING asks']);
  assert.deepEqual(await added([call, question], [asked]), []);
});

test('the log tells the failure of a turn from that of a command that ran while the turn waits', () => {
  const lines: (string | undefined)[] = [];
  const task: Task = { kind: 'task', id: 't', contextId: 's', status: { state: 'working' } };
  const presenter = new DevelopmentToolPresenter({
    context: { task, turn: [], resumed: false },
    isActive: true,
    isLive: false,
    agent: undefined,
    run: undefined,
    model: 'scripted',
    logger: { ...silent, error: (_fields: object, message?: string) => void lines.push(message) },
  });
  const error = { code: 'model-failed', message: 'no answer' };
  const failure = createEvent({ runId: 'r', author: APP }, { error });
  presenter.fail(failure);
  presenter.commandFailed(failure);
  assert.deepEqual(lines, ['a turn failed', 'a command failed']);
});
