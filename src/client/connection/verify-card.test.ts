import assert from 'node:assert/strict';
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { canonicalJson } from '../../base/index.ts';
import { v03, v1, type AgentCard, type WireCodec } from '../../protocol/index.ts';
import { discover } from './discover.ts';
import type { PublicJwk } from './jws.ts';
import { verifyCard } from './verify-card.ts';

const URL_OF_CARD = 'https://agent.example/.well-known/agent-card.json';
const KEYS_AT = 'https://agent.example/.well-known/jwks.json';

const CARD: AgentCard = {
  name: 'Zoé',
  description: 'Ärger & 😀',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://agent.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://agent.example', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: [],
  skills: [{ id: 'chat', name: 'Chat', description: '', tags: [] }],
};

/** A signer as other programs have them: one of the algorithms, over canonical JSON. */
function signer(alg: 'EdDSA' | 'ES256' | 'RS256' | 'PS256', kid = 'k1', bits = 2048) {
  const { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject } =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: bits });
  const { kty = '', ...fields } = publicKey.export({ format: 'jwk' });
  const key: PublicJwk = { kty, ...fields, kid };
  return {
    key,
    sign: (card: object, header: object = {}, text = canonicalJson(card)) => {
      const part = (value: string) => Buffer.from(value).toString('base64url');
      const head = part(JSON.stringify({ alg, kid, typ: 'JOSE', jku: KEYS_AT, ...header }));
      const padding = alg === 'PS256' ? { padding: 6, saltLength: 32 } : {};
      const signature = sign(
        alg === 'EdDSA' ? null : 'sha256',
        Buffer.from(`${head}.${part(text)}`),
        { key: privateKey, dsaEncoding: 'ieee-p1363', ...padding },
      );
      const entry = { protected: head, signature: signature.toString('base64url') };
      return { ...card, signatures: [entry] };
    },
  };
}

function encoded(card: AgentCard = CARD, codec: WireCodec = v1): object {
  return Object(codec.encodeCard(card));
}

/** A `fetch` that has one key set, and notes what it was asked for. */
function publishing(...keys: PublicJwk[]) {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (request) => {
    asked.push(new Request(request).url);
    return Response.json({ keys }, { headers: { 'content-type': 'application/jwk-set+json' } });
  };
  return { fetch, asked };
}

test('signatures of the usual algorithms verify, in the shapes of both versions', async () => {
  for (const alg of ['EdDSA', 'ES256', 'RS256', 'PS256'] as const) {
    const { key, sign: signed } = signer(alg);
    for (const codec of [v1, v03]) {
      const raw = signed(encoded(CARD, codec));
      const verified = await verifyCard(raw, URL_OF_CARD, { keys: [key] });
      assert.equal(verified.card.name, 'Zoé');
      assert.deepEqual([verified.alg, verified.kid, verified.jku], [alg, 'k1', undefined]);
    }
  }
});

test('a card that was changed after it was signed is refused', async () => {
  const { key, sign: signed } = signer('EdDSA');
  const raw = signed(encoded());
  for (const change of [
    { name: 'Mallory' },
    { supportedInterfaces: [{ ...CARD.supportedInterfaces[0], url: 'https://evil.example' }] },
    { added: true },
    { iconUrl: 'https://evil.example' },
  ]) {
    await assert.rejects(verifyCard({ ...raw, ...change }, URL_OF_CARD, { keys: [key] }), {
      name: 'CardSignatureError',
      reason: 'invalid',
    });
  }
});

test('an unsigned card, and one that somebody else signed, are refused', async () => {
  const [ours, theirs] = [signer('EdDSA', 'ours'), signer('EdDSA', 'theirs')];
  const trust = { keys: [ours.key] };
  const refused = (raw: object, reason: string) =>
    assert.rejects(verifyCard(raw, URL_OF_CARD, trust), { reason });
  await refused(encoded(), 'unsigned');
  await refused({ ...encoded(), signatures: [] }, 'unsigned');
  await refused(theirs.sign(encoded()), 'untrusted');
  // The same key id does not help.
  await refused(theirs.sign(encoded(), { kid: 'ours' }), 'invalid');
});

test('no algorithm, a shared secret, an unknown critical header and a short RSA key are refused', async () => {
  const { key, sign: signed } = signer('RS256');
  for (const header of [{ alg: 'none' }, { alg: 'HS256' }, { crit: ['b64'], b64: false }]) {
    const raw = signed(encoded(), header);
    await assert.rejects(verifyCard(raw, URL_OF_CARD, { keys: [key] }), { reason: 'untrusted' });
  }
  // A key for one algorithm does not verify another.
  const other = signed(encoded(), { alg: 'PS256' });
  await assert.rejects(verifyCard(other, URL_OF_CARD, { keys: [key] }), { reason: 'invalid' });
  const weak = signer('RS256', 'weak', 1024);
  await assert.rejects(verifyCard(weak.sign(encoded()), URL_OF_CARD, { keys: [weak.key] }), {
    reason: 'untrusted',
  });
});

