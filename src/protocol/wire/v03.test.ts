import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentCard } from '../card.ts';
import { A2AError, taskNotFound } from '../errors.ts';
import type { Part } from '../message.ts';
import type { Operation } from '../methods.ts';
import type { StreamEvent, Task } from '../task.ts';
import { encodeRestError } from './rest-error.ts';
import { v03 } from './v03.ts';
import { v1 } from './v1.ts';

const hello = {
  kind: 'message',
  messageId: 'm1',
  role: 'user',
  parts: [{ kind: 'text', text: 'hello' }],
};

function send(message: unknown, rest: object = {}) {
  return v03.decodeParams('sendMessage', { message, ...rest });
}

function refused(operation: Operation, raw: unknown): string | undefined {
  try {
    v03.decodeParams(operation, raw);
  } catch (error) {
    assert.ok(error instanceof A2AError);
    assert.equal(error.kind, 'invalidParams');
    return error.detail.violations?.[0]?.field;
  }
  return assert.fail('was taken');
}

function garbled(run: () => unknown): void {
  assert.throws(run, (error) => error instanceof A2AError && error.kind === 'invalidAgentResponse');
}

function chunk(...parts: Part[]): StreamEvent {
  return {
    kind: 'artifact-update',
    taskId: 't',
    contextId: 'c',
    artifact: { artifactId: 'a', parts },
  };
}

const task: Task = {
  kind: 'task',
  id: 't',
  contextId: 'c',
  status: { state: 'completed', timestamp: '2026-01-01T00:00:00Z' },
  history: [
    { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'data', data: { a: 1 } }] },
  ],
  artifacts: [{ artifactId: 'a', parts: [{ kind: 'text', text: 'x' }] }],
};

test('what 0.3 can say is written without a copy', () => {
  const event = chunk({ kind: 'text', text: 'x' }, { kind: 'data', data: {} });
  assert.equal(v03.encodeEvent(event), event);
  assert.equal(v03.encodeEvent(task), task);
  assert.equal(v03.encodeResult('getTask', task), task);
  const page = { tasks: [task], nextPageToken: '', pageSize: 1, totalSize: 1 };
  assert.equal(v03.encodeResult('listTasks', page), page);
  const params = { id: 't', historyLength: 3 };
  assert.equal(v03.encodeParams('getTask', params), params);
});

test('data that is no object travels in one, and comes back', () => {
  for (const data of [1, 'x', null, [1, 2], false]) {
    const event = chunk({ kind: 'text', text: 'x' }, { kind: 'data', data, metadata: { a: 1 } });
    const before = structuredClone(event);
    const encoded = v03.encodeEvent(event);
    assert.deepEqual(encoded, {
      ...event,
      artifact: {
        artifactId: 'a',
        parts: [
          { kind: 'text', text: 'x' },
          { kind: 'data', data: { value: data }, metadata: { a: 1, 'parley:wrapped': true } },
        ],
      },
    });
    assert.deepEqual(v03.decodeEvent(encoded), before);
    assert.deepEqual(event, before, 'the event is not changed');
  }
});

test('wrapped data is unwrapped in parameters too', () => {
  const part = { kind: 'data', data: { value: 7 }, metadata: { 'parley:wrapped': true } };
  assert.deepEqual(send({ ...hello, parts: [part] }).message.parts, [{ kind: 'data', data: 7 }]);
});

test('the state that 0.3 lacks is unknown, wherever it stands', () => {
  const encoded = v03.encodeResult('getTask', { ...task, status: { state: 'unspecified' } });
  assert.deepEqual(encoded, { ...task, status: { state: 'unknown' } });
});

test('a message is taken as it is, with or without its kind', () => {
  const { kind: _, ...kindless } = hello;
  const extra = { ...hello, mood: 'good' };
  assert.deepEqual(send(hello), { message: hello });
  assert.deepEqual(send(kindless), { message: hello });
  assert.deepEqual(send(extra), { message: extra });
});

test('a refusal names the field', () => {
  const withPart = (part: unknown) => ({ message: { ...hello, parts: [part] } });
  const { messageId: _, ...anonymous } = hello;
  const cases: [Operation, unknown, string][] = [
    ['sendMessage', undefined, 'params'],
    ['sendMessage', {}, 'message'],
    ['sendMessage', { message: anonymous }, 'message.messageId'],
    ['sendMessage', { message: { ...hello, kind: 'task' } }, 'message.kind'],
    ['sendMessage', { message: { ...hello, role: 'system' } }, 'message.role'],
    ['sendMessage', { message: { ...hello, parts: [] } }, 'message.parts'],
    ['sendMessage', withPart({ text: 'x' }), 'message.parts[0].kind'],
    ['sendMessage', withPart({ kind: 'image' }), 'message.parts[0].kind'],
    ['sendMessage', withPart({ kind: 'text' }), 'message.parts[0].text'],
    ['sendMessage', withPart({ kind: 'file', file: {} }), 'message.parts[0].file'],
    ['sendMessage', withPart({ kind: 'data' }), 'message.parts[0].data'],
    ['sendMessage', { message: hello, configuration: { blocking: 1 } }, 'configuration.blocking'],
    ['getTask', { id: '' }, 'id'],
    ['listTasks', { status: 'dreaming' }, 'status'],
    ['setPushConfig', { taskId: 't' }, 'pushNotificationConfig'],
    [
      'setPushConfig',
      { taskId: 't', pushNotificationConfig: { url: 'u', authentication: { schemes: [''] } } },
      'pushNotificationConfig.authentication.schemes[0]',
    ],
    ['deletePushConfig', { id: 't' }, 'pushNotificationConfigId'],
  ];
  for (const [operation, raw, field] of cases) {
    assert.equal(refused(operation, raw), field, `${operation} ${JSON.stringify(raw)}`);
  }
});

