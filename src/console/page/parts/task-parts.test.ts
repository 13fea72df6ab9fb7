import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationOf } from './task-parts.tsx';

test('a duration is rounded before it is split into units', () => {
  const texts = [
    [0.4, '0 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [9940, '9.9 s'],
    [9960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min 0 s'],
    [80_000, '1 min 20 s'],
    [119_700, '2 min 0 s'],
    [3_599_700, '1 h 0 min'],
    [3_660_000, '1 h 1 min'],
  ] as const;
  assert.deepEqual(
    texts.map(([ms]) => durationOf(ms)),
    texts.map(([, text]) => text),
  );
});
