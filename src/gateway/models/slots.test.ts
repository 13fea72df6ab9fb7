import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots } from './slots.ts';

const never = new AbortController().signal;

test('those who find no slot are served in the order in which they came', async () => {
  const slots = createSlots(1);
  const giveBack = await slots.take(never);
  assert.equal(slots.free, false);
  const order: number[] = [];
  const waiting = [1, 2].map(async (who) => {
    const back = await slots.take(never);
    order.push(who);
    back();
  });
  giveBack();
  giveBack();
  await Promise.all(waiting);
  assert.deepEqual(order, [1, 2]);
  assert.equal(slots.free, true);
});

test('who leaves the line takes no slot', async () => {
  const slots = createSlots(1);
  const giveBack = await slots.take(never);
  const leaving = new AbortController();
  const waiting = slots.take(leaving.signal);
  leaving.abort(new Error('left'));
  await assert.rejects(waiting, /left/);
  giveBack();
  assert.equal(slots.free, true);
});

test('who comes with an aborted signal does not even stand in line', async () => {
  const slots = createSlots(1);
  await slots.take(never);
  await assert.rejects(slots.take(AbortSignal.abort(new Error('gone'))), /gone/);
});
