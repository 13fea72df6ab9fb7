import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
