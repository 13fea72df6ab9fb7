import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_WINDOW, startAbove, startBelow, STEP, windowOf } from './transcript-window.ts';

test('without a chosen start, the window has the newest entries', () => {
  assert.deepEqual(windowOf(undefined, 1000), { start: 1000 - STEP, end: 1000 });
  assert.deepEqual(windowOf(undefined, 3), { start: 0, end: 3 });
});

test('a window that stays in its place grows with new entries up to its maximum size', () => {
  const { start } = windowOf(undefined, 1000);
  assert.deepEqual(windowOf(start, 1010), { start, end: 1010 });
  assert.deepEqual(windowOf(start, 5000), { start, end: start + MAX_WINDOW });
});

test('a window that moves to either end reaches it and does not pass it', () => {
  let shown = windowOf(undefined, 1000);
  for (let moves = 0; moves < 20; moves++) shown = windowOf(startAbove(shown), 1000);
  assert.deepEqual(shown, { start: 0, end: MAX_WINDOW });
  for (let moves = 0; moves < 20; moves++) shown = windowOf(startBelow(shown, 1000), 1000);
  assert.deepEqual(shown, { start: 1000 - MAX_WINDOW, end: 1000 });
});

test('if most entries were removed, the window shows the newest of the others', () => {
  assert.deepEqual(windowOf(4000, 100), { start: 100 - STEP, end: 100 });
});
