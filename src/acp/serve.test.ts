// The requests to the host, and rare orders of session events.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { methods, type AnyMessage, type McpServer } from '@agentclientprotocol/sdk';
import { editorFor } from '../../test/acp/support.ts';
import type { LiveItem, LiveSession, LiveSnapshot } from '../live/client/session.ts';
import {
  extensionMetadata,
  type DevelopmentToolEvent,
} from '../protocol/development-tool/index.ts';
import { A2AError, type Message, type TaskState } from '../protocol/index.ts';
import { serveAcp, type Wanted } from './serve.ts';

function message(role: Message['role'], text: string): Message {
  return { kind: 'message', messageId: `${role} ${text}`, role, parts: [{ kind: 'text', text }] };
}

function snapshot(taskId: string, seq: number, history: Message[] = []): LiveItem {
  const contextId = 'c1';
  const status = { state: 'working' as const };
  const task: LiveSnapshot['task'] = { kind: 'task', id: taskId, contextId, status, history };
  const around = { approval: 'ask', model: 'm', workspace: '/work', clients: [], pending: [] };
  return { kind: 'snapshot', snapshot: { taskId, contextId, task, seq, ...around } };
}

function event(
  [taskId, seq]: [string, number],
  about: Partial<DevelopmentToolEvent>,
  state: TaskState,
  said?: Message,
): LiveItem {
  const status = { state, ...(said && { message: said }) };
  const metadata = extensionMetadata({ kind: 'STATE_CHANGE', model: 'm', ...about });
  const final = false;
  const kind = 'status-update';
  const update = { kind, taskId, contextId: 'c1', status, metadata, final } as const;
  return { kind: 'event', taskId, seq, event: update };
}

/** A session that yields one list of items per reader and then never ends. */
function sessionOf(...lists: LiveItem[][]): LiveSession & { readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const unused = async () => {
    throw new A2AError('unsupportedOperation');
  };
  return {
    asked,
    self: { id: 'acp-1', name: 'zed', kind: 'acp', roles: ['view', 'prompt', 'approve'] },
    async *items({ after, signal } = {}) {
      asked.push(after);
      yield* lists.shift() ?? [];
      if (signal && !signal.aborted) await once(signal, 'abort');
    },
    prompt: async () => ({ queued: false, taskId: 't1' }),
    commands: async () => [],
    cancel: unused,
    confirm: unused,
    execute: unused,
    clients: async () => [],
    close: async () => {},
  };
}

test('a conversation that moved to another task unnoticed is sent from the start of that task', async (t) => {
  const said = { kind: 'TEXT_CONTENT' } as const;
  const session = sessionOf(
    [snapshot('t1', 1)],
    [
      event(['t1', 2], said, 'working', message('agent', 'One.')),
      event(['t1', 3], {}, 'failed', message('agent', 'It failed.')),
      snapshot('t2', 2, [message('user', 'again')]),
    ],
    [
      event(['t2', 1], said, 'working', message('user', 'again')),
      event(['t2', 2], said, 'working', message('agent', 'Two.')),
    ],
  );
  const { editor } = editorFor(t, { join: () => session });
  await editor.open();
  await editor.until(() => editor.text === 'One.It failed.Two.');
  assert.deepEqual(editor.heard, ['again']);
  assert.deepEqual(session.asked, [undefined, 0, 0]);
});

test('a turn that the agent rejects ends with the stop reason refusal', async (t) => {
  const own = { kind: 'TEXT_CONTENT', source: { client: 'acp-1' } } as const;
  const session = sessionOf(
    [snapshot('t1', 1)],
    [
      event(['t1', 1], {}, 'submitted'),
      event(['t1', 2], own, 'working', message('user', 'hi')),
      event(['t1', 3], {}, 'rejected'),
    ],
  );
  const taken = Promise.withResolvers<void>();
  // The session continues once the prompt has arrived.
  const slow: LiveSession = {
    ...session,
    async *items(options) {
      for await (const item of session.items(options)) {
        if (item.kind === 'event' && item.seq > 1) await taken.promise;
        yield item;
      }
    },
    async prompt() {
      taken.resolve();
      return { queued: false, taskId: 't1' };
    },
  };
  const { editor } = editorFor(t, { join: () => slow });
  await editor.open();
  assert.deepEqual(await editor.prompt('hi'), { stopReason: 'refusal' });
});

