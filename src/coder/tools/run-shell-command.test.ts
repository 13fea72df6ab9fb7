import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { JsonObject, JsonValue } from '../../base/index.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { toolContext } from '../../../test/support/tool-context.ts';
import { RichResponse } from '../../agent/tool.ts';
import { ToolError } from '../../agent/tool-error.ts';
import { openShell } from '../shell/shell.ts';
import type { CoderTool } from './tool.ts';
import { runShellCommandTool } from './run-shell-command.ts';
import { shellJobsTool } from './shell-jobs.ts';

async function tools(t: TestContext): Promise<{ run: CoderTool; jobs: CoderTool; root: string }> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-run-')));
  const shell = openShell({ cwd: root });
  t.after(async () => {
    await shell.close();
    await rm(root, { recursive: true });
  });
  return { run: runShellCommandTool({ shell, root }), jobs: shellJobsTool(shell), root };
}

async function called(
  tool: CoderTool,
  args: JsonObject,
  context = toolContext(),
): Promise<{ response: JsonObject; display: JsonValue | undefined }> {
  const result = await tool.run(args, context);
  assert.ok(result instanceof RichResponse);
  return { response: result.response as JsonObject, display: result.display };
}

/** Makes a call that fails, and returns its error. */
async function failing(tool: CoderTool, args: JsonObject): Promise<ToolError> {
  const error = await Promise.resolve(tool.run(args, toolContext())).catch((why: unknown) => why);
  assert.ok(error instanceof ToolError);
  return error;
}

test('the model reads output, exit code and duration; people read the output', async (t) => {
  const { run } = await tools(t);
  const { response, display } = await called(run, { command: 'echo hello' });
  const { duration_ms, ...rest } = response;
  assert.deepEqual(rest, { output: 'hello\n', exit_code: 0 });
  assert.equal(typeof duration_ms, 'number');
  assert.deepEqual(display, { text: 'hello\n' });
});

test('a command with another exit code than 0 fails, and the model still reads its output', async (t) => {
  const { run } = await tools(t);
  const error = await failing(run, { command: 'echo hello; exit 2' });
  assert.deepEqual([error.type, error.statusCode], ['exit_code', 2]);
  assert.equal(error.message, 'exit code 2\nhello\n');
  const { duration_ms: _, ...rest } = error.response as JsonObject;
  assert.deepEqual(rest, { output: 'hello\n', exit_code: 2 });
});

test('a command that a signal ends fails, and has no exit code', async (t) => {
  const { run } = await tools(t);
  const error = await failing(run, { command: 'kill -9 $$' });
  assert.deepEqual([error.type, error.statusCode], ['exit_code', undefined]);
  assert.equal(error.message, 'ended by SIGKILL');
});

test('what is printed meanwhile is shown as progress', async (t) => {
  const { run } = await tools(t);
  const shown: JsonValue[] = [];
  const context = toolContext({ progress: (value) => void shown.push(value) });
  await called(run, { command: 'echo early; sleep 0.5; echo late' }, context);
  assert.equal(shown[0], 'early\n');
});

test('a command that takes too long fails with a timeout, and the model is told what to do', async (t) => {
  const { run } = await tools(t);
  const error = await failing(run, { command: 'sleep 100', timeout_ms: 50 });
  assert.equal(error.type, 'timeout');
  assert.match(error.message, /^timeout: killed after \d+ ms$/);
  const { timed_out, note } = error.response as JsonObject;
  assert.equal(timed_out, true);
  assert.match(JSON.stringify(note), /background/);
});

test('a cancelled call throws the reason', async (t) => {
  const { run } = await tools(t);
  const cancel = new AbortController();
  const context = toolContext({
    signal: cancel.signal,
    progress: () => cancel.abort(new Error('enough')),
  });
  const running = run.run({ command: 'echo begun; sleep 1000' }, context);
  await assert.rejects(Promise.resolve(running), { message: 'enough' });
});

test('a background job is started, listed, read and stopped', async (t) => {
  const { run, jobs } = await tools(t);
  const { response } = await called(run, { command: 'echo up; sleep 1000', background: true });
  assert.equal(response['job'], 'job-1');
  assert.deepEqual(await jobs.run({}, toolContext()), {
    jobs: [{ job: 'job-1', command: 'echo up; sleep 1000', state: 'running' }],
  });
  let output: JsonValue | undefined = '';
  while (output === '') {
    await wait(10);
    output = (await called(jobs, { job: 'job-1' })).response['output'];
  }
  assert.equal(output, 'up\n');
  const { response: stopped } = await called(jobs, { job: 'job-1', stop: true });
  assert.deepEqual(
    [stopped['state'], stopped['signal'], stopped['output']],
    ['ended', 'SIGTERM', ''],
  );
});

test('a job that is not there is named with those that are', async (t) => {
  const { run, jobs } = await tools(t);
  const look = async (): Promise<unknown> => jobs.run({ job: 'job-9' }, toolContext());
  await assert.rejects(look, { message: 'there is no job "job-9"; no job was started' });
  await called(run, { command: 'true', background: true });
  await assert.rejects(look, /the jobs are job-1/);
});

test('the preview is the command and where it runs', async (t) => {
  const { run, root } = await tools(t);
  const command = 'echo a &&\n  echo b';
  assert.deepEqual(await run.preview({ command }, toolContext()), {
    kind: 'execute',
    command,
    workingDirectory: root,
  });
  assert.equal(run.describe({ command }), 'Run echo a && echo b');
});

test('arguments that make no sense are refused', async (t) => {
  const { run } = await tools(t);
  const wrong: JsonObject[] = [
    {},
    { command: '' },
    { command: 'a\0b' },
    { command: 'ls', timeout_ms: 0 },
    { command: 'ls', cwd: '/' },
  ];
  for (const args of wrong) assert.throws(() => run.parse!(args), Error, JSON.stringify(args));
});

test('the model reads the default timeout of the settings', async (t) => {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-run-')));
  await using shell = openShell({ cwd: root });
  t.after(() => rm(root, { recursive: true }));
  const { parameters } = runShellCommandTool({ shell, root, timeoutMs: 300_000 });
  assert.match(JSON.stringify(parameters), /Default: 300000; a background job has no timeout/);
});
