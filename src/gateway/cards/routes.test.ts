import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError, ERRORS } from '../../protocol/index.ts';
import { createHandler, memoryStore } from '../../tasks/index.ts';
import { failuresOf } from '../api/openapi.ts';
import type { GatewayRoute, RouteAnswer } from '../api/route.ts';
import { ann, bench, bob, SEED_BODY } from '../../../test/gateway/cards-support.ts';
import type { Caller } from '../api/caller.ts';
import type { Cards } from './cards.ts';
import { cardRoutes } from './routes.ts';
import { CardPage, CardVersionPage, ModelCard } from './schema.ts';

interface Sent {
  readonly caller?: Caller;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Model cards have no tasks. */
const handler = createHandler({ async *execute() {} }, { store: memoryStore() });

/** Sends a request to the route that the address belongs to, as the transport does. */
function client(cards: Cards) {
  const routes = cardRoutes({ cards });
  return async (verb: string, address: string, sent: Sent = {}): Promise<RouteAnswer> => {
    const { caller = ann, body, headers = {} } = sent;
    const { pathname, searchParams } = new URL(address, 'http://gateway');
    for (const route of routes.filter((route) => route.verb === verb)) {
      const pattern = route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
      const values = new RegExp(`^${pattern}$`).exec(pathname);
      if (values === null) continue;
      try {
        const answer = await route.handle({
          values: { ...values.groups },
          query: searchParams,
          body,
          caller,
          call: { user: caller },
          header: (name) => headers[name],
          handler,
        });
        assert.ok(!('stream' in answer) && !('chunks' in answer));
        assertDescribed(route, answer.status ?? 200);
        return answer;
      } catch (error) {
        if (!(error instanceof A2AError)) throw error;
        assertDescribed(route, error.httpStatus);
        return { status: error.httpStatus, body: { error: error.message } };
      }
    }
    throw new Error(`no route for ${verb} ${address}`);
  };
}

/** What `/openapi.json` says of a route names every answer that it gives. */
function assertDescribed(route: GatewayRoute, status: number): void {
  const described = new Set([
    ...Object.keys(route.answers).map(Number),
    ...failuresOf(route).keys(),
  ]);
  assert.ok(described.has(status), `the route does not say that it answers ${status}`);
}

const CARDS = '/a2a/model-cards';
const cardOf = ({ body }: RouteAnswer) => ModelCard.parse(body);

async function made(send: ReturnType<typeof client>, body: object = SEED_BODY): Promise<ModelCard> {
  return cardOf(await send('POST', CARDS, { body }));
}

test('the example of the requirements is accepted to the letter, and answered with it', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const answer = await send('POST', CARDS, { body: SEED_BODY });
  const card = cardOf(answer);
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.headers, { etag: '"1"', location: `${CARDS}/${card.id}` });
  const { workspaceId, name, slug, description, card: content } = card;
  assert.deepEqual({ workspaceId, name, slug, description, card: content }, SEED_BODY);
});

test('a card is read with its ETag, and not sent to those who have it', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const { id } = await made(send);
  const whole = await send('GET', `${CARDS}/${id}`);
  assert.deepEqual(whole.headers, { etag: '"1"' });
  assert.equal(cardOf(whole).id, id);
  const known = await send('GET', `${CARDS}/${id}`, { headers: { 'if-none-match': '"1"' } });
  assert.deepEqual(known, { status: 304, headers: { etag: '"1"' } });
  const other = await send('GET', `${CARDS}/${id}`, { headers: { 'if-none-match': '"2"' } });
  assert.equal(cardOf(other).id, id);
});

test('a card may be sent back as it was read, with its ETag, once', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const card = await made(send);
  const sent = { body: { ...card, name: 'New' }, headers: { 'if-match': '"1"' } };
  const answer = await send('PUT', `${CARDS}/${card.id}`, sent);
  assert.deepEqual(answer.headers, { etag: '"2"' });
  assert.equal(cardOf(answer).name, 'New');
  assert.equal((await send('PUT', `${CARDS}/${card.id}`, sent)).status, 412);
  const any = { ...sent, headers: { 'if-match': '*' } };
  assert.equal(cardOf(await send('PUT', `${CARDS}/${card.id}`, any)).version, 3);
});

test('a card is deleted, listed when asked for, and restored', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const { id } = await made(send);
  const stale = await send('DELETE', `${CARDS}/${id}`, { headers: { 'if-match': '"7"' } });
  assert.equal(stale.status, 412);
  assert.deepEqual(await send('DELETE', `${CARDS}/${id}`), { status: 204 });
  assert.equal((await send('GET', `${CARDS}/${id}`)).status, 404);
  const { items } = CardPage.parse((await send('GET', `${CARDS}?include_deleted=true`)).body);
  assert.ok(items[0]?.deletedAt);
  const restored = await send('POST', `${CARDS}/${id}/versions/1/restore`);
  assert.deepEqual(restored.headers, { etag: '"2"' });
  assert.equal((await send('GET', `${CARDS}/${id}`)).status, undefined);
});

