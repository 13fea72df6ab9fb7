import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Message, Task } from '../../protocol/index.ts';
import { sqliteStore } from '../../store/sqlite.ts';
import { within } from '../../../test/support/within.ts';
import { createAgent } from '../execution/agent.ts';
import { createHandler, type HandlerOptions } from '../handler.ts';
import { memoryStore } from '../store/memory-store.ts';
import type { TaskStore } from '../store/store.ts';
import type { Deliver, DeliveryOutcome } from './deliver.ts';
import { DeliveryGate } from './gate.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const FAILED = { failed: 'HTTP 500' };
/** Six attempts in a few milliseconds, then a dead letter. */
const HASTY = { pushRetryMs: 1, pushGiveUpMs: 0 };
const hook = { id: 'h', url: 'https://hook.example/' };

/** Asks as often as the text says, and repeats each answer. */
const asker = createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
  for (let n = 0; n < Number(ctx.text); n++) yield (await ctx.ask(`question ${n}`)).text;
});

interface Attempt {
  readonly taskId: string;
  readonly url: string;
  readonly seq: number;
}

/** A receiver that answers as `answer` says, and waits until so many attempts were made. */
function receiver(answer: (attempt: Attempt) => DeliveryOutcome | Promise<DeliveryOutcome>) {
  const seen: Attempt[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];
  const deliver: Deliver = {
    accept: (config) => ({ ...config, id: config.id ?? 'default' }),
    prepare: async ({ record: { taskId, config }, entry: { seq } }) => {
      const attempt = { taskId, url: config.url, seq };
      return async () => {
        seen.push(attempt);
        for (const { count, resolve } of waiting) if (seen.length >= count) resolve();
        waiting = waiting.filter(({ count }) => seen.length < count);
        return answer(attempt);
      };
    },
  };
  const attempts = (count: number) =>
    seen.length >= count
      ? Promise.resolve()
      : within(
          `${count} attempts`,
          new Promise<void>((resolve) => waiting.push({ count, resolve })),
        );
  return { deliver, seen, attempts, seqs: () => seen.map(({ seq }) => seq) };
}

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts, ...extra };
}

/** Removed after all tests, because a store does not write to a file that is deleted. */
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function place(): () => TaskStore {
  const folder = mkdtempSync(join(tmpdir(), 'parley-delivery-'));
  folders.push(folder);
  return () => sqliteStore(join(folder, 'tasks.db'), { logger: silent });
}

function opened(t: TestContext, deliver: Deliver, options: Partial<HandlerOptions> = {}) {
  const handler = createHandler(asker, { deliver, logger: silent, ...options });
  t.after(() => handler.close());
  const send = async (text: string, config: object = hook, user = { id: 'ann' }) => {
    const pushNotificationConfig = { ...hook, ...config };
    const configuration = { pushNotificationConfig };
    return (await handler.sendMessage({ message: says(text), configuration }, { user })) as Task;
  };
  return { handler, send };
}

const ann = { user: { id: 'ann' } };
const never = new Promise<DeliveryOutcome>(() => {});
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a server that dies before its webhook has heard anything tells it everything after the restart', async (t) => {
  const open = place();
  const dead = receiver(() => never);
  const store = open();
  const first = createHandler(asker, { store, deliver: dead.deliver, logger: silent });
  const configuration = { pushNotificationConfig: hook };
  const task = (await first.sendMessage({ message: says('0'), configuration })) as Task;
  assert.equal(task.status.state, 'completed');
  await store.close();

  const alive = receiver(() => 'taken');
  const { handler } = opened(t, alive.deliver, { store: open() });
  await handler.recover();
  await alive.attempts(3);
  assert.deepEqual(alive.seqs(), [1, 2, 3]);
});

test('after a restart, a webhook gets only what it has not taken, and nothing if it has taken everything', async (t) => {
  const open = place();
  const first = receiver(({ seq }) => (seq < 3 ? 'taken' : never));
  const one = opened(t, first.deliver, { store: open() });
  await one.send('0');
  await first.attempts(3);
  await one.handler.close();

  const second = receiver(() => 'taken');
  const two = opened(t, second.deliver, { store: open() });
  await two.handler.recover();
  await second.attempts(1);
  await two.handler.close();

  const third = receiver(() => 'taken');
  const three = opened(t, third.deliver, { store: open() });
  await three.handler.recover();
  await three.send('0');
  await third.attempts(3);
  assert.deepEqual(second.seqs(), [3]);
  assert.deepEqual(third.seqs(), [1, 2, 3], 'only those of the new task');
});

