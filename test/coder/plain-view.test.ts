/** What a client without the development-tool extension sees of the coding agent: plain A2A, and each text once. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { connect, type AgentClient } from '../../src/client/index.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import {
  fold,
  reduce,
  textOf,
  VERSIONS,
  type LogEntry,
  type StreamItem,
  type Task,
} from '../../src/protocol/index.ts';
import { makePlace, rpc, startCoder, stream, userMessage } from './support.ts';

const SCRIPT: readonly ScriptedResponse[] = [
  [
    { thought: { subject: 'Begin', description: 'A file is needed.' } },
    { text: 'I write the file.' },
    { call: { name: 'write_file', args: { path: 'a.txt', content: 'by hand' } } },
  ],
  [{ text: 'It is written, ' }, { delayMs: 150 }, { text: 'as you see.' }],
];
const TEXT = 'I write the file.\n\nIt is written, as you see.';

/** Anything that belongs to the extension. */
const EXTENSION = /tool_call_id|developer-profile|"subject"|TEXT_CONTENT|STATE_CHANGE/;

const isPlain = (seen: unknown): void => assert.doesNotMatch(JSON.stringify(seen), EXTENSION);

async function collected(events: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of events) items.push(item);
  return items;
}

/** The task without what two readings of it may differ in. */
function compared(task: Task | undefined) {
  assert.ok(task);
  const { timestamp: _, ...status } = task.status;
  return { ...task, status };
}

/** Runs the script, and answers its question with the name of an option. */
async function run(agent: AgentClient) {
  const first = await collected(agent.stream('write'));
  const asked = first.at(-1)?.event;
  assert.ok(asked?.kind === 'status-update');
  const question = textOf(asked.status.message?.parts ?? []);
  const second = await collected(agent.stream('Allow once', { taskId: asked.taskId }));
  return { id: asked.taskId, question, first, second };
}

async function logOf(url: string, id: string, headers = {}): Promise<LogEntry[]> {
  const response = await fetch(`${url}/v1/tasks/${id}/events`, { headers });
  return ((await response.json()) as { events: LogEntry[] }).events;
}

async function open(t: TestContext, options: Parameters<typeof connect>[1] = {}) {
  const { url } = await startCoder(t, makePlace(t), { script: [...SCRIPT, ...SCRIPT] });
  const agent = await connect(url, options);
  t.after(() => agent.close());
  return { url, agent };
}

for (const version of VERSIONS) {
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    test(`${version} ${binding}: the text of a turn is one streamed artifact, and a question is in words`, async (t) => {
      const { agent } = await open(t, { version, binding });
      const { id, question, first, second } = await run(agent);
      isPlain([first, second]);
      assert.match(question, /a\.txt[^]*Allow once[^]*Reject/);
      const chunks = [...first, ...second].flatMap(({ event }) =>
        event.kind === 'artifact-update' ? [event] : [],
      );
      assert.equal(chunks.map(({ artifact }) => textOf(artifact.parts)).join(''), TEXT);
      assert.equal(new Set(chunks.map(({ artifact }) => artifact.artifactId)).size, 1);
      assert.deepEqual(
        chunks.map(({ append = false }) => append),
        chunks.map((_, at) => at > 0),
      );
      assert.deepEqual(
        chunks.map(({ lastChunk = false }) => lastChunk),
        chunks.map((_, at) => at === chunks.length - 1),
      );
      const last = second.at(-1)?.event;
      assert.ok(last?.kind === 'status-update');
      assert.deepEqual([last.status.state, last.status.message], ['completed', undefined]);

      const task = await agent.get(id);
      isPlain(task);
      assert.deepEqual(
        task.artifacts?.map(({ parts }) => parts),
        [[{ kind: 'text', text: TEXT }]],
      );
      assert.deepEqual(
        task.history?.map(({ role }) => role),
        ['user', 'agent', 'user'],
      );
      let folded: Task | undefined;
      for (const { event } of [...first, ...second]) {
        if (event.kind !== 'message') folded = reduce(folded, event);
      }
      assert.deepEqual(compared(folded), compared(task));
      if (version === '1.0') {
        const { tasks } = await agent.list({ includeArtifacts: true, historyLength: 100 });
        assert.deepEqual(tasks[0]?.artifacts, task.artifacts);
        isPlain([tasks, await agent.list({})]);
      }
    });
  }
}

