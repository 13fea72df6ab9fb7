// A real issuer on loopback, with real keys.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { testGateway, testLogger } from '../../../test/support/gateway-keys.ts';
import { A2AError } from '../../protocol/index.ts';
import { Caller } from '../api/caller.ts';
import { createAuthenticate } from './authenticate.ts';
import { OidcConfig } from './config.ts';
import { createOidc } from './oidc.ts';

const AUDIENCE = 'https://gateway.example';

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

async function issuing(...keys: SigningKey[]) {
  const state = {
    keys: keys.map(({ jwk }) => jwk),
    down: false,
    named: undefined as string | undefined,
    asked: [] as string[],
  };
  const server = createServer((request, response) => {
    state.asked.push(request.url ?? '');
    const bodies: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: state.named ?? url,
        jwks_uri: `${url}/jwks`,
      },
      '/jwks': { keys: state.keys },
    };
    const body = bodies[request.url ?? ''];
    response.statusCode = state.down ? 500 : body === undefined ? 404 : 200;
    response.end(JSON.stringify(body ?? {}));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    state,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Claims {
  readonly [claim: string]: unknown;
}

function sign(key: SigningKey, issuer: string, claims: Claims = {}, header: object = {}) {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    iss: issuer,
    aud: AUDIENCE,
    sub: 'ann',
    exp: now + 300,
    workspace: 'team',
    scope: 'tasks:read tasks:write openid',
    ...claims,
  })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey);
}

function gateway(issuer: string, config: object = {}, options: object = {}) {
  const logger = testLogger();
  const { keys } = testGateway();
  const parsed = OidcConfig.parse({ issuer, audience: AUDIENCE, ...config });
  const oidc = createOidc({ config: parsed, logger, cooldownMs: 0, failureMs: 0, ...options });
  const authenticate = createAuthenticate({ keys, oidc });
  const ask = (token: string) =>
    authenticate({
      remote: '192.0.2.1',
      header: (name) => (name === 'authorization' ? `Bearer ${token}` : undefined),
    });
  return { ask, keys, logger };
}

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

describe('a token of the issuer', () => {
  for (const alg of ['RS256', 'ES256', 'PS256', 'EdDSA']) {
    test(`that is signed with ${alg} makes a caller, without a budget of a key`, async () => {
      const key = await signingKey('k1', alg);
      await using issuer = await issuing(key);
      const caller = await gateway(issuer.url).ask(await sign(key, issuer.url));
      assert.ok(caller instanceof Caller);
      assert.deepEqual(
        [caller.workspace, caller.actor, caller.keyId, [...caller.scopes]],
        ['team', 'oidc:ann', undefined, ['tasks:read', 'tasks:write']],
      );
    });
  }

  test('is looked up once, and then known at once', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    const { ask } = gateway(issuer.url);
    const token = await sign(key, issuer.url);
    await ask(token);
    assert.ok(ask(token) instanceof Caller);
    await ask(await sign(key, issuer.url, { sub: 'bob' }));
    assert.deepEqual(issuer.state.asked, ['/.well-known/openid-configuration', '/jwks']);
  });

  test('is no longer known after it has expired', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    let time = Date.now();
    const { ask } = gateway(issuer.url, {}, { now: () => time });
    const token = await sign(key, issuer.url, { exp: inSeconds(20) });
    assert.ok(await ask(token));
    time += 45_000;
    assert.ok(await ask(token), 'within the tolerance of clocks');
    time += 10_000;
    assert.equal(await ask(token), undefined);
  });

  test('has its scopes and workspace under the names that the configuration gives', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    const { ask } = gateway(issuer.url, {
      workspaceClaim: 'https://example.com/org',
      scopeClaim: 'permissions',
      workspaces: { 'Org 7': 'seven' },
      audience: ['other', AUDIENCE],
    });
    const claims = { permissions: ['cards:read', '*', 'x', 7, ['tasks:read']] };
    const caller = await ask(
      await sign(key, issuer.url, { ...claims, 'https://example.com/org': 'Org 7' }),
    );
    assert.ok(caller instanceof Caller);
    assert.deepEqual([caller.workspace, [...caller.scopes]], ['seven', ['cards:read']]);
    for (const org of ['Org 8', 'seven', '__proto__', undefined]) {
      const token = await sign(key, issuer.url, { ...claims, 'https://example.com/org': org });
      assert.equal(await ask(token), undefined);
    }
  });

  test('is nobody where a claim is wrong or missing', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    const { ask } = gateway(issuer.url);
    const wrong: Claims[] = [
      { aud: 'https://other.example' },
      { aud: undefined },
      { iss: 'https://other.example' },
      { iss: `${issuer.url}/` },
      { iss: undefined },
      { exp: inSeconds(-60) },
      { exp: undefined },
      { nbf: inSeconds(60) },
      { sub: undefined },
      { sub: '' },
      { sub: 'x'.repeat(300) },
      { workspace: undefined },
      { workspace: '' },
      { workspace: '../team' },
      { workspace: ['team'] },
      { workspace: { toString: 'team' } },
    ];
    for (const claims of wrong) {
      assert.equal(
        await ask(await sign(key, issuer.url, claims)),
        undefined,
        JSON.stringify(claims),
      );
    }
    assert.ok(await ask(await sign(key, issuer.url, { nbf: inSeconds(10) })));
  });
});

