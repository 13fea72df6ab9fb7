import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentCard } from '../card.ts';
import { A2AError, taskNotFound } from '../errors.ts';
import type { Operation } from '../methods.ts';
import type { StreamEvent, Task } from '../task.ts';
import { encodeRestError } from './rest-error.ts';
import { v1 } from './v1.ts';

const hello = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] };

function send(message: unknown, rest: object = {}) {
  return v1.decodeParams('sendMessage', { message, ...rest });
}

/** The field that a refusal names. */
function refused(operation: Operation, raw: unknown): string | undefined {
  try {
    v1.decodeParams(operation, raw);
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

test('a message is read into the inner shape', () => {
  assert.deepEqual(send(hello), {
    message: {
      kind: 'message',
      messageId: 'm1',
      role: 'user',
      parts: [{ kind: 'text', text: 'hello' }],
    },
  });
});

test('each member of a part makes its kind', () => {
  const parts = [
    { text: '', mediaType: 'text/markdown', metadata: { a: 1 } },
    { raw: 'AAEC', filename: 'a.bin', mediaType: 'application/octet-stream' },
    { url: 'https://x.test/a', metadata: { b: 2 } },
    { data: [1, 2] },
    { data: null },
  ];
  assert.deepEqual(send({ ...hello, parts }).message.parts, [
    { kind: 'text', text: '', mediaType: 'text/markdown', metadata: { a: 1 } },
    {
      kind: 'file',
      file: { bytes: 'AAEC', name: 'a.bin', mimeType: 'application/octet-stream' },
    },
    { kind: 'file', file: { uri: 'https://x.test/a' }, metadata: { b: 2 } },
    { kind: 'data', data: [1, 2] },
    { kind: 'data', data: null },
  ]);
});

test('null and empty strings mean absent', () => {
  const message = {
    ...hello,
    contextId: '',
    taskId: null,
    metadata: null,
    extensions: null,
    referenceTaskIds: null,
    parts: [{ text: 'a', raw: null, data: null, filename: '', mediaType: null, metadata: null }],
  };
  assert.deepEqual(send(message, { tenant: '', configuration: null, metadata: null }), {
    message: {
      kind: 'message',
      messageId: 'm1',
      role: 'user',
      parts: [{ kind: 'text', text: 'a' }],
    },
  });
});

test('unknown fields of a request, a message and a text part are kept', () => {
  const params = send({ ...hello, mood: 'good', parts: [{ text: 'a', lang: 'en' }] }, { trace: 1 });
  assert.equal(params.trace, 1);
  assert.equal(params.message.mood, 'good');
  assert.equal(params.message.parts[0]?.lang, 'en');
});

test('enumerations may come as numbers', () => {
  assert.equal(send({ ...hello, role: 2 }).message.role, 'agent');
  const state = (number: number) => v1.decodeParams('listTasks', { status: number }).status;
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map(state),
    'submitted working completed failed canceled input-required rejected auth-required'.split(' '),
  );
});

test('bytes may come in the URL-safe alphabet and without padding', () => {
  const bytes = (raw: string) => {
    const part = send({ ...hello, parts: [{ raw }] }).message.parts[0];
    return part?.kind === 'file' ? part.file.bytes : undefined;
  };
  assert.equal(bytes('-_8'), '+/8=');
  assert.equal(bytes('+/8='), '+/8=');
  assert.equal(bytes(''), '');
});

test('the configuration is turned round: returnImmediately is the opposite of blocking', () => {
  const configuration = {
    returnImmediately: true,
    blocking: true,
    historyLength: '3',
    acceptedOutputModes: ['text/plain'],
    taskPushNotificationConfig: {
      taskId: '',
      id: '',
      url: 'https://x.test/hook',
      token: 'secret',
      authentication: { scheme: 'Bearer', credentials: 'abc' },
    },
  };
  assert.deepEqual(send(hello, { configuration }).configuration, {
    blocking: false,
    historyLength: 3,
    acceptedOutputModes: ['text/plain'],
    pushNotificationConfig: {
      url: 'https://x.test/hook',
      token: 'secret',
      authentication: { schemes: ['Bearer'], credentials: 'abc' },
    },
  });
  assert.deepEqual(send(hello, { configuration: {} }).configuration, {});
});

test('a refusal names the field as the peer calls it', () => {
  const withPart = (part: unknown) => ({ message: { ...hello, parts: [{ text: 'a' }, part] } });
  const { messageId: _, ...anonymous } = hello;
  const cases: [Operation, unknown, string][] = [
    ['sendMessage', undefined, 'params'],
    ['sendMessage', [hello], 'params'],
    ['sendMessage', {}, 'message'],
    ['sendMessage', { message: anonymous }, 'message.messageId'],
    ['sendMessage', { message: { ...hello, parts: [] } }, 'message.parts'],
    ['sendMessage', { message: { ...hello, parts: 'hello' } }, 'message.parts'],
    ['sendMessage', { message: { ...hello, role: 'ROLE_UNSPECIFIED' } }, 'message.role'],
    ['sendMessage', { message: { ...hello, role: 'user' } }, 'message.role'],
    ['sendMessage', withPart('a'), 'message.parts[1]'],
    ['sendMessage', withPart({}), 'message.parts[1]'],
    ['sendMessage', withPart({ text: 'a', url: 'b' }), 'message.parts[1]'],
    ['sendMessage', withPart({ text: 'a', data: 1 }), 'message.parts[1]'],
    ['sendMessage', withPart({ text: 1 }), 'message.parts[1].text'],
    ['sendMessage', withPart({ raw: '***' }), 'message.parts[1].raw'],
    ['sendMessage', withPart({ raw: 'AAAAA' }), 'message.parts[1].raw'],
    ['sendMessage', withPart({ url: 1 }), 'message.parts[1].url'],
    ['sendMessage', withPart({ url: 'a', mediaType: 1 }), 'message.parts[1].mediaType'],
    ['sendMessage', withPart({ text: 'a', metadata: [] }), 'message.parts[1].metadata'],
    ['sendMessage', { message: hello, configuration: 1 }, 'configuration'],
    [
      'sendMessage',
      { message: hello, configuration: { returnImmediately: 1 } },
      'configuration.returnImmediately',
    ],
    [
      'streamMessage',
      { message: hello, configuration: { taskPushNotificationConfig: {} } },
      'configuration.taskPushNotificationConfig.url',
    ],
    ['getTask', {}, 'id'],
    ['getTask', { id: 't', historyLength: 'many' }, 'historyLength'],
    ['listTasks', { status: 'TASK_STATE_DREAMING' }, 'status'],
    ['listTasks', { status: 'working' }, 'status'],
    ['listTasks', { pageSize: 0 }, 'pageSize'],
    ['listTasks', { pageSize: '101' }, 'pageSize'],
    ['setPushConfig', { taskId: 't' }, 'url'],
    ['setPushConfig', { url: 'https://x.test' }, 'taskId'],
    [
      'setPushConfig',
      { taskId: 't', url: 'u', authentication: { credentials: 'c' } },
      'authentication.scheme',
    ],
    ['getPushConfig', {}, 'taskId'],
    ['deletePushConfig', { taskId: 't' }, 'id'],
    ['listPushConfigs', {}, 'taskId'],
  ];
  for (const [operation, raw, field] of cases) {
    assert.equal(refused(operation, raw), field, `${operation} ${JSON.stringify(raw)}`);
  }
});

test('only the list and the extended card may come without parameters', () => {
  assert.deepEqual(v1.decodeParams('listTasks', undefined), {});
  assert.deepEqual(v1.decodeParams('getExtendedCard', null), {});
  assert.equal(refused('getTask', undefined), 'params');
});

test('a query string says numbers and booleans as text', () => {
  const query = {
    pageSize: '20',
    historyLength: '0',
    includeArtifacts: 'true',
    pageToken: '',
    contextId: '',
    status: 'TASK_STATE_UNSPECIFIED',
    statusTimestampAfter: '2026-01-01T00:00:00Z',
  };
  assert.deepEqual(v1.decodeParams('listTasks', query), {
    pageSize: 20,
    historyLength: 0,
    includeArtifacts: true,
    statusTimestampAfter: '2026-01-01T00:00:00Z',
  });
  assert.deepEqual(v1.decodeParams('subscribe', { id: 't', after: '7' }), { id: 't', after: 7 });
});

test('push operations name the task taskId, or as the routes do', () => {
  const inner = { id: 't', pushNotificationConfigId: 'c' };
  assert.deepEqual(v1.decodeParams('getPushConfig', { taskId: 't', id: 'c' }), inner);
  assert.deepEqual(v1.decodeParams('getPushConfig', inner), inner);
  assert.deepEqual(v1.decodeParams('listPushConfigs', { taskId: 't' }), { id: 't' });
  assert.deepEqual(v1.decodeParams('listPushConfigs', { id: 't' }), { id: 't' });
});

const task: Task = {
  kind: 'task',
  id: 't',
  contextId: 'c',
  status: { state: 'working', timestamp: '2026-01-01T00:00:00Z' },
};

test('an event is told by its member, and says neither kind nor final', () => {
  const status: StreamEvent = {
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    status: { state: 'input-required' },
    final: true,
  };
  assert.deepEqual(v1.encodeEvent(status), {
    statusUpdate: {
      taskId: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    },
  });
  const chunk: StreamEvent = {
    kind: 'artifact-update',
    taskId: 't',
    contextId: 'c',
    artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'x' }] },
    append: true,
  };
  assert.deepEqual(v1.encodeEvent(chunk), {
    artifactUpdate: {
      taskId: 't',
      contextId: 'c',
      artifact: { artifactId: 'a', parts: [{ text: 'x' }] },
      append: true,
    },
  });
});

