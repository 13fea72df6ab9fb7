// A server that is killed in the middle of its work, and clients that go on as if it had not been.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { fold, isTerminal, type LogEntry, type TaskEvent } from '../../src/protocol/index.ts';
import { folder, serving } from '../cli/support.ts';

/** Every entry of a task's log, read a page at a time. */
async function wholeLog(url: string, taskId: string): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for (;;) {
    const after = entries.at(-1)?.seq ?? 0;
    const headers = { 'a2a-version': '0.3' };
    const response = await fetch(`${url}/tasks/${taskId}/events?after=${after}`, { headers });
    const page = (await response.json()) as { events: LogEntry[]; nextAfter?: number };
    entries.push(...page.events);
    if (page.nextAfter === undefined) return entries;
  }
}

test('kill -9 in the middle of a gRPC stream: the client resumes without gap', async () => {
  const store = `sqlite:${path.join(folder, 'killed-grpc.db')}`;
  const args = ['--agent', 'bench', '--store', store];
  const first = await serving(args);
  const agent = await connect(first.url, {
    binding: 'GRPC',
    retry: { attempts: 40, delayMs: 50, maxDelayMs: 500 },
  });
  assert.equal(agent.endpoint.binding, 'GRPC');

  const seen: (number | undefined)[] = [];
  let killed: Promise<unknown> | undefined;
  // One event per millisecond: otherwise the server can end the task before the client has read its first part.
  const stream = agent.stream('task 10000 64 1');
  for await (const { seq } of stream) {
    seen.push(seq);
    if (seen.length < 500 || killed) continue;
    first.child.kill('SIGKILL');
    killed = first.ended.then(() => serving([...args, '--port', String(first.port)]));
  }
  assert.ok(killed, 'the server was killed while it streamed');
  await killed;

  assert.deepEqual(
    seen,
    seen.map((_, at) => at + 1),
    'neither gap nor repetition',
  );
  const { id, status } = stream.task!;
  assert.equal(status.state, 'failed');
  const stored = await wholeLog(first.url, id);
  assert.equal(stored.length, seen.length);
  assert.deepEqual((await agent.get(id)).artifacts, stream.task?.artifacts);
});

test('kill -9 in the middle of a long burst: the log is contiguous, has what was seen, and the stream goes on', async () => {
  const store = `sqlite:${path.join(folder, 'killed.db')}`;
  const args = ['--agent', 'bench', '--store', store];
  const first = await serving(args);
  const agent = await connect(first.url, {
    version: '0.3',
    retry: { attempts: 40, delayMs: 50, maxDelayMs: 500 },
  });

  const seen: LogEntry[] = [];
  let killed: Promise<unknown> | undefined;
  // So many events that the server cannot have ended the task when the client has read the first of them.
  for await (const { event, seq } of agent.stream('task 200000 64')) {
    assert.ok(seq !== undefined && event.kind !== 'message');
    seen.push({ seq, event });
    if (seen.length < 2500 || killed) continue;
    first.child.kill('SIGKILL');
    killed = first.ended.then(() => serving([...args, '--port', String(first.port)]));
  }
  assert.ok(killed, 'the server was killed while it streamed');
  await killed;

  assert.deepEqual(
    seen.map(({ seq }) => seq),
    seen.map((_, at) => at + 1),
    'neither gap nor repetition',
  );
  const last = seen.at(-1)!.event;
  assert.ok(last.kind === 'status-update' && last.status.state === 'failed' && last.final);

  const { id } = seen[0]!.event as TaskEvent & { id: string };
  const stored = await wholeLog(first.url, id);
  assert.deepEqual(stored, seen, 'the log is what the client saw, to the last entry');
  const task = await agent.get(id);
  assert.deepEqual(task, fold(stored.map(({ event }) => event)));
  assert.ok(isTerminal(task.status.state));
});

test('a question that is open when the server dies can be answered after its restart', async () => {
  const store = `sqlite:${path.join(folder, 'asked.db')}`;
  const args = [
    '--agent',
    path.join(import.meta.dirname, '../e2e/asking-agent.ts'),
    '--store',
    store,
  ];
  const first = await serving(args);
  const agent = await connect(first.url);
  const task = await agent.send('a trip');
  assert.ok(task.kind === 'task' && task.status.state === 'input-required');
  first.child.kill('SIGKILL');
  await first.ended;

  const second = await serving([...args, '--port', String(first.port)]);
  const resumed = await connect(second.url);
  const done = await resumed.send('Paris', { taskId: task.id });
  assert.ok(done.kind === 'task' && done.status.state === 'completed');
  const [artifact] = done.artifacts ?? [];
  assert.deepEqual(
    artifact?.parts.map((part) => part.kind === 'text' && part.text),
    ['Let me think. Off to Paris!'],
    'what was said before the question is not said again',
  );
});
