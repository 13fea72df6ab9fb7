import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { openSigningKeys, readSigningKeys, signingKeys, type PublicKeyJwk } from './index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-signing-'));
after(() => rmSync(folder, { recursive: true }));

function pem(type: 'ed25519' | 'x25519' = 'ed25519') {
  const { privateKey, publicKey } = generateKeyPairSync(type as 'ed25519');
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    jwk: privateKey.export({ format: 'jwk' }),
  };
}

function isValid({ kty, crv, x }: PublicKeyJwk, data: string, signature: Uint8Array): boolean {
  const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  return verify(null, Buffer.from(data), key, signature);
}

test('a key file is made on first use, for its owner only, and used again', () => {
  const file = path.join(folder, 'new', 'deep', 'key.pem');
  const first = openSigningKeys(file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(openSigningKeys(file).kid, first.kid);
  const [published] = first.publicKeys;
  assert.ok(published && isValid(published, 'hello', first.sign('hello')));
  assert.ok(!isValid(published, 'hello!', first.sign('hello')));
  assert.deepEqual(Object.keys(published).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
});

test('a key is read from PEM, from a JWK, and from a set of JWKs', () => {
  const { privatePem, jwk } = pem();
  const { kid } = signingKeys(privatePem);
  assert.equal(signingKeys(JSON.stringify(jwk)).kid, kid);
  assert.equal(signingKeys(JSON.stringify({ keys: [jwk] })).kid, kid);
  assert.equal(signingKeys(JSON.stringify({ ...jwk, kid: 'mine' })).kid, 'mine');
});

test('the id of a key is its thumbprint by RFC 7638', () => {
  // The key and the thumbprint are those of RFC 8037, appendix A.3.
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
  const d = 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A';
  const { kid } = signingKeys(JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x, d }));
  assert.equal(kid, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
});

test('the first of several keys signs, and all are published', () => {
  const [fresh, old] = [pem(), pem()];
  for (const second of [old.privatePem, old.publicPem]) {
    const keys = signingKeys(fresh.privatePem + second);
    assert.deepEqual(
      keys.publicKeys.map(({ x }) => x),
      [fresh.jwk.x, old.jwk.x],
    );
    const [first] = keys.publicKeys;
    assert.ok(first && isValid(first, 'x', keys.sign('x')));
  }
});

test('what is no usable key is refused, without a word of the key itself', () => {
  const { privatePem, publicPem, jwk } = pem();
  const rsa = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const refused: [string, RegExp][] = [
    ['', /no key in PEM or JWK format.*openssl genpkey/],
    [publicPem, /must be a private key/],
    [rsa.privateKey, /must be an Ed25519 key, but its type is rsa/],
    [pem('x25519').privatePem, /its type is x25519/],
    [JSON.stringify({ kty: 'EC', crv: 'P-256', x: 'a', y: 'b' }), /its type is P-256/],
    [JSON.stringify({ ...jwk, d: 'secretsecret' }), /cannot be read: create one/],
    ['{"d":"secretsecret', /cannot be read/],
    [privatePem + privatePem, /two keys have the id/],
    [Array.from({ length: 17 }, () => pem().privatePem).join(''), /at most 16 keys/],
  ];
  for (const [text, reason] of refused) {
    const file = path.join(folder, 'bad');
    writeFileSync(file, text);
    assert.throws(
      () => readSigningKeys(file),
      (error: Error) => {
        assert.equal(error.name, 'SigningKeyError');
        assert.match(error.message, reason);
        assert.ok(error.message.startsWith(file) && !/secretsecret/.test(error.message));
        return true;
      },
    );
  }
  assert.throws(
    () => readSigningKeys(path.join(folder, 'none')),
    /there is no such file: create one/,
  );
});