test('the answer to a message is wrapped, a task that was asked for is not', () => {
  const bare = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_WORKING', timestamp: '2026-01-01T00:00:00Z' },
  };
  assert.deepEqual(v1.encodeResult('sendMessage', task), { task: bare });
  assert.deepEqual(v1.encodeResult('getTask', task), bare);
  assert.deepEqual(v1.encodeResult('cancelTask', task), bare);
});

test('push configurations are flat, lists have a page token, delete answers an object', () => {
  const config = {
    taskId: 't',
    pushNotificationConfig: { id: 'c', url: 'u', authentication: { schemes: ['Bearer', 'Basic'] } },
  };
  const flat = { taskId: 't', id: 'c', url: 'u', authentication: { scheme: 'Bearer' } };
  assert.deepEqual(v1.encodeResult('getPushConfig', config), flat);
  assert.deepEqual(v1.encodeResult('listPushConfigs', [config]), {
    configs: [flat],
    nextPageToken: '',
  });
  assert.deepEqual(v1.encodeResult('deletePushConfig', null), {});
  assert.deepEqual(
    v1.encodeResult('listTasks', {
      tasks: [],
      nextPageToken: '',
      pageSize: 50,
      totalSize: 0,
    }),
    { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 },
  );
});

test('final is read off the state', () => {
  const finalOf = (state: unknown) => {
    const event = v1.decodeEvent({ statusUpdate: { taskId: 't', status: { state }, final: true } });
    return event.kind === 'status-update' && event.final;
  };
  assert.equal(finalOf('TASK_STATE_WORKING'), false);
  assert.equal(finalOf('TASK_STATE_AUTH_REQUIRED'), true);
  assert.equal(finalOf(3), true);
  assert.equal(finalOf(undefined), false);
});

