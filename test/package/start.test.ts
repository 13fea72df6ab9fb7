// How fast and how small the built program starts. The best of several: the machine may be busy, and a start that can be
// this good is.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const STARTS = 8;
const MAX_MS = 300;
const MAX_MB = 120;
const launcher = path.resolve(import.meta.dirname, '../../dist/parley-cli/bin/parley.js');

async function measure(home: string): Promise<{ ms: number; mb: number }> {
  const began = performance.now();
  const args = [launcher, 'serve', '--port', '0', '--json', '--workspace', home];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PARLEY_HOME: home, XDG_CONFIG_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const ms = performance.now() - began;
  const [, kb = '0'] = /VmHWM:\s+(\d+) kB/.exec(statusOf(child.pid)) ?? [];
  child.kill();
  await once(child, 'exit');
  return { ms, mb: Number(kb) / 1024 };
}

/** Only Linux has it; elsewhere the size is not looked at. */
function statusOf(pid: number | undefined): string {
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
}

test(`the coding agent is ready in ${MAX_MS} ms, with ${MAX_MB} MB`, async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'parley-start-'));
  try {
    const starts: { ms: number; mb: number }[] = [];
    for (let count = 0; count < STARTS; count++) starts.push(await measure(home));
    const ms = Math.min(...starts.map((start) => start.ms));
    const mb = Math.min(...starts.map((start) => start.mb));
    assert.ok(ms < MAX_MS, `the best of ${STARTS} starts took ${ms.toFixed(0)} ms`);
    assert.ok(mb < MAX_MB, `the smallest of ${STARTS} took ${mb.toFixed(0)} MB`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
