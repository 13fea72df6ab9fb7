// The server removes finished tasks by itself, as its retention says.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createAgent, memoryStore, serve, type ServeOptions } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const SWEEP_MS = 10_000;

/** Completes, or asks if the text is `ask`. */
const agent = createAgent({ name: 'A', description: 'B' }, async function* (ctx) {
  if (ctx.text === 'ask') await ctx.ask('what?');
  else yield 'x'.repeat(10_000);
});

function disk(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-retention-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return sqliteStore(join(folder, 'tasks.db'), { logger });
}

let made = 0;
/** A server whose timers the test controls. */
function served(t: TestContext, options: ServeOptions) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const server = serve(agent, { logger, ...options });
  t.after(() => server.close());
  const call = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
    const request = new Request('http://localhost/', { method: 'POST', headers, body });
    return (await (await server.fetch(request)).json()) as {
      result?: { task: { id: string } };
      error?: { code: number };
    };
  };
  return {
    send: async (text: string): Promise<string> => {
      const message = { messageId: `m${++made}`, role: 'ROLE_USER', parts: [{ text }] };
      return (await call('SendMessage', { message })).result!.task.id;
    },
    /** The code of the error, or undefined if the task exists. */
    get: async (id: string) => (await call('GetTask', { id })).error?.code,
    /** Lets the server sweep, and waits until it has. */
    sweep: async () => {
      t.mock.timers.tick(SWEEP_MS);
      for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

for (const [name, open] of [
  ['memory', () => memoryStore()],
  ['sqlite', disk],
] as const) {
  test(`the server removes tasks that ended too long ago, and none that waits (${name})`, async (t) => {
    const { send, get, sweep } = served(t, { store: open(t), retention: { maxAgeMs: 0 } });
    const [done, asks] = [await send('go'), await send('ask')];
    assert.equal(await get(done), undefined);
    await sweep();
    assert.equal(await get(done), -32001);
    assert.equal(await get(asks), undefined);
    const next = await send('go');
    await sweep();
    assert.equal(await get(next), -32001, 'the server goes on sweeping');
  });

  test(`the server removes the tasks that ended first while the store is too large (${name})`, async (t) => {
    const { send, get, sweep } = served(t, { store: open(t), retention: { maxBytes: 1 } });
    const [done, asks] = [await send('go'), await send('ask')];
    await sweep();
    assert.equal(await get(done), -32001);
    assert.equal(await get(asks), undefined);
  });
}

test('without retention, and by default, young tasks of a small store are kept', async (t) => {
  for (const retention of [undefined, false] as const) {
    const { send, get, sweep } = served(t, retention === false ? { retention } : {});
    const done = await send('go');
    await sweep();
    assert.equal(await get(done), undefined);
    t.mock.timers.reset();
  }
});