for (const [name, open] of [
  ['memory', () => () => memoryStore()],
  ['sqlite', place],
] as const) {
  test(`an event that cannot be delivered becomes a dead letter, the next ones go on, and all can be sent again (${name})`, async (t) => {
    let works = false;
    const { deliver, seqs, attempts } = receiver(({ seq }) =>
      works || seq !== 2 ? 'taken' : FAILED,
    );
    const { handler, send } = opened(t, deliver, { store: open()(), limits: HASTY });
    const { id } = await send('0');
    await attempts(8);
    assert.deepEqual(seqs(), [1, 2, 2, 2, 2, 2, 2, 3]);
    const which = { id, pushNotificationConfigId: 'h' };
    const [letter, ...others] = await handler.listDeadLetters(which, ann);
    assert.ok(letter);
    const { at, ...rest } = letter;
    assert.deepEqual(rest, { taskId: id, configId: 'h', seq: 2, reason: 'HTTP 500', attempts: 6 });
    assert.ok(Math.abs(at - Date.now()) < 60_000);
    assert.deepEqual(others, []);
    assert.deepEqual(await handler.listDeadLetters({}, ann), [letter]);

    const bob = { user: { id: 'bob' } };
    assert.deepEqual(await handler.listDeadLetters({}, bob), []);
    await assert.rejects(handler.listDeadLetters(which, bob), { kind: 'taskNotFound' });
    await assert.rejects(handler.retryDeadLetters(which, bob), { kind: 'taskNotFound' });

    works = true;
    assert.equal(await handler.retryDeadLetters(which, ann), 1);
    await attempts(10);
    assert.deepEqual(seqs().slice(8), [2, 3], 'the newest event comes last');
    assert.deepEqual(await handler.listDeadLetters({}, ann), []);
    assert.equal(await handler.retryDeadLetters(which, ann), 0);
  });
}

test('a webhook that has failed for long gets six attempts per event, and one success gives it the whole time again', async (t) => {
  let time = 1_000_000;
  const day = 24 * 3_600_000;
  const answers: DeliveryOutcome[] = [];
  const { deliver, seqs, attempts } = receiver(() => answers.shift() ?? 'taken');
  const limits = { pushRetryMs: 1, pushGiveUpMs: day };
  const { handler, send } = opened(t, deliver, { limits, now: () => time });
  answers.push(...Array.from({ length: 12 }, () => FAILED));
  const { id: taskId } = await send('1');
  await attempts(4);
  time += day;
  await attempts(13);
  // The task waits: its entries are 1 to 3.
  assert.deepEqual(new Set(seqs()), new Set([1, 2, 3]));
  assert.equal(seqs().filter((seq) => seq === 2).length, 6);
  assert.equal(seqs().at(-1), 3);
  assert.equal((await handler.listDeadLetters({ id: taskId }, ann)).length, 2);

  answers.push(...Array.from({ length: 7 }, () => FAILED));
  await handler.sendMessage({ message: says('a', { taskId }) }, ann);
  await attempts(23);
  assert.equal((await handler.listDeadLetters({ id: taskId }, ann)).length, 2);
  assert.deepEqual(seqs().slice(13), [4, 4, 4, 4, 4, 4, 4, 4, 5, 6]);
});

test('the delay between two attempts doubles up to pushMaxRetryMs', async (t) => {
  let time = 1_000_000;
  const { deliver, attempts } = receiver(() => FAILED);
  const limits = { pushRetryMs: 1, pushMaxRetryMs: 2 };
  const { send } = opened(t, deliver, { limits, now: () => time++ });
  await send('1');
  // Without the limit, the delay before the sixteenth attempt would be at least 16 seconds.
  await attempts(16);
});

