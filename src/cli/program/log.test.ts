import { existsSync } from 'node:fs';
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
