// Attempts to get out of the workspace, each with every tool that takes a path. Whatever a tool answers, nothing of
// what is outside may be in it, and nothing outside may be changed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { call, makeWorkspace, SECRET, type TestWorkspace } from '../../test/support/workspace.ts';
import { FileError } from './files/file-error.ts';
import type { CoderTool } from './tools/tool.ts';
import { applyPatchTool } from './tools/apply-patch.ts';
import { editTool } from './tools/edit.ts';
import { globTool } from './tools/glob.ts';
import { listDirectoryTool } from './tools/list-directory.ts';
import { readFileTool } from './tools/read-file.ts';
import { searchTool } from './tools/search.ts';
import { writeFileTool } from './tools/write-file.ts';
import type { Workspace } from './files/workspace.ts';

const posix = { skip: process.platform === 'win32' };
const linux = { skip: process.platform !== 'linux' };

/** Each tool with the arguments that would do harm at a path. */
function attacks(workspace: Workspace): Record<string, (path: string) => Promise<string>> {
  const using = (tool: CoderTool, args: (path: string) => Record<string, string>) => {
    return (path: string) => call(tool, args(path));
  };
  const patch = applyPatchTool(workspace);
  const begin = (body: string) => ({ patch: `*** Begin Patch\n${body}\n*** End Patch` });
  return {
    read_file: using(readFileTool(workspace), (path) => ({ path })),
    write_file: using(writeFileTool(workspace), (path) => ({ path, content: 'harm' })),
    edit: using(editTool(workspace), (path) => ({ path, old: 'secret', new: 'harm' })),
    'apply_patch (add)': using(patch, (path) => begin(`*** Add File: ${path}\n+harm`)),
    'apply_patch (update)': using(patch, (path) => {
      return begin(`*** Update File: ${path}\n-${SECRET}\n+harm`);
    }),
    'apply_patch (delete)': using(patch, (path) => begin(`*** Delete File: ${path}`)),
    'apply_patch (move)': using(patch, (path) => {
      return begin(`*** Update File: victim.txt\n*** Move to: ${path}`);
    }),
    'apply_patch (diff)': using(patch, (path) => ({
      patch: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-${SECRET}\n+harm\n`,
    })),
    list_directory: using(listDirectoryTool(workspace), (path) => ({ path })),
    glob: using(globTool(workspace), (path) => ({ pattern: '*', path })),
    search: using(searchTool(workspace), (path) => ({ pattern: '.', path })),
  };
}

/** Something outside that no answer may have in it. */
const TRACES = new RegExp(`${SECRET}|root:x?:0`);

/** Tries every tool at the path: each refuses, or does something harmless inside. */
async function tryAll(place: TestWorkspace, path: string, outcome: 'refused' | 'harmless') {
  for (const [name, attack] of Object.entries(attacks(place.workspace))) {
    await writeFile(place.at('victim.txt'), 'victim');
    let answer: string;
    try {
      answer = await attack(path);
    } catch (error) {
      assert.ok(error instanceof FileError, `${name} at ${path}: ${String(error)}`);
      continue;
    }
    assert.equal(outcome, 'harmless', `${name} at ${path} answered ${answer.slice(0, 200)}`);
    assert.doesNotMatch(answer.replaceAll(path, ''), TRACES, `${name} at ${path}`);
  }
  assert.deepEqual(await readdir(place.outside), ['secret.txt']);
  assert.equal(await readFile(join(place.outside, 'secret.txt'), 'utf8'), `${SECRET}\n`);
  assert.deepEqual((await readdir(place.base)).toSorted(), ['outside', 'root']);
}

const REFUSED_PATHS: Readonly<Record<string, (place: TestWorkspace) => string>> = {
  'a parent': () => '../outside/secret.txt',
  'a parent that is a folder': () => '../outside',
  'the parent itself': () => '..',
  'the parent with a slash': () => '../',
  'a parent behind a dot': () => './../outside/secret.txt',
  'a parent behind a folder': () => 'sub/../../outside/secret.txt',
  'a parent behind folders that are not there': () => 'x/y/../../../outside/secret.txt',
  'many parents': () => `${'../'.repeat(40)}etc/passwd`,
  'doubled slashes': () => '..//outside//secret.txt',
  'an absolute path outside': ({ outside }) => join(outside, 'secret.txt'),
  'an absolute path with parents in it': ({ root }) => `${root}/../outside/secret.txt`,
  'a sibling whose name begins like the root’s': ({ root }) => `${root}-not/secret.txt`,
  'the root of the system': () => '/',
  'the users of the system': () => '/etc/passwd',
  'an absolute path with two slashes': () => '//etc/passwd',
  'the process’s root': () => '/proc/self/root/etc/passwd',
  'the process’s working folder': () => '/proc/self/cwd',
  'the process’s environment': () => '/proc/self/environ',
  'a descriptor of the process': () => '/proc/self/fd/1',
  'another process’s root': () => `/proc/${process.pid}/root/etc/passwd`,
  'the thread’s root': () => '/proc/thread-self/root/etc/passwd',
  'an endless device': () => '/dev/zero',
  'the terminal': () => '/dev/tty',
  'standard input': () => '/dev/stdin',
  'a descriptor by its device': () => '/dev/fd/0',
  'the memory': () => '/proc/self/mem',
  'a NUL': () => 'sub/a.txt\0.png',
  'a NUL and a parent': () => '../outside/secret.txt\0',
  'a line feed': () => 'sub\n/../../outside/secret.txt',
  'a carriage return': () => 'sub/\ra.txt',
  'an escape character': () => '\u001b[2Jsub/a.txt',
  'text that turns around': () => 'sub/\u202etxt.a',
  'half a character': () => 'sub/\ud800',
  'no path': () => '',
  'a path that is too long': () => 'a/'.repeat(3000),
  'a name that is too long': () => 'a'.repeat(300),
  'a name that is too long in bytes': () => 'é'.repeat(200),
  'the home folder': () => '~/.ssh/id_rsa',
  'the home folder itself': () => '~',
  'a URL': ({ outside }) => `file://${outside}/secret.txt`,
  'a URL of the web': () => 'https://example.com/etc/passwd',
};

for (const [name, pathOf] of Object.entries(REFUSED_PATHS)) {
  test(`${name} is refused by every tool`, posix, async (t) => {
    const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
    await tryAll(place, pathOf(place), 'refused');
  });
}

const HARMLESS_PATHS: Readonly<Record<string, string>> = {
  'an encoded parent': '%2e%2e/outside/secret.txt',
  'an encoded slash': '..%2foutside%2fsecret.txt',
  'a twice encoded parent': '%252e%252e/outside/secret.txt',
  'an overlong encoding': '..%c0%afoutside%c0%afsecret.txt',
  'three dots': '.../outside/secret.txt',
  'a parent with blanks': '.. /outside/secret.txt',
  'wide dots': '\uff0e\uff0e/outside/secret.txt',
  'a leader for two dots': '\u2025/outside/secret.txt',
  'a slash of another kind': '..\u2215outside\u2215secret.txt',
  'a fraction’s slash': '..\u2044outside\u2044secret.txt',
  'dots with nothing visible between them': '.\u200b./outside/secret.txt',
  backslashes: '..\\outside\\secret.txt',
  'a shell’s variable': '$HOME/../outside/secret.txt',
  'a shell’s command': '$(cat ../outside/secret.txt)',
  'a pattern': '../root/../root/*/../outside/sec*',
  'an option': '--files',
  'a parent behind a link that leads out': 'out/../outside/secret.txt',
};

for (const [name, path] of Object.entries(HARMLESS_PATHS)) {
  test(`${name} means nothing outside, whatever the tool`, posix, async (t) => {
    const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
    await symlink(place.outside, place.at('out'));
    await tryAll(place, path, 'harmless');
  });
}

const LINKS: Readonly<Record<string, (place: TestWorkspace) => Promise<string>>> = {
  async 'a link to a file outside'({ at, outside }) {
    await symlink(join(outside, 'secret.txt'), at('link'));
    return 'link';
  },
  async 'a link to a folder outside'({ at, outside }) {
    await symlink(outside, at('link'));
    return 'link';
  },
  async 'a file behind a link to a folder outside'({ at, outside }) {
    await symlink(outside, at('link'));
    return 'link/secret.txt';
  },
  async 'a new file behind a link to a folder outside'({ at, outside }) {
    await symlink(outside, at('link'));
    return 'link/deep/new.txt';
  },
  async 'a relative link out'({ at }) {
    await symlink('../outside/secret.txt', at('link'));
    return 'link';
  },
  async 'a link to a link that leads out'({ at, outside }) {
    await symlink(join(outside, 'secret.txt'), at('first'));
    await symlink('first', at('second'));
    await symlink('second', at('third'));
    return 'third';
  },
  async 'a link out by way of a folder’s link'({ at, outside }) {
    await symlink(outside, at('sub/way'));
    await symlink('sub/way/secret.txt', at('link'));
    return 'link';
  },
  async 'a link to the parent'({ at }) {
    await symlink('..', at('up'));
    return 'up/outside/secret.txt';
  },
  async 'a link to the system’s root'({ at, outside }) {
    await symlink('/', at('all'));
    return `all${outside}/secret.txt`;
  },
  async 'a link that leads to nothing outside'({ at, outside }) {
    await symlink(join(outside, 'new.txt'), at('link'));
    return 'link';
  },
  async 'a link to itself'({ at }) {
    await symlink('link', at('link'));
    return 'link';
  },
  async 'a pipe'({ at }) {
    assert.equal(spawnSync('mkfifo', [at('pipe')]).status, 0);
    return 'pipe';
  },
  async 'a link to a pipe'({ at }) {
    assert.equal(spawnSync('mkfifo', [at('pipe')]).status, 0);
    await symlink('pipe', at('link'));
    return 'link';
  },
  async 'a link to an endless device'({ at }) {
    await symlink('/dev/zero', at('link'));
    return 'link';
  },
  async 'a folder outside that was mounted by name only'({ at, outside }) {
    await mkdir(at('mnt'));
    await symlink(outside, at('mnt/point'));
    return 'mnt/point/secret.txt';
  },
  async 'a folder that was replaced by a link after the workspace was opened'({ at, outside }) {
    await rename(at('sub'), at('was'));
    await symlink(outside, at('sub'));
    return 'sub/secret.txt';
  },
};

for (const [name, make] of Object.entries(LINKS)) {
  test(`${name} is refused by every tool`, posix, async (t) => {
    const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
    await tryAll(place, await make(place), 'refused');
  });
}

for (const target of ['/proc/self/root', '/proc/self/cwd/..', '/proc/self/fd', '/dev/fd', '/sys']) {
  test(`a link to ${target} is refused by every tool`, linux, async (t) => {
    const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
    await symlink(target, place.at('link'));
    await tryAll(place, 'link', 'refused');
    await tryAll(place, `link${join(place.outside, 'secret.txt')}`, 'refused');
  });
}

test('a socket is refused by every tool', posix, async (t) => {
  const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
  const server = createServer().listen(place.at('socket'));
  await once(server, 'listening');
  t.after(() => server.close());
  await tryAll(place, 'socket', 'refused');
});

test('the kernel’s files are refused even where the workspace is everything', linux, async () => {
  const { openWorkspace } = await import('./files/workspace.ts');
  const read = readFileTool(await openWorkspace(['/']));
  for (const path of ['/proc/self/environ', '/proc/self/root/proc/self/environ', '/dev/zero']) {
    await assert.rejects(call(read, { path }), FileError, path);
  }
});

test(
  'what is linked from the workspace is not found by glob and search from its root',
  posix,
  async (t) => {
    const { workspace, at, outside } = await makeWorkspace(t, { 'a.txt': SECRET });
    await symlink(outside, at('link'));
    await symlink(join(outside, 'secret.txt'), at('link.txt'));
    assert.equal(await call(globTool(workspace), { pattern: '**' }), 'a.txt');
    assert.equal(
      await call(globTool(workspace), { pattern: '../outside/*' }),
      '[no file in . matches ../outside/*]',
    );
    assert.equal(await call(searchTool(workspace), { pattern: SECRET }), `a.txt:1: ${SECRET}`);
  },
);

test('a pattern that looks like an option is a pattern', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': '--pre=cat\n' });
  assert.equal(await call(searchTool(workspace), { pattern: '--pre=cat' }), 'a.txt:1: --pre=cat');
  const answer = await call(searchTool(workspace), { pattern: 'x', include: '--pre=cat' });
  assert.equal(answer, '[no line matches x]');
});

/** Swaps `sub` between a folder and a link that leads out, as fast as it can, until the work is done. */
async function whileSwapping(place: TestWorkspace, work: () => Promise<void>): Promise<number> {
  await mkdir(place.at('inside'));
  await writeFile(place.at('inside/secret.txt'), 'inside secret\n');
  await rm(place.at('sub'), { recursive: true, force: true });
  const done = new AbortController();
  let swaps = 0;
  const swapping = (async () => {
    while (!done.signal.aborted) {
      await symlink(swaps % 2 === 0 ? place.outside : 'inside', place.at('next'));
      await rename(place.at('next'), place.at('sub'));
      swaps += 1;
    }
  })();
  try {
    await work();
  } finally {
    done.abort();
    await swapping;
  }
  return swaps;
}

const ROUNDS = 50;

async function race(t: TestContext, names: readonly string[]): Promise<void> {
  const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
  const all = attacks(place.workspace);
  const swaps = await whileSwapping(place, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of names) {
        const path = name === 'list_directory' ? 'sub' : 'sub/secret.txt';
        const answer = await all[name]?.(path).catch((error: unknown) => {
          assert.ok(error instanceof FileError, `${name}: ${String(error)}`);
          return '';
        });
        assert.doesNotMatch(answer ?? '', new RegExp(SECRET), name);
      }
    }
  });
  assert.ok(swaps > 10, 'there was a race');
  assert.deepEqual(await readdir(place.outside), ['secret.txt']);
  assert.equal(await readFile(join(place.outside, 'secret.txt'), 'utf8'), `${SECRET}\n`);
}