test('the address of the keys is followed only on the origin of the card, or if the caller lists it', async () => {
  const { key, sign: signed } = signer('ES256');
  const { fetch, asked } = publishing(key);
  const own = signed(encoded());
  const elsewhere = signed(encoded(), { jku: 'https://evil.example/keys' });
  const unnamed = signed(encoded(), { jku: undefined });
  const verified = await verifyCard(own, URL_OF_CARD, true, { fetch });
  assert.equal(verified.jku, KEYS_AT);
  assert.equal((await verifyCard(unnamed, URL_OF_CARD, true, { fetch })).jku, KEYS_AT);
  assert.deepEqual(asked.splice(0), [KEYS_AT, KEYS_AT]);

  for (const jku of ['https://evil.example/keys', 'http://agent.example/keys', 'file:///etc/x']) {
    await assert.rejects(verifyCard(signed(encoded(), { jku }), URL_OF_CARD, true, { fetch }), {
      reason: 'untrusted',
    });
  }
  await assert.rejects(verifyCard(elsewhere, URL_OF_CARD, { keys: [] }, { fetch }), {
    reason: 'untrusted',
  });
  assert.deepEqual(asked, []);
  const listed = { jwks: ['https://evil.example/keys'] };
  await verifyCard(elsewhere, URL_OF_CARD, listed, { fetch });
  assert.deepEqual(asked.splice(0), ['https://evil.example/keys']);
});

test('every key of the caller is tried, but only some keys of a set that an origin publishes', async () => {
  const { key, sign: signed } = signer('EdDSA');
  const others = Array.from({ length: 5 }, () => signer('EdDSA').key);
  const keys = [...others, key];
  const raw = signed(encoded());
  assert.equal((await verifyCard(raw, URL_OF_CARD, { keys })).card.name, 'Zoé');
  const { fetch } = publishing(...keys);
  await assert.rejects(verifyCard(raw, URL_OF_CARD, true, { fetch }), { reason: 'invalid' });
});

test('trust without keys is a mistake of the caller, and does not mean the keys of the origin', async () => {
  const { key, sign: signed } = signer('EdDSA');
  const { fetch, asked } = publishing(key);
  for (const verify of [{}, { keys: undefined }, { keys: undefined, jwks: undefined }]) {
    const mistake = { name: 'TypeError', message: /`verify` has no keys: pass { keys: .* or true/ };
    await assert.rejects(verifyCard(signed(encoded()), URL_OF_CARD, verify, { fetch }), mistake);
    await assert.rejects(discover('https://agent.example', { fetch, verify }), mistake);
  }
  assert.deepEqual(asked, []);
});

test('keys that cannot be fetched are an error of their own', async () => {
  const raw = signer('EdDSA').sign(encoded());
  for (const answer of [
    () => new Response('gone', { status: 404 }),
    () => Response.json({ hello: 1 }),
    () => Response.json({ keys: Array.from({ length: 101 }, () => ({ kty: 'OKP' })) }),
    () => new Response('x'.repeat(300_000)),
    () => Response.redirect('https://evil.example/keys'),
  ]) {
    await assert.rejects(verifyCard(raw, URL_OF_CARD, true, { fetch: async () => answer() }), {
      reason: 'unavailable',
    });
  }
});

test('only the signed fields of a card that an SDK signed are used', async () => {
  const { key, sign: signed } = signer('ES256');
  // Python's SDK signs the fields that it knows, without empty ones, and in ASCII.
  const known = {
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    description: 'Ärger & 😀',
    name: 'Zoé',
    skills: [{ id: 'chat', name: 'Chat' }],
    supportedInterfaces: CARD.supportedInterfaces,
    version: '1.0.0',
  };
  const text = canonicalJson(known)
    .replace('Zoé', 'Zo\\u00e9')
    .replace('Ärger', '\\u00c4rger')
    .replace('😀', '\\ud83d\\ude00');
  const { signatures } = signed({}, {}, text);
  const raw = { ...encoded({ ...CARD, unsigned: 'field' }), signatures };
  const { card } = await verifyCard(raw, URL_OF_CARD, { keys: [key] });
  assert.deepEqual([card.name, card.skills[0]?.tags, card['unsigned']], ['Zoé', [], undefined]);
});

test('a card of an SDK of version 0.3 is verified without its default values', async () => {
  const { key, sign: signed } = signer('RS256');
  const secured: AgentCard = {
    ...CARD,
    description: 'plain',
    name: 'Zoe',
    securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
    security: [{ bearer: [] }],
  };
  // Pydantic leaves out `protocolVersion`, `preferredTransport` and the type of the scheme, which have their defaults.
  const text =
    '{"additionalInterfaces":[{"transport":"JSONRPC","url":"https://agent.example"}],' +
    '"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"description":"plain","name":"Zoe",' +
    '"securitySchemes":{"bearer":{"scheme":"Bearer"}},"skills":[{"id":"chat","name":"Chat"}],' +
    '"url":"https://agent.example","version":"1.0.0"}';
  const { signatures } = signed({}, {}, text);
  const raw = { ...encoded(secured, v03), signatures };
  const { card } = await verifyCard(raw, URL_OF_CARD, { keys: [key] });
  assert.equal(card.supportedInterfaces[0]?.protocolVersion, '0.3');
});

test('discovery with `verify` refuses a forged card at once, and does not look elsewhere', async () => {
  const { key, sign: signed } = signer('EdDSA');
  const forged = { ...signed(encoded()), name: 'Mallory' };
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (request) => {
    const { url } = new Request(request);
    asked.push(new URL(url).pathname);
    return Response.json(url === KEYS_AT ? { keys: [key] } : forged);
  };
  await assert.rejects(discover('https://agent.example', { fetch, verify: true }), {
    name: 'CardSignatureError',
    message: /the signature of https:\/\/agent\.example\/.* with the key "k1" is not valid/,
  });
  assert.deepEqual(asked, ['/.well-known/agent-card.json', '/.well-known/jwks.json']);
});
