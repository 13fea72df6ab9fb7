// A question outlives the process that asked it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { answers, send, statusText } from './support.ts';

async function start(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const script = path.join(import.meta.dirname, 'waiting-server.ts');
  const child = spawn(process.execPath, ['--conditions=parley-source', script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [url] = (await once(lines, 'line')) as [string];
  return { child, url };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

test('a task that waits when its server is killed is answered in another process, and goes on', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-bridge-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));

  const first = await start(folder);
  await using before = await connect(first.url);
  const asked = await send(before, 'erase a.txt');
  assert.equal(asked.status.state, 'input-required');
  await kill(first.child);

  const second = await start(folder);
  t.after(() => kill(second.child));
  await using after = await connect(second.url);
  const again = await send(after, 'hm', { taskId: asked.id });
  assert.match(statusText(again), /neither a clear yes[^]*erase/);
  const done = await send(after, 'yes', { taskId: asked.id });
  assert.equal(done.status.state, 'completed');
  assert.deepEqual(answers(done), ['Let me see. \n\nDone: "erased"']);
  assert.equal(readFileSync(path.join(folder, 'calls'), 'utf8'), '{"path":"a.txt"}\n');
});
