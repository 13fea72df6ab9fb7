import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localTime } from './local-time.ts';

test('a time is written in the local time zone, as people do', () => {
  const now = new Date(2026, 10, 16, 9, 30).getTime();
  const cases: [Date, string][] = [
    [new Date(2026, 10, 16, 0, 5), '00:05'],
    [new Date(2026, 10, 15, 23, 59), 'yesterday 23:59'],
    [new Date(2026, 2, 1, 14, 3), '1 Mar 14:03'],
    [new Date(2025, 11, 31, 14, 3), '31 Dec 2025'],
  ];
  for (const [then, text] of cases) assert.equal(localTime(then.getTime(), now), text);
});
