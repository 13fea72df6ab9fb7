import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { openSandbox } from './sandbox.ts';
import { SandboxUnavailable } from './sandbox-unavailable.ts';
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

/** A workspace with a sandbox, and a function that runs a command in it. */
async function sandboxed(t: TestContext, files: Record<string, string> = {}, own?: string) {
  const workspace = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-sandbox-')));
  t.after(() => rm(workspace, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(workspace, name)), { recursive: true });
    await writeFile(path.join(workspace, name), content);
  }
  const sandbox = await openSandbox(workspace, own === undefined ? [] : [own]);
  const shell = openShell({ cwd: workspace, sandbox });
  t.after(() => shell.close());
  return { workspace, run: (command: string) => shell.run(command, { signal: never }) };
}

const REPOSITORY = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.git/config': '[core]\n\trepositoryformatversion = 0\n\tbare = false\n',
  '.git/objects/info/x': '',
  '.git/refs/heads/x': '',
};

test(
  'no command in the sandbox plants a program that runs outside later',
  { skip: none },
  async (t) => {
    const { workspace, run } = await sandboxed(t, {
      ...REPOSITORY,
      '.git/config': `${REPOSITORY['.git/config']}\thooksPath = hooks\n[include]\n\tpath = ../team.config\n`,
      'hooks/pre-commit': 'true',
      'team.config': '',
      '.parley/settings.json': '{}',
      'module/.git': 'gitdir: ../stored\n',
      'stored/config': '',
      'deep/er/nested/.git/config': '',
      'deep/.parley/settings.json': '{}',
    });
    const protectedFiles = [
      '.git/config',
      '.git/hooks/post-checkout',
      '.parley/settings.json',
      '.parley/commands/x.md',
      'hooks/pre-commit',
      'team.config',
      'module/.git',
      'stored/config',
      'deep/er/nested/.git/config',
      'deep/.parley/settings.json',
    ];
    const listed = () => new Set(readdirSync(workspace, { recursive: true, encoding: 'utf8' }));
    const before = listed();
    for (const file of protectedFiles) {
      const { code } = await run(
        `mkdir -p "$(dirname ${file})"; echo evil >> ${file} || rm ${file} || mv ${file} /tmp/other`,
      );
      assert.notEqual(code, 0, file);
    }
    for (const command of [
      'mv .git /tmp/old',
      'rm -rf .git',
      'rmdir .parley',
      'mv hooks /tmp/other',
    ]) {
      assert.notEqual((await run(command)).code, 0, command);
    }
    assert.deepEqual(listed(), before);
    assert.equal((await run('echo new > file && mkdir src && rm file')).code, 0);
    const status = await run('git status --short && git log; git config core.fsmonitor ./evil');
    assert.match(status.output, /\?\? module|\?\? deep/);
    assert.notEqual(status.code, 0);
  },
);

test(
  'no command in the sandbox replaces a folder that contains hooks or the repository of a worktree',
  { skip: none },
  async (t) => {
    const { workspace, run } = await sandboxed(t, {
      ...REPOSITORY,
      '.git/config': `${REPOSITORY['.git/config']}\thooksPath = tools/git/hooks\n`,
      'tools/git/hooks/pre-commit': 'true',
      'tree/.git': 'gitdir: ../store/repository/worktrees/tree\n',
      'store/repository/config': '',
      'store/repository/worktrees/tree/commondir': '../..\n',
    });
    for (const folder of ['tools', 'tools/git', 'store']) {
      assert.notEqual((await run(`mv ${folder} other`)).code, 0, folder);
    }
    const { code } = await run('echo evil >> store/repository/config');
    assert.notEqual(code, 0);
    assert.equal((await run('echo new > tools/git/file && mv tools/git/file tools/')).code, 0);
    assert.equal(await readFile(path.join(workspace, 'tools/file'), 'utf8'), 'new\n');
  },
);

test(
  'what is missing cannot be created in the sandbox either, and leaves no trace',
  { skip: none },
  async (t) => {
    const { workspace, run } = await sandboxed(t, { 'a.txt': '' });
    for (const command of [
      'mkdir .parley && echo {} > .parley/settings.json',
      'echo {} > .parley/settings.json',
      'rmdir .parley; mkdir .parley2 && mv .parley2 .parley/x',
      'ln -s /tmp .parley/x',
      'git init',
      'git init --bare .; test -f HEAD',
    ]) {
      assert.notEqual((await run(command)).code, 0, command);
    }
    // The first of two commands at once does not take the protection of the second away.
    const second = run('until test -e go; do sleep 0.01; done; echo {} > .parley/settings.json');
    await run('true');
    await writeFile(path.join(workspace, 'go'), '');
    assert.notEqual((await second).code, 0);
    for (const name of ['.git', '.parley', 'HEAD']) {
      assert.equal(existsSync(path.join(workspace, name)), false, name);
    }
  },
);

test(
  'a command in the sandbox sees no process and no file with secrets of Parley',
  { skip: none },
  async (t) => {
    const own = await mkdtemp(path.join(homedir(), '.parley-sandbox-own-'));
    t.after(() => rm(own, { recursive: true }));
    await writeFile(path.join(own, 'secret.key'), 'hidden');
    process.env['GEMINI_API_KEY'] = 'hidden';
    t.after(() => delete process.env['GEMINI_API_KEY']);
    const { run } = await sandboxed(t, {}, own);
    const { output } = await run(`cat ${own}/secret.key; ls -A ${own}; ls -d /proc/[0-9]* | wc -l`);
    assert.doesNotMatch(output, /hidden/);
    assert.ok(Number(/^(\d+)\s*$/m.exec(output)?.[1]) < 10, output);
    const environments = await run('cat /proc/[0-9]*/environ | tr "\\0" "\\n"');
    assert.match(environments.output, /^PARLEY_COMMAND=/m);
    assert.doesNotMatch(environments.output, /^GEMINI_API_KEY=/m);
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
    assert.match(
      String(none),
      /turn off the sandbox \(--sandbox, or "sandbox" in settings\.json\)$/,
    );
  },
);