test('ProtoJSON of a REST peer is told by its shape', () => {
  const message = {
    messageId: 'm1',
    contextId: '',
    role: 'ROLE_USER',
    content: [
      { text: 'hello' },
      { file: { fileWithUri: 'https://x.test/a', mimeType: 'text/plain' } },
      { file: { fileWithBytes: '-_8', mimeType: '' } },
      { data: { data: { a: 1 } } },
    ],
  };
  const configuration = {
    pushNotification: { id: '', url: 'https://x.test/hook', authentication: { schemes: [] } },
    historyLength: 0,
    blocking: true,
  };
  assert.deepEqual(send(message, { configuration }), {
    message: {
      kind: 'message',
      messageId: 'm1',
      role: 'user',
      parts: [
        { kind: 'text', text: 'hello' },
        { kind: 'file', file: { uri: 'https://x.test/a', mimeType: 'text/plain' } },
        { kind: 'file', file: { bytes: '+/8=' } },
        { kind: 'data', data: { a: 1 } },
      ],
    },
    configuration: { pushNotificationConfig: { url: 'https://x.test/hook' }, blocking: true },
  });
  assert.equal(refused('sendMessage', { message: { ...message, content: [] } }), 'message.content');
  assert.equal(
    refused('sendMessage', { message: { ...message, content: [{ text: 'a', data: {} }] } }),
    'message.content[0]',
  );
});

test('look-ups come from query strings, and the names of push are those of the routes', () => {
  assert.deepEqual(v03.decodeParams('getTask', { id: 't', historyLength: '2' }), {
    id: 't',
    historyLength: 2,
  });
  assert.deepEqual(
    v03.decodeParams('listTasks', { status: 'working', includeArtifacts: 'false' }),
    {
      status: 'working',
      includeArtifacts: false,
    },
  );
  assert.deepEqual(v03.decodeParams('listTasks', undefined), {});
  assert.deepEqual(v03.decodeParams('getPushConfig', { id: 't' }), { id: 't' });
});

test('a push configuration is set by parameters, a REST body or a resource name', () => {
  const inner = {
    taskId: 't',
    pushNotificationConfig: { url: 'u', authentication: { schemes: ['Bearer', 'Basic'] } },
  };
  const { pushNotificationConfig } = inner;
  const name = 'tasks/t/pushNotificationConfigs/c';
  for (const raw of [
    inner,
    { id: 't', pushNotificationConfig },
    { id: 't', config: { pushNotificationConfig } },
    { name, pushNotificationConfig },
    { parent: 'tasks/t', config: { name, pushNotificationConfig } },
  ]) {
    assert.deepEqual(v03.decodeParams('setPushConfig', raw), inner);
  }
});

test('an answer may be bare, under the name of its kind, or ProtoJSON', () => {
  assert.deepEqual(v03.decodeResult('sendMessage', task), task);
  assert.deepEqual(v03.decodeResult('sendMessage', { task }), task);
  assert.deepEqual(
    v03.decodeEvent({
      statusUpdate: {
        taskId: 't',
        status: {
          state: 'TASK_STATE_CANCELLED',
          message: { messageId: 'm', role: 'ROLE_AGENT', content: [{ text: 'x' }] },
        },
      },
    }),
    {
      kind: 'status-update',
      taskId: 't',
      contextId: '',
      status: {
        state: 'canceled',
        message: {
          kind: 'message',
          messageId: 'm',
          role: 'agent',
          parts: [{ kind: 'text', text: 'x' }],
        },
      },
      final: true,
    },
  );
});

test('a sloppy answer is read: no final, no context, no parts', () => {
  assert.deepEqual(
    v03.decodeEvent({ kind: 'status-update', taskId: 't', status: { state: 'working' } }),
    {
      kind: 'status-update',
      taskId: 't',
      contextId: '',
      status: { state: 'working' },
      final: false,
    },
  );
  const event = v03.decodeEvent({
    kind: 'artifact-update',
    taskId: 't',
    contextId: 'c',
    artifact: { artifactId: 'a', parts: [] },
  });
  assert.deepEqual(event.kind === 'artifact-update' && event.artifact.parts, []);
});