test('versions are paged, and one that is none is not found', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const { id } = await made(send);
  await send('PUT', `${CARDS}/${id}`, { body: SEED_BODY });
  const { body } = await send('GET', `${CARDS}/${id}/versions?limit=1`);
  const { items, total, limit, offset } = CardVersionPage.parse(body);
  assert.deepEqual([items.length, items[0]?.version, total, limit, offset], [1, 2, 2, 1, 0]);
  assert.deepEqual((await send('GET', `${CARDS}/${id}/versions/2`)).body, items[0]);
  for (const version of ['0', '3', '-1', '1.0', 'x', '99999999999999999999']) {
    assert.equal((await send('GET', `${CARDS}/${id}/versions/${version}`)).status, 404, version);
    const restore = await send('POST', `${CARDS}/${id}/versions/${version}/restore`);
    assert.equal(restore.status, 404, version);
  }
});

test('a list has 50 cards unless told, and says how many there are', async () => {
  using parts = bench();
  const send = client(parts.cards);
  for (let n = 0; n < 51; n++) await made(send, { ...SEED_BODY, slug: `s${n}` });
  const lists = async (search: string) => CardPage.parse((await send('GET', CARDS + search)).body);
  const { items, ...rest } = await lists('?workspace_id=ws-123&whatever=1');
  assert.equal(items.length, 50);
  assert.deepEqual(rest, { total: 51, limit: 50, offset: 0 });
  assert.equal((await lists('?offset=50')).items.length, 1);
  assert.deepEqual(await lists('?offset=51'), { items: [], total: 51, limit: 50, offset: 51 });
  assert.deepEqual((await lists('?slug=s7')).total, 1);
  assert.equal((await lists('?sort=-createdAt&limit=1')).items[0]?.slug, 's50');
});

test('a wrong parameter is refused, and the error names it', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const wrong = {
    limit: ['0', '-1', '101', 'ten', '1.5', '', '1e1', '99999999999999999999'],
    offset: ['-1', 'x', '', '99999999999999999999'],
    sort: ['', 'id', '--name', 'name,slug'],
    include_deleted: ['yes', ''],
    q: ['x'.repeat(201)],
    provider: ['x'.repeat(257)],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const answer = await send('GET', `${CARDS}?${name}=${encodeURIComponent(value)}`);
      assert.equal(answer.status, 400, `${name}=${value}`);
      assert.match(JSON.stringify(answer.body), new RegExp(`^\\{"error":"${name}: `));
    }
  }
});

test('a wrong body is refused, and the error names the field', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const body = { ...SEED_BODY, card: { ...SEED_BODY.card, schemaVersion: '1.1' } };
  assert.deepEqual(await send('POST', CARDS, { body }), {
    status: 400,
    body: {
      error: 'card.schemaVersion: must be "1.0", the only version that this gateway supports',
    },
  });
  for (const body of [undefined, null, [], 'x', {}]) {
    assert.equal((await send('POST', CARDS, { body })).status, 400);
  }
});

test('a slug that is taken is a conflict', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const { id } = await made(send);
  assert.deepEqual(await send('POST', CARDS, { body: SEED_BODY }), {
    status: 409,
    body: { error: `slug: "gpt-4-turbo" is already used by the model card ${id}` },
  });
});

test('a workspace that is not the caller’s own is none', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const { id } = await made(send);
  const none = (own: string) => ({
    status: 404,
    body: {
      error: `There is no such workspace. Leave out the workspace, or use the workspace of the caller, "${own}"`,
    },
  });
  const caller = bob;
  assert.deepEqual(await send('GET', `${CARDS}?workspace_id=ws-123`, { caller }), none('ws-456'));
  assert.deepEqual(await send('GET', `${CARDS}?workspace_id=`, { caller }), none('ws-456'));
  assert.deepEqual(await send('POST', CARDS, { caller, body: SEED_BODY }), none('ws-456'));
  const body = { ...SEED_BODY, workspaceId: 'ws-456' };
  assert.deepEqual(await send('PUT', `${CARDS}/${id}`, { body }), none('ws-123'));
});

test('every route with an id answers another workspace as if there were no such card', async () => {
  using parts = bench();
  const send = client(parts.cards);
  const { id } = await made(send);
  const { workspaceId: _, ...body } = SEED_BODY;
  const routes = cardRoutes(parts).filter(({ path }) => path.includes('{id}'));
  assert.equal(routes.length, 6);
  for (const { verb, path, resource } of routes) {
    const address = path.replace('{id}', id).replace('{version}', '1');
    const answer = await send(verb, address, { caller: bob, body });
    assert.equal(resource, 'card');
    assert.deepEqual(answer, await send(verb, address.replace(id, 'none'), { body }), path);
    assert.equal(answer.status, ERRORS.notFound.http, path);
  }
});