test('a link that is swapped under a reader never shows what is outside', linux, (t) =>
  race(t, ['read_file', 'list_directory']),
);

test('a link that is swapped under a writer never changes what is outside', linux, (t) =>
  race(t, ['write_file', 'edit', 'apply_patch (update)']),
);

test('a folder that is swapped under a search never shows what is outside', linux, async (t) => {
  const place = await makeWorkspace(t, { 'sub/a.txt': 'a' });
  const search = searchTool(place.workspace);
  const glob = globTool(place.workspace);
  await writeFile(join(place.outside, 'only-outside.txt'), 'x');
  const done = new AbortController();
  await rename(place.at('sub'), place.at('real'));
  // Neither is ever a link by the time ripgrep has read the folder's names: it goes into what was a folder.
  const swapping = (async () => {
    while (!done.signal.aborted) {
      await mkdir(place.at('sub'));
      await rm(place.at('sub'), { recursive: true });
      await symlink(place.outside, place.at('sub'));
      await unlink(place.at('sub'));
    }
  })();
  for (let round = 0; round < 25; round += 1) {
    assert.doesNotMatch(await call(search, { pattern: 'secret' }), new RegExp(SECRET));
    assert.doesNotMatch(await call(glob, { pattern: '**' }), /only-outside/);
  }
  done.abort();
  await swapping;
});
