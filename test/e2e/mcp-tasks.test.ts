// Tools of an MCP server that run only as tasks (MCP 2025-11-25). The server answers with the bytes of the specification.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { after, beforeEach, test, type TestContext } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import type { JsonObject, JsonValue } from '../../src/base/index.ts';
import type { ToolContext } from '../../src/agent/tool.ts';
import { callAsTask } from '../../src/agent/tools/mcp-tasks.ts';
import { mcpToolset } from '../../src/agent/tools/mcp.ts';
import { toolContext } from '../support/tool-context.ts';

/** The status and its message that the server tells at each request. The last one stays. */
let statuses: [string, string][] = [];
let asked: { method: string; params: JsonObject }[] = [];
beforeEach(() => (asked = []));
const heard = new EventEmitter();

function task(): JsonObject {
  const [status, statusMessage] = statuses.length > 1 ? statuses.shift()! : statuses[0]!;
  const at = new Date(0).toISOString();
  const times = { createdAt: at, lastUpdatedAt: at, ttl: 60_000, pollInterval: 1 };
  return { taskId: 'task-1', status, statusMessage, ...times };
}

const ANSWERS: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
  initialize: ({ protocolVersion = '' }) => ({
    protocolVersion,
    capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
    serverInfo: { name: 'slow', version: '1' },
  }),
  'tools/list': () => ({
    tools: [
      { name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
      { name: 'either', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } },
    ],
  }),
  'tools/call'({ task: wanted }): JsonObject {
    return wanted === undefined
      ? { content: [{ type: 'text', text: 'at once' }] }
      : { task: task() };
  },
  'tasks/get': () => task(),
  'tasks/result': () => ({
    content: [{ type: 'text', text: 'the report' }],
    _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'task-1' } },
  }),
  'tasks/cancel': () => ({ ...task(), status: 'cancelled' }),
};

const http = createServer((incoming, outgoing) => {
  void (async () => {
    if (incoming.method !== 'POST') return void outgoing.writeHead(405).end();
    const {
      id,
      method,
      params = {},
    } = (await json(incoming)) as {
      id?: number;
      method: string;
      params?: JsonObject;
    };
    asked.push({ method, params });
    heard.emit(method);
    if (id === undefined) return void outgoing.writeHead(202).end();
    const known = ANSWERS[method];
    // This server ignores requests that it does not know.
    if (!known) return undefined;
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    const result = known(params);
    return void outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  })();
});
http.listen(0, '127.0.0.1');
await once(http, 'listening');
after(() => {
  http.closeAllConnections();
  http.close();
});

async function call(t: TestContext, name: string, context: Partial<ToolContext> = {}) {
  const { port } = http.address() as AddressInfo;
  const toolset = mcpToolset(
    { name: 'srv', url: `http://127.0.0.1:${port}/` },
    { connectTimeoutMs: 2_000 },
  );
  t.after(() => toolset.close());
  const tools = await toolset.tools(new AbortController().signal);
  return tools
    .find((tool) => tool.name === `srv__${name}`)!
    .run({ topic: 'x' }, toolContext(context));
}

test('a tool that needs a task is called as one, and its status is shown until it has a result', async (t) => {
  statuses = [
    ['working', 'Reading'],
    ['working', 'Writing'],
    ['completed', ''],
  ];
  const shown: JsonValue[] = [];
  const result = await call(t, 'slow', { progress: (value) => void shown.push(value) });
  assert.equal(result, 'the report');
  assert.deepEqual(shown, [
    { progress: 1, message: 'Reading' },
    { progress: 2, message: 'Writing' },
  ]);
  const called = asked.find(({ method }) => method === 'tools/call');
  assert.deepEqual(called?.params['arguments'], { topic: 'x' });
  assert.deepEqual(called.params['task'], { ttl: 3_600_000 });
});

test('the result of a task that needs input is asked for at once, because the questions come with it', async (t) => {
  statuses = [
    ['working', ''],
    ['input_required', 'Which one?'],
  ];
  assert.equal(await call(t, 'slow'), 'the report');
  assert.equal(asked.filter(({ method }) => method === 'tasks/get').length, 1);
});

test('a stopped call cancels its task', async (t) => {
  statuses = [['working', '']];
  const stop = new AbortController();
  const polled = once(heard, 'tasks/get');
  const cancelled = once(heard, 'tasks/cancel');
  const calling = call(t, 'slow', { signal: stop.signal });
  await polled;
  stop.abort(new Error('secret reason'));
  await assert.rejects(calling, /secret reason/);
  await cancelled;
  assert.doesNotMatch(JSON.stringify(asked), /secret reason/);
});

test('a tool that can run without a task is called without one', async (t) => {
  assert.equal(await call(t, 'either'), 'at once');
});

test('a task that never ends is given up and canceled, although the server answers', async () => {
  const methods: string[] = [];
  const task = { taskId: 't1', status: 'working', pollInterval: 1 };
  const server = {
    request({ method }: { method: string }) {
      methods.push(method);
      return Promise.resolve(method === 'tools/call' ? { task } : task);
    },
  };
  const { signal } = new AbortController();
  const made = callAsTask(
    // A client without a connection.
    server as unknown as Client,
    { name: 'slow', args: {}, signal, timeout: 250 },
    { signal, onProgress() {}, begun() {} },
  );
  await assert.rejects(made, /has not ended within 250 ms/);
  assert.ok(methods.includes('tasks/get'));
  assert.equal(methods.at(-1), 'tasks/cancel');
});
