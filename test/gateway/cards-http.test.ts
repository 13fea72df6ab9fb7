// Model cards over real HTTP: statuses, headers and the words of failures, as a client sees them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Caller } from '../../src/gateway/api/caller.ts';
import { cardRoutes } from '../../src/gateway/cards/routes.ts';
import { CardPage, ModelCard } from '../../src/gateway/cards/schema.ts';
import { describeOwn, ownRoutes } from '../../src/gateway/api/serve-routes.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { type Listening, serve } from '../../src/server.ts';
import { ann, bench, bob, SEED_BODY, silent } from './cards-support.ts';

const scopes = new Set(['cards:read']);
const reader = new Caller({ workspace: 'ws-123', actor: 'key:reader', scopes });
const keys = new Map(Object.entries({ ann, bob, reader }));

const parts = bench();
let listening: Listening;

before(async () => {
  const agent = createAgent(
    { name: 'None', description: 'Has no part in this' },
    async function* () {},
  );
  const server = serve(agent, {
    logger: silent,
    authenticate: (request) => keys.get(request.header('x-api-key') ?? ''),
    routes: ownRoutes(cardRoutes(parts)),
    describe: describeOwn,
  });
  listening = await server.listen(0);
});

after(async () => {
  await listening.close();
  parts[Symbol.dispose]();
});

interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(verb: string, address: string, { key = 'ann', body, headers }: Sent = {}) {
  return fetch(new URL(address, listening.url), {
    method: verb,
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function made(slug: string): Promise<ModelCard> {
  const answer = await send('POST', '/a2a/model-cards', { body: { ...SEED_BODY, slug } });
  assert.equal(answer.status, 201);
  return ModelCard.parse(await answer.json());
}

test('a card is made, found where Location says, and known by its ETag', async () => {
  const answer = await send('POST', '/a2a/model-cards', { body: SEED_BODY });
  assert.equal(answer.status, 201);
  const card = ModelCard.parse(await answer.json());
  const location = answer.headers.get('location')!;
  const found = await send('GET', location);
  assert.deepEqual(ModelCard.parse(await found.json()), card);
  const headers = { 'if-none-match': found.headers.get('etag')! };
  const known = await send('GET', location, { headers });
  assert.deepEqual([known.status, await known.text()], [304, '']);
  assert.equal(known.headers.get('etag'), found.headers.get('etag'));
});

test('of many who change the same version at once, one succeeds', async () => {
  const { id, card } = await made('contended');
  const change = (name: string) =>
    send('PUT', `/a2a/model-cards/${id}`, { body: { name, card }, headers: { 'if-match': '"1"' } });
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(change));
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [200, 412, 412, 412, 412],
  );
  const winner = ModelCard.parse(await answers[statuses.indexOf(200)]!.json());
  const present = await send('GET', `/a2a/model-cards/${id}`);
  assert.deepEqual(ModelCard.parse(await present.json()), winner);
  assert.equal(winner.version, 2);
});

test('of many who take the same slug at once, one succeeds', async () => {
  const body = { ...SEED_BODY, slug: 'wanted' };
  const sent = Array.from({ length: 5 }, () => send('POST', '/a2a/model-cards', { body }));
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [201, 409, 409, 409, 409],
  );
});

test('a card is deleted, and restored', async () => {
  const { id } = await made('deleted');
  const deleted = await send('DELETE', `/a2a/model-cards/${id}`);
  assert.deepEqual([deleted.status, await deleted.text()], [204, '']);
  assert.equal((await send('GET', `/a2a/model-cards/${id}`)).status, 404);
  const restored = await send('POST', `/a2a/model-cards/${id}/versions/1/restore`);
  assert.deepEqual([restored.status, restored.headers.get('etag')], [200, '"2"']);
});

test('a list is searched in whatever letters', async () => {
  const { id } = await made('searched');
  const answer = await send('GET', '/a2a/model-cards?q=SEARCHED%20gpt&limit=1');
  const { items, total, limit, offset } = CardPage.parse(await answer.json());
  assert.deepEqual(
    items.map((card) => card.id),
    [id],
  );
  assert.deepEqual([total, limit, offset], [1, 1, 0]);
});

test('every failure is {"error"} with its status', async () => {
  const { id } = await made('failing');
  const address = `/a2a/model-cards/${id}`;
  const failures: [status: number, answer: Response][] = [
    [400, await send('POST', '/a2a/model-cards', { body: {} })],
    [400, await send('GET', '/a2a/model-cards?limit=0')],
    [401, await send('GET', address, { key: 'nobody' })],
    [403, await send('DELETE', address, { key: 'reader' })],
    [404, await send('GET', address, { key: 'bob' })],
    [404, await send('GET', '/a2a/model-cards?workspace_id=ws-456')],
    [405, await send('PATCH', address, { body: {} })],
    [409, await send('POST', '/a2a/model-cards', { body: { ...SEED_BODY, slug: 'failing' } })],
    [412, await send('DELETE', address, { headers: { 'if-match': '"2"' } })],
  ];
  for (const [status, answer] of failures) {
    const text = await answer.text();
    assert.equal(answer.status, status, text);
    assert.match(text, /^\{"error":"[^"\\]/);
  }
  assert.match(failures[6]![1].headers.get('allow') ?? '', /GET.*PUT.*DELETE|DELETE.*GET.*PUT/);
});
