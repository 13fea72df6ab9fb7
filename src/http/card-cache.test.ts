import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporarySigningKeys } from '../base/signing/index.ts';
import { createAgent, serve } from '../server.ts';

test('many hosts do not displace the signed card that is in use', async (t) => {
  const keys = temporarySigningKeys();
  let signed = 0;
  const signing = {
    ...keys,
    sign(data: string | Uint8Array) {
      signed++;
      return keys.sign(data);
    },
  };
  const agent = createAgent({ name: 'A', description: 'B' }, async function* () {});
  const server = serve(agent, { signing, authenticate: () => ({ id: 'ann' }) });
  t.after(() => server.close());
  const get = async (host: string) => {
    const response = await server.fetch(new Request(`http://${host}/.well-known/agent-card.json`));
    assert.equal(response.status, 200);
  };
  await get('known.example');
  const once = signed;
  for (let n = 0; n < 100; n++) {
    await get(`host${n}.example`);
    await get('known.example');
  }
  assert.equal(signed, 101 * once);
});
