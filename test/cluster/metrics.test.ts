/** What an operator sees of the nodes at `/metrics`. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { serverMetrics } from '../../src/cli/program/metrics.ts';
import { serve } from '../../src/server.ts';
import { postgresStore } from '../../src/store/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { within } from '../support/within.ts';
import { startPostgresNode } from '../support/postgres-gateway.ts';
import { all, begin, clusterDatabase, silent, startNode } from './nodes.ts';

const database = await clusterDatabase();
after(() => database.drop());

/** Returns the value of a metric. `name` includes its labels. */
function valueOf(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  assert.ok(line, `${name} is missing in\n${text}`);
  return Number(line.slice(name.length + 1).replace('+Inf', 'Infinity'));
}

test('parley serve --metrics shows the lease, the lag of readers and the pool', async (t) => {
  const finish = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Waiting', description: 'Waits' }, async function* () {
    yield 'one';
    await finish.promise;
    yield 'two';
  });
  const a = await startNode(t, database.url, agent);
  const store = await postgresStore(database.url, { logger: silent, poolSize: 4 });
  const metrics = serverMetrics(store);
  t.after(() => metrics.close());
  const server = serve(agent, { store, logger: silent, routes: [metrics.route] });
  metrics.watch(server);
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  const { url } = listening;
  const scrape = async () => (await fetch(`${url}/metrics`)).text();

  const { id } = await begin(a.handler, 'go');
  const whole = all(await server.handler.subscribe({ id }));
  while (store.cluster.stats().peers === 0) await setTimeout(10);
  const text = await scrape();
  assert.equal(valueOf(text, 'parley_cluster_peers'), 1);
  assert.equal(valueOf(text, 'parley_cluster_leader'), 0);
  assert.equal(valueOf(text, 'parley_cluster_followed_tasks'), 1);
  assert.equal(valueOf(text, 'parley_cluster_lease_seconds'), 10);
  assert.ok(valueOf(text, 'parley_cluster_lease_age_seconds') < 10);
  assert.ok(valueOf(text, 'parley_cluster_reader_lag_seconds') < 5);
  assert.ok(valueOf(text, 'parley_cluster_reader_lag_events') >= 0);
  assert.equal(valueOf(text, 'parley_store_connections_max'), 4);
  assert.equal(valueOf(text, 'parley_store_statements_waiting'), 0);
  const open =
    valueOf(text, 'parley_store_connections{state="busy"}') +
    valueOf(text, 'parley_store_connections{state="idle"}');
  assert.ok(open > 0 && open <= 4, String(open));
  assert.equal(valueOf(text, 'parley_executions_running'), 0);
  assert.equal(valueOf(text, 'parley_streams_open'), 0);
  finish.resolve();
  await within('the end of the stream', whole);
});

test('a reader that has not read the events of another node lags behind', async (t) => {
  const finish = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Waiting', description: 'Waits' }, async function* () {
    yield 'one';
    await finish.promise;
  });
  const a = await startNode(t, database.url, agent);
  const b = await startNode(t, database.url, agent, { cluster: { listen: false } });
  const { id } = await begin(a.handler, 'go');
  let seen = 0;
  b.store.cluster.watch(id, () => seen);
  while (b.store.cluster.stats().lagEvents === 0) await setTimeout(10);
  await setTimeout(5);
  const { lagMs, lagEvents } = b.store.cluster.stats();
  assert.ok(lagMs >= 5, `${lagMs} ms`);
  seen = lagEvents;
  finish.resolve();
  seen += 100;
  assert.equal(b.store.cluster.stats().lagMs, 0);
});

test('the gateway shows the same metrics', async () => {
  const store = await postgresStore(database.url, { logger: silent, poolSize: 3 });
  await using node = await startPostgresNode(database.url, { store });
  const fields = { workspace: 'default', name: 'test', scopes: ['*' as const] };
  const { secret } = await node.gateway.keys.create(fields, 'test');
  const text = await (await node.ask(secret, 'GET', '/metrics')).text();
  assert.ok(valueOf(text, 'parley_cluster_lease_age_seconds') < 10);
  assert.equal(valueOf(text, 'parley_store_connections_max'), 3);
});
