import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProtocolVersion, Task, TaskEvent } from '../protocol/index.ts';
import type { Delivery, DeliveryOutcome } from '../tasks/index.ts';
import { Published } from '../tasks/log/published.ts';
import { DeliveryGate } from '../tasks/push/gate.ts';
import { webhookDelivery } from './webhook.ts';

const event: TaskEvent = {
  kind: 'status-update',
  taskId: 't',
  contextId: 'c',
  status: { state: 'working' },
  final: false,
};

/** A sender that holds every request, and deliveries of a task whose loads are counted. */
function held() {
  const sent: { host: string; answer: (outcome: DeliveryOutcome) => void }[] = [];
  let loads = 0;
  const gate = new DeliveryGate(Date.now);
  const delivering = webhookDelivery({
    deliver: ({ url }) =>
      new Promise((answer) => sent.push({ host: new URL(url).hostname, answer })),
  });
  async function start(host: string, chars: number, version: ProtocolVersion = '0.3') {
    const task: Task = {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: { state: 'working' },
      metadata: { text: 'x'.repeat(chars) },
    };
    const url = `https://${host}/`;
    const delivery: Delivery = {
      record: {
        taskId: 't',
        config: { id: 'h', url },
        version,
        progress: { cursor: 1, attempts: 0 },
      },
      entry: new Published({ seq: 2, event }),
      task: async () => {
        loads++;
        return task;
      },
    };
    const post = await delivering.prepare(delivery);
    const abort = new AbortController();
    return { outcome: gate.pass({ url, owner: host }, post!, abort.signal), abort };
  }
  const hosts = () => sent.map(({ host }) => host);
  return { start, sent, hosts, loads: () => loads };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
/** Three of these fit into the limit of a host. */
const LARGE = 5_000_000;

test('of whole tasks that are large, a few are in memory at the same time, and small ones do not wait', async () => {
  const { start, sent, hosts } = held();
  const all = [];
  for (let n = 0; n < 10; n++) all.push(await start('large.example', LARGE));
  await settled();
  assert.equal(sent.length, 3);
  await start('small.example', 10);
  await start('new.example', LARGE, '1.0');
  await settled();
  assert.deepEqual(hosts().slice(3).toSorted(), ['new.example', 'small.example']);
  for (let n = 0; n < 12; n++) {
    sent[n]?.answer('taken');
    await settled();
  }
  assert.equal(sent.length, 12);
  for (const { outcome } of all) assert.equal(await outcome, 'taken');
});

test('a task is loaded when its request is made, and a request that waits can be ended', async () => {
  const { start, sent, loads } = held();
  assert.equal(loads(), 0);
  for (let n = 0; n < 3; n++) await start('large.example', LARGE);
  const { outcome, abort } = await start('large.example', LARGE);
  await settled();
  abort.abort(new Error('ended'));
  await assert.rejects(outcome, /ended/);
  sent[0]?.answer('taken');
  await settled();
  assert.equal(sent.length, 3);
});
