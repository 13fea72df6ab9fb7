import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { trustedKeys } from './trusted-keys.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-trust-'));
after(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const place = path.join(folder, 'key');
  writeFileSync(place, text);
  return place;
}

test('a public key is read from PEM, a JWK or a set, and from a private key', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' });
  const sources = [
    publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    JSON.stringify(privateKey.export({ format: 'jwk' })),
    JSON.stringify({ keys: [jwk] }),
  ];
  for (const source of sources) assert.deepEqual(trustedKeys([file(source)]), [jwk]);
  assert.deepEqual(trustedKeys([file(JSON.stringify({ ...jwk, kid: 'k' }))]), [
    { ...jwk, kid: 'k' },
  ]);
});

test('every key of a PEM file is read', () => {
  const [old, next] = [
    generateKeyPairSync('ed25519').publicKey,
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
  ];
  const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
  // What `openssl ecparam -genkey` writes before the key.
  const parameters =
    '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  assert.deepEqual(
    trustedKeys([file(`The old key:\n${pem(old)}\n${parameters}${pem(next)}`)]),
    [old, next].map((key) => key.export({ format: 'jwk' })),
  );
  const damaged = pem(next).replace('MFkw', '????');
  assert.throws(() => trustedKeys([file(pem(old) + damaged)]), /--trust-key /);
});

test('a file without a key is refused in one line that says what it must have', () => {
  for (const text of ['', 'hello', '{}', '{"keys":[1]}', '{"kty":"oct","k":"AAAA"}']) {
    assert.throws(() => trustedKeys([file(text)]), /--trust-key .*PEM, JWK or JWK set$/);
  }
});
