// What servers made with other SDKs send, byte for byte where it matters, and what our client makes of it.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { StreamInterruptedError, type AgentStream } from '../../src/client/index.ts';
import { A2AError, textOf, type Binding, type ProtocolVersion } from '../../src/protocol/index.ts';
import {
  breakOff,
  clientOf,
  collect,
  openStream,
  reply,
  replyError,
  sendJson,
  startPeer,
  task,
  type Asked,
} from '../client/peer.ts';
import { tries } from '../support/interop-table.ts';

type Answer = (asked: Asked, response: ServerResponse, n: number) => unknown;

async function dial(
  t: TestContext,
  version: ProtocolVersion,
  binding: Binding,
  answer: Answer,
  attempts = 3,
) {
  const peer = await startPeer(t, answer);
  const retry = { attempts, delayMs: 1 };
  return { asked: peer.asked, agent: await clientOf(t, peer.url, { version, binding, retry }) };
}

const GO_03 = 'a2a-go 0.3 (its bytes)';
const GO_1 = 'a2a-go 2.3.1 (its bytes)';
const ADK = '@google/adk 2.0.0 (its bytes)';
const PYTHON_03 = 'a2a-python 0.3.22 (its bytes)';

/** For the table of docs/interop.md. */
function note(t: TestContext, peer: string, ...operations: readonly string[]): void {
  for (const operation of operations) {
    tries(t, { protocol: 'A2A', peer, role: 'server', operation });
  }
}

const REST = 'HTTP+JSON';
const ID = 't1';

/** A finished task in the form of 1.0 and of 0.3's REST binding, which are the same here. */
const FINISHED = {
  id: ID,
  contextId: 'c1',
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'all done' }] }],
};

const WORKING = { id: ID, contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } };

function sendEvents(response: ServerResponse, ...events: unknown[]): void {
  openStream(response);
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

function sendText(response: ServerResponse, status: number, text: string, type?: string): void {
  response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(text);
}

const GO_TEXT = 'text/plain; charset=utf-8';

async function states(stream: AgentStream): Promise<string[]> {
  return (await collect(stream)).map(({ event }) =>
    event.kind === 'task' || event.kind === 'status-update' ? event.status.state : event.kind,
  );
}

async function kindOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return error instanceof A2AError ? error.kind : String(error);
  }
  return 'no error';
}

function verbs(asked: readonly Asked[]): string[] {
  return asked.map(({ verb, path }) => `${verb} ${path}`);
}

test('a 1.0 REST server that takes a subscription by POST only, as in Go and Java, gets a POST', async (t) => {
  note(t, GO_1, 'subscribe');
  const { agent, asked } = await dial(t, '1.0', REST, ({ verb, path }, response) => {
    if (verb === 'GET' && path === '/tasks/t1') sendJson(response, FINISHED);
    else if (verb === 'POST') sendEvents(response, { task: FINISHED });
    else sendText(response, 405, 'Method Not Allowed\n', GO_TEXT);
  });
  assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
  assert.deepEqual(verbs(asked), ['POST /tasks/t1:subscribe']);
  assert.deepEqual(asked[0]?.body, {});
});

for (const [name, refuse] of [
  ['405', (response: ServerResponse) => sendText(response, 405, 'Method Not Allowed\n', GO_TEXT)],
  ['404 with a page', (response: ServerResponse) => sendText(response, 404, '<p>?', 'text/html')],
  [
    '404 of a router',
    (response: ServerResponse) => sendJson(response, { detail: 'Not Found' }, 404),
  ],
  ['501', (response: ServerResponse) => sendJson(response, { message: 'no such route' }, 501)],
] as const) {
  test(`a 1.0 REST server that answers a POST with ${name} is asked by GET, and by GET from then on`, async (t) => {
    const { agent, asked } = await dial(t, '1.0', REST, ({ verb }, response) => {
      if (verb === 'POST') refuse(response);
      else sendEvents(response, { task: FINISHED });
    });
    assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
    assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
    assert.deepEqual(
      asked.map(({ verb }) => verb),
      ['POST', 'GET', 'GET'],
    );
  });
}

test('an unknown task is no unknown route: it is not asked for again by another method', async (t) => {
  const error = {
    code: 404,
    status: 'NOT_FOUND',
    message: 'task not found',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'TASK_NOT_FOUND',
        domain: 'a2a-protocol.org',
      },
    ],
  };
  const { agent, asked } = await dial(t, '1.0', REST, (_, response) =>
    sendJson(response, { error }, 404),
  );
  assert.equal(await kindOf(states(agent.resubscribe(ID))), 'taskNotFound');
  assert.deepEqual(verbs(asked), ['POST /tasks/t1:subscribe', 'GET /tasks/t1']);
});

