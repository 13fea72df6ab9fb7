import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { launch } from './launch.ts';
import { liveInterval, MAX_JOBS, openShell, type Shell, type ShellOptions } from './shell.ts';
import { WAIT_MS } from '../../../test/support/within.ts';

const never = new AbortController().signal;
const LONG = process.env['PARLEY_TEST_LONG'] !== undefined;
const isLinux = process.platform === 'linux';

async function shellIn(
  t: TestContext,
  options: Partial<ShellOptions> = {},
): Promise<Shell & { cwd: string }> {
  const cwd = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-shell-')));
  const shell = openShell({ cwd, ...options });
  t.after(async () => {
    await shell.close();
    await rm(cwd, { recursive: true, force: true });
  });
  return { ...shell, cwd };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that has ended may be visible for a moment: as a zombie (Z), or while the kernel removes it (X).
    return !isLinux || !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Looks until it is there. */
async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (const end = performance.now() + WAIT_MS; ;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < end, `never: ${String(look)}`);
    await wait(10);
  }
}

/** The number that a command wrote into a file. */
function pidIn(shell: { cwd: string }, name: string): Promise<number> {
  const file = path.join(shell.cwd, name);
  return until(() => existsSync(file) && (Number(readFileSync(file, 'utf8')) || false));
}

/** Runs the test on a terminal and on pipes: both are to look the same. */
function onBoth(
  name: string,
  body: (t: TestContext, options: Partial<ShellOptions>) => Promise<void>,
): void {
  test(`${name}, on a terminal`, (t) => body(t, {}));
  test(`${name}, on pipes`, (t) =>
    body(t, { launch: (program) => launch(program, async () => undefined) }));
}

onBoth('a command runs in the workspace and says how it ended', async (t, options) => {
  const shell = await shellIn(t, options);
  const outcome = await shell.run('pwd; echo oops >&2; exit 3', { signal: never });
  assert.equal(outcome.output, `${shell.cwd}\noops\n`);
  assert.deepEqual([outcome.code, outcome.signal, outcome.timedOut], [3, null, false]);
  assert.ok(outcome.durationMs >= 0);
});

onBoth('the signal that ended a command is named', async (t, options) => {
  const shell = await shellIn(t, options);
  const outcome = await shell.run('kill -SEGV $$', { signal: never });
  assert.deepEqual([outcome.code, outcome.signal], [null, 'SIGSEGV']);
});

onBoth('a command that reads finds the end of its input', async (t, options) => {
  const shell = await shellIn(t, options);
  const outcome = await shell.run('cat; read line || echo nothing', { signal: never });
  assert.equal(outcome.output, 'nothing\n');
});

onBoth('a command that takes too long is ended', async (t, options) => {
  const shell = await shellIn(t, options);
  // Long enough for a shell to start on a busy machine.
  const outcome = await shell.run('echo begun; sleep 1000', { signal: never, timeoutMs: 1500 });
  assert.deepEqual(
    [outcome.timedOut, outcome.signal, outcome.output],
    [true, 'SIGTERM', 'begun\n'],
  );
});

onBoth('a cancelled command is ended with its children', async (t, options) => {
  const shell = await shellIn(t, options);
  const cancel = new AbortController();
  const command =
    'sleep 1000 & echo $! > child; (trap "" TERM; echo $BASHPID > deaf; while :; do sleep 1; done)';
  const running = shell.run(command, { signal: cancel.signal });
  const pids = [await pidIn(shell, 'child'), await pidIn(shell, 'deaf')];
  assert.deepEqual(pids.map(isAlive), [true, true]);
  cancel.abort(new Error('enough'));
  await assert.rejects(running, { message: 'enough' });
  assert.deepEqual(pids.map(isAlive), [false, false]);
});

onBoth('nothing runs once the signal is aborted', async (t, options) => {
  const shell = await shellIn(t, options);
  const signal = AbortSignal.abort(new Error('never mind'));
  await assert.rejects(shell.run('touch made', { signal }), { message: 'never mind' });
  assert.equal(existsSync(path.join(shell.cwd, 'made')), false);
});

test('the output of a command goes to a terminal', async (t) => {
  const shell = await shellIn(t);
  const { output } = await shell.run('test -t 1 && echo yes; test -t 0 || echo no', {
    signal: never,
  });
  assert.equal(output, 'yes\nno\n');
});

test('a command that sends all of its output elsewhere runs to its end', async (t) => {
  const shell = await shellIn(t);
  const command = 'exec >log.txt 2>&1; sleep 0.3; echo done; exit 3';
  const { code, signal } = await shell.run(command, { signal: never });
  assert.deepEqual([code, signal], [3, null]);
  assert.equal(readFileSync(path.join(shell.cwd, 'log.txt'), 'utf8'), 'done\n');
});

test('a grandchild in a session of its own is ended too', { skip: !isLinux }, async (t) => {
  const shell = await shellIn(t);
  const cancel = new AbortController();
  // Adopted by init, and in a new session: only the mark in its environment tells whose it is.
  const command = "setsid -f sh -c 'echo $$ > pid; exec sleep 1000'; sleep 1000";
  const running = shell.run(command, { signal: cancel.signal });
  const pid = await pidIn(shell, 'pid');
  assert.equal(isAlive(pid), true);
  cancel.abort();
  await assert.rejects(running);
  assert.equal(isAlive(pid), false);
});

test('what a command leaves running is ended with it', { skip: !isLinux }, async (t) => {
  const shell = await shellIn(t);
  const { output } = await shell.run('nohup sleep 1000 >/dev/null 2>&1 & echo $!', {
    signal: never,
  });
  assert.equal(isAlive(Number(output)), false);
});

