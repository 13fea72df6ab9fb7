import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStore, serve } from './server.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a request after a failed recovery tries the recovery again', async () => {
  let attempts = 0;
  const store = Object.assign(memoryStore(), {
    async unfinished() {
      if (++attempts === 1) throw new Error('the store is unavailable');
      return [];
    },
  });
  const agent = { profile: { name: 'Echo', description: 'Repeats' }, async *execute() {} };
  const server = serve(agent, { logger: silent, store });
  const get = () => server.fetch(new Request('http://localhost/healthz'));
  await assert.rejects(get(), /the store is unavailable/);
  assert.equal((await get()).status, 200);
  assert.equal((await get()).status, 200);
  assert.equal(attempts, 2);
  await server.close();
});