test('what a 0.3 agent says about final is believed', () => {
  const event = v03.decodeEvent({
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    status: { state: 'completed' },
    final: false,
  });
  assert.equal(event.kind === 'status-update' && event.final, false);
});

test('garbage in an answer is refused', () => {
  for (const raw of [null, 'x', [], {}, { kind: 'task' }, { kind: 'other', id: 't' }]) {
    garbled(() => v03.decodeEvent(raw));
    garbled(() => v03.decodeResult('sendMessage', raw));
  }
  garbled(() => v03.decodeEvent({ ...task, id: 1 }));
  garbled(() => v03.decodeResult('listPushConfigs', 'x'));
  garbled(() => v03.decodeResult('getExtendedCard', {}));
});

const card: AgentCard = {
  name: 'Echo',
  description: 'Repeats your words',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'https://x.test/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  capabilities: { streaming: true, extendedAgentCard: true },
  securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  security: [{ bearer: [] }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};
const [newer, ...older] = card.supportedInterfaces;

test('a card has the addresses that speak 0.3, and no word of 1.0', () => {
  const { supportedInterfaces: _, ...rest } = card;
  assert.deepEqual(v03.encodeCard(card), {
    ...rest,
    protocolVersion: '0.3.0',
    url: 'https://x.test',
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: 'https://x.test', transport: 'JSONRPC' },
      { url: 'https://x.test/rest', transport: 'HTTP+JSON' },
    ],
    capabilities: { streaming: true },
    supportsAuthenticatedExtendedCard: true,
  });
  assert.ok(newer);
  const encoded = v03.encodeCard({ ...card, supportedInterfaces: [newer] });
  assert.deepEqual(v03.decodeCard(encoded).supportedInterfaces, [
    { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ]);
});

test('a card is read with the interfaces of 0.3', () => {
  assert.deepEqual(v03.decodeCard(v03.encodeCard(card)), { ...card, supportedInterfaces: older });
  const bare = { name: 'x', url: 'https://x.test', capabilities: {}, skills: [] };
  assert.deepEqual(v03.decodeCard(bare).supportedInterfaces, [
    { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ]);
});

test('a hybrid card is read whole by either codec', () => {
  const one = v03.encodeCard(card);
  const other = v1.encodeCard({ ...card, supportedInterfaces: newer ? [newer] : [] });
  const hybrids: unknown[] = [Object.assign({}, one, other), Object.assign({}, other, one)];
  for (const hybrid of hybrids) {
    assert.deepEqual(v03.decodeCard(hybrid), card);
    assert.deepEqual(v1.decodeCard(hybrid), card);
  }
});

test('an error has data only where the catalogue has not said everything', () => {
  assert.deepEqual(v03.encodeError(new A2AError('internal')), {
    code: -32603,
    message: 'Internal error',
  });
  assert.deepEqual(v03.encodeError(taskNotFound('t')).data, {
    reason: 'TASK_NOT_FOUND',
    taskId: 't',
  });
  const late = new A2AError('unsupportedOperation', 'already resolved by Ann', {
    reason: 'ALREADY_RESOLVED',
    info: { resolvedBy: 'Ann', selectedOptionId: 'allow' },
  });
  assert.deepEqual(v03.encodeError(late), {
    code: -32004,
    message: 'already resolved by Ann',
    data: { reason: 'ALREADY_RESOLVED', resolvedBy: 'Ann', selectedOptionId: 'allow' },
  });
  const decoded = v03.decodeError(v03.encodeError(late));
  assert.equal(decoded.kind, 'unsupportedOperation');
  assert.equal(decoded.reason, 'ALREADY_RESOLVED');
  assert.deepEqual(decoded.detail.info, late.detail.info);
});

test('data that a peer sent is handed on as it came', () => {
  const data = ['anything'];
  assert.equal(v03.encodeError(new A2AError('internal', 'x', { data })).data, data);
});

test('a REST error is the bare JSON-RPC error that 0.3 clients look for', () => {
  const body = encodeRestError(taskNotFound('t'), '0.3');
  assert.deepEqual(body, {
    code: -32001,
    message: 'Task not found',
    data: { reason: 'TASK_NOT_FOUND', taskId: 't' },
  });
  assert.equal(v03.decodeError(body, 404).kind, 'taskNotFound');
  assert.equal(v03.decodeError({ error: { code: -32001, message: 'x' } }).kind, 'taskNotFound');
});

test('the bytes of a file are base64, so that clients of every version can read the task', () => {
  const sent = (bytes: string) => {
    const parts = [{ kind: 'file', file: { bytes, mimeType: 'image/png' } }];
    const message = { kind: 'message', messageId: 'm', role: 'user', parts };
    const [part] = v03.decodeParams('sendMessage', { message }).message.parts;
    return part?.kind === 'file' && 'bytes' in part.file ? part.file.bytes : undefined;
  };
  assert.equal(sent('-_8'), '+/8=');
  assert.equal(sent('AAAA\r\nBBBB'), 'AAAABBBB');
  assert.throws(() => sent('q'), /message\.parts\[0\]\.file\.bytes: must be base64/);
});