test('a sloppy answer is read: no context, no parts, blank parts, no page', () => {
  assert.deepEqual(
    v1.decodeEvent({
      artifactUpdate: { taskId: 't', artifact: { artifactId: 'a' }, lastChunk: true },
    }),
    {
      kind: 'artifact-update',
      taskId: 't',
      contextId: '',
      artifact: { artifactId: 'a', parts: [] },
      lastChunk: true,
    },
  );
  const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{}, { text: 'x' }] };
  const event = v1.decodeEvent({ message });
  assert.deepEqual(event.kind === 'message' && event.parts, [{ kind: 'text', text: 'x' }]);
  assert.deepEqual(v1.decodeResult('listTasks', {}), {
    tasks: [],
    nextPageToken: '',
    pageSize: 0,
    totalSize: 0,
  });
  assert.deepEqual(v1.decodeResult('listPushConfigs', {}), []);
  assert.equal(v1.decodeResult('deletePushConfig', undefined), null);
});

test('garbage in an answer is refused', () => {
  for (const raw of [
    null,
    'x',
    [],
    {},
    { task: 1 },
    { task: { id: 1, status: {} } },
    { other: {} },
  ]) {
    garbled(() => v1.decodeEvent(raw));
    garbled(() => v1.decodeResult('sendMessage', raw));
  }
  garbled(() => v1.decodeEvent({ task: { id: 't', status: { state: 'TASK_STATE_DREAMING' } } }));
  garbled(() => v1.decodeResult('sendMessage', { statusUpdate: { taskId: 't', status: {} } }));
  garbled(() => v1.decodeResult('getTask', { id: 7, status: {} }));
});

const card: AgentCard = {
  name: 'Echo',
  description: 'Repeats your words',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'a' },
  ],
  capabilities: { streaming: true, extendedAgentCard: true },
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    key: { type: 'apiKey', in: 'header', name: 'X-Key', description: 'A key' },
    oauth: {
      type: 'oauth2',
      flows: { clientCredentials: { tokenUrl: 'https://x.test/token', scopes: { read: 'Read' } } },
    },
    oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://x.test/oidc' },
    mtls: { type: 'mutualTLS' },
  },
  security: [{ bearer: [] }, { oauth: ['read'] }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'], security: [{ key: [] }] }],
};

