import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/postgres.ts';
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts';
import { postgresSessions } from './postgres.ts';

const database = await testDatabase();
test.after(() => database.drop());

test('sessions count as removed if the connection is lost right after the commit', async (t) => {
  let loses = false;
  const port = Number(new URL(database.url).port);
  const proxy = await startTcpProxy(() => [port], {
    // The server has committed, but the answer does not arrive.
    replies: () =>
      new Transform({
        transform(chunk: Buffer, _, done) {
          if (!loses || !chunk.includes('COMMIT\0')) return done(null, chunk);
          loses = false;
          proxy.cut();
          done();
        },
      }),
  });
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const store = await postgresSessions(url.href, { poolSize: 1, now: () => 5 });
  t.after(async () => {
    await store.close();
    await proxy.close();
  });
  const keyOf = (id: string) => ({ app: 'app', user: 'user', id });
  for (const id of ['a', 'b', 'c']) await store.open(keyOf(id));

  loses = true;
  assert.equal(await store.delete(keyOf('a')), true);
  assert.equal(loses, false);
  assert.equal(await store.get(keyOf('a')), undefined);
  assert.equal(await store.delete(keyOf('a')), false);

  loses = true;
  assert.equal(await store.prune?.('app', 10), 2);
  assert.equal(loses, false);
  assert.deepEqual(await store.list({ app: 'app', user: 'user' }), []);
});
