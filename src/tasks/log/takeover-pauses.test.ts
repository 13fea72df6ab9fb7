import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { StoreError } from '../../base/index.ts';
import { TakeoverPauses } from './takeover-pauses.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Pauses of a store whose probe fails `full` times. */
function setUp(t: TestContext, full = 0) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let probes = 0;
  const pauses = new TakeoverPauses({
    async probe() {
      probes++;
      if (full-- > 0) throw new Error('full');
    },
  });
  const pass = async (ms: number) => {
    now += ms;
    t.mock.timers.tick(ms);
    await settled();
  };
  /** Pauses the task, and returns the length of the pause in seconds. */
  async function pause(taskId: string, epoch: number, error: unknown = new Error('failed')) {
    let isOver = false;
    pauses.start(taskId, epoch, error, () => (isOver = true));
    for (let seconds = 1; ; seconds++) {
      assert.equal(pauses.has(taskId, epoch), true);
      await pass(1000);
      if (isOver) return seconds;
    }
  }
  return { pauses, pause, pass, probes: () => probes };
}

test('the pause of a task grows from a second to a minute', async (t) => {
  const { pauses, pause } = setUp(t);
  const seconds: number[] = [];
  for (let epoch = 1; epoch <= 10; epoch++) seconds.push(await pause('t1', epoch));
  for (const [at, length] of seconds.entries()) {
    const most = Math.min(60, 2 * 2 ** at);
    assert.ok(length >= most / 2 && length <= most, `pause ${at + 1} took ${length} s`);
  }
  assert.equal(pauses.has('t1', 10), false);
  assert.ok((await pause('t2', 1)) <= 2, 'another task has its own pauses');
});

test('a task that has not failed for some time has a short pause again', async (t) => {
  const { pause, pass } = setUp(t);
  for (let epoch = 1; epoch <= 5; epoch++) await pause('t1', epoch);
  await pass(600_000);
  assert.ok((await pause('t1', 6)) <= 2);
});

test('a later epoch is not paused, and a pause is not started twice', async (t) => {
  const { pauses, pass } = setUp(t);
  let ended = 0;
  const resume = () => void ended++;
  pauses.start('t1', 1, new Error('failed'), resume);
  pauses.start('t1', 1, new Error('failed'), resume);
  assert.deepEqual([pauses.has('t1', 1), pauses.has('t1', 2)], [true, false]);
  await pass(60_000);
  assert.equal(ended, 1);
});

test('after a full disk, a task also waits until the store has room, with one probe for all tasks', async (t) => {
  const { pauses, pass, pause, probes } = setUp(t, 3);
  const full = new StoreError('no room', { code: 'full' });
  let others = 0;
  for (let n = 0; n < 100; n++) pauses.start(`o${n}`, 1, full, () => void others++);
  await pass(2000);
  assert.deepEqual([probes(), others], [1, 0]);
  await pass(4000);
  assert.deepEqual([probes(), others], [2, 0]);
  await pass(8000);
  await pass(16_000);
  assert.deepEqual([probes(), others], [4, 100]);
  assert.ok((await pause('t1', 1, full)) <= 2);
  assert.equal(probes(), 5);
});

test('a closed store resumes no task', async (t) => {
  const { pauses, pass } = setUp(t);
  pauses.start('t1', 1, new Error('failed'), () => assert.fail('resumed'));
  pauses.close();
  await pass(60_000);
});
