// The gateway signs the cards that it serves, also those of agents behind it, because it rewrites them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporarySigningKeys } from '../../src/base/signing/index.ts';
import { connect, verifyCard } from '../../src/client/index.ts';
import { echo } from '../../src/cli/agents/echo.ts';
import { serve } from '../../src/server.ts';
import { startGateway } from '../support/gateway.ts';
import { quiet } from '../interop/support.ts';

test('the card of an agent behind the gateway has the signature of the gateway, and none of the agent', async (t) => {
  const [ours, theirs] = [temporarySigningKeys(), temporarySigningKeys()];
  const remote = await serve(echo, { signing: theirs, logger: quiet }).listen(0);
  t.after(() => remote.close(0));
  await using gateway = await startGateway({
    signing: ours,
    config: { agents: { echo: { url: remote.url } } },
  });
  const key = gateway.key();
  const jwks = `${gateway.url}/.well-known/jwks.json`;
  assert.deepEqual(await (await fetch(jwks)).json(), { keys: ours.publicKeys });
  // The keys are at the root only.
  assert.equal((await gateway.ask(key, 'GET', '/agents/echo/.well-known/jwks.json')).status, 404);
  for (const base of ['', '/agents/echo']) {
    const place = `${base}/.well-known/agent-card.json`;
    for (const version of ['0.3', '1.0', undefined]) {
      const headers = { ...(version !== undefined && { 'a2a-version': version }) };
      const reply = await gateway.ask(key, 'GET', place, undefined, headers);
      const raw: unknown = await reply.json();
      assert.ok(!JSON.stringify(raw).includes(theirs.kid));
      const { kid, jku } = await verifyCard(raw, gateway.url + place, true);
      assert.deepEqual([kid, jku], [ours.kid, jwks]);
    }
  }
  const headers = { authorization: `Bearer ${key}` };
  const verify = { keys: ours.publicKeys };
  const client = await connect(`${gateway.url}/agents/echo`, { headers, verify });
  assert.equal(await client.send('hello').text(), 'hello');
  await assert.rejects(
    connect(`${gateway.url}/agents/echo`, { headers, verify: { keys: theirs.publicKeys } }),
    { name: 'CardSignatureError', reason: 'untrusted' },
  );
});

test('the extended card is signed too, in both versions', async () => {
  const signing = temporarySigningKeys();
  await using gateway = await startGateway({ signing });
  const headers = { authorization: `Bearer ${gateway.key()}` };
  for (const [path, version] of [
    ['/extendedAgentCard', '1.0'],
    ['/v1/card', '0.3'],
  ] as const) {
    const reply = await fetch(gateway.url + path, {
      headers: { ...headers, 'a2a-version': version },
    });
    assert.equal(reply.status, 200);
    await verifyCard(await reply.json(), gateway.url + path, { keys: signing.publicKeys });
  }
});
