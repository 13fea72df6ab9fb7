// sequential(local, remote → parallel(left, right)) over two real processes, with the test as the outermost caller.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { answerText, connect, type AgentClient } from '../../src/client/index.ts';
import { textOf, type Task } from '../../src/protocol/index.ts';
import { until, within } from '../interop/support.ts';

const SCRIPT = path.join(import.meta.dirname, 'bridge-process.ts');
const LIMIT_MS = 60_000;

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
  kill(): Promise<void>;
}

async function start(
  t: TestContext,
  role: 'inner' | 'outer',
  folder: string,
  extra: string,
  port = '0',
): Promise<Served> {
  const args = ['--conditions=parley-source', SCRIPT, role, folder, port, extra];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(kill);
  const lines = createInterface({ input: child.stdout });
  const [line] = (await within(`${role} to be ready`, once(lines, 'line'), LIMIT_MS)) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { url, child, kill };
}

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-bridge-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Both processes, and a client of the outer one. */
async function chain(t: TestContext, scripts: object) {
  const folder = folderFor(t);
  const inner = await start(t, 'inner', folder, JSON.stringify(scripts));
  const outer = await start(t, 'outer', folder, inner.url);
  return { folder, inner, outer, client: await connect(outer.url) };
}

function exists(file: string): Promise<boolean> {
  return until(
    file,
    () => existsSync(file),
    (there) => there,
  );
}

const gate = { call: { name: 'gate' } };
const ask = { call: { name: 'ask_city' } };

test('what the innermost agents say streams through both processes while they still work', async (t) => {
  const { folder, client } = await chain(t, {
    left: [[{ text: 'Left begins. ' }, gate], [{ text: 'Left ends.' }]],
    right: [[{ text: 'Right is done.' }]],
  });
  let text = '';
  let opened = false;
  const stream = client.stream('hello');
  for await (const { event } of stream) {
    if (event.kind === 'artifact-update') text += textOf(event.artifact.parts);
    if (opened || !text.includes('Left begins.')) continue;
    assert.ok(!text.includes('Left ends.'));
    opened = true;
    writeFileSync(path.join(folder, 'open'), '');
  }
  assert.ok(opened, 'the first words came while the tool behind them was still waiting');
  assert.equal(stream.task?.status.state, 'completed');
  for (const said of ['Passing on: hello', 'Left begins.', 'Left ends.', 'Right is done.']) {
    assert.equal(answerText(stream.task).split(said).length, 2, `"${said}" is said once`);
  }
});

test('a cancel by the outermost caller reaches the signal of the innermost tool', async (t) => {
  const { folder, inner, client } = await chain(t, {
    left: [[{ call: { name: 'hang' } }]],
    right: [[{ text: 'Right is done.' }]],
  });
  const stream = client.stream('hello');
  const read = (async () => {
    for await (const _ of stream);
  })();
  await exists(path.join(folder, 'hanging'));
  const canceled = await client.cancel(stream.task!.id);
  assert.equal(canceled.status.state, 'canceled');
  await exists(path.join(folder, 'aborted'));
  await within('the stream to end', read);
  const innermost = await connect(inner.url);
  const state = async () => (await innermost.list()).tasks[0]?.status.state;
  await until('the inner task', state, (now) => now === 'canceled');
});

async function asked(client: AgentClient): Promise<Task> {
  const task = await client.send('hello');
  assert.ok(task.kind === 'task' && task.status.state === 'input-required');
  assert.match(textOf(task.status.message?.parts ?? []), /Which city\?[^]*Rome, Oslo/);
  return task;
}

const ASKING = { left: [[{ text: 'Let me see. ' }, ask]], right: [[{ text: 'Right is done.' }]] };
/** A new process replays from its start: what is left to say is all that its script has. */
const ANSWERING = { left: [[{ text: 'Off we go.' }]], right: [] };

test('a cancel by the outermost caller reaches the inner process while it waits for an answer', async (t) => {
  const { inner, client } = await chain(t, ASKING);
  const { id } = await asked(client);
  assert.equal((await client.cancel(id)).status.state, 'canceled');
  const { tasks } = await (await connect(inner.url)).list();
  assert.deepEqual(
    tasks.map(({ status }) => status.state),
    ['canceled'],
  );
});

for (const who of ['the remote', 'both processes']) {
  test(`an answer completes the chain though ${who} died with SIGKILL while it was waited for`, async (t) => {
    const { folder, inner, outer, client } = await chain(t, ASKING);
    const { id } = await asked(client);
    await inner.kill();
    const { port } = new URL(inner.url);
    await start(t, 'inner', folder, JSON.stringify(ANSWERING), port);
    if (who === 'both processes') {
      await outer.kill();
      await start(t, 'outer', folder, inner.url, new URL(outer.url).port);
    }
    const done = await within('the answer', client.send('Oslo', { taskId: id }), LIMIT_MS);
    assert.ok(done.kind === 'task');
    assert.equal(done.status.state, 'completed', JSON.stringify(done.status));
    for (const said of ['Passing on: hello', 'Let me see.', 'Right is done.', 'Off we go.']) {
      assert.equal(answerText(done).split(said).length, 2, `"${said}" is said once`);
    }
  });
}
