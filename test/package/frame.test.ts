// How soon the built program shows its first frame on a pseudo-terminal. The best of several, without the time in which
// the machine was busy with other things: a start that can be this good is.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { spawn } from '@lydell/node-pty';

const MAX_STARTS = 20;
const MAX_MS = 250;
const launcher = path.resolve(import.meta.dirname, '../../dist/parley-cli/bin/parley.js');

/** From the start of the process until the field for prompts is drawn. */
async function measure(home: string, args: readonly string[]): Promise<number> {
  // Ink draws nothing in CI until it ends.
  const { CI: _, ...environment } = process.env;
  const began = performance.now();
  const program = spawn(process.execPath, [launcher, ...args], {
    name: 'xterm-256color',
    cols: 100,
    rows: 30,
    cwd: home,
    env: { ...environment, PARLEY_HOME: home, XDG_CONFIG_HOME: home },
  });
  let drawn = '';
  await new Promise<void>((resolve) => {
    program.onData((data) => {
      drawn += data;
      if (drawn.includes('Ask for something')) resolve();
    });
  });
  const ms = performance.now() - began - heldUp(program.pid);
  const gone = new Promise((resolve) => program.onExit(resolve));
  program.kill('SIGTERM');
  await gone;
  return ms;
}

/** How long it could have run and no processor was free, in milliseconds. Only Linux says so. */
function heldUp(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(waited) / 1e6;
}

for (const args of [[], ['--a2a-port', '0']]) {
  test(`${['parley', ...args].join(' ')} shows its first frame in ${MAX_MS} ms`, async () => {
    const home = mkdtempSync(path.join(tmpdir(), 'parley-frame-'));
    try {
      const starts: number[] = [];
      while (starts.length < MAX_STARTS && Math.min(...starts, Infinity) >= MAX_MS) {
        starts.push(await measure(home, args));
      }
      const best = Math.min(...starts);
      assert.ok(best < MAX_MS, `the best of ${starts.length} starts took ${best.toFixed(0)} ms`);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
}
