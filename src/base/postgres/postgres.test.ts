import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { testDatabase } from '../../../test/support/postgres.ts';
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts';
import { StoreError } from '../store-error.ts';
import { fromPostgresText, isDuplicate, openPostgres, toPostgresText } from './index.ts';

const ONE = { name: 'one', steps: ['CREATE TABLE parley.one (id bigint PRIMARY KEY, name text)'] };
const TWO = { name: 'two', steps: ['CREATE TABLE parley.two (id bigint)'] };
const REFUSED = { name: 'one', steps: [...ONE.steps, 'CREATE TABLE parley.three (id no_type)'] };

const database = await testDatabase();
test.after(() => database.drop());

const open = (...schemas: (typeof ONE)[]) => openPostgres(database.url, { schemas });

test('processes that start together migrate the database once', async () => {
  const opened = await Promise.all(Array.from({ length: 5 }, () => open(ONE)));
  await opened[0]?.query('INSERT INTO parley.one VALUES ($1, $2)', [2 ** 52, 'x']);
  assert.deepEqual(await opened[4]?.query('SELECT * FROM parley.one'), [
    { id: 2 ** 52, name: 'x' },
  ]);
  await Promise.all(opened.map((db) => db.close()));
});

test('another set of tables is added to a database that has one', async () => {
  await using db = await open(ONE, TWO);
  assert.deepEqual(await db.query('SELECT * FROM parley.two'), []);
  const versions = await db.query('SELECT name, version FROM parley.schema_versions ORDER BY name');
  assert.deepEqual(versions, [
    { name: 'one', version: 1 },
    { name: 'two', version: 1 },
  ]);
});

test('a migration that fails changes nothing', async () => {
  await assert.rejects(open(REFUSED), /no_type/);
  await using db = await open(ONE);
  assert.equal((await db.query('SELECT FROM parley.one')).length, 1);
});

test('the tables of a newer version are refused, and missing ones without migration', async () => {
  const older = { name: 'one', steps: [] };
  await assert.rejects(open(older), /written by a newer Parley .* version of one is 1/);
  const missing = openPostgres(database.url, { schemas: [REFUSED], migrate: false });
  await assert.rejects(missing, (error) => {
    return error instanceof StoreError && error.hint === 'run: parley db migrate URL';
  });
});

test('errors are StoreErrors without the password', async () => {
  const { port, password } = new URL(database.url);
  const at = (rest: string) => `postgres://postgres:${password}@127.0.0.1:${rest}`;
  const cases = [
    ['http://localhost/x', 'unusable', /must start with postgres:/],
    [at(`${port}/missing`), 'unusable', /"missing" does not exist/],
    [at('1/x'), 'unavailable', /cannot reach the database 127\.0\.0\.1:1\/x: .*ECONNREFUSED/],
    [at(`${port}/x?sslmode=require`), 'unusable', /no TLS connection/],
    [at(`${port}/x?sslmode=prefer`), 'unusable', /sslmode is prefer/],
    [at(`${port}/x?pool_size=0`), 'unusable', /pool_size/],
    [at('1/x').replace(':postgres@', ':postgres:postgres/#@'), 'unusable', /as %40 %2F/],
    [`postgres://postgres:12?postgres@127.0.0.1:${port}/x`, 'unusable', /as %40 %2F/],
    [at(`${port}/postgres?sslrootcert=/missing`), 'unavailable', /cannot read a file .*\/missing/],
    [at(`${port}/postgres?sslrootcert=/`), 'unavailable', /cannot read a file .*EISDIR/],
    ['postgres://127.0.0.1:1/postgres:postgres@x/y', 'unavailable', /the database x\/y/],
  ] as const;
  for (const [url, code, message] of cases) {
    await assert.rejects(openPostgres(url, { schemas: [] }), (error) => {
      assert.ok(error instanceof StoreError, String(error));
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /postgres:postgres/);
      return true;
    });
  }
});

