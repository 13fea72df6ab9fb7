import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import { sqliteStore } from '../../src/store/index.ts';
import { createAgent, type Logger } from '../../src/tasks/index.ts';
import { createGates, until } from '../interop/support.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { remote } from './agents-support.ts';
import { compatible, says } from './models-support.ts';

const Rows = z.object({ items: z.array(z.looseObject({})), next: z.int().optional() });

/** A gateway with a model and an agent, a collector of its spans, and its log. */
async function start(t: TestContext) {
  const spans: Record<string, unknown>[] = [];
  const collector = createServer((request, response) => {
    void json(request).then((body) => {
      for (const span of spansIn(body)) spans.push(span);
      response.end('{}');
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  t.after(() => collector.close());

  const lines: Record<string, unknown>[] = [];
  const note = (fields: object, message: string) => void lines.push({ message, ...fields });
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const vendor = await fakeVendor([
    says('one'),
    says('two'),
    says('three'),
    { status: 400, body: {} },
  ]);
  t.after(() => vendor[Symbol.asyncDispose]());
  const talker = createAgent({ name: 'Talker', description: '' }, async function* () {
    yield 'done';
  });
  const { url } = await remote(t, talker);
  const running = await startGateway({
    logger,
    config: {
      providers: {
        p: { type: 'openai-compatible', baseUrl: `${vendor.url}/v1`, apiKey: 'k', models: ['m'] },
      },
      agents: { talker: { url } },
      telemetry: { endpoint: `http://127.0.0.1:${port}` },
    },
  });
  return { running, spans, lines };
}

function spansIn(body: unknown): Record<string, unknown>[] {
  const Value = z.looseObject({ stringValue: z.string().optional() });
  const Attribute = z.object({ key: z.string(), value: Value });
  const Span = z.object({ name: z.string(), attributes: z.array(Attribute) });
  const Batch = z.object({ scopeSpans: z.array(z.object({ spans: z.array(Span) })) });
  const { resourceSpans } = z.object({ resourceSpans: z.array(Batch) }).parse(body);
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map(({ name, attributes }) =>
      Object.fromEntries([
        ['name', name],
        ...attributes.map(({ key, value }) => [key, value.stringValue] as const),
      ]),
    );
}

async function usage(running: RunningGateway, key: string, query: string) {
  const response = await running.ask(key, 'GET', `/a2a/usage?${query}`);
  return Rows.parse(await response.json()).items;
}

test('each call of a model or an agent names its caller, context and task in usage, span and log', async (t) => {
  const { running, spans, lines } = await start(t);
  const { key, secret } = running.gateway.keys.create(
    { workspace: 'default', name: 'ci', scopes: ['*'] },
    'test',
  );
  const send = async (metadata: object) => {
    const message = { role: 'user', content: 'hello' };
    const body = { message, metadata, sessionId: 'session-1' };
    const response = await running.ask(secret, 'POST', '/a2a/tasks/send', body);
    const Sent = z.object({ task: z.object({ id: z.string(), status: z.unknown() }) });
    return Sent.parse(await response.json()).task;
  };
  const asked = await send({ model: 'm' });
  const told = await send({ agent: 'talker' });
  const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
  assert.equal((await running.ask(secret, 'POST', '/v1/chat/completions', chat)).status, 200);
  const messages = { ...chat, max_tokens: 100 };
  assert.equal((await running.ask(secret, 'POST', '/v1/messages', messages)).status, 200);
  assert.equal((await running.ask(secret, 'POST', '/v1/chat/completions', chat)).status, 400);

  const caller = { keyId: key.id, keyName: 'ci' };
  const zero = { failures: 0 };
  assert.partialDeepStrictEqual(await usage(running, secret, 'by=key,model,agent,day'), [
    { ...caller, agent: 'talker', calls: 1, ...zero },
    { ...caller, model: 'm', calls: 4, failures: 1, inputTokens: 60, outputTokens: 36 },
  ]);
  assert.partialDeepStrictEqual(await usage(running, secret, `by=key,context&task=${asked.id}`), [
    { ...caller, contextId: 'session-1', calls: 1, ...zero, inputTokens: 20 },
  ]);
  assert.partialDeepStrictEqual(await usage(running, secret, 'by=task,agent&context=session-1'), [
    { taskId: asked.id },
    { taskId: told.id, agent: 'talker' },
  ]);
  assert.deepEqual(await usage(running, running.key('other'), 'by=key'), []);

  const fields = { workspace: 'default', ...caller, contextId: 'session-1' };
  const of = (message: string) => lines.filter((line) => line['message'] === message);
  const model = { ...fields, taskId: asked.id, model: 'm', outcome: 'ok', inputTokens: 20 };
  assert.partialDeepStrictEqual(of('model call')[0], model);
  assert.partialDeepStrictEqual(of('agent call'), [
    { ...fields, taskId: told.id, agent: 'talker', outcome: 'ok' },
  ]);
  assert.partialDeepStrictEqual(of('a model did not answer'), [{ ...caller, model: 'm' }]);

  await running[Symbol.asyncDispose]();
  const spanFields = {
    'parley.workspace': 'default',
    'parley.key.id': key.id,
    'parley.key.name': 'ci',
    'gen_ai.conversation.id': 'session-1',
  };
  const span = (name: string) => spans.find((each) => each['name'] === name);
  assert.partialDeepStrictEqual(span('chat m'), { ...spanFields, 'parley.task.id': asked.id });
  assert.partialDeepStrictEqual(span('invoke_agent talker'), {
    ...spanFields,
    'parley.task.id': told.id,
  });
});

test('the usage refuses unknown dimensions and lists the valid ones', async () => {
  await using running = await startGateway();
  const secret = running.key();
  const refused = await running.ask(secret, 'GET', '/a2a/usage?by=key,color');
  assert.equal(refused.status, 400);
  assert.deepEqual(await refused.json(), {
    error:
      'by: must be a list of day, workspace, key, subject, model, agent, context, task, separated by commas',
  });
  for (const query of ['by=', 'by=day', 'by=task,key', 'by=model&model=m&limit=1&offset=3']) {
    assert.equal((await running.ask(secret, 'GET', `/a2a/usage?${query}`)).status, 200, query);
  }
  const other = running.key('default', 'tasks:read');
  assert.equal((await running.ask(other, 'GET', '/a2a/usage?by=key')).status, 403);
});

test('the audit log has the name that the key had', async () => {
  await using running = await startGateway();
  const { keys } = running.gateway;
  const fields = { workspace: 'default', scopes: ['*' as const] };
  const admin = keys.create({ ...fields, name: 'before' }, 'cli');
  const other = keys.create({ ...fields, name: 'other' }, 'cli');
  const patch = (id: string) =>
    running.ask(admin.secret, 'PATCH', `/a2a/keys/${id}`, { name: 'after' });
  assert.equal((await patch(other.key.id)).status, 200);
  keys.edit('default', admin.key.id, { name: 'renamed' }, 'cli');
  const listed = await running.ask(admin.secret, 'GET', '/a2a/audit?limit=2');
  const { items } = Rows.parse(await listed.json());
  assert.deepEqual(
    items.map(({ actor, actorName }) => [actor, actorName]),
    [
      ['cli', undefined],
      [`key:${admin.key.id}`, 'before'],
    ],
  );
});

test('a task of a model that is resumed after a restart counts for its key, which no client sees', async (t) => {
  let calls = 0;
  await using vendor = await fakeVendor(() => (calls++ === 0 ? 'silence' : says('one')));
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-attribution-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const open = () =>
    startGateway({
      config: { providers: { p: compatible(vendor.url, { models: ['m'] }) } } as object,
      store: sqliteStore(path.join(folder, 'tasks.db')),
      register: path.join(folder, 'register.db'),
      secretKey: 'a secret key',
    });
  const first = await open();
  const fields = { workspace: 'default', scopes: ['*' as const] };
  const { key, secret } = first.gateway.keys.create({ ...fields, name: 'ci' }, 'test');
  const forged = { keyId: 'another', subject: 'ann' };
  const sent = first.ask(secret, 'POST', '/a2a/tasks/sendSubscribe', {
    message: { role: 'user', content: 'hello' },
    metadata: { model: 'm', 'parley.caller': forged },
  });
  const shown = (await sent).text().catch(String);
  await vendor.reached;
  await first[Symbol.asyncDispose]();
  await using second = await open();
  const rows = await until(
    'the usage',
    () => usage(second, secret, 'by=key'),
    ([row]) => row?.['outputTokens'] === 12,
  );
  assert.equal(rows.length, 1);
  assert.partialDeepStrictEqual(rows[0], { keyId: key.id, keyName: 'ci', calls: 2 });
  const texts = [shown];
  const [found] = await usage(second, secret, 'by=task');
  const id = String(found?.['taskId']);
  for (const place of [`/a2a/tasks/${id}`, `/v1/tasks/${id}`, `/tasks/${id}/events`]) {
    const response = await second.ask(secret, 'GET', place);
    assert.equal(response.status, 200, place);
    texts.push(response.text());
  }
  for (const text of await Promise.all(texts)) {
    assert.match(text, /"model":"m"/);
    assert.doesNotMatch(text, /parley\.caller/);
  }
});

test('an agent that has reported usage before the gateway shuts down is counted once, after the restart', async (t) => {
  const gates = createGates();
  const reported = (state: 'working' | 'completed', inputTokens: number) => ({
    kind: 'status-update' as const,
    state,
    message: {
      kind: 'message' as const,
      messageId: state,
      role: 'agent' as const,
      parts: [{ kind: 'text' as const, text: `now ${state}` }],
      metadata: { usage: { inputTokens, outputTokens: 1 } },
    },
  });
  const agent = createAgent({ name: 'Counted', description: '' }, async function* ({ signal }) {
    yield reported('working', 20);
    await gates.wait('end', signal);
    yield reported('completed', 30);
  });
  const { url } = await remote(t, agent);
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-attribution-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const open = () =>
    startGateway({
      config: { agents: { theirs: { url, usage: { tokens: 7 } } } },
      store: sqliteStore(path.join(folder, 'tasks.db')),
      register: path.join(folder, 'register.db'),
      secretKey: 'a secret key',
    });
  const first = await open();
  const budget = { tokens: 1000, period: 'day' as const };
  const fields = { workspace: 'default', scopes: ['*' as const], name: 'limited', budget };
  const { key, secret } = first.gateway.keys.create(fields, 'test');
  const sent = await first.ask(secret, 'POST', '/a2a/tasks/sendSubscribe', {
    message: { role: 'user', content: 'go' },
    metadata: { agent: 'theirs' },
  });
  let shown = '';
  const decoder = new TextDecoder();
  for await (const chunk of sent.body ?? []) {
    shown += decoder.decode(chunk, { stream: true });
    if (shown.includes('now working')) break;
  }
  await first[Symbol.asyncDispose]();
  await using second = await open();
  assert.deepEqual(await usage(second, secret, 'by=key'), []);
  gates.open('end');
  const rows = await until(
    'the usage',
    () => usage(second, secret, 'by=key'),
    (found) => found.length > 0,
  );
  assert.equal(rows.length, 1);
  const counted = { keyId: key.id, calls: 1, inputTokens: 30, outputTokens: 1 };
  assert.partialDeepStrictEqual(rows[0], counted);
});

test('an answer that arrives while the gateway shuts down is stored and counted', async (t) => {
  const gates = createGates();
  const asked = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Late', description: '' }, async function* ({ signal }) {
    asked.resolve();
    await gates.wait('end', signal);
    yield 'late';
  });
  const { url } = await remote(t, agent);
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-attribution-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const open = () =>
    startGateway({
      config: { agents: { theirs: { url, usage: { tokens: 7 } } } },
      store: sqliteStore(path.join(folder, 'tasks.db')),
      register: path.join(folder, 'register.db'),
      secretKey: 'a secret key',
    });
  const first = await open();
  const budget = { tokens: 1000, period: 'day' as const };
  const fields = { workspace: 'default', scopes: ['*' as const], name: 'limited', budget };
  const { secret } = first.gateway.keys.create(fields, 'test');
  const sent = first.ask(secret, 'POST', '/a2a/tasks/send', {
    message: { role: 'user', content: 'go' },
    metadata: { agent: 'theirs' },
  });
  await asked.promise;
  const closed = first[Symbol.asyncDispose]();
  gates.open('end');
  await Promise.allSettled([sent, closed]);
  await using second = await open();
  const [row] = await usage(second, secret, 'by=key');
  assert.partialDeepStrictEqual(row, { calls: 1, failures: 0, inputTokens: 7 });
});
