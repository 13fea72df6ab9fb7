import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { openSandbox, SandboxUnavailable } from './sandbox.ts';
import { openShell } from './shell.ts';

const never = new AbortController().signal;

async function reasonForNone(): Promise<string | false> {
  try {
    await openSandbox(tmpdir());
    return false;
  } catch (error) {
    assert.ok(error instanceof SandboxUnavailable);
    return error.message;
  }
}

const none = await reasonForNone();

test(
  'in the sandbox only the workspace can be written, and there is no network',
  { skip: none },
  async (t) => {
    const workspace = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-sandbox-')));
    const server = createServer((_request, response) => response.end('reached')).listen(
      0,
      '127.0.0.1',
    );
    t.after(async () => {
      server.close();
      await rm(workspace, { recursive: true });
    });
    await using shell = openShell({ cwd: workspace, sandbox: await openSandbox(workspace) });
    const outside = path.join(homedir(), `parley-sandbox-${process.pid}`);
    const { port } = server.address() as AddressInfo;
    const { output, code } = await shell.run(
      `echo in > file; touch ${outside} || echo refused; (: < /dev/tcp/127.0.0.1/${port}) || echo alone; exit 7`,
      { signal: never },
    );
    assert.equal(code, 7);
    assert.match(output, /^refused$/m);
    assert.match(output, /^alone$/m);
    assert.equal(await readFile(path.join(workspace, 'file'), 'utf8'), 'in\n');
    assert.equal(existsSync(outside), false);
  },
);

test('a cancelled command in the sandbox is ended', { skip: none }, async (t) => {
  const workspace = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-sandbox-')));
  t.after(() => rm(workspace, { recursive: true }));
  await using shell = openShell({ cwd: workspace, sandbox: await openSandbox(workspace) });
  const cancel = new AbortController();
  const running = shell.run('echo begun; exec sleep 1000', {
    signal: cancel.signal,
    onOutput: () => cancel.abort(new Error('enough')),
  });
  await assert.rejects(running, { message: 'enough' });
});

test(
  'where there is no sandbox, one line says what to do',
  { skip: none === false && 'there is one' },
  () => {
    assert.match(String(none), /remove --sandbox$/);
  },
);
