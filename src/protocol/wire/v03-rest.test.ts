import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentCard } from '../card.ts';
import { A2AError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { StreamEvent, Task } from '../task.ts';
import { codecOf } from './codecs.ts';
import { v03 } from './v03.ts';
import { v03Rest } from './v03-rest.ts';
import { v1 } from './v1.ts';

const message: Message = {
  kind: 'message',
  messageId: 'm',
  contextId: 'c',
  taskId: 't',
  role: 'agent',
  parts: [
    { kind: 'text', text: 'hello', metadata: { a: 1 } },
    { kind: 'file', file: { bytes: 'iVBOR/8A', mimeType: 'image/png', name: 'a.png' } },
    { kind: 'file', file: { uri: 'https://x.test/a' } },
    { kind: 'data', data: { deep: [1, null] } },
    { kind: 'data', data: [1, 'two'] },
  ],
  metadata: { b: 2 },
  extensions: ['https://x.test/e'],
};

const task: Task = {
  kind: 'task',
  id: 't',
  contextId: 'c',
  status: { state: 'canceled', message, timestamp: '2026-01-02T03:04:05.000Z' },
  history: [{ ...message, role: 'user' }],
  artifacts: [{ artifactId: 'a', name: 'n', description: 'd', parts: message.parts }],
  metadata: { c: 3 },
};

const ids = { taskId: 't', contextId: 'c' };

test('an answer is under the name of its kind, with the names and enumerations of protobuf', () => {
  assert.deepEqual(
    v03Rest.encodeEvent({
      kind: 'status-update',
      ...ids,
      status: { state: 'canceled', message: { ...message, parts: [{ kind: 'text', text: 'x' }] } },
      final: true,
    }),
    {
      statusUpdate: {
        ...ids,
        status: {
          state: 'TASK_STATE_CANCELLED',
          message: {
            messageId: 'm',
            ...ids,
            role: 'ROLE_AGENT',
            content: [{ text: 'x' }],
            metadata: { b: 2 },
            extensions: ['https://x.test/e'],
          },
        },
        final: true,
      },
    },
  );
});

test('what is written is read back as it was', () => {
  const [artifact] = task.artifacts!;
  const events: StreamEvent[] = [
    message,
    task,
    { kind: 'status-update', ...ids, status: { state: 'working' }, final: false, metadata: {} },
    { kind: 'artifact-update', ...ids, artifact: artifact!, append: true, lastChunk: false },
  ];
  for (const event of events) {
    assert.deepEqual(v03Rest.decodeEvent(v03Rest.encodeEvent(event)), event);
  }
  for (const operation of ['getTask', 'cancelTask'] as const) {
    const written = v03Rest.encodeResult(operation, task);
    assert.deepEqual(v03Rest.decodeResult(operation, written), task);
  }
  const page = { tasks: [task], nextPageToken: 'x', pageSize: 1, totalSize: 2 };
  assert.deepEqual(
    v03Rest.decodeResult('listTasks', v03Rest.encodeResult('listTasks', page)),
    page,
  );
});

test('push configurations have a resource name', () => {
  const authentication = { schemes: ['Bearer'], credentials: 'k' };
  const pushNotificationConfig = { id: 'p', url: 'https://x.test', token: 's', authentication };
  const config = { taskId: 't', pushNotificationConfig };
  const name = 'tasks/t/pushNotificationConfigs/p';
  const written = { name, pushNotificationConfig };
  assert.deepEqual(v03Rest.encodeResult('getPushConfig', config), written);
  assert.deepEqual(v03Rest.decodeResult('getPushConfig', written), config);
  const list = v03Rest.encodeResult('listPushConfigs', [config]);
  assert.deepEqual(list, { configs: [written] });
  assert.deepEqual(v03Rest.decodeResult('listPushConfigs', list), [config]);
  const asked = v03Rest.encodeParams('setPushConfig', config);
  assert.deepEqual(asked, { parent: 'tasks/t', configId: 'p', config: written });
  assert.deepEqual(v03Rest.decodeParams('setPushConfig', asked), config);
});

test('a card has its schemes in both shapes, because its readers differ, and is read back', () => {
  const card: AgentCard = {
    name: 'A',
    description: 'd',
    version: '1',
    supportedInterfaces: [
      { url: 'https://x.test', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    ],
    capabilities: { streaming: true, extendedAgentCard: true },
    securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
    security: [{ bearer: [] }],
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [{ id: 's', name: 's', description: '', tags: [], security: [{ bearer: ['x'] }] }],
  };
  const written = v03Rest.encodeResult('getExtendedCard', card);
  assert.partialDeepStrictEqual(written, {
    url: 'https://x.test',
    securitySchemes: {
      bearer: { type: 'http', scheme: 'Bearer', httpAuthSecurityScheme: { scheme: 'Bearer' } },
    },
    security: [{ bearer: [] }],
  });
  assert.deepEqual(v03Rest.decodeResult('getExtendedCard', written), card);
});

test('a message is asked for as it is answered, and waits unless it says otherwise', () => {
  const { referenceTaskIds: _, ...known } = { ...message, referenceTaskIds: ['x'] };
  const push = { url: 'https://x.test' };
  for (const blocking of [undefined, true, false]) {
    const configuration = { pushNotificationConfig: push, historyLength: 2 };
    const params = {
      message,
      configuration: blocking === undefined ? configuration : { ...configuration, blocking },
    };
    const read = v03Rest.decodeParams('sendMessage', v03Rest.encodeParams('sendMessage', params));
    assert.deepEqual(read, {
      message: known,
      configuration: { ...configuration, blocking: blocking ?? true },
    });
  }
  // proto3 does not write what is false.
  const bare = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] } };
  const immediate = v03Rest.decodeParams('sendMessage', { ...bare, configuration: {} });
  assert.equal(immediate.configuration?.blocking, false);
  assert.equal(v03Rest.decodeParams('sendMessage', bare).configuration, undefined);
});