test('0.3 REST subscribes with GET, which is all that the Python server takes', async (t) => {
  note(t, PYTHON_03, 'subscribe');
  const { agent, asked } = await dial(t, '0.3', REST, ({ verb }, response) => {
    if (verb === 'GET') sendEvents(response, { task: FINISHED });
    else sendJson(response, { detail: 'Method Not Allowed' }, 405);
  });
  assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
  assert.deepEqual(verbs(asked), ['GET /v1/tasks/t1:subscribe']);
});

test('the Go server of 0.3 takes a subscription by GET for a task of that name: it gets a POST', async (t) => {
  note(t, GO_03, 'subscribe');
  const problem = {
    type: 'https://a2a-protocol.org/errors/task-not-found',
    title: 'Task Not Found',
    status: 404,
    detail: 'task not found',
    taskId: 't1:subscribe',
  };
  const { agent, asked } = await dial(t, '0.3', REST, ({ verb }, response) => {
    if (verb === 'POST') sendEvents(response, { task: FINISHED });
    else sendText(response, 404, JSON.stringify(problem), 'application/problem+json');
  });
  assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
  assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
  assert.deepEqual(
    asked.map(({ verb }) => verb),
    ['GET', 'POST', 'POST'],
  );
});

test('JSON is read whatever its content type is, as the Go server of 0.3 sends none', async (t) => {
  note(t, GO_03, 'send', 'errors');
  for (const type of [undefined, GO_TEXT, 'application/octet-stream']) {
    const { agent } = await dial(t, '0.3', 'JSONRPC', ({ body }, response) => {
      const { id, method } = body;
      const answer =
        method === 'tasks/get'
          ? { error: { code: -32001, message: 'task not found' } }
          : { result: task('completed', 'hi') };
      sendText(response, 200, `${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`, type);
    });
    assert.equal(await agent.send('hello').text(), 'hi');
    assert.equal(await agent.stream('hello').text(), 'hi');
    assert.equal(await kindOf(agent.get('nobody')), 'taskNotFound');
  }
});

test('a page or a text is still an error that says what came', async (t) => {
  for (const [type, text] of [
    ['text/html', '<!doctype html><title>Sign in</title>'],
    ['text/plain', 'upstream {"error": 1}'],
    [undefined, 'OK'],
  ] as const) {
    const { agent } = await dial(t, '0.3', 'JSONRPC', (_, response) =>
      sendText(response, 200, text, type),
    );
    await assert.rejects(agent.send('hello'), {
      kind: 'invalidAgentResponse',
      message: `The agent answered HTTP 200 OK with ${type ?? 'nothing'}`,
    });
  }
});

test('errors of the Python REST server of 0.3, which have no code, keep their meaning', async (t) => {
  note(t, PYTHON_03, 'errors');
  let refusal: readonly [status: number, body: unknown] = [500, {}];
  const { agent } = await dial(t, '0.3', REST, (_, response) =>
    sendJson(response, refusal[1], refusal[0]),
  );
  const config = { id: 'p', url: 'https://hook.test' };
  const cases: [string, number, unknown, () => Promise<unknown>][] = [
    ['taskNotFound', 404, { message: 'Task not found' }, () => agent.get(ID)],
    ['taskNotFound', 404, { message: 'Task not found' }, () => agent.cancel(ID)],
    ['taskNotFound', 404, { message: 'Task not found' }, () => agent.send('x', { taskId: ID })],
    ['taskNotFound', 404, { message: 'Task not found' }, () => agent.listPushConfigs(ID)],
    ['taskNotFound', 404, { detail: 'No task with the id t1' }, () => agent.get(ID)],
    ['methodNotFound', 404, { message: 'no such agent' }, () => agent.send('x')],
    ['methodNotFound', 404, { message: 'no such agent' }, () => agent.list()],
    ['methodNotFound', 404, { detail: 'Not Found' }, () => agent.get(ID)],
    ['methodNotFound', 404, { message: 'Not Found' }, () => agent.get(ID)],
    ['extendedCardNotConfigured', 404, { message: 'Not supported' }, () => agent.extendedCard()],
    ['taskNotCancelable', 409, { message: 'Task cannot be canceled' }, () => agent.cancel(ID)],
    ['conflict', 409, { message: 'busy' }, () => agent.send('x')],
    ['pushNotSupported', 501, { message: 'Not supported' }, () => agent.setPushConfig(ID, config)],
    ['unsupportedOperation', 501, { message: 'Not supported' }, () => agent.cancel(ID)],
    ['unsupportedOperation', 405, { detail: 'Method Not Allowed' }, () => agent.cancel(ID)],
    ['invalidParams', 400, { message: 'Invalid' }, () => agent.send('x')],
    ['invalidParams', 422, { detail: [{ loc: ['id'], msg: 'too long' }] }, () => agent.get(ID)],
    ['contentTypeNotSupported', 415, { message: 'No images' }, () => agent.send('x')],
    ['internal', 500, { message: 'unknown exception' }, () => agent.get(ID)],
  ];
  const found: string[] = [];
  for (const [, status, body, call] of cases) {
    refusal = [status, body];
    found.push(await kindOf(call()));
  }
  assert.deepEqual(
    found,
    cases.map(([kind]) => kind),
  );
  refusal = [422, { detail: [{ loc: ['id'], msg: 'too long' }, { msg: 'not a name' }] }];
  await assert.rejects(agent.get(ID), { message: 'too long; not a name' });
});

