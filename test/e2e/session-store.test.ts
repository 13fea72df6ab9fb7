// The sessions' file with several processes, and with one that is killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';

const WRITER = join(import.meta.dirname, 'session-writer.ts');

function newPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'agent.db');
}

function startWriter(t: TestContext, path: string, id: string, count: number) {
  const child = spawn(
    process.execPath,
    ['--conditions=parley-source', WRITER, path, id, String(count)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.after(() => child.kill('SIGKILL'));
  return { child, lines: createInterface({ input: child.stdout }), exited: once(child, 'exit') };
}

test('after kill -9 in the middle of appends, all that was acknowledged is there, and whole', async (t) => {
  const path = newPath(t);
  const { child, lines } = startWriter(t, path, 's1', 1_000_000);
  let last = -1;
  for await (const line of lines) {
    last = Number(line);
    if (last === 50) child.kill('SIGKILL');
  }
  assert.ok(last >= 50);

  const store = sqliteSessions(path);
  t.after(() => store.close());
  const session = await store.get({ app: 'app', user: 'alice', id: 's1' });
  assert.ok(session);
  const { length } = session.events;
  assert.ok(length > last, `${length} events, acknowledged up to number ${last}`);
  assert.deepEqual(
    session.events.map(({ id }) => id),
    session.events.map((_, n) => `${child.pid}-${n}`),
  );
  // The state is that of the last event: an append is never there by half.
  assert.deepEqual(session.state, { [`${child.pid}`]: length - 1, 'user:last': length - 1 });
});

test('processes that make and fill one file at the same time lose nothing', async (t) => {
  const path = newPath(t);
  const writers = [1, 2, 3].map(() => startWriter(t, path, 'shared', 40));
  for (const { exited } of writers) {
    assert.deepEqual(await exited, [0, null]);
  }
  const store = sqliteSessions(path);
  t.after(() => store.close());
  const session = await store.get({ app: 'app', user: 'alice', id: 'shared' });
  for (const { child } of writers) {
    const own = session?.events.filter(({ runId }) => runId === String(child.pid));
    assert.deepEqual(
      own?.map(({ id }) => id),
      Array.from({ length: 40 }, (_, n) => `${child.pid}-${n}`),
    );
    assert.equal(session?.state[`${child.pid}`], 39);
  }
});