describe('a forged token', () => {
  test('without a signature, or signed with the public key as a secret, is nobody', async () => {
    const key = await signingKey('k1', 'RS256');
    await using issuer = await issuing(key);
    const { ask } = gateway(issuer.url);
    const genuine = await sign(key, issuer.url);
    const [header, body, signature] = genuine.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Claims;
    const none = new UnsecuredJWT(claims).encode();
    const pem = Buffer.from(await exportSPKI(key.publicKey));
    const confused = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: key.kid })
      .sign(pem);
    const raised = Buffer.from(JSON.stringify({ ...claims, workspace: 'other' })).toString(
      'base64url',
    );
    const tokens = [none, `${none}x`, confused, `${header}.${raised}.${signature}`];
    tokens.push(`${header}.${body}.`, `${header}.${body}.${signature.slice(0, -4)}AAAA`, 'a.b.c');
    for (const token of tokens) assert.equal(await ask(token), undefined, token);
    assert.ok(await ask(genuine));
  });

  test('of another key under the same name is nobody', async () => {
    const [key, other] = [await signingKey('k1'), await signingKey('k1')];
    await using issuer = await issuing(key);
    assert.equal(await gateway(issuer.url).ask(await sign(other, issuer.url)), undefined);
  });

  test('of another issuer does not make us ask ours', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    const { ask } = gateway(issuer.url);
    assert.equal(await ask(await sign(key, 'https://other.example')), undefined);
    assert.deepEqual(issuer.state.asked, []);
  });
});

describe('the keys of the issuer', () => {
  test('are fetched again for one that is new, and the old ones count as long as they are there', async () => {
    const [old, fresh] = [await signingKey('old'), await signingKey('new', 'RS256')];
    await using issuer = await issuing(old);
    const { ask } = gateway(issuer.url);
    assert.ok(await ask(await sign(old, issuer.url)));
    issuer.state.keys = [old.jwk, fresh.jwk];
    assert.ok(await ask(await sign(fresh, issuer.url)));
    assert.ok(await ask(await sign(old, issuer.url, { sub: 'bob' })));
    issuer.state.keys = [fresh.jwk];
    const third = await signingKey('third');
    assert.equal(await ask(await sign(third, issuer.url)), undefined);
    assert.equal(await ask(await sign(old, issuer.url, { sub: 'eve' })), undefined);
  });

  test('are not fetched again and again for names that nobody knows', async () => {
    const [key, other] = [await signingKey('k1'), await signingKey('k2')];
    await using issuer = await issuing(key);
    const { ask } = gateway(issuer.url, {}, { cooldownMs: 60_000 });
    for (let at = 0; at < 5; at++) {
      assert.equal(await ask(await sign(other, issuer.url, {}, { kid: `k${at + 2}` })), undefined);
    }
    assert.equal(issuer.state.asked.filter((url) => url === '/jwks').length, 1);
  });

  test('need no name where there is one, and need one where there are several', async () => {
    const [one, two] = [await signingKey('k1'), await signingKey('k2')];
    await using issuer = await issuing(one);
    const nameless = await sign(one, issuer.url, {}, { kid: undefined });
    assert.ok(await gateway(issuer.url).ask(nameless));
    issuer.state.keys = [one.jwk, two.jwk];
    assert.equal(await gateway(issuer.url).ask(nameless), undefined);
  });
});

describe('an issuer that cannot be asked', () => {
  const refusal = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(error instanceof A2AError, String(error));
    return [error.kind, error.message];
  };
  const unavailable = ['unavailable', 'Tokens cannot be verified at the moment: try again later'];

  test('makes tokens wait and keys go on; when it is back, so are the tokens', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    const { ask, keys, logger } = gateway(issuer.url);
    const token = await sign(key, issuer.url);
    issuer.state.down = true;
    assert.deepEqual(await refusal(Promise.resolve(ask(token))), unavailable);
    assert.equal(logger.lines.length, 1);
    const { secret } = keys.create({ workspace: 'default', name: 'k', scopes: ['*'] }, 'cli');
    assert.ok(ask(secret) instanceof Caller);
    issuer.state.down = false;
    assert.ok(await ask(token));
  });

  test('is left alone for a while, and named in the log once', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    let time = Date.now();
    const { ask, logger } = gateway(issuer.url, {}, { now: () => time, failureMs: 5000 });
    const token = await sign(key, issuer.url);
    issuer.state.down = true;
    for (let times = 0; times < 3; times++) await refusal(Promise.resolve(ask(token)));
    assert.deepEqual([issuer.state.asked.length, logger.lines.length], [1, 1]);
    issuer.state.down = false;
    time += 5000;
    assert.ok(await ask(token));
  });

  test('at its discovery document only is still asked for new keys', async () => {
    const [old, fresh] = [await signingKey('old'), await signingKey('new')];
    await using issuer = await issuing(old);
    let time = Date.now();
    const { ask } = gateway(issuer.url, {}, { now: () => time, failureMs: 60_000 });
    assert.ok(await ask(await sign(old, issuer.url)));
    time += 3_600_000;
    issuer.state.named = 'https://other.example';
    issuer.state.keys = [fresh.jwk];
    assert.ok(await ask(await sign(fresh, issuer.url, { exp: inSeconds(7200) })));
  });

  test('is one that names itself otherwise, or sends rubbish for keys; it is left alone for a while too', async () => {
    const key = await signingKey('k1');
    await using issuer = await issuing(key);
    const token = await sign(key, issuer.url);
    const askedTwice = async () => {
      issuer.state.asked = [];
      const { ask, logger } = gateway(issuer.url, {}, { failureMs: 60_000 });
      for (let times = 0; times < 2; times++) {
        assert.deepEqual(await refusal(Promise.resolve(ask(token))), unavailable);
      }
      return [...issuer.state.asked, logger.lines.length];
    };
    const discovery = '/.well-known/openid-configuration';
    issuer.state.named = 'https://other.example';
    assert.deepEqual(await askedTwice(), [discovery, 1]);
    issuer.state.named = undefined;
    issuer.state.keys = 'rubbish' as unknown as JWK[];
    assert.deepEqual(await askedTwice(), [discovery, '/jwks', 1]);
  });
});
