import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate as moment } from 'node:timers/promises';
import { createLog } from './log.ts';

// /dev/full refuses every write, like a full disk.
const FULL = '/dev/full';

test(
  'a log that cannot be written does not end the program',
  {
    skip: !existsSync(FULL),
  },
  async () => {
    const log = createLog({}, FULL);
    log.error({}, 'first');
    await log.flush();
    log.error({}, 'second');
    await moment();
  },
);

test('a log line does not act on the terminal that shows it', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'log');
  const log = createLog({}, file);
  log.error({ said: '\u009b2J\u202e' }, 'a peer said \u009d');
  await log.flush();
  const line = readFileSync(file, 'utf8');
  assert.doesNotMatch(line, /(?!\n)[\p{Cc}\p{Cf}]/u);
  assert.equal(Reflect.get(JSON.parse(line), 'said'), '\u009b2J\u202e');
});

test('a log file stays below 5 MB while processes that share it run', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'log');
  const logs = [createLog({}, file), createLog({}, file)];
  const text = 'x'.repeat(1024 * 1024);
  for (const log of logs) log.error({}, 'first');
  await Promise.all(logs.map((log) => log.flush()));
  for (let round = 0; round < 6; round++)
    for (const log of logs) log.error({ round, text }, 'next');
  const sizes = [file, `${file}.1`].map((each) => statSync(each).size);
  for (const size of sizes) assert.ok(size <= 5 * 1024 * 1024, `${size} bytes`);
  const rounds = readFileSync(file, 'utf8').trimEnd().split('\n');
  assert.equal(Reflect.get(JSON.parse(rounds.at(-1) ?? ''), 'round'), 5);
});
