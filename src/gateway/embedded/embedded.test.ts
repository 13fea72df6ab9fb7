import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, createGateway } from './index.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a gateway answers requests without a port', async () => {
  const gateway = createGateway({ models: { house: { provider: 'offline' } } }, { logger: silent });
  const key = gateway.createKey({ name: 'app' });
  const ask = (authorization: string) =>
    gateway.fetch(
      new Request('http://localhost/gw/v1/models/house', { headers: { authorization } }),
      { mount: '/gw' },
    );
  assert.equal((await ask(`Bearer ${key}`)).status, 200);
  assert.equal((await ask('Bearer wrong')).status, 401);
  await gateway.close();
});

test('a gateway gets environment variables only from its options, and leaves the process alone', async () => {
  const signals = process.eventNames();
  const before = process.env['GEMINI_API_KEY'];
  process.env['GEMINI_API_KEY'] = 'from-the-process';
  try {
    const config = { models: { house: { provider: 'google' } } };
    assert.throws(() => createGateway(config, { logger: silent }), /unknown provider "google"/);
    const environment = { GEMINI_API_KEY: 'given' };
    const gateway = createGateway(config, { logger: silent, environment });
    assert.deepEqual(process.eventNames(), signals);
    await gateway.close();
  } finally {
    if (before === undefined) delete process.env['GEMINI_API_KEY'];
    else process.env['GEMINI_API_KEY'] = before;
  }
});

test('an invalid configuration is refused with the names of its fields, and changes nothing', async () => {
  const bad = { models: { house: { provider: 'nowhere' } } };
  const refused = (error: unknown) =>
    error instanceof ConfigError &&
    error.problems[0]?.startsWith('models.house.provider: ') === true;
  assert.throws(() => createGateway(bad, { logger: silent }), refused);
  const gateway = createGateway({}, { logger: silent });
  assert.throws(() => gateway.reload(bad), refused);
  assert.throws(() => gateway.createKey({ name: 'x', scopes: ['everything'] }), /scopes/);
  await gateway.close();
});
