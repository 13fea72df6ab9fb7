import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hasProc } from '../../base/system/index.ts';
import { membersOf } from './process-tree.ts';

test(
  'a process is found at any moment while it replaces its program',
  { skip: !hasProc },
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'parley-tree-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    // Replaces its program (exec) all the time. /proc then often shows an empty environment, without the mark.
    const script = path.join(folder, 'again.sh');
    writeFileSync(script, `exec sh '${script}'\n`);
    const value = `test-${process.pid}`;
    const env = { ...process.env, PARLEY_TREE_TEST: value };
    const child = spawn('sh', [script], { env, detached: true, stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');

    let missed = 0;
    for (let look = 0; look < 300; look += 1) {
      // No process has this id, so that the process can be found only by its mark.
      const members = await membersOf({ pid: 2 ** 30, mark: `PARLEY_TREE_TEST=${value}` });
      if (!members.includes(child.pid!)) missed += 1;
    }
    assert.equal(missed, 0);
  },
);
