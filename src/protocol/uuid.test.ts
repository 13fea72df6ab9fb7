import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uuidv7 } from './uuid.ts';

test('an id is a UUID of version 7 that tells its time', () => {
  const before = Date.now();
  const id = uuidv7();
  assert.match(id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  const time = Number.parseInt(id.slice(0, 13).replace('-', ''), 16);
  assert.ok(time >= before && time <= Date.now());
});

test('ids of different milliseconds are in the order of their time, and none comes twice', () => {
  const ids = Array.from({ length: 10_000 }, uuidv7);
  assert.equal(new Set(ids).size, ids.length);
  const times = ids.map((id) => id.slice(0, 13));
  assert.deepEqual(times, times.toSorted());
});

test('every random bit of an id varies', () => {
  let ones = 0n;
  let zeros = 0n;
  for (let count = 0; count < 200; count++) {
    const bits = BigInt(`0x${uuidv7().replaceAll('-', '')}`);
    ones |= bits;
    zeros |= ~bits;
  }
  // All bits but the time, the version and the variant.
  const random = (0xfffn << 64n) | ((1n << 62n) - 1n);
  assert.equal(ones & zeros & random, random);
});
