/** Signed cards: those of ours are verified by the JavaScript SDK, and those that it signs by our client. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { agentCardHandler } from '@a2a-js/sdk/server/express';
import express from 'express';
import { createRemoteJWKSet } from 'jose';
import { bearerTokens, createAgent, serve } from '../../src/server.ts';
import { temporarySigningKeys } from '../../src/base/signing/index.ts';
import { connect, verifyCard } from '../../src/client/index.ts';
import { host, quiet } from './support.ts';

const agent = createAgent(
  {
    name: 'Zoé',
    description: 'Signs 😀',
    extensions: [{ uri: 'https://example/extension', required: false, params: { empty: '' } }],
    skills: [{ id: 'chat', name: 'Chat', description: '', tags: [], inputSchema: {} }],
  },
  async function* () {
    yield 'hello';
  },
);

async function signedServer(t: TestContext): Promise<string> {
  const server = await serve(agent, {
    logger: quiet,
    signing: temporarySigningKeys(),
    authenticate: bearerTokens(new Map([['ann', 'secret']])),
  }).listen(0);
  t.after(() => server.close(0));
  return server.url;
}

/** Fetches the key as a user of the SDK would, with jose. */
const fetchKey = (kid: string, jku = '') =>
  createRemoteJWKSet(new URL(jku))({ alg: 'EdDSA', kid }, { payload: '', signature: '' });

test('the SDK verifies the card of our server, in every shape, parsed or not', async (t) => {
  // The SDK logs each signature that it does not accept.
  t.mock.method(console, 'debug', () => {});
  const url = await signedServer(t);
  const place = `${url}/.well-known/agent-card.json`;
  const verify = verifyAgentCardSignature(fetchKey);
  for (const headers of [{}, { 'A2A-Version': '1.0' }]) {
    const raw = (await (await fetch(place, { headers })).json()) as AgentCard;
    await verify(raw);
    await verify(AgentCard.fromJSON(raw));
    await assert.rejects(verify({ ...raw, name: 'Mallory' }), /No valid signatures/);
  }
  await verify(await new DefaultAgentCardResolver().resolve(url));
});

test('our client verifies the card of our server in every shape', async (t) => {
  const url = await signedServer(t);
  const place = `${url}/.well-known/agent-card.json`;
  for (const headers of [{}, { 'A2A-Version': '1.0' }, { 'A2A-Version': '0.3' }]) {
    const raw: unknown = await (await fetch(place, { headers })).json();
    const { card, jku } = await verifyCard(raw, place, true);
    assert.equal(jku, `${url}/.well-known/jwks.json`);
    assert.deepEqual(card.securitySchemes, { bearer: { type: 'http', scheme: 'Bearer' } });
  }
});

test('our client verifies a card that the SDK signed and serves', async (t) => {
  for (const alg of ['ES256', 'RS256', 'EdDSA']) {
    const { privateKey, publicKey } =
      alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : alg === 'RS256'
          ? generateKeyPairSync('rsa', { modulusLength: 2048 })
          : generateKeyPairSync('ed25519');
    const app = express();
    const { url } = await host(t, app);
    const header = { alg, kid: 'theirs', typ: 'JOSE', jku: `${url}/keys` };
    const card = AgentCard.fromJSON({
      name: 'Théirs',
      version: '1.0.0',
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming: false, extensions: [{ uri: 'https://example/extension' }] },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      defaultInputModes: ['text/plain'],
      skills: [{ id: 'obey', name: 'Obey', tags: ['test'] }],
    });
    const signed = await generateAgentCardSignature(privateKey, header)(card);
    let served: AgentCard = signed;
    app.use('/.well-known/agent-card.json', (request, response, next) =>
      agentCardHandler({ agentCardProvider: async () => served })(request, response, next),
    );
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'theirs' }];
    app.get('/keys', (_, response) => void response.json({ keys }));

    const client = await connect(url, { verify: true });
    assert.equal(client.card?.name, 'Théirs');
    served = { ...signed, name: 'Mallory' };
    await assert.rejects(connect(url, { verify: true }), { reason: 'invalid' });
    await assert.rejects(connect(url, { verify: { keys: [] } }), { reason: 'untrusted' });
  }
});
