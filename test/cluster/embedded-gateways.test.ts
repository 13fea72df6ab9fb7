// Gateways in other programs that share a PostgreSQL database.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createGateway, postgresRegister } from '../../src/gateway.ts';
import { postgresStore } from '../../src/store-postgres.ts';
import { testDatabase } from '../support/postgres.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const secretKey = 'a secret that all gateways have';
const config = { models: { house: { provider: 'offline' } } };

const database = await testDatabase();
after(() => database.drop());

async function start() {
  const store = await postgresStore(database.url, { secretKey, logger: silent, poolSize: 3 });
  const register = await postgresRegister(store, { logger: silent });
  return createGateway(config, { store, register, secretKey, logger: silent });
}

test('a key that one gateway of the library creates works at another one', async () => {
  const [one, other] = await Promise.all([start(), start()]);
  const key = await one.createSharedKey({ name: 'app' });
  assert.throws(() => one.createKey({ name: 'app' }), /use createSharedKey/);
  const ask = async () => {
    const headers = { authorization: `Bearer ${key}` };
    const request = new Request('http://localhost/v1/models/house', { headers });
    return (await other.fetch(request)).status;
  };
  for (let tries = 0; (await ask()) !== 200; tries++) {
    assert.ok(tries < 200, 'the other gateway does not know the key');
    await setTimeout(10);
  }
  const nodes = await database.query('SELECT id FROM parley.nodes');
  assert.equal(nodes.length, 2);
  await Promise.all([one.close(0), other.close(0)]);
  assert.deepEqual(await database.query('SELECT id FROM parley.nodes'), []);
});

test('a gateway of the library knows the agents that another one registered before', async () => {
  const one = await start();
  const key = await one.createSharedKey({ name: 'agents' });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const registration = new Request('http://localhost/a2a/agents?verify=false', {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'weather', url: 'https://weather.example' }),
  });
  assert.equal((await one.fetch(registration)).status, 201);
  await one.close(0);
  const other = await start();
  const listed = await other.fetch(new Request('http://localhost/a2a/agents', { headers }));
  const text = await listed.text();
  await other.close(0);
  assert.match(text, /"name":"weather"/);
});

test('a register in PostgreSQL needs the secret key, and the tasks in the same database', async () => {
  const store = await postgresStore(database.url, { secretKey, logger: silent, poolSize: 2 });
  const register = await postgresRegister(store, { logger: silent });
  const options = { store, register, logger: silent };
  assert.throws(() => createGateway(config, options), /needs secretKey/);
  assert.throws(
    () => createGateway(config, { register, secretKey, logger: silent }),
    /store must be the store/,
  );
  assert.throws(
    () => createGateway(config, { ...options, secretKey, registerFile: 'x.db' }),
    /either register or registerFile/,
  );
  await createGateway(config, { ...options, secretKey }).close(0);
});