test('the host gets the name of the client, its folder and its MCP servers', async (t) => {
  const heard: Wanted[] = [];
  const { editor } = editorFor(t, {
    join(wanted) {
      heard.push(wanted);
      return sessionOf([snapshot('t1', 0)]);
    },
  });
  await editor.initialize('Zed');
  const ask = (mcpServers: McpServer[]) =>
    editor.connection.agent.request(methods.agent.session.new, { cwd: '/work', mcpServers });
  await ask([
    { name: 'my files', command: 'files', args: ['-v'], env: [{ name: 'A', value: '1' }] },
    { type: 'http', name: 'docs', url: 'https://d.example', headers: [{ name: 'K', value: 'v' }] },
    { type: 'sse', name: 'old', url: 'https://o.example', headers: [] },
  ]);
  assert.deepEqual(heard, [
    {
      cwd: '/work',
      clientName: 'Zed',
      mcpServers: {
        'my-files': { command: 'files', args: ['-v'], env: { A: '1' } },
        docs: { url: 'https://d.example', headers: { K: 'v' } },
        old: { type: 'sse', url: 'https://o.example', headers: {} },
      },
    },
  ]);
  await assert.rejects(ask([{ type: 'http', name: 'odd', url: 'ftp://o.example', headers: [] }]), {
    code: -32602,
    message: /mcpServers: odd: url: must be an http or https URL/,
  });
});

test('an error of the host is reported without its details', async (t) => {
  const logged: object[] = [];
  const note = (fields: object) => void logged.push(fields);
  const { editor } = editorFor(t, {
    logger: { debug() {}, info() {}, warn: note, error: note },
    join: () => Promise.reject(new Error('/home/ann/secret')),
  });
  await assert.rejects(editor.open(), (error: Error) => {
    assert.doesNotMatch(JSON.stringify(error) + error.message, /secret/);
    return true;
  });
  assert.equal(logged.length, 1);
});

test('requests before initialize are refused', async (t) => {
  const { editor } = editorFor(t, { join: () => sessionOf() });
  await assert.rejects(editor.prompt('hi'), { code: -32600 });
});

test('a host without stored sessions and authentication offers neither', async (t) => {
  const { editor } = editorFor(t, { images: false, join: () => sessionOf() });
  const { agentCapabilities, authMethods } = await editor.initialize();
  assert.deepEqual(agentCapabilities?.sessionCapabilities, { resume: {}, close: {} });
  assert.equal(agentCapabilities?.promptCapabilities?.image, false);
  assert.deepEqual(authMethods, []);
  const { session, authenticate } = methods.agent;
  const { agent } = editor.connection;
  await assert.rejects(agent.request(session.list, {}), { code: -32601 });
  await assert.rejects(agent.request(session.delete, { sessionId: 's1' }), { code: -32601 });
  await assert.rejects(agent.request(authenticate, { methodId: 'm' }), { code: -32602 });
});

test('the host gets the folder and the cursor of a list', async (t) => {
  const asked: object[] = [];
  const { editor } = editorFor(t, {
    join: () => sessionOf(),
    async list(query) {
      asked.push(query);
      return { sessions: [{ sessionId: 's1', cwd: '/work' }], nextCursor: 's1' };
    },
  });
  const { agentCapabilities } = await editor.initialize();
  assert.deepEqual(agentCapabilities?.sessionCapabilities?.list, {});
  const list = (query: object) =>
    editor.connection.agent.request(methods.agent.session.list, query);
  assert.deepEqual(await list({}), {
    sessions: [{ sessionId: 's1', cwd: '/work' }],
    nextCursor: 's1',
  });
  await list({ cwd: '/work', cursor: 's1' });
  await list({ cwd: null, cursor: null });
  assert.deepEqual(asked, [{}, { cwd: '/work', cursor: 's1' }, {}]);
  await assert.rejects(list({ cwd: 'work' }), { code: -32602, message: /absolute path/ });
});

test('nothing that a peer sends is printed on the screen of the host', async (t) => {
  const printed = ['error', 'warn', 'log'].map((name) =>
    t.mock.method(console, name as 'error', () => {}),
  );
  const toUs = new TransformStream<AnyMessage, AnyMessage>();
  const toPeer = new TransformStream<AnyMessage, AnyMessage>();
  const served = serveAcp(
    { readable: toUs.readable, writable: toPeer.writable },
    {
      version: '1',
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      join: () => sessionOf(),
    },
  );
  t.after(() => served.close());
  const writer = toUs.writable.getWriter();
  const say = (message: object) => void writer.write({ jsonrpc: '2.0', ...message } as AnyMessage);
  const hostile = '\u001b[2J\u009b31m';
  for (const params of [undefined, null, [], 5, {}, { sessionId: 5 }, { sessionId: hostile }]) {
    for (const method of ['session/cancel', '$/cancel_request', 'session/update', hostile]) {
      say({ method, params });
      say({ method, params: { ...Object(params), requestId: { x: hostile }, _meta: hostile } });
    }
  }
  say({ method: { [hostile]: 1 } });
  say({ result: hostile });
  say({ id: hostile, result: {} });
  say({ id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } });
  const reader = toPeer.readable.getReader();
  for (let reply; !(reply && 'id' in reply && reply.id === 1);) reply = (await reader.read()).value;
  assert.deepEqual(
    printed.map(({ mock }) => mock.callCount()),
    [0, 0, 0],
  );
});
