// What those who run a gateway see of it: numbers, spans, readiness.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { echo } from '../../src/cli/agents/echo.ts';
import { GatewayConfig } from '../../src/gateway/config.ts';
import { memoryStore } from '../../src/tasks/index.ts';
import { serve } from '../../src/server.ts';
import { startGateway } from '../support/gateway.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { piece, says } from './models-support.ts';

const hello = { message: { role: 'user', content: 'Hello' } };

/** The samples of one family, without their help. */
function samples(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(name));
}

test('a task is in the numbers: its request, its state, its model, its tokens and its cost', async () => {
  await using gateway = await startGateway({
    config: {
      models: {
        priced: {
          provider: 'offline',
          pricing: { inputPricePerToken: 0.5, outputPricePerToken: 0.5, currency: 'EUR' },
        },
      },
    },
  });
  const key = gateway.key();
  const metadata = { model: 'priced' };
  const sent = await gateway.ask(key, 'POST', '/a2a/tasks/send', { ...hello, metadata });
  const { task } = (await sent.json()) as {
    task: { id: string; metadata: { usage: { inputTokens: number; cost: { amount: number } } } };
  };
  await gateway.ask(key, 'GET', `/a2a/tasks/${task.id}`);
  await gateway.ask(undefined, 'GET', `/a2a/tasks/${task.id}`);

  const answer = await gateway.ask(key, 'GET', '/metrics');
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const text = await answer.text();
  assert.deepEqual(samples(text, 'parley_http_requests_total'), [
    'parley_http_requests_total{verb="POST",route="/a2a/tasks/send",status="200"} 1',
    'parley_http_requests_total{verb="GET",route="/a2a/tasks/{taskId}",status="200"} 1',
    'parley_http_requests_total{verb="GET",route="/a2a/tasks/{taskId}",status="401"} 1',
  ]);
  const { inputTokens, cost } = task.metadata.usage;
  for (const line of [
    'parley_refused_total{reason="unauthenticated"} 1',
    'parley_tasks_total{door="gateway",state="completed"} 1',
    'parley_model_calls_total{provider="offline",operation="chat",outcome="ok"} 1',
    `parley_model_tokens_total{provider="offline",direction="input"} ${inputTokens}`,
    `parley_model_cost_total{provider="offline",currency="EUR"} ${cost.amount}`,
    'parley_executions_running 0',
    'parley_streams_open 0',
  ]) {
    assert.ok(text.split('\n').includes(line), line);
  }
});

test('a task whose execution breaks is in the numbers as failed', async () => {
  const store = memoryStore();
  // What was said before cannot be read, so the model is never asked.
  store.list = () => {
    throw new Error('away');
  };
  await using gateway = await startGateway({ store });
  const key = gateway.key();
  const sent = await gateway.ask(key, 'POST', '/a2a/tasks/send', hello);
  assert.match(await sent.text(), /"status":"failed"/);
  const numbers = await (await gateway.ask(key, 'GET', '/metrics')).text();
  assert.match(numbers, /^parley_tasks_total\{door="gateway",state="failed"\} 1$/m);
});

test('numbers are of all workspaces: only keys of the first one, with the scope, may see them', async () => {
  await using gateway = await startGateway();
  const status = async (key: string) => (await gateway.ask(key, 'GET', '/metrics')).status;
  assert.equal(await status(gateway.key('default', 'metrics:read')), 200);
  assert.equal(await status(gateway.key('default', 'tasks:read')), 403);
  assert.equal(await status(gateway.key('team')), 403);
});

test('while it drains it is not ready, and still answers', async () => {
  await using gateway = await startGateway();
  const ready = async () => {
    const answer = await gateway.ask(undefined, 'GET', '/readyz');
    return [answer.status, ((await answer.json()) as { status: string }).status];
  };
  assert.deepEqual(await ready(), [200, 'ready']);
  gateway.gateway.drain();
  assert.deepEqual(await ready(), [503, 'draining']);
  assert.equal((await gateway.ask(gateway.key(), 'POST', '/a2a/tasks/send', hello)).status, 200);
});

test('answers that are no tasks are under way too, so that an end waits for them', async () => {
  await using vendor = await fakeVendor([{ events: [piece('It ')], after: 'hang' }]);
  await using gateway = await startGateway({
    config: {
      providers: {
        p: { type: 'openai-compatible', baseUrl: vendor.url, models: ['m'], usageWaitMs: 0 },
      },
    },
  });
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true };
  const leave = new AbortController();
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key()}` },
    body: JSON.stringify(body),
    signal: leave.signal,
  });
  assert.equal(answer.status, 200);
  assert.equal(gateway.gateway.running, 1);
  leave.abort();
  await vendor.hungUp;
  assert.equal(gateway.gateway.running, 0);
});

interface Sent {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

/** A collector of spans, and what it got. */
async function collector() {
  const spans: Sent[] = [];
  const server = createServer((request, response) => void take(request, response));
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as {
      resourceSpans: { scopeSpans: { spans: Sent[] }[] }[];
    };
    spans.push(...body.resourceSpans.flatMap((each) => each.scopeSpans.flatMap((s) => s.spans)));
    response.end('{}');
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { spans, endpoint: `http://127.0.0.1:${port}`, close: () => server.close() };
}

