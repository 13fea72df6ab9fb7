import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots, type Slots } from './slots.ts';

const never = new AbortController().signal;

test('those who find no slot are served in the order in which they came', async () => {
  const slots = createSlots(1);
  const giveBack = await slots.take('a', never);
  assert.equal(slots.free('a'), false);
  const order: number[] = [];
  const waiting = [1, 2].map(async (who) => {
    const back = await slots.take('a', never);
    order.push(who);
    back();
  });
  giveBack();
  giveBack();
  await Promise.all(waiting);
  assert.deepEqual(order, [1, 2]);
  assert.equal(slots.free('a'), true);
});

test('who leaves the line takes no slot', async () => {
  const slots = createSlots(1);
  const giveBack = await slots.take('a', never);
  const leaving = new AbortController();
  const waiting = slots.take('a', leaving.signal);
  leaving.abort(new Error('left'));
  await assert.rejects(waiting, /left/);
  giveBack();
  assert.equal(slots.free('a'), true);
});

test('who comes with an aborted signal does not even stand in line', async () => {
  const slots = createSlots(1);
  await slots.take('a', never);
  await assert.rejects(slots.take('a', AbortSignal.abort(new Error('gone'))), /gone/);
});

/** Takes a slot as soon as there is one, and notes who got it. */
function note(slots: Slots, caller: string, order: string[]): Promise<() => void> {
  return slots.take(caller, never).then((back) => {
    order.push(caller);
    return back;
  });
}

test('a free slot goes to the caller with the fewest, however many calls of another one wait', async () => {
  const slots = createSlots(2);
  const held = [await slots.take('a', never), await slots.take('a', never)];
  const order: string[] = [];
  const many = Array.from({ length: 50 }, () => note(slots, 'a', order));
  const one = note(slots, 'b', order);
  held[0]?.();
  (await one)();
  held[1]?.();
  await many[0];
  assert.deepEqual(order.slice(0, 2), ['b', 'a']);
});

test('with a single slot, callers take turns, even if one of them always has calls in line', async () => {
  const slots = createSlots(1);
  const giveBack = await slots.take('busy', never);
  const order: string[] = [];
  const one = async (caller: string) => {
    const back = await slots.take(caller, never);
    order.push(caller);
    setImmediate(back);
  };
  const all = ['busy', 'busy', 'busy', 'busy', 'quiet'].map(one);
  giveBack();
  await Promise.all(all);
  assert.ok(order.indexOf('quiet') <= 1, order.join());
});

test('while there are several callers, one of them leaves slots for the others', async () => {
  let time = 0;
  const slots = createSlots(4, () => time);
  const takeAll = async (caller: string): Promise<number> => {
    const taken = [];
    while (slots.free(caller)) taken.push(await slots.take(caller, never));
    for (const back of taken) back();
    return taken.length;
  };
  assert.equal(await takeAll('a'), 4, 'alone, it has them all');
  (await slots.take('b', never))();
  assert.equal(await takeAll('a'), 3);
  time += 11 * 60_000;
  assert.equal(await takeAll('a'), 4, 'the other one is gone');
});

test('the queue of one caller does not use up the room of another', async () => {
  const slots = createSlots(1);
  await slots.take('a', never);
  for (let count = 0; count < 1000; count++) void slots.take('a', never);
  await assert.rejects(slots.take('a', never), /too many calls are waiting/);
  const leaving = new AbortController();
  const waiting = slots.take('b', leaving.signal);
  leaving.abort(new Error('it waited'));
  await assert.rejects(waiting, /it waited/);
});

test('a call that needs many slots gets them, although calls that need few keep coming', async () => {
  const slots = createSlots(10);
  const held = await Promise.all(Array.from({ length: 10 }, () => slots.take('a', never)));
  const order: string[] = [];
  const large = slots.take('b', never, 8).then((back) => (order.push('large'), back));
  const small = slots.take('c', never).then((back) => (order.push('small'), back));
  for (const back of held.slice(0, 7)) {
    back();
    assert.equal(slots.free('d'), false);
  }
  held[7]?.();
  const back = await large;
  assert.deepEqual(order, ['large']);
  back();
  await small;
});

test('a call that asks for more slots than there are gets all of them', async () => {
  const slots = createSlots(3);
  const back = await slots.take('a', never, 100);
  assert.equal(slots.free('b'), false);
  back();
  assert.equal(slots.free('b', 3), true);
});

test('when a call that waits for many slots leaves, the next one starts', async () => {
  const slots = createSlots(2);
  await slots.take('a', never);
  const leaving = new AbortController();
  const large = slots.take('b', leaving.signal, 2);
  const small = slots.take('c', never);
  leaving.abort(new Error('left'));
  await assert.rejects(large, /left/);
  await small;
});

test('if the clock is set back, a caller that has left does not count as present for longer', async () => {
  let time = 86_400_000;
  const slots = createSlots(4, () => time);
  (await slots.take('b', never))();
  time = 0;
  await slots.take('a', never);
  time += 601_000;
  for (let n = 0; n < 3; n++) await slots.take('a', never);
  assert.equal(slots.free('b'), false);
});