test('the names of the .proto file are read too', () => {
  const file = { file_with_uri: 'https://x.test', mime_type: 'image/png' };
  const params = v03Rest.decodeParams('sendMessage', {
    message: { message_id: 'm', task_id: 't', role: 'ROLE_USER', content: [{ file }] },
    configuration: { history_length: 3, push_notification: { url: 'https://y.test' } },
  });
  assert.deepEqual(params, {
    message: {
      kind: 'message',
      messageId: 'm',
      taskId: 't',
      role: 'user',
      parts: [{ kind: 'file', file: { uri: 'https://x.test', mimeType: 'image/png' } }],
    },
    configuration: {
      blocking: false,
      historyLength: 3,
      pushNotificationConfig: { url: 'https://y.test' },
    },
  });
  const query = v03Rest.decodeParams('getTask', { id: 't', history_length: '3' });
  assert.equal(query.historyLength, 3);
});

test('both shapes of 0.3 are read', () => {
  const written = v03Rest.encodeResult('getTask', task);
  for (const raw of [task, { task }, { task: written }]) {
    assert.deepEqual(v03Rest.decodeEvent(raw), task);
  }
  assert.deepEqual(v03Rest.decodeResult('getTask', task), task);
});

test('the words that protobuf has where its JSON has others are read', () => {
  const msg = { message_id: 'm', role: 'ROLE_AGENT', content: [{ text: 'x' }] };
  const read: Message = {
    kind: 'message',
    messageId: 'm',
    role: 'agent',
    parts: [{ kind: 'text', text: 'x' }],
  };
  assert.deepEqual(v03Rest.decodeEvent({ msg }), read);
  const status = { state: 'TASK_STATE_WORKING', update: msg };
  assert.deepEqual(v03Rest.decodeResult('getTask', { id: 't', context_id: 'c', status }), {
    kind: 'task',
    id: 't',
    contextId: 'c',
    status: { state: 'working', message: read },
  });
  const request = { ...msg, role: 'ROLE_USER' };
  assert.equal(v03Rest.decodeParams('sendMessage', { request }).message.messageId, 'm');
});

test('a bare list of tasks, as the text of 0.3 has it, is a page', () => {
  assert.deepEqual(v03Rest.decodeResult('listTasks', [v03Rest.encodeResult('getTask', task)]), {
    tasks: [task],
    nextPageToken: '',
    pageSize: 1,
    totalSize: 1,
  });
});

