/** The server's public keys, which peers need to verify its webhooks and cards. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKeys } from '../../src/base/signing/index.ts';
import { bearerTokens } from '../../src/server.ts';
import { raw, sample, start } from './support.ts';

const KEYS = signingKeys(
  JSON.stringify({
    kty: 'OKP',
    crv: 'Ed25519',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    kid: 'example',
  }),
);
const path = '/.well-known/jwks.json';

test('the public keys can be read without credentials, and cached', async (t) => {
  const authenticate = bearerTokens(new Map([['ann', 'secret']]));
  const { url } = await start(t, sample(), { signing: KEYS, authenticate });
  const reply = await raw(url, { method: 'GET', path });
  assert.equal(reply.status, 200);
  assert.deepEqual(JSON.parse(reply.text), { keys: KEYS.publicKeys });
  assert.ok(!reply.text.includes('"d"'));
  assert.match(String(reply.headers['cache-control']), /^public, max-age=\d+$/);
  const etag = String(reply.headers.etag);
  const again = await raw(url, { method: 'GET', path, headers: { 'if-none-match': etag } });
  assert.equal(again.status, 304);
  assert.equal((await raw(url, { method: 'HEAD', path })).status, 200);
  assert.equal((await raw(url, { path, body: '{}' })).status, 405);
});

test('a server without keys has one of its own, for this process', async (t) => {
  const [one, other] = [await start(t), await start(t)];
  const sets = await Promise.all(
    [one, other].map(({ url }) => raw(url, { method: 'GET', path }).then(({ text }) => text)),
  );
  assert.match(sets[0] ?? '', /"crv":"Ed25519"/);
  assert.notEqual(sets[0], sets[1]);
});