test('secrets of ours are not in the environment, and pagers are off', async (t) => {
  const environment = {
    PATH: process.env['PATH'],
    GEMINI_API_KEY: 's',
    PARLEY_TOKEN: 's',
    OWN_API_KEY: 'own',
  };
  const shell = await shellIn(t, { environment });
  const { output } = await shell.run('env', { signal: never });
  const names = new Map(output.split('\n').map((line) => line.split('=', 2) as [string, string]));
  assert.equal(names.has('GEMINI_API_KEY') || names.has('PARLEY_TOKEN'), false);
  assert.equal(names.get('OWN_API_KEY'), 'own');
  assert.deepEqual([names.get('TERM'), names.get('GIT_PAGER')], ['dumb', 'cat']);
});

test('live output comes as it is printed, not too often and not too much', async (t) => {
  const shell = await shellIn(t);
  const seen: { at: number; text: string }[] = [];
  await shell.run('for i in $(seq 1 300); do printf "%0100d\\n" $i; sleep 0.002; done', {
    signal: never,
    onOutput: (text) => seen.push({ at: performance.now(), text }),
  });
  assert.ok(seen.length >= 3);
  for (const { text } of seen) assert.ok(Buffer.byteLength(text) <= 8192);
  // Timers may be a moment early by this clock.
  const gaps = seen.slice(1).map(({ at }, index) => at - seen[index]!.at);
  assert.ok(Math.min(...gaps) >= 100, `${Math.min(...gaps)} ms`);
});

const size = LONG ? 1024 : 100;
test(`a command that prints ${size} MB leaves memory alone and keeps head and tail`, async (t) => {
  const shell = await shellIn(t);
  // Warm up, so that only what the output costs is measured.
  await shell.run('yes | head -c 5M', { signal: never });
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let peak = before;
  let updates = 0;
  const outcome = await shell.run(`echo first; yes | head -c ${size}M; echo last`, {
    signal: never,
    onOutput: () => {
      updates++;
      peak = Math.max(peak, process.memoryUsage.rss());
    },
  });
  assert.ok(peak - before < 50 * 1024 * 1024, `${(peak - before) / 1024 / 1024} MB more`);
  assert.ok(updates <= 1 + outcome.durationMs / 100, `${updates} in ${outcome.durationMs} ms`);
  assert.ok(outcome.output.startsWith('first\ny\ny\n'));
  assert.ok(outcome.output.endsWith('y\nlast\n'));
  assert.match(outcome.output, /\[… [\d,]+ characters were cut here …\]/);
  assert.ok(outcome.output.length < 60_000);
});

test('a background job runs on, is read in pieces, and is stopped', async (t) => {
  const shell = await shellIn(t);
  const job = await shell.start(
    'echo one; touch begun; while ! test -f go; do sleep 0.01; done; echo two; touch more; sleep 1000',
  );
  await until(() => existsSync(path.join(shell.cwd, 'begun')));
  let text = '';
  await until(() => (text += job.read()).includes('one\n'));
  assert.equal(job.outcome(), undefined);
  await shell.run('touch go', { signal: never });
  text = '';
  await until(() => (text += job.read()).includes('two\n'));
  assert.equal(text, 'two\n');
  const outcome = await job.stop();
  assert.equal(outcome.signal, 'SIGTERM');
  assert.equal(outcome.output, 'one\ntwo\n');
  assert.deepEqual(shell.jobs(), [job]);
  assert.notEqual(job.outcome(), undefined);
});

test('closing ends everything that runs, and nothing is started afterwards', async (t) => {
  const shell = await shellIn(t);
  await shell.start('echo $$ > job; sleep 1000');
  const running = shell.run('echo $$ > command; sleep 1000', { signal: never });
  const pids = [await pidIn(shell, 'job'), await pidIn(shell, 'command')];
  await shell.close();
  assert.equal((await running).signal, 'SIGTERM');
  assert.deepEqual(pids.map(isAlive), [false, false]);
  await assert.rejects(shell.run('true', { signal: never }), /closed/);
  await assert.rejects(shell.start('true'), /closed/);
});

test('there is a limit to background jobs, and those that ended do not count', async (t) => {
  const shell = await shellIn(t);
  const first = await shell.start('true');
  await until(() => first.outcome());
  for (let number = 0; number < MAX_JOBS; number++) await shell.start('sleep 1000');
  await assert.rejects(shell.start('sleep 1000'), /stop one first/);
  await shell.jobs()[1]!.stop();
  await shell.start('sleep 1000');
});

test('of the ended jobs, those that ended last are kept', async (t) => {
  const shell = await shellIn(t);
  const long = await shell.start('sleep 1000');
  for (let number = 0; number < 16; number++) {
    const short = await shell.start('true');
    await until(() => short.outcome());
  }
  await long.stop();
  await until(() => long.outcome());
  const kept = shell.jobs().map(({ id }) => id);
  assert.deepEqual([kept.length, kept[0], kept[1]], [16, 'job-1', 'job-3']);
});

test('a command that is being started when the shell is closed is ended too', async (t) => {
  const shell = await shellIn(t);
  const running = shell.run('sleep 1000', { signal: never });
  await shell.close();
  assert.equal((await running).signal, 'SIGTERM');
});

test('a command that prints all the time leaves ever fewer updates', () => {
  const updatesIn = (minutes: number): number => {
    let count = 0;
    for (let elapsed = 0; elapsed < minutes * 60_000; elapsed += liveInterval(elapsed)) count++;
    return count;
  };
  assert.ok(updatesIn(1 / 60) <= 10, 'not more than ten in a second');
  assert.ok(updatesIn(10) < 300, `${updatesIn(10)} in ten minutes`);
  assert.ok(updatesIn(60) < 400, `${updatesIn(60)} in an hour`);
});
