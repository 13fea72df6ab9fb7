// An agent with two views of its logs: the log as it is, and one without the agent's remarks.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { codecOf, type Call, type Message, type Task } from '../protocol/index.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { createHandler } from './handler.ts';
import { Published } from './log/published.ts';
import type { LogView } from './log/view.ts';
import type { Deliver } from './push/deliver.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts, ...extra };
}

const whole: LogView = { name: 'whole', task: (task) => task, update: (event) => event };
/** Leaves out `working` with a remark. Marks what it shows. */
const short: LogView = {
  name: 'short',
  task: ({ kind, id, contextId, status }) => {
    return { kind, id, contextId, status, metadata: { view: 'short' } };
  },
  update(event) {
    if (event.kind === 'status-update' && event.status.state === 'working' && event.status.message)
      return undefined;
    return { ...event, metadata: { view: 'short' } };
  },
};

const agent: AgentExecutor = {
  views: {
    all: [short, whole],
    byFirstMessage: true,
    choose: ({ extensions, first }) =>
      extensions.includes('whole') || first?.metadata?.['whole'] === true ? whole : short,
  },
  async *execute({ turn }) {
    yield { kind: 'status-update', state: 'working' };
    yield { kind: 'status-update', state: 'working', message: 'a remark' };
    const parts = [{ kind: 'text' as const, text: 'done' }];
    yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts } };
    if (turn.length < 2)
      yield { kind: 'status-update', state: 'input-required', message: 'Go on?' };
  },
};

function open(t: TestContext, deliver?: Deliver) {
  const handler = createHandler(agent, { logger, deliver });
  t.after(() => handler.close());
  return handler;
}

async function seqs(stream: AsyncIterable<{ seq?: number | undefined }>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const { seq } of stream) seen.push(seq);
  return seen;
}

const WHOLE: Call = { extensions: ['whole'] };

test('each request sees the log in its own view, with the sequence numbers of the log', async (t) => {
  const handler = open(t);
  const sent = (await handler.sendMessage({ message: says('go') })) as Task;
  assert.deepEqual([sent.metadata, sent.history], [{ view: 'short' }, undefined]);
  const { id } = sent;
  assert.deepEqual((await handler.getTask({ id })).metadata, { view: 'short' });
  assert.equal((await handler.getTask({ id }, WHOLE)).history?.length, 2);
  for (const params of [{}, { includeArtifacts: true }]) {
    const { tasks } = await handler.listTasks(params);
    assert.deepEqual(tasks[0]?.metadata, { view: 'short' });
  }
  const { entries } = await handler.readLog({ id });
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    [1, 2, 4, 5],
  );
  assert.equal((await handler.readLog({ id }, WHOLE)).entries.length, 5);
  assert.deepEqual(await seqs(await handler.subscribe({ id, after: 2 })), [4, 5]);
  assert.deepEqual(await seqs(await handler.subscribe({ id, after: 2 }, WHOLE)), [3, 4, 5]);
  const answer = await handler.streamMessage({ message: says('yes', { taskId: id }) });
  assert.deepEqual(await seqs(answer), [5, 7, 9, 10]);
  const other = (await handler.sendMessage({ message: says('go') })) as Task;
  assert.deepEqual((await handler.cancelTask({ id: other.id })).metadata, { view: 'short' });
});

test('the first message of a task can decide the view of later requests', async (t) => {
  const handler = open(t);
  const stream = await handler.streamMessage({
    message: says('go', { metadata: { whole: true } }),
  });
  assert.deepEqual(await seqs(stream), [1, 2, 3, 4, 5]);
  const [task] = (await handler.listTasks({}, WHOLE)).tasks;
  const { id } = task!;
  assert.deepEqual(await seqs(await handler.subscribe({ id, after: 2 })), [3, 4, 5]);
  assert.equal((await handler.getTask({ id })).metadata, undefined);
});

test('a webhook gets the view of the request that set it', async (t) => {
  const posts: [url: string, seq: number, view: unknown][] = [];
  const over = Promise.withResolvers<void>();
  const handler = open(t, {
    accept: (config) => ({ ...config, id: config.url }),
    async prepare({ record, entry, task }) {
      const seen = record.version === '0.3' ? (await task())?.metadata : entry.event.metadata;
      posts.push([record.config.url, entry.seq, seen?.['view']]);
      if (posts.length === 9) over.resolve();
      return undefined;
    },
  });
  for (const call of [WHOLE, { version: '0.3' } as const]) {
    const url = call === WHOLE ? 'whole' : 'short';
    const configuration = { pushNotificationConfig: { url } };
    await handler.sendMessage({ message: says('go'), configuration }, call);
  }
  await over.promise;
  const of = (url: string) => posts.filter(([to]) => to === url).map(([, ...post]) => post);
  assert.deepEqual(
    of('short'),
    [1, 2, 4, 5].map((seq) => [seq, 'short']),
  );
  assert.deepEqual(
    of('whole'),
    [1, 2, 3, 4, 5].map((seq) => [seq, undefined]),
  );
});

test('readers of one view share its JSON, and a view that changes nothing shares that of the log', () => {
  const status = { state: 'working' as const };
  const event = {
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    status,
    final: false,
  } as const;
  const entry = new Published({ seq: 2, event });
  assert.equal(entry.in(whole), entry);
  assert.equal(entry.in(short), entry.in(short));
  assert.match(entry.in(short)!.text(codecOf('0.3', 'JSONRPC')), /"view":"short"/);
});
