/** Rule 5: lists of tasks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Task } from '../../src/protocol/index.ts';
import { bearerTokens } from '../../src/server.ts';
import { finished, rest1, rpc1, sample, start, userMessage, type Wire, WIRES } from './support.ts';

async function all(wire: Wire, url: string, params: object = {}): Promise<Task[]> {
  const tasks: Task[] = [];
  let pageToken = '';
  do {
    const more: object = pageToken === '' ? {} : { pageToken };
    const page = await wire.call(url, 'listTasks', { pageSize: 3, ...params, ...more });
    assert.ok(page.tasks.length <= 3);
    tasks.push(...page.tasks);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return tasks;
}

for (const wire of WIRES) {
  test(`rule 5: the newest status comes first, over all pages, with totals (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const ask = userMessage('ask');
    const first = (await rpc1.call(url, 'sendMessage', { message: ask })) as Task;
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.unshift((await finished(url)).id);
    assert.deepEqual(
      (await all(wire, url)).map(({ id }) => id),
      [...ids, first.id],
    );
    const message = userMessage('Rome', { taskId: first.id });
    await rpc1.call(url, 'sendMessage', { message });
    assert.deepEqual(
      (await all(wire, url)).map(({ id }) => id),
      [first.id, ...ids],
    );
    const page = await wire.call(url, 'listTasks', { pageSize: 5 });
    assert.equal(page.totalSize, 7);
    assert.equal(page.pageSize, 5);
    assert.notEqual(page.nextPageToken, '');
    const whole = await wire.ask(url, 'listTasks', {});
    assert.partialDeepStrictEqual(whole.result, { nextPageToken: '', totalSize: 7 });
  });

  test(`rule 5: artifacts are absent unless asked for, and history is as long as asked (${wire.name})`, async (t) => {
    const { url } = await start(t);
    await finished(url, {}, 'one two');
    const bare = await wire.ask(url, 'listTasks', {});
    assert.ok(!bare.text.includes('"artifacts"'));
    assert.ok(!bare.text.includes('"history"'));
    const withArtifacts = await wire.call(url, 'listTasks', { includeArtifacts: true });
    const [artifact] = withArtifacts.tasks[0]?.artifacts ?? [];
    assert.deepEqual(artifact?.parts, [{ kind: 'text', text: 'one two ' }]);
    const withHistory = await wire.ask(url, 'listTasks', { historyLength: 5 });
    assert.ok(withHistory.text.includes('"history"'));
    assert.ok(!withHistory.text.includes('"artifacts"'));
  });

  test(`rule 5: lists are filtered by context, state and time (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const old = await finished(url);
    await delay(5);
    const since = new Date().toISOString();
    await delay(5);
    const params = { message: userMessage('ask', { contextId: 'travel' }) };
    const asked = (await rpc1.call(url, 'sendMessage', params)) as Task;
    const ids = async (filter: object) => (await all(wire, url, filter)).map(({ id }) => id);
    assert.deepEqual(await ids({ contextId: 'travel' }), [asked.id]);
    assert.deepEqual(await ids({ contextId: 'nowhere' }), []);
    assert.deepEqual(await ids({ status: 'completed' }), [old.id]);
    assert.deepEqual(await ids({ status: 'input-required' }), [asked.id]);
    assert.deepEqual(await ids({ status: 'input-required', contextId: 'travel' }), [asked.id]);
    assert.deepEqual(await ids({ statusTimestampAfter: since }), [asked.id]);
  });

  test(`bad pages and lengths are refused with -32602 (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id } = await finished(url);
    await finished(url);
    const token = (await wire.call(url, 'listTasks', { pageSize: 1 })).nextPageToken;
    for (const bad of [
      { pageSize: 0 },
      { pageSize: 101 },
      { pageSize: -1 },
      { pageSize: 1.5 },
      { pageToken: 'made-up' },
      { pageToken: `${token}x` },
      { pageToken: token.slice(1) },
      { pageToken: 'x'.repeat(5000) },
      { historyLength: -1 },
      { statusTimestampAfter: 'yesterday' },
    ]) {
      const { error } = await wire.ask(url, 'listTasks', bad);
      assert.equal(error?.code, -32602, JSON.stringify(bad));
    }
    const { error } = await wire.ask(url, 'getTask', { id, historyLength: -1 });
    assert.equal(error?.code, -32602);
    const configuration = { historyLength: -5 };
    const sent = await wire.ask(url, 'sendMessage', { message: userMessage('x'), configuration });
    assert.equal(sent.error?.code, -32602);
    assert.equal((await wire.call(url, 'listTasks', { pageSize: 100 })).totalSize, 2);
  });
}

test("rule 5: a list is the caller's own, and so are its page tokens", async (t) => {
  const authenticate = bearerTokens(
    new Map([
      ['ann', 'a'],
      ['bob', 'b'],
    ]),
  );
  const { url } = await start(t, sample(), { authenticate });
  const ann = { headers: { authorization: 'Bearer a' } };
  const bob = { headers: { authorization: 'Bearer b' } };
  for (let n = 0; n < 3; n++) await finished(url, ann);
  await finished(url, bob);
  const page = await rest1.call(url, 'listTasks', { pageSize: 1 }, ann);
  assert.equal(page.totalSize, 3);
  assert.equal((await rest1.call(url, 'listTasks', {}, bob)).totalSize, 1);
  const { nextPageToken: pageToken } = page;
  const { error } = await rest1.ask(url, 'listTasks', { pageSize: 1, pageToken }, bob);
  assert.equal(error?.code, -32602);
});

for (const wire of WIRES) {
  test(`historyLength: absent is all, 0 leaves the field out, n are the latest (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id } = (await rpc1.call(url, 'sendMessage', { message: userMessage('ask') })) as Task;
    const message = userMessage('Rome', { taskId: id });
    const configuration = { historyLength: 1 };
    const sent = (await wire.call(url, 'sendMessage', { message, configuration })) as Task;
    assert.deepEqual(
      sent.history?.map(({ role }) => role),
      ['user'],
    );
    const whole = await wire.call(url, 'getTask', { id });
    assert.equal(whole.history?.length, 3);
    const last = await wire.call(url, 'getTask', { id, historyLength: 2 });
    assert.deepEqual(last.history, whole.history?.slice(1));
    const none = await wire.ask(url, 'getTask', { id, historyLength: 0 });
    assert.ok(!none.text.includes('"history"'));
  });
}