// As the compatibility kit for 0.3 sends it.
test("the kit's message is understood: names of the .proto file, and an empty URI beside the bytes", () => {
  const params = v03Rest.decodeParams('sendMessage', {
    message: {
      message_id: 'm',
      context_id: 'c',
      task_id: 't',
      role: 'ROLE_USER',
      content: [
        { text: 'hi' },
        { file: { mime_type: 'text/plain', file_with_uri: '', file_with_bytes: 'aGk=' } },
        { file: { mime_type: '', file_with_uri: 'https://x/y' } },
        { data: { data: { task_id: 1 } }, metadata: { message_id: 2 } },
      ],
    },
    configuration: { history_length: '3', blocking: true, accepted_output_modes: ['text/plain'] },
  });
  assert.deepEqual(params, {
    message: {
      kind: 'message',
      messageId: 'm',
      contextId: 'c',
      taskId: 't',
      role: 'user',
      parts: [
        { kind: 'text', text: 'hi' },
        { kind: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain' } },
        { kind: 'file', file: { uri: 'https://x/y' } },
        { kind: 'data', data: { task_id: 1 }, metadata: { message_id: 2 } },
      ],
    },
    configuration: { historyLength: 3, blocking: true, acceptedOutputModes: ['text/plain'] },
  });
});

test("the kit's webhook is understood: empty text and an empty object are absent", () => {
  const name = 'tasks/t/pushNotificationConfigs/default';
  const push = { id: 'default', url: 'https://x/y', token: '', authentication: {} };
  const params = v03Rest.decodeParams('setPushConfig', {
    parent: 'tasks/t',
    config_id: 'default',
    config: { name, push_notification_config: push },
  });
  const config = { taskId: 't', pushNotificationConfig: { id: 'default', url: 'https://x/y' } };
  assert.deepEqual(params, config);
  assert.deepEqual(v03Rest.encodeResult('setPushConfig', config), {
    name,
    pushNotificationConfig: { id: 'default', url: 'https://x/y' },
  });
});

test('credentials without a scheme are refused, not forgotten', () => {
  const push = { url: 'https://x/y', authentication: { credentials: 'secret' } };
  assert.throws(
    () =>
      v03Rest.decodeParams('setPushConfig', {
        parent: 'tasks/t',
        config: { push_notification_config: push },
      }),
    (error) => error instanceof A2AError && error.kind === 'invalidParams',
  );
});

test('bytes that Python’s SDK encoded twice are decoded once, where that is certain', () => {
  const base64 = (content: string | Buffer): string => Buffer.from(content).toString('base64');
  const read = (fileWithBytes: string, mimeType?: string): unknown => {
    const file = { fileWithBytes, ...(mimeType !== undefined && { mimeType }) };
    const said = { messageId: 'm', role: 'ROLE_AGENT', content: [{ file }] };
    const event = v03Rest.decodeEvent({ message: said });
    const part = event.kind === 'message' ? event.parts[0] : undefined;
    return part?.kind === 'file' && part.file.bytes;
  };
  const once = base64(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
  assert.equal(read(base64(once), 'image/png'), once);
  assert.equal(read(base64(once)), once);
  assert.equal(read(once, 'image/png'), once, 'encoded once, as everybody else does');
  // A text may contain the base64 of an image, and many a short text looks like base64.
  assert.equal(read(base64(once), 'text/plain'), base64(once));
  assert.equal(read(base64(`${once} and more`)), base64(`${once} and more`));
  for (const text of ['', 'data', 'R0lG', 'aGVsbG8gdGhlcmUh']) {
    assert.equal(read(base64(text), 'application/octet-stream'), base64(text), text);
  }
});

test('only 0.3 has another JSON for each binding', () => {
  assert.equal(codecOf('0.3', 'JSONRPC'), v03);
  assert.equal(codecOf('0.3', 'HTTP+JSON'), v03Rest);
  assert.equal(codecOf('1.0', 'JSONRPC'), v1);
  assert.equal(codecOf('1.0', 'HTTP+JSON'), v1);
});
