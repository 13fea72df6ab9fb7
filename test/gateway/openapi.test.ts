// `/openapi.json` against real answers: every operation in it is called, rightly and wrongly, and each answer has to be
// as the document says. An operation without a case here fails.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { echo } from '../../src/cli/agents/echo.ts';
import { SCOPES, type ApiScope } from '../../src/gateway/api/caller.ts';
import { type Listening, serve } from '../../src/server.ts';
import { type RunningGateway, startGateway } from '../support/gateway.ts';
import { assertDocumented, type OpenapiDocument, type Operation } from '../support/openapi.ts';
import { type FakeVendor, fakeVendor } from '../support/vendors/server.ts';

interface Attempt {
  /** What the path's parameters stand for. */
  readonly values?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly status: number;
}

type Case = () => Promise<readonly Attempt[]> | readonly Attempt[];

let gateway: RunningGateway;
let document: OpenapiDocument;
let remote: Listening;
let vendor: FakeVendor;
let key: string;
let made = 0;

before(async () => {
  remote = await serve(echo).listen();
  vendor = await fakeVendor(() => ({
    status: 200,
    body: {
      object: 'list',
      model: 'vectors',
      data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
      usage: { prompt_tokens: 1, total_tokens: 1 },
    },
  }));
  gateway = await startGateway({
    config: {
      providers: {
        near: {
          type: 'openai-compatible',
          baseUrl: `${vendor.url}/v1`,
          embeddingModels: ['vectors'],
        },
      },
      agents: { echo: { url: remote.url } },
    },
    environment: { PARLEY_SECRET_KEY: 'a secret for tests' },
    allowNetworks: ['127.0.0.0/8'],
  });
  key = gateway.key();
  const answer = await gateway.ask(key, 'GET', '/openapi.json');
  document = (await answer.json()) as OpenapiDocument;
});

after(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await vendor?.[Symbol.asyncDispose]();
  await remote?.close();
});

const hello = { message: { role: 'user', content: 'Hello' } };
const nobody = { id: '01890000-0000-7000-8000-000000000000' };

function cardInput(): object {
  const name = `card-${(made += 1)}`;
  return { name, slug: name, card: { schemaVersion: '1.0', name: 'offline', provider: 'offline' } };
}

async function create(path: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await gateway.ask(key, 'POST', path, body);
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return (await answer.json()) as Record<string, unknown>;
}

async function card(): Promise<{ id: string }> {
  return { id: String((await create('/a2a/model-cards', cardInput()))['id']) };
}

async function ownKey(): Promise<{ id: string }> {
  const { key: one } = await create('/a2a/keys', { name: 'k', scopes: ['tasks:read'] });
  return { id: (one as { id: string }).id };
}

async function task(): Promise<string> {
  const { task: one } = await create('/a2a/tasks/send', hello);
  return (one as { id: string }).id;
}

function agentInput(): { name: string; url: string } {
  return { name: `agent-${(made += 1)}`, url: remote.url };
}

async function response(): Promise<string> {
  const made = await create('/v1/responses', { model: 'offline', input: 'Hello' });
  return String(made['id']);
}

async function agent(): Promise<{ name: string }> {
  const input = agentInput();
  await create('/a2a/agents', input);
  return { name: input.name };
}

const generate = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
const chat = { model: 'offline', messages: [{ role: 'user', content: 'Hello' }] };
const rpc = (id: string) => ({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } });

