import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { temporarySigningKeys } from '../base/signing/index.ts';
import { createAgent, serve } from '../server.ts';

/** A server that signs its cards, at a time of the test's own. */
function signing(t: TestContext) {
  const keys = temporarySigningKeys();
  const state = { signed: 0, time: 0 };
  t.mock.method(performance, 'now', () => state.time);
  const agent = createAgent({ name: 'A', description: 'B' }, async function* () {});
  const server = serve(agent, {
    signing: {
      ...keys,
      sign(data: string | Uint8Array) {
        state.signed++;
        return keys.sign(data);
      },
    },
    authenticate: () => ({ id: 'ann' }),
    extendedCard: { description: 'for friends' },
  });
  t.after(() => server.close());
  const get = (host: string, remote = '192.0.2.1') =>
    server.fetch(new Request(`http://${host}/.well-known/agent-card.json`), { remote });
  const extended = (host: string) => {
    const headers = { 'a2a-version': '1.0' };
    return server.fetch(new Request(`http://${host}/extendedAgentCard`, { headers }), {
      remote: '192.0.2.1',
    });
  };
  return { get, extended, state };
}

test('many hosts do not displace the signed card that is in use', async (t) => {
  const { get, state } = signing(t);
  await get('known.example');
  const once = state.signed;
  for (let n = 0; n < 100; n++) {
    state.time += 1000;
    assert.equal((await get(`host${n}.example`)).status, 200);
    assert.equal((await get('known.example')).status, 200);
  }
  assert.equal(state.signed, 101 * once);
});

test('a client that invents hosts makes the server sign a few cards in a second, and then gets 429', async (t) => {
  const { get, state } = signing(t);
  await get('known.example');
  const once = state.signed;
  const answers = [];
  for (let n = 0; n < 200; n++) answers.push(await get(`host${n}.example`));
  assert.equal(state.signed, 4 * once);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 197);
  assert.ok(refused.every(({ headers }) => headers.get('retry-after') === '1'));
  assert.equal((await get('known.example')).status, 200);
  assert.equal((await get('new.example', '192.0.2.2')).status, 200);
  state.time += 1000;
  assert.equal((await get('later.example')).status, 200);
});

test('clients at many addresses that invent hosts have a limit together', async (t) => {
  const { get, state } = signing(t);
  await get('known.example');
  const once = state.signed;
  for (let n = 0; n < 200; n++) await get(`host${n}.example`, `192.0.2.${n}`);
  assert.equal(state.signed, 32 * once);
});

test('an extended card is signed for a few new hosts in a second, and for known hosts without a limit', async (t) => {
  const { get, extended, state } = signing(t);
  await get('known.example');
  assert.equal((await extended('known.example')).status, 200);
  const before = state.signed;
  const answers: Response[] = [];
  for (let n = 0; n < 20; n++) answers.push(await extended(`host${n}.example`));
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 16);
  assert.ok(refused.every(({ headers }) => headers.get('retry-after') === '1'));
  const once = (state.signed - before) / 4;
  for (let n = 0; n < 20; n++) assert.equal((await extended('known.example')).status, 200);
  assert.equal(state.signed, before + 24 * once);
  // The host of an extended card is known to the public card too.
  assert.equal((await get('host0.example')).status, 200);
  state.time += 1000;
  assert.equal((await extended('later.example')).status, 200);
});
