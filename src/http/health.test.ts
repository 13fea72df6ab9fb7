import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { bearerTokens, createAgent, serve } from '../server.ts';
import { sqliteStore } from '../store/sqlite.ts';
import { createHealth } from './health.ts';

const silent = () => {};
const logger = { debug: silent, info: silent, warn: silent, error: silent };

test('a check that does not answer has failed, and the cause is in our log only', async () => {
  const logged: object[] = [];
  const checks = { slow: () => new Promise(silent), bad: () => assert.fail('secret') };
  const own = { ...logger, error: (fields: object) => logged.push(fields) };
  const health = createHealth({ checks, logger: own, checkMs: 1 });
  assert.deepEqual(await health.readiness(), {
    status: 'failing',
    checks: { slow: 'failed', bad: 'failed' },
  });
  assert.equal(logged.length, 2);
});

test('while it drains it is not ready, whatever the checks say', async () => {
  const health = createHealth({ checks: { fine: silent }, logger });
  health.drain();
  assert.deepEqual(await health.readiness(), { status: 'draining', checks: { fine: 'ok' } });
});

test('many who ask at once make it look once', async () => {
  let looks = 0;
  const health = createHealth({ checks: { one: () => (looks += 1) }, logger, freshMs: 60_000 });
  await Promise.all(Array.from({ length: 50 }, () => health.readiness()));
  assert.equal(looks, 1);
});

const agent = createAgent({ name: 'A', description: 'B', version: '9.8.7' }, async function* () {});

test('a server answers /healthz and /readyz without authentication, and tells nothing else', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-ready-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'tasks.db');
  const store = sqliteStore(file, { logger });
  const authenticate = bearerTokens(new Map([['ann', 'secret']]));
  const server = serve(agent, { store, authenticate, logger });
  t.after(() => server.close());
  const get = async (at: string, method = 'GET') => {
    const response = await server.fetch(new Request(`http://agent.example${at}`, { method }));
    assert.equal(response.headers.get('cache-control'), 'no-store');
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get('/healthz'), [200, '{"status":"alive"}']);
  assert.deepEqual(await get('/readyz'), [200, '{"status":"ready","checks":{"store":"ok"}}']);
  assert.deepEqual(await get('/readyz', 'HEAD'), [200, '']);

  renameSync(file, `${file}.old`);
  const later = performance.now() + 2000;
  t.mock.method(performance, 'now', () => later);
  assert.deepEqual(await get('/readyz'), [503, '{"status":"failing","checks":{"store":"failed"}}']);
  assert.deepEqual(await get('/healthz'), [200, '{"status":"alive"}']);
});

test('a server that is closing is not ready', async () => {
  const server = serve(agent, { logger });
  const get = () => server.fetch(new Request('http://localhost/readyz'));
  assert.equal((await get()).status, 200);
  await server.close();
  assert.deepEqual(await (await get()).json(), { status: 'draining', checks: {} });
});

test("a program's own /healthz comes first", async (t) => {
  const route = { verb: 'GET', path: '/healthz', handle: async () => ({ body: 'mine' }) } as const;
  const server = serve(agent, { logger, routes: [route] });
  t.after(() => server.close());
  const response = await server.fetch(new Request('http://localhost/healthz'));
  assert.equal(await response.json(), 'mine');
});