test('a database that is read-only, or has too few connections, is reported as such', async () => {
  await using own = await testDatabase();
  const name = new URL(own.url).pathname.slice(1);
  const role = `${name}_role`;
  await own.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 0`);
  const url = new URL(own.url);
  url.username = role;
  url.password = 'secret';
  await assert.rejects(openPostgres(url.href, { schemas: [ONE] }), {
    code: 'unavailable',
    message: /has no free connection: too many connections for role/,
  });
  await own.query(`DROP ROLE ${role}`);
  await own.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await assert.rejects(openPostgres(own.url, { schemas: [ONE] }), {
    code: 'unavailable',
    message: /is read-only: cannot execute CREATE SCHEMA/,
  });
});

test('a database that cannot store every character is refused', async (t) => {
  const url = new URL(database.url);
  url.pathname += '_latin';
  const name = url.pathname.slice(1);
  const create = `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`;
  await database.query(create);
  t.after(() => database.query(`DROP DATABASE ${name}`));
  const opened = openPostgres(url.href, { schemas: [ONE] });
  await assert.rejects(opened, /has the encoding LATIN1/);
});

test('a transaction that another one rolled back runs again', async () => {
  await using db = await open(ONE);
  await db.query('INSERT INTO parley.one VALUES (11), (12)');
  const both = Promise.withResolvers<void>();
  let first = 0;
  const swap = (a: number, b: number) =>
    db.transaction(async (tx) => {
      await tx.query(`UPDATE parley.one SET name = 'new' WHERE id = $1`, [a]);
      if (++first === 2) both.resolve();
      await both.promise;
      await tx.query(`UPDATE parley.one SET name = 'new' WHERE id = $1`, [b]);
      return a;
    });
  assert.deepEqual(await Promise.all([swap(11, 12), swap(12, 11)]), [11, 12]);
  // The database may roll back both.
  assert.ok(first >= 3);
});

test('a transaction that throws is rolled back, and a duplicate is recognized', async () => {
  await using db = await open(ONE);
  const insert = db.transaction(async (tx) => {
    await tx.query('INSERT INTO parley.one VALUES (21)');
    await tx.query('INSERT INTO parley.one VALUES (21)');
  });
  await assert.rejects(insert, (error) => isDuplicate(error));
  assert.deepEqual(await db.query('SELECT FROM parley.one WHERE id = 21'), []);
});

test('statements work again after the connections were cut', async () => {
  await using db = await open(ONE);
  const statement = { name: 'postgres.test', text: 'SELECT $1::int + 1' };
  assert.deepEqual(await db.run(statement, [1]), [[2]]);
  await using session = await db.session();
  await database.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  assert.match(String(await session.ended), /terminat/);
  // The first statement may get a connection whose end was not noticed yet.
  assert.deepEqual(await db.run(statement, [1]).catch(() => db.run(statement, [1])), [[2]]);
});

test('a connection that is lost between two statements of a transaction fails only the transaction', async () => {
  await using db = await open(ONE);
  const lost = db.transaction(async (tx) => {
    const [session] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await database.query('SELECT pg_terminate_backend($1)', [session?.pid]);
    await setTimeout(50);
    await tx.query('SELECT 1');
  });
  await assert.rejects(lost, { name: 'StoreError', code: 'unavailable' });
  assert.equal((await db.query('SELECT 1')).length, 1);
});

test('a statement that takes too long is reported as such', async () => {
  await using db = await openPostgres(database.url, { schemas: [ONE], timeoutMs: 200 });
  const isTooLong = {
    code: 'unavailable',
    message: /^a statement in the database .* took too long$/,
  };
  await assert.rejects(db.query('SELECT pg_sleep(0.5)'), isTooLong);
  await assert.rejects(
    db.transaction((tx) => tx.query('SELECT pg_sleep(0.5)')),
    isTooLong,
  );
});

test('a transaction whose statement takes too long fails at once, without a second timeout', async () => {
  await using db = await openPostgres(database.url, { schemas: [ONE], timeoutMs: 1000 });
  const begun = performance.now();
  await assert.rejects(
    db.transaction((tx) => tx.query('SELECT pg_sleep(4)')),
    /took too long/,
  );
  assert.ok(performance.now() - begun < 2000);
});

test('a connection on which ROLLBACK fails is not used again', async () => {
  const options = { schemas: [ONE], timeoutMs: 500, poolSize: 1 };
  await using db = await openPostgres(database.url, options);
  const refused = db.transaction(async (tx) => {
    void tx.query('SELECT pg_sleep(4)').catch(() => {});
    throw new Error('refused');
  });
  await assert.rejects(refused, /refused/);
  assert.equal((await db.query('SELECT 1')).length, 1);
});

test('a session is told what another connection notifies', async () => {
  await using db = await open(ONE);
  await using session = await db.session();
  const heard = new Promise((resolve) => session.onNotification((...told) => resolve(told)));
  await session.query('LISTEN news');
  await db.query(`SELECT pg_notify('news', 'hello')`);
  assert.deepEqual(await heard, ['news', 'hello']);
});

test('behind a pooler without prepared statements, statements run unprepared', async () => {
  await using db = await openPostgres(`${database.url}?pool_size=1`, { schemas: [ONE] });
  const statement = { name: 'postgres.pooled', text: 'SELECT $1::int' };
  assert.deepEqual(await db.run(statement, [1]), [[1]]);
  // This is what a client of a pooler sees that was given another server connection.
  await db.query('DEALLOCATE ALL');
  assert.deepEqual(await db.run(statement, [2]), [[2]]);
});

test('behind a pooler, the settings of server connections are not changed', async (t) => {
  // Like a pooler, it gives its clients another process id than that of the server.
  const { hostname, port } = new URL(database.url);
  const pooler = createServer((client) => {
    const server = connect(Number(port), hostname);
    client.on('error', () => {}).pipe(server);
    server
      .on('error', () => {})
      .on('data', (data) => {
        const at = data.indexOf('K\0\0\0\x0c');
        if (at >= 0) data.writeInt32BE(1, at + 5);
        client.write(data);
      });
  });
  t.after(() => pooler.close());
  await once(pooler.listen(0, '127.0.0.1'), 'listening');
  const address = pooler.address();
  assert.ok(address !== null && typeof address === 'object');
  const pooled = new URL(database.url);
  pooled.host = `127.0.0.1:${address.port}`;
  for (const [url, value] of [
    [database.url, 'off'],
    [pooled.href, 'on'],
  ] as const) {
    await using db = await openPostgres(url, { schemas: [ONE] });
    assert.deepEqual(await db.query('SHOW enable_seqscan'), [{ enable_seqscan: value }]);
    assert.deepEqual(await db.query('SHOW enable_bitmapscan'), [{ enable_bitmapscan: value }]);
  }
});

test('a connection plans a prepared statement once, whatever its values are', async () => {
  await using db = await openPostgres(database.url, { schemas: [ONE], poolSize: 1 });
  const statement = { name: 'parley.test_plans', text: 'SELECT FROM parley.one WHERE id = $1' };
  for (let id = 0; id < 6; id++) await db.run(statement, [id]);
  const plans = 'SELECT custom_plans FROM pg_prepared_statements WHERE name = $1';
  assert.deepEqual(await db.query(plans, [statement.name]), [{ custom_plans: 0 }]);
});

test('the users of a URL share a pool until the last one closes it', async () => {
  const own = await testDatabase();
  try {
    const users = await Promise.all([1, 2, 3].map(() => openPostgres(own.url, { schemas: [ONE] })));
    const [first, second, last] = users;
    assert.ok(first && second && last);
    // Each statement takes long enough that all of them need a connection.
    const work = users.flatMap((db) =>
      Array.from({ length: 8 }, () => db.query('SELECT pg_sleep(0.05)')),
    );
    await Promise.all(work);
    assert.deepEqual(
      [first, second, last].map((db) => db.stats().open),
      [10, 10, 10],
    );
    await Promise.all([first.close(), first.close(), second.close()]);
    await assert.rejects(first.query('SELECT 1'), /was closed/);
    assert.equal((await last.query('SELECT 1')).length, 1);
    await last.close();
    await using next = await openPostgres(own.url, { schemas: [ONE] });
    assert.equal((await next.query('SELECT 1')).length, 1);
  } finally {
    await own.drop();
  }
});

/** The message of a server that shuts down. */
function shutdownMessage(): Buffer {
  const fields = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
  const message = Buffer.alloc(5 + fields.length);
  message.write(`E\0\0\0\0${fields}`, 'latin1');
  message.writeInt32BE(fields.length + 4, 1);
  return message;
}

test('a server that shuts down between two uses of a connection does not end the process', async (t) => {
  let ends = false;
  const port = Number(new URL(database.url).port);
  const proxy = await startTcpProxy(() => [port], {
    // The answer and the message of the shutdown arrive together, so both are read in the same turn.
    replies: () =>
      new Transform({
        transform: (chunk: Buffer, _, done) =>
          done(null, ends ? Buffer.concat([chunk, shutdownMessage()]) : chunk),
      }),
  });
  t.after(() => proxy.close());
  const url = new URL(database.url);
  url.port = String(proxy.port);
  await using db = await openPostgres(url.href, { schemas: [ONE], poolSize: 1 });
  await db.query('SELECT 1');
  ends = true;
  const first = db.query('SELECT 1');
  // This waits for the connection of the first one.
  const second = db.transaction((on) => on.query('SELECT 1'));
  assert.equal((await first).length, 1);
  await assert.rejects(second, StoreError);
  ends = false;
  assert.equal((await db.query('SELECT 1')).length, 1);
});

test('every text can be stored, and different texts stay different', async () => {
  await using db = await open(ONE);
  const texts = ['', 'plain ä 👋', 'a\0b', 'a\uffff0000b', '\ud800', '\udc00\ud800', '\ufffd'];
  for (const [at, text] of texts.entries()) {
    await db.query('INSERT INTO parley.one VALUES ($1, $2)', [100 + at, toPostgresText(text)]);
  }
  const rows = await db.query<{ name: string }>(
    'SELECT name FROM parley.one WHERE id >= 100 ORDER BY id LIMIT 7',
  );
  assert.deepEqual(
    rows.map(({ name }) => fromPostgresText(name)),
    texts,
  );
});