test('a card has its schemes under their names and its requirements as lists', () => {
  const { security: _, securitySchemes: __, skills: ___, ...rest } = card;
  assert.deepEqual(v1.encodeCard(card), {
    ...rest,
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
      key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key', description: 'A key' } },
      oauth: {
        oauth2SecurityScheme: {
          flows: {
            clientCredentials: { tokenUrl: 'https://x.test/token', scopes: { read: 'Read' } },
          },
        },
      },
      oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://x.test/oidc' } },
      mtls: { mtlsSecurityScheme: {} },
    },
    securityRequirements: [
      { schemes: { bearer: { list: [] } } },
      { schemes: { oauth: { list: ['read'] } } },
    ],
    skills: [
      {
        id: 's',
        name: 'S',
        description: 'd',
        tags: ['t'],
        securityRequirements: [{ schemes: { key: { list: [] } } }],
      },
    ],
  });
});

test('a card that ProtoJSON made short is read', () => {
  const decoded = v1.decodeCard({
    name: 'Short',
    supportedInterfaces: [
      { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    ],
    provider: null,
    securitySchemes: {
      oauth: { oauth2SecurityScheme: { flows: { password: { tokenUrl: 'u' } } } },
    },
    securityRequirements: [{ schemes: { oauth: {} } }],
  });
  assert.deepEqual(decoded.supportedInterfaces, [
    { url: 'https://x.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ]);
  assert.deepEqual(decoded.security, [{ oauth: [] }]);
  assert.deepEqual(decoded.skills, []);
  assert.equal('provider' in decoded, false);
});

test('a card without a name or an address is refused', () => {
  garbled(() => v1.decodeCard({ name: 'x' }));
  garbled(() => v1.decodeCard({ supportedInterfaces: card.supportedInterfaces }));
  garbled(() => v1.decodeCard('<html>'));
});

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

test('an error of A2A has its reason in the details', () => {
  assert.deepEqual(v1.encodeError(taskNotFound('t')), {
    code: -32001,
    message: 'Task not found',
    data: [
      {
        '@type': ERROR_INFO,
        reason: 'TASK_NOT_FOUND',
        domain: 'a2a-protocol.org',
        metadata: { taskId: 't' },
      },
    ],
  });
  assert.deepEqual(v1.encodeError(new A2AError('internal')), {
    code: -32603,
    message: 'Internal error',
  });
});

test('wrong fields are a BadRequest', () => {
  const violations = [{ field: 'message.parts', description: 'empty' }];
  assert.deepEqual(v1.encodeError(new A2AError('invalidParams', 'no', { violations })), {
    code: -32602,
    message: 'no',
    data: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }],
  });
});

test('a REST error is a google.rpc.Status', () => {
  assert.deepEqual(encodeRestError(new A2AError('taskNotCancelable'), '1.0'), {
    error: {
      code: 400,
      status: 'FAILED_PRECONDITION',
      message: 'Task cannot be canceled',
      details: [{ '@type': ERROR_INFO, reason: 'TASK_NOT_CANCELABLE', domain: 'a2a-protocol.org' }],
    },
  });
});

test('an error is known by its reason, then its code, then the HTTP status', () => {
  const info = (reason: string) => [{ '@type': ERROR_INFO, reason, domain: 'a2a-protocol.org' }];
  const kindOf = (raw: unknown, http?: number) => v1.decodeError(raw, http).kind;
  assert.equal(kindOf({ code: -32603, data: info('TASK_NOT_FOUND') }, 500), 'taskNotFound');
  assert.equal(kindOf({ error: { code: 404, details: info('TASK_NOT_FOUND') } }), 'taskNotFound');
  assert.equal(kindOf({ code: -32004, data: info('ALREADY_RESOLVED') }), 'unsupportedOperation');
  assert.equal(kindOf({ code: -32002 }, 500), 'taskNotCancelable');
  assert.equal(kindOf({ code: -32600 }, 413), 'tooLarge');
  assert.equal(kindOf({ code: -1 }, 401), 'unauthenticated');
  assert.equal(kindOf('<html>Not here</html>', 404), 'methodNotFound');
  assert.equal(kindOf({ error: { code: 503 } }), 'unavailable');
  assert.equal(kindOf(undefined), 'internal');
});

test('a peer that sends garbage for an error gives a plain message', () => {
  for (const raw of [undefined, null, 7, 'x', [], {}, { error: 'x' }, { code: 'x', message: {} }]) {
    assert.equal(v1.decodeError(raw).message, 'Internal error');
  }
  assert.equal(v1.decodeError({ code: 1, message: 'x'.repeat(9999) }).message.length, 2000);
});