test('a model and an agent are spans in the caller’s trace, and the agent is told the trace', async () => {
  const told: (string | undefined)[] = [];
  const remote = serve(echo);
  const front = createServer((request, response) => {
    if (request.method === 'POST') told.push(request.headers['traceparent']?.toString());
    remote.node(request, response);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const { spans, endpoint, close } = await collector();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const spanId = 'b7ad6b7169203331';
  {
    await using gateway = await startGateway({
      config: { telemetry: { endpoint }, agents: { echo: { url } } },
    });
    const headers = { traceparent: `00-${traceId}-${spanId}-01` };
    for (const metadata of [{}, { agent: 'echo' }]) {
      const body = { ...hello, metadata };
      const sent = await gateway.ask(gateway.key(), 'POST', '/a2a/tasks/send', body, headers);
      assert.equal(sent.status, 200, await sent.text());
    }
  }
  const spanOf = (operation: string) =>
    spans.find(({ attributes }) =>
      attributes.some(
        ({ key, value }) =>
          key === 'gen_ai.operation.name' &&
          'stringValue' in value &&
          value.stringValue === operation,
      ),
    );
  const [chat, invoked] = [spanOf('chat'), spanOf('invoke_agent')];
  assert.deepEqual([chat?.traceId, invoked?.traceId], [traceId, traceId]);
  assert.deepEqual([chat?.parentSpanId, invoked?.parentSpanId], [spanId, spanId]);
  assert.equal(chat?.name, 'chat offline');
  const names = new Set(chat.attributes.map(({ key }) => key));
  for (const name of [
    'provider.name',
    'request.model',
    'response.model',
    'response.finish_reasons',
    'conversation.id',
    'usage.input_tokens',
  ]) {
    assert.ok(names.has(`gen_ai.${name}`), name);
  }
  assert.ok(told.includes(`00-${traceId}-${invoked?.spanId}-01`), told.join());
  close();
  front.close();
  await remote.close();
});

test('a request that two providers are asked for is one span, with the one that answered', async () => {
  await using down = await fakeVendor(() => ({ status: 500, body: {} }));
  await using well = await fakeVendor([says('Sunny.')]);
  const { spans, endpoint, close } = await collector();
  {
    await using gateway = await startGateway({
      config: {
        telemetry: { endpoint },
        providers: {
          east: { type: 'openai-compatible', baseUrl: down.url, attempts: 1 },
          west: { type: 'openai-compatible', baseUrl: well.url },
        },
        models: {
          fast: { routes: [{ provider: 'east' }, { provider: 'west', model: 'm', weight: 0 }] },
        },
      },
    });
    const body = { ...hello, metadata: { model: 'fast' } };
    const sent = await gateway.ask(gateway.key(), 'POST', '/a2a/tasks/send', body);
    assert.equal(sent.status, 200, await sent.text());
  }
  assert.equal(down.asked.length, 1);
  assert.deepEqual(
    spans.map(({ name }) => name),
    ['chat fast'],
  );
  const said = new Map(spans[0]?.attributes.map(({ key, value }) => [key, value]));
  assert.deepEqual(said.get('gen_ai.provider.name'), { stringValue: 'west' });
  assert.deepEqual(said.get('gen_ai.request.model'), { stringValue: 'fast' });
  assert.deepEqual(said.get('gen_ai.response.model'), { stringValue: 'm' });
  assert.equal(said.has('error.type'), false);
  close();
});

test('agents are looked at as often as a configuration says that comes later', async () => {
  const often = Promise.withResolvers<void>();
  let looks = 0;
  const remote = serve(echo);
  const front = createServer((request, response) => {
    looks++;
    if (looks === 3) often.resolve();
    remote.node(request, response);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const agents = { echo: { url: `http://127.0.0.1:${(front.address() as AddressInfo).port}` } };
  {
    await using gateway = await startGateway({ config: { agents, agentHealthSeconds: 86_400 } });
    gateway.gateway.reload(GatewayConfig.parse({ agents, agentHealthSeconds: 1 }));
    await often.promise;
  }
  front.close();
  await remote.close();
});

test('a caller learns its workspace, its name and its scopes with any key, and nothing without one', async () => {
  await using gateway = await startGateway();
  const ask = async (key: string | undefined) => {
    const response = await gateway.ask(key, 'GET', '/a2a/caller');
    return [response.status, await response.json()];
  };
  const { status, ...all } = await gateway
    .ask(gateway.key(), 'GET', '/a2a/caller')
    .then(async (response) => ({
      status: response.status,
      ...((await response.json()) as { scopes: string[]; workspaceId: string }),
    }));
  assert.equal(status, 200);
  assert.equal(all.workspaceId, 'default');
  assert.ok(all.scopes.includes('keys:write') && !all.scopes.includes('*'), all.scopes.join());
  const [, some] = await ask(gateway.key('other', 'audit:read'));
  const { keyId, ...rest } = some as { keyId: string };
  assert.equal(typeof keyId, 'string');
  assert.deepEqual(rest, {
    workspaceId: 'other',
    keyName: 'test',
    scopes: ['audit:read'],
    allWorkspaces: false,
  });
  assert.equal((await ask(undefined))[0], 401);
  assert.equal((await ask('parley_wrong'))[0], 401);
});

test('the files of the console need no key', async () => {
  await using gateway = await startGateway();
  const response = await gateway.ask(undefined, 'GET', '/console');
  // 503 if the page has not been built.
  assert.ok(response.status === 200 || response.status === 503, String(response.status));
  assert.equal((await gateway.ask(undefined, 'GET', '/console/none.js')).status, 404);
});