test('a plain stream can be resumed after any event, and the log is the same in pages', async (t) => {
  const { url, agent } = await open(t, { version: '0.3' });
  const { id } = await run(agent);
  const log = await logOf(url, id);
  isPlain(log);
  const expected = compared(await agent.get(id));
  assert.deepEqual(compared(fold(log.map(({ event }) => event))), expected);
  for (const { seq: cut } of log.slice(0, -1)) {
    const before = log.filter(({ seq }) => seq <= cut);
    const after = await collected(agent.resubscribe(id, { after: cut }));
    assert.deepEqual(
      after.map(({ seq }) => seq),
      log.flatMap(({ seq }) => (seq > cut ? [seq] : [])),
    );
    let task = fold(before.map(({ event }) => event));
    for (const { event } of after) if (event.kind !== 'message') task = reduce(task, event);
    assert.deepEqual(compared(task), expected);
  }
});

test('unary results are plain, too: a question, its answer and a cancellation', async (t) => {
  const { agent } = await open(t, { version: '0.3' });
  const asked = (await agent.send('write')) as Task;
  isPlain(asked);
  assert.match(textOf(asked.status.message?.parts ?? []), /May I do this\?/);
  const done = (await agent.send('proceed_once', { taskId: asked.id })) as Task;
  isPlain(done);
  assert.equal(done.status.message, undefined);
  assert.deepEqual(
    done.artifacts?.map(({ parts }) => textOf(parts)),
    [TEXT],
  );
  const other = (await agent.send('write')) as Task;
  const canceled = await agent.cancel(other.id);
  isPlain(canceled);
  assert.equal(canceled.status.state, 'canceled');
});

test('each turn of a task has its own artifact, whoever has sent the prompts', async (t) => {
  const script: ScriptedResponse[] = [[{ text: 'One.' }], [{ text: 'Two.' }]];
  const { url } = await startCoder(t, makePlace(t), { script });
  const agent = await connect(url);
  t.after(() => agent.close());
  const [task] = await stream(url, userMessage('first'));
  assert.ok(task?.kind === 'task');
  const { id } = task;
  await stream(url, userMessage('second', { taskId: id }));
  const { artifacts, history } = await agent.get(id);
  assert.deepEqual(
    artifacts?.map(({ parts }) => textOf(parts)),
    ['One.', 'Two.'],
  );
  assert.deepEqual(
    history?.map(({ parts }) => textOf(parts)),
    ['first', 'second'],
  );
  // A client with the extension sees the same task as the extension has it.
  const { result } = await rpc(url, 'tasks/get', { id });
  assert.equal(result?.artifacts, undefined);
  assert.deepEqual(
    result?.history?.map(({ parts }) => textOf(parts)).filter((text) => text !== ''),
    ['first', 'One.', 'second', 'Two.'],
  );
});

test('a webhook gets what the client that set it would see', async (t) => {
  const bodies: string[] = [];
  const over = Promise.withResolvers<void>();
  const hook = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => (body += data.toString()));
    request.on('end', () => {
      bodies.push(`${request.url} ${body}`);
      response.end();
      if (bodies.filter((each) => /TASK_STATE_COMPLETED/.test(each)).length === 2) over.resolve();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  t.after(() => hook.close());
  const { port } = hook.address() as AddressInfo;
  const script: ScriptedResponse[] = [[{ text: 'One.' }], [{ text: 'One.' }]];
  const push = { allowNetworks: ['127.0.0.0/8'] };
  const { url } = await startCoder(t, makePlace(t), { script, server: { push } });
  const agent = await connect(url, { version: '1.0' });
  t.after(() => agent.close());
  for (const [path, extensions] of [
    ['/plain', []],
    ['/extended', [EXTENSION_URI]],
  ] as const) {
    const pushNotificationConfig = { url: `http://127.0.0.1:${port}${path}` };
    await agent.send('go', { extensions, configuration: { pushNotificationConfig } });
  }
  await over.promise;
  const of = (path: string) => bodies.filter((each) => each.startsWith(`${path} `)).join('\n');
  isPlain(of('/plain'));
  assert.match(of('/plain'), /artifactUpdate[^]*One\./);
  assert.match(of('/extended'), /TEXT_CONTENT/);
  assert.doesNotMatch(of('/extended'), /artifactUpdate/);
});

test('a command while the turn waits does not end its text', async (t) => {
  const { agent } = await open(t);
  const { id: taskId } = (await agent.send('write')) as Task;
  const items = [
    ...(await collected(agent.stream('/stats', { taskId }))),
    ...(await collected(agent.stream('Allow once', { taskId }))),
  ];
  const chunks = items.flatMap(({ event }) => (event.kind === 'artifact-update' ? [event] : []));
  assert.match(textOf(chunks[0]?.artifact.parts ?? []), /1 turn,/);
  assert.deepEqual(
    chunks.flatMap(({ lastChunk }, at) => (lastChunk ? [at] : [])),
    [chunks.length - 1],
  );
});
