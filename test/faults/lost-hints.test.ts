/** Nodes whose hints get lost without a trace: the connections stay open. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createAgent } from '../../src/tasks/index.ts';
import { all, begin, clusterDatabase, startNode } from '../cluster/nodes.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { within } from '../support/within.ts';
import { losingHints } from './lost-hints.ts';

const database = await clusterDatabase();
after(() => database.drop());

test('a stream and a cancellation need no hint', async (t) => {
  let loses = false;
  let lost = 0;
  const proxy = await startTcpProxy(() => [Number(new URL(database.url).port)], {
    replies: () => losingHints(() => loses && ++lost > 0),
  });
  t.after(() => proxy.close());
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const waiting = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Waits', description: 'Waits' }, async function* (ctx) {
    yield 'one ';
    await waiting.promise;
    yield ctx.text;
    if (ctx.text === 'wait') {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    }
  });
  const a = await startNode(t, url.href, agent);
  const b = await startNode(t, url.href, agent);
  // Both nodes have seen that hints arrive, and so rely on them.
  while (!(a.store.cluster.stats().listens && b.store.cluster.stats().listens)) {
    await new Promise(setImmediate);
  }
  loses = true;
  const { id } = await begin(a.handler, 'two');
  const stream = await b.handler.subscribe({ id });
  const { id: long } = await begin(a.handler, 'wait');
  waiting.resolve();
  const items = await within('the end of the stream', all(stream));
  assert.deepEqual(
    items.map(({ seq }) => seq),
    items.map((_, index) => items[0]!.seq! + index),
  );
  const { status } = await within('the cancellation', b.handler.cancelTask({ id: long }));
  assert.equal(status.state, 'canceled');
  assert.ok(lost > 0);
});