test('a receiver that asks for a pause gets it, but for at most an hour, also over a restart', async (t) => {
  const open = place();
  for (const [asked, most] of [
    [60_000, 60_000],
    [10 * 24 * 3_600_000, 3_600_000],
  ] as const) {
    const { deliver, attempts } = receiver(() => ({ failed: 'HTTP 429', retryAfterMs: asked }));
    const store = open();
    const { handler, send } = opened(t, deliver, { store });
    const before = Date.now();
    const { id } = await send('0');
    await attempts(1);
    await turn();
    await handler.setPushConfig({ taskId: id, pushNotificationConfig: { ...hook, id: 'x' } }, ann);
    const [record] = await store.listPush(id);
    const { dueAt = 0, cursor } = record?.progress ?? {};
    assert.equal(cursor, 0);
    assert.ok(dueAt >= before + most && dueAt <= Date.now() + most);
    await handler.close();

    const early = receiver(() => 'taken');
    const soon = opened(t, early.deliver, { store: open() });
    await soon.handler.recover();
    await soon.send('0');
    await early.attempts(3);
    assert.equal(early.seen.filter(({ taskId }) => taskId === id).length, 0);
    await soon.handler.close();

    const late = receiver(() => 'taken');
    const { handler: third } = opened(t, late.deliver, {
      store: open(),
      now: () => Date.now() + most,
    });
    await third.recover();
    await late.attempts(3);
    assert.deepEqual(late.seqs(), [1, 2, 3]);
    await third.close();
  }
});

test('a store that cannot write the progress for a while stops neither the webhooks nor the server', async (t) => {
  const store = memoryStore();
  const broken = t.mock.method(store, 'savePushProgress', () => {
    throw new Error('the disk is full');
  });
  const { deliver, seqs, attempts } = receiver(() => 'taken');
  const { handler, send } = opened(t, deliver, { store });
  await send('0');
  await attempts(3);
  assert.deepEqual(seqs(), [1, 2, 3]);
  broken.mock.restore();
  await handler.close();
});

test('if the clock is set back, a webhook does not wait until the old time comes again', async (t) => {
  const open = place();
  const ahead = 10 * 24 * 3_600_000;
  const now = () => Date.now() + ahead;
  const failing = receiver(() => ({ failed: 'HTTP 429', retryAfterMs: 60_000 }));
  const one = opened(t, failing.deliver, { store: open(), now });
  const { id } = await one.send('0');
  await failing.attempts(1);
  await turn();
  await one.handler.close();

  // Another webhook waits for a time in the next hour, so it comes first among those that wait.
  const paused = receiver(() => ({ failed: 'HTTP 429', retryAfterMs: 3_600_000 }));
  const two = opened(t, paused.deliver, { store: open() });
  await two.send('0');
  await paused.attempts(1);
  await turn();
  await two.handler.close();

  const late = receiver(() => 'taken');
  const three = opened(t, late.deliver, { store: open() });
  await three.handler.recover();
  await late.attempts(3);
  assert.deepEqual(new Set(late.seen.map(({ taskId }) => taskId)), new Set([id]));
});

test('410 removes the webhook', async (t) => {
  const { deliver, seqs, attempts } = receiver(() => 'gone');
  const { handler, send } = opened(t, deliver);
  const { id } = await send('1');
  await attempts(1);
  await turn();
  assert.deepEqual(await handler.listPushConfigs({ id }, ann), []);
  await handler.sendMessage({ message: says('a', { taskId: id }) }, ann);
  await turn();
  assert.deepEqual(seqs(), [1]);
});

test('410 from an address that was just replaced does not remove the webhook', async (t) => {
  const { deliver, seen, attempts } = receiver(({ url }) => (url === hook.url ? 'gone' : 'taken'));
  const store: TaskStore = memoryStore();
  const { handler, send } = opened(t, deliver, { store });
  const replaced = { id: 'h', url: 'https://new.example/' };
  const remove = store.deletePush.bind(store);
  store.deletePush = async (taskId, configId, only) => {
    await handler.setPushConfig({ taskId, pushNotificationConfig: replaced }, ann);
    await remove(taskId, configId, only);
  };
  const { id } = await send('0');
  await attempts(4);
  assert.deepEqual(
    seen.map(({ url, seq }) => [url, seq]),
    [[hook.url, 1], ...[1, 2, 3].map((seq) => [replaced.url, seq])],
  );
  const [config, ...others] = await handler.listPushConfigs({ id }, ann);
  assert.deepEqual([config?.pushNotificationConfig, others], [replaced, []]);
});