const CASES: Readonly<Record<string, Case>> = {
  'GET /a2a/caller': () => [{ status: 200 }],
  'GET /a2a/inbox': () => [{ status: 200 }, { query: 'since=x', status: 400 }],
  'POST /a2a/tasks/send': async () => [
    { body: hello, status: 200 },
    { body: { message: { role: 'user', content: '' } }, status: 400 },
    { body: { ...hello, metadata: { model: 'no-such-model' } }, status: 400 },
    { body: { ...hello, taskId: nobody.id }, status: 404 },
    { body: { ...hello, taskId: await task() }, status: 409 },
  ],
  'POST /a2a/tasks/sendSubscribe': () => [
    { body: hello, status: 200 },
    { body: {}, status: 400 },
    { body: { taskId: nobody.id }, status: 404 },
  ],
  'GET /a2a/tasks/{taskId}': async () => [
    { values: { taskId: await task() }, status: 200 },
    { values: { taskId: nobody.id }, status: 404 },
  ],
  'POST /a2a/tasks/cancel': async () => [
    { body: { taskId: await task() }, status: 409 },
    { body: {}, status: 400 },
    { body: { taskId: nobody.id }, status: 404 },
  ],

  'GET /a2a/model-cards': () => [
    { status: 200 },
    { query: 'limit=1&offset=0&sort=-name', status: 200 },
    { query: 'limit=0', status: 400 },
    { query: 'workspace_id=other', status: 404 },
  ],
  'POST /a2a/model-cards': () => {
    const same = cardInput();
    return [
      { body: same, status: 201 },
      { body: same, status: 409 },
      { body: { name: 'x' }, status: 400 },
    ];
  },
  'GET /a2a/model-cards/{id}': async () => [
    { values: await card(), status: 200 },
    { values: await card(), headers: { 'if-none-match': '*' }, status: 304 },
    { values: nobody, status: 404 },
  ],
  'PUT /a2a/model-cards/{id}': async () => [
    { values: await card(), body: cardInput(), status: 200 },
    { values: await card(), body: {}, status: 400 },
    { values: await card(), body: cardInput(), headers: { 'if-match': '"999"' }, status: 412 },
    { values: nobody, body: cardInput(), status: 404 },
  ],
  'DELETE /a2a/model-cards/{id}': async () => [
    { values: await card(), status: 204 },
    { values: nobody, status: 404 },
  ],
  'GET /a2a/model-cards/{id}/versions': async () => [
    { values: await card(), status: 200 },
    { values: await card(), query: 'limit=x', status: 400 },
    { values: nobody, status: 404 },
  ],
  'GET /a2a/model-cards/{id}/versions/{version}': async () => [
    { values: { ...(await card()), version: '1' }, status: 200 },
    { values: { ...(await card()), version: '7' }, status: 404 },
  ],
  'POST /a2a/model-cards/{id}/versions/{version}/restore': async () => [
    { values: { ...(await card()), version: '1' }, status: 200 },
    { values: { ...nobody, version: '1' }, status: 404 },
  ],

  'GET /a2a/agents': () => [{ status: 200 }],
  'POST /a2a/agents': () => {
    const same = agentInput();
    return [
      { body: same, status: 201 },
      { body: same, status: 409 },
      { body: { name: 'A B', url: remote.url }, status: 400 },
      { body: { name: 'away', url: 'http://127.0.0.1:1' }, status: 502 },
    ];
  },
  'GET /a2a/agents/{name}': async () => [
    { values: { name: 'echo' }, status: 200 },
    { values: await agent(), status: 200 },
    { values: { name: 'none' }, status: 404 },
  ],
  'PUT /a2a/agents/{name}': async () => [
    { values: await agent(), body: { url: remote.url, tags: ['x'] }, status: 200 },
    { values: await agent(), body: { url: 'nowhere' }, status: 400 },
    { values: { name: 'none' }, body: { url: remote.url }, status: 404 },
    { values: { name: 'echo' }, body: { url: remote.url }, status: 409 },
  ],
  'DELETE /a2a/agents/{name}': async () => [
    { values: await agent(), status: 204 },
    { values: { name: 'none' }, status: 404 },
    { values: { name: 'echo' }, status: 409 },
  ],

  'GET /a2a/keys': () => [{ status: 200 }, { query: 'limit=x', status: 400 }],
  'POST /a2a/keys': () => [
    { body: { name: 'ci', scopes: ['tasks:read'] }, status: 201 },
    { body: { name: 'ci', scopes: ['everything'] }, status: 400 },
  ],
  'GET /a2a/keys/{id}': async () => [
    { values: await ownKey(), status: 200 },
    { values: nobody, status: 404 },
  ],
  'PATCH /a2a/keys/{id}': async () => [
    { values: await ownKey(), body: { name: 'n', budget: null }, status: 200 },
    { values: await ownKey(), body: {}, status: 400 },
    { values: await ownKey(), body: { budget: { period: 'day' } }, status: 400 },
    { values: nobody, body: { name: 'n' }, status: 404 },
  ],
  'POST /a2a/keys/{id}/rotate': async () => [
    { values: await ownKey(), body: {}, status: 200 },
    { values: await ownKey(), body: { overlapSeconds: -1 }, status: 400 },
    { values: nobody, body: {}, status: 404 },
  ],
  'DELETE /a2a/keys/{id}': async () => [
    { values: await ownKey(), status: 204 },
    { values: nobody, status: 404 },
  ],
  'GET /a2a/keys/{id}/usage': async () => [
    { values: await ownKey(), status: 200 },
    { values: nobody, status: 404 },
  ],
  'GET /a2a/usage': () => [{ status: 200 }, { query: 'from=yesterday', status: 400 }],
  'GET /a2a/audit': () => [{ status: 200 }, { query: 'limit=x', status: 400 }],
  'GET /a2a/budgets': () => [{ status: 200 }, { query: 'limit=x', status: 400 }],

  'POST /v1/chat/completions': () => [
    { body: chat, status: 200 },
    { body: { ...chat, stream: true }, status: 200 },
    { body: { ...chat, messages: [] }, status: 400 },
    { body: { ...chat, model: 'no-such-model' }, status: 400 },
  ],
  'POST /v1/embeddings': () => [
    { body: { model: 'vectors', input: 'Hello' }, status: 200 },
    { body: { model: 'vectors' }, status: 400 },
  ],
  'POST /v1/responses': () => [
    { body: { model: 'offline', input: 'Hello' }, status: 200 },
    { body: { model: 'offline', input: 'Hello', stream: true }, status: 200 },
    { body: { model: 'no-such-model', input: 'Hello' }, status: 400 },
    { body: { model: 'offline', input: 7 }, status: 400 },
  ],
  'GET /v1/responses/{response}': async () => [
    { values: { response: await response() }, status: 200 },
    { values: { response: 'resp_none' }, status: 404 },
  ],
  'DELETE /v1/responses/{response}': async () => [
    { values: { response: await response() }, status: 200 },
    { values: { response: 'resp_none' }, status: 404 },
  ],
  'POST /v1/messages': () => [
    { body: { ...chat, max_tokens: 100 }, status: 200 },
    { body: { ...chat, max_tokens: 100, stream: true }, status: 200 },
    { body: chat, status: 400 },
    { body: { ...chat, max_tokens: 100, model: 'no-such-model' }, status: 404 },
  ],
  'POST /v1/messages/count_tokens': () => [
    { body: chat, status: 200 },
    { body: { ...chat, messages: [] }, status: 400 },
  ],
  'GET /v1/models': () => [{ status: 200 }],
  'GET /v1/models/{model}': () => [
    { values: { model: 'offline' }, status: 200 },
    { values: { model: 'no-such-model' }, status: 404 },
  ],

  'POST /v1beta/models/{model}:generateContent': () => [
    { values: { model: 'offline' }, body: generate, status: 200 },
    { values: { model: 'offline' }, body: { contents: [] }, status: 400 },
    { values: { model: 'no-such-model' }, body: generate, status: 404 },
  ],
  'POST /v1beta/models/{model}:streamGenerateContent': () => [
    { values: { model: 'offline' }, body: generate, status: 200 },
    { values: { model: 'offline' }, query: 'alt=sse', body: generate, status: 200 },
    { values: { model: 'no-such-model' }, body: generate, status: 404 },
  ],
  'POST /v1beta/models/{model}:countTokens': () => [
    { values: { model: 'offline' }, body: generate, status: 200 },
    { values: { model: 'offline' }, body: { generateContentRequest: generate }, status: 200 },
    { values: { model: 'offline' }, body: {}, status: 400 },
  ],
  'GET /v1beta/models': () => [{ status: 200 }, { query: 'pageSize=x', status: 400 }],
  'GET /v1beta/models/{model}': () => [
    { values: { model: 'offline' }, status: 200 },
    { values: { model: 'no-such-model' }, status: 404 },
  ],

  'GET /healthz': () => [{ status: 200 }],
  'GET /readyz': () => [{ status: 200 }],
  'GET /metrics': () => [{ status: 200 }],
  'GET /openapi.json': () => [{ status: 200 }],

  'GET /.well-known/agent-card.json': () => [{ status: 200 }],
  'GET /.well-known/agent.json': () => [{ status: 200 }],
  'GET /agents/{name}/.well-known/agent-card.json': () => [
    { values: { name: 'echo' }, status: 200 },
  ],
  'POST /': async () => [
    { body: rpc(await task()), status: 200 },
    { body: rpc(nobody.id), status: 200 },
  ],
  'POST /agents/{name}': () => [{ values: { name: 'echo' }, body: rpc(nobody.id), status: 200 }],
};