test('an unknown task of ADK’s server, which calls it an internal error, is one all the same', async (t) => {
  note(t, ADK, 'errors');
  const error = { code: -32603, message: 'Task not found: t1' };
  const rpc = await dial(t, '0.3', 'JSONRPC', ({ body }, response) => {
    const failed = { jsonrpc: '2.0', id: body.id, error };
    if (body.method === 'tasks/get') return sendJson(response, failed);
    openStream(response);
    return response.end(`event: error\ndata: ${JSON.stringify(failed)}\n\n`);
  });
  const rest = await dial(t, '0.3', REST, (_, response) => sendJson(response, error, 500));
  for (const { agent } of [rpc, rest]) {
    assert.equal(await kindOf(agent.get(ID)), 'taskNotFound');
    assert.equal(await kindOf(states(agent.resubscribe(ID))), 'taskNotFound');
    assert.equal(await kindOf(states(agent.stream('x', { taskId: ID }))), 'taskNotFound');
  }
});

test('errors of the Go REST server of 1.0 are read by their reason, not by their status', async (t) => {
  note(t, GO_1, 'errors');
  let refusal: readonly [status: number, name: string, reason: string] = [500, '', ''];
  const { agent, asked } = await dial(t, '1.0', REST, (_, response) => {
    const [code, status, reason] = refusal;
    const type = 'type.googleapis.com/google.rpc.ErrorInfo';
    const metadata = { timestamp: '2026-05-28T10:00:00Z' };
    const details = [{ '@type': type, reason, domain: 'a2a-protocol.org', metadata }];
    sendJson(response, { error: { code, status, message: 'no', details } }, code);
  });
  const cases: [string, typeof refusal, () => Promise<unknown>][] = [
    ['taskNotFound', [404, 'NOT_FOUND', 'TASK_NOT_FOUND'], () => agent.get(ID)],
    [
      'taskNotCancelable',
      [400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
      () => agent.cancel(ID),
    ],
    [
      'pushNotSupported',
      [501, 'UNIMPLEMENTED', 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      () => agent.listPushConfigs(ID),
    ],
    [
      'contentTypeNotSupported',
      [400, 'INVALID_ARGUMENT', 'UNSUPPORTED_CONTENT_TYPE'],
      () => agent.send('x'),
    ],
    ['versionNotSupported', [501, 'UNIMPLEMENTED', 'VERSION_NOT_SUPPORTED'], () => agent.send('x')],
    ['internal', [500, 'INTERNAL', 'INTERNAL_ERROR'], () => agent.get(ID)],
  ];
  const found: string[] = [];
  for (const [, given, call] of cases) {
    refusal = given;
    found.push(await kindOf(call()));
  }
  assert.deepEqual(
    found,
    cases.map(([kind]) => kind),
  );
  // An operation that is not supported is no unknown route.
  asked.length = 0;
  refusal = [501, 'UNIMPLEMENTED', 'UNSUPPORTED_OPERATION'];
  assert.equal(await kindOf(states(agent.resubscribe(ID))), 'unsupportedOperation');
  assert.deepEqual(verbs(asked), ['POST /tasks/t1:subscribe', 'GET /tasks/t1']);
});

test('a stream for an unknown task that breaks at once, as the Python server does, is no reason to wait', async (t) => {
  const { agent, asked } = await dial(
    t,
    '0.3',
    REST,
    ({ path }, response) => {
      if (path.endsWith(':subscribe')) {
        openStream(response);
        breakOff(response, ': ping\n\n');
      } else sendJson(response, { message: 'Task not found' }, 404);
    },
    1000,
  );
  assert.equal(await kindOf(states(agent.resubscribe(ID))), 'taskNotFound');
  assert.equal(asked.length, 2);
});

test('a message for an unknown task, whose stream breaks at once, cannot have arrived', async (t) => {
  const { agent, asked } = await dial(t, '0.3', REST, ({ verb }, response) => {
    if (verb === 'GET') return sendJson(response, { message: 'Task not found' }, 404);
    openStream(response);
    return breakOff(response, ': ping\n\n');
  });
  assert.equal(await kindOf(states(agent.stream('x', { taskId: ID }))), 'taskNotFound');
  assert.equal(asked.length, 2);
});

test('a running task whose stream breaks at once is subscribed to again', async (t) => {
  const { agent, asked } = await dial(t, '0.3', REST, ({ path }, response, n) => {
    if (!path.endsWith(':subscribe')) sendJson(response, WORKING);
    else if (n > 2) sendEvents(response, { task: FINISHED });
    else {
      openStream(response);
      breakOff(response, ': ping\n\n');
    }
  });
  assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
  assert.equal(asked.length, 5);
});

test('a server that has forgotten the task is not asked until the attempts run out', async (t) => {
  const { agent, asked } = await dial(
    t,
    '0.3',
    REST,
    ({ verb, path }, response) => {
      if (path === '/v1/tasks/t1') return sendJson(response, { message: 'Task not found' }, 404);
      openStream(response);
      const task = `data: ${JSON.stringify({ task: WORKING })}\n\n`;
      return breakOff(response, verb === 'POST' ? task : ': ping\n\n');
    },
    1000,
  );
  await assert.rejects(states(agent.stream('x')), StreamInterruptedError);
  assert.equal(asked.length, 3);
});

/** How servers answer a subscription to a task that has ended. */
const ENDED: Record<string, Answer> = {
  'the error -32004': (asked, response) => replyError(asked, response, -32004),
  'the error -32004 with HTTP 400': ({ body }, response) =>
    sendJson(
      response,
      { jsonrpc: '2.0', id: body.id, error: { code: -32004, message: 'It has ended' } },
      400,
    ),
  'the error -32004 as an event': ({ body }, response) =>
    sendEvents(response, { jsonrpc: '2.0', id: body.id, error: { code: -32004, message: 'No' } }),
  'invalid parameters, as in Python': (asked, response) => replyError(asked, response, -32602),
  '"task not found", as in Python': (asked, response) => replyError(asked, response, -32001),
  'an internal error': (asked, response) => replyError(asked, response, -32603),
  'an empty stream, as in Go': (_, response) => sendEvents(response),
  'a stream that breaks': (_, response) => {
    openStream(response);
    breakOff(response, ': ping\n\n');
  },
  'a stream with the task only': ({ body }, response) =>
    sendEvents(response, { jsonrpc: '2.0', id: body.id, result: task('completed', 'all done') }),
  'the task as JSON': (asked, response) => reply(asked, response, task('completed', 'all done')),
  'a page with HTTP 404': (_, response) => sendText(response, 404, '<p>?', 'text/html'),
};

for (const [what, answer] of Object.entries(ENDED)) {
  test(`a finished task is shown when the subscription is answered with ${what}`, async (t) => {
    const { agent } = await dial(
      t,
      '0.3',
      'JSONRPC',
      (asked, response, n) => {
        if (asked.body.method === 'tasks/resubscribe') answer(asked, response, n);
        else reply(asked, response, task('completed', 'all done'));
      },
      1000,
    );
    const stream = agent.resubscribe(ID);
    assert.deepEqual(await states(stream), ['completed']);
    assert.equal(textOf(stream.task?.artifacts?.[0]?.parts ?? []), 'all done');
  });
}

for (const [what, status, body] of [
  ['404', 404, { message: 'Task not found' }],
  ['501', 501, { message: 'Not supported' }],
  ['422', 422, { message: 'Task t1 is in terminal state: completed' }],
  ['400', 400, { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'Ended' } }],
] as const) {
  for (const version of ['0.3', '1.0'] as const) {
    test(`a finished task is shown when a ${version} REST server refuses with ${what}`, async (t) => {
      const { agent } = await dial(t, version, REST, ({ path }, response) => {
        if (path.endsWith(':subscribe')) sendJson(response, body, status);
        else sendJson(response, FINISHED);
      });
      assert.deepEqual(await states(agent.resubscribe(ID)), ['completed']);
    });
  }
}