test('setting the same webhook again loses no event, and tries a failed one again now', async (t) => {
  let works = false;
  const { deliver, seqs, attempts } = receiver(() =>
    works ? 'taken' : { failed: 'HTTP 503', retryAfterMs: 60_000 },
  );
  const { handler, send } = opened(t, deliver);
  const { id: taskId } = await send('0');
  await attempts(1);
  await turn();
  works = true;
  await handler.setPushConfig({ taskId, pushNotificationConfig: hook }, ann);
  await attempts(4);
  assert.deepEqual(seqs(), [1, 1, 2, 3]);
});

test('a host that hangs gets few requests at once, and delays no other host', async (t) => {
  let hanging = 0;
  const { deliver, seen, attempts } = receiver(({ url }) => {
    if (!url.includes('hang')) return 'taken';
    hanging++;
    return never;
  });
  const { send } = opened(t, deliver);
  for (let n = 0; n < 100; n++) await send('0', { url: `https://hang.example/${n}` });
  await send('0');
  await attempts(19);
  await turn();
  assert.equal(hanging, 16);
  assert.equal(seen.filter(({ url }) => url === hook.url).length, 3);
});

test('the circuit of a host opens after the time of the first retries, and not for other owners', async () => {
  let time = 0;
  const gate = new DeliveryGate(() => time);
  const { signal } = new AbortController();
  const url = 'https://dead.example/a';
  const pass = (owner: string, outcome: DeliveryOutcome, to = url) =>
    gate.pass({ url: to, owner }, async () => outcome, signal);
  for (; time < 10_000; time += 500) assert.equal(await pass('ann', FAILED), FAILED);
  time = 12_500;
  assert.equal(await pass('ann', FAILED), FAILED);
  assert.deepEqual(await pass('ann', 'taken', 'https://dead.example/b'), { delayMs: 30_000 });
  assert.equal(await pass('bob', 'taken'), 'taken');
  assert.equal(await pass('ann', 'taken', 'https://other.example/'), 'taken');
  time += 30_000;
  assert.equal(await pass('ann', 'taken'), 'taken');
  assert.equal(await pass('ann', FAILED), FAILED);
});

test('a large event is not in memory while its webhook waits, and arrives', async (t) => {
  const text = 'x'.repeat(1_000_000);
  const talker = createAgent({ name: 'Talker', description: 'Talks' }, async function* () {
    yield text;
  });
  const entries = new Map<string, WeakRef<object>>();
  const answers: ((outcome: DeliveryOutcome) => void)[] = [];
  const lengths: number[] = [];
  const deliver: Deliver = {
    accept: (config) => ({ ...config, id: config.id ?? 'default' }),
    prepare: async ({ record: { taskId }, entry }) => {
      if (entry.event.kind !== 'artifact-update') return undefined;
      entries.set(taskId, new WeakRef(entry));
      return (_signal, admit) =>
        admit(1, () => {}).then(
          () =>
            new Promise((resolve) => {
              lengths.push(JSON.stringify(entry.event).length);
              answers.push(resolve);
            }),
        );
    },
  };
  const handler = createHandler(talker, { deliver, logger: silent, store: place()() });
  t.after(() => handler.close());
  for (let n = 0; n < 30; n++) {
    const configuration = { pushNotificationConfig: hook };
    await handler.sendMessage({ message: says('go'), configuration });
  }
  while (answers.length < 15) await turn();
  setFlagsFromString('--expose-gc');
  await runInNewContext('gc')({ execution: 'async' });
  const held = [...entries.values()].filter((entry) => entry.deref() !== undefined);
  assert.equal(entries.size, 30);
  assert.ok(held.length <= 16, `${held.length} events are in memory`);
  for (let n = 0; n < 30; n++) {
    while (answers.length <= n) await turn();
    answers[n]?.('taken');
  }
  assert.ok(lengths.every((length) => length > 1_000_000));
});