/** Whose own words are A2A's: what is wrong with a request is an error of JSON-RPC there. */
const PROTOCOL = new Set(['POST /', 'POST /agents/{name}']);

test('the document is OpenAPI 3.1, and has exactly the routes of the table beside the protocol’s', () => {
  assert.match(document.openapi, /^3\.1\.\d$/);
  const documented = new Set(operations().map(([name]) => name));
  const served = gateway.gateway.routes.map(({ verb, path }) => `${verb} ${path}`);
  const left = served.filter((name) => !documented.delete(name));
  assert.deepEqual(left, []);
  for (const name of documented) assert.match(name, /^POST \/$|well-known|^POST \/agents\//);
  const ids = operations().map(([, , { operationId }]) => operationId);
  assert.equal(new Set(ids).size, ids.length);
});

test('each operation answers as the document says', async (t) => {
  const names = new Set(operations().map(([name]) => name));
  for (const name of Object.keys(CASES)) assert.ok(names.has(name), `there is no ${name}`);
  for (const [name, path, operation] of operations()) {
    await t.test(name, async () => {
      const attempts = await CASES[name]?.();
      assert.ok(attempts, `${name} has no case in CASES`);
      for (const attempt of attempts) {
        const answer = await send(name, path, attempt, key);
        const { status } = answer;
        await assertDocumented(document, operation, answer);
        assert.equal(status, attempt.status, `${name} ${JSON.stringify(attempt)}`);
      }
    });
  }
});

test('what is wrong with a request in the same way everywhere is answered as the document says', async (t) => {
  for (const [name, path, operation] of operations()) {
    if (PROTOCOL.has(name)) continue;
    await t.test(name, async () => {
      const [first] = (await CASES[name]?.()) ?? [];
      assert.ok(first);
      const scope = operation.security?.[0]?.['bearer']?.[0];
      if (operation.security?.length !== 0) {
        const without = await send(name, path, first, undefined);
        assert.equal(without.status, 401);
        if (scope !== undefined) await assertDocumented(document, operation, without);
      }
      if (scope !== undefined) {
        const others = SCOPES.filter((each) => each !== scope) as [ApiScope, ...ApiScope[]];
        const weak = await send(name, path, first, gateway.key('default', ...others));
        assert.equal(weak.status, 403);
        await assertDocumented(document, operation, weak);
      }
      if (operation.requestBody) {
        const odd = await send(name, path, { ...first, body: 42 }, key);
        assert.equal(odd.status, 400);
        await assertDocumented(document, operation, odd);
      }
    });
  }
});

test('a key that may not use agents is answered as the document says', async () => {
  const weak = gateway.key('default', 'tasks:read');
  for (const [name, path, operation] of operations()) {
    if (!path.startsWith('/agents/')) continue;
    const [first] = (await CASES[name]?.()) ?? [];
    assert.ok(first);
    const answer = await send(name, path, first, weak);
    assert.equal(answer.status, 403, name);
    await assertDocumented(document, operation, answer);
  }
});

function operations(): [name: string, path: string, operation: Operation][] {
  return Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]): [string, string, Operation] => [
      `${verb.toUpperCase()} ${path}`,
      path,
      operation,
    ]),
  );
}

function send(
  name: string,
  path: string,
  { values = {}, query, body, headers }: Attempt,
  asKey: string | undefined,
): Promise<Response> {
  const [verb = ''] = name.split(' ');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    assert.ok(values[parameter] !== undefined, `${name} needs a value for ${parameter}`);
    return encodeURIComponent(values[parameter]);
  });
  const address = query === undefined ? filled : `${filled}?${query}`;
  return gateway.ask(asKey, verb, address, body, headers);
}
