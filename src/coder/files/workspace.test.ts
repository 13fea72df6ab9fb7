import assert from 'node:assert/strict';
import {
  chmod,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeWorkspace } from '../../../test/support/workspace.ts';
import { FileError, type FileErrorCode } from './file-error.ts';
import { protectedName } from './path-rules.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

const LIMIT = 1024 * 1024;

function refused(code: FileErrorCode) {
  return (error: unknown) => error instanceof FileError && error.code === code;
}

async function put(workspace: Workspace, path: string, content: string): Promise<void> {
  const before = await workspace.read(path, LIMIT);
  await workspace.apply([{ path, before, after: Buffer.from(content) }]);
}

async function textOf(workspace: Workspace, path: string): Promise<string | undefined> {
  return (await workspace.read(path, LIMIT))?.bytes.toString();
}

for (const pin of process.platform === 'linux' ? [true, false] : [false]) {
  const how = pin ? 'held by descriptors' : 'without /proc';

  test(`a file is read and written by a relative and by an absolute path, ${how}`, async (t) => {
    const { workspace, at } = await makeWorkspace(t, { 'a.txt': 'one' }, { pin });
    await put(workspace, at('a.txt'), 'two');
    assert.equal(await textOf(workspace, 'a.txt'), 'two');
  });

  test(`folders that are missing are made, ${how}`, async (t) => {
    const { workspace } = await makeWorkspace(t, {}, { pin });
    await put(workspace, 'deep/er/still/a.txt', 'x');
    assert.equal(await textOf(workspace, 'deep/er/still/a.txt'), 'x');
  });

  test(`a link that leads to a file inside is followed and stays a link, ${how}`, async (t) => {
    const { workspace, at } = await makeWorkspace(t, { 'real/a.txt': 'one' }, { pin });
    await symlink('real/a.txt', at('link'));
    await put(workspace, 'link', 'two');
    assert.equal(await readFile(at('real/a.txt'), 'utf8'), 'two');
    assert.equal((await lstat(at('link'))).isSymbolicLink(), true);
  });

  test(`a link that leads out is neither read nor written, ${how}`, async (t) => {
    const { workspace, at, outside } = await makeWorkspace(t, {}, { pin });
    await symlink(join(outside, 'secret.txt'), at('link'));
    await symlink(outside, at('folder'));
    for (const path of ['link', 'folder/secret.txt', 'folder/new.txt']) {
      await assert.rejects(workspace.openFile(path), FileError, path);
      await assert.rejects(put(workspace, path, 'x'), refused('outside'), path);
    }
    assert.deepEqual(await readdir(outside), ['secret.txt']);
  });

  test(`a link that leads nowhere is not written through, ${how}`, async (t) => {
    const { workspace, at, outside } = await makeWorkspace(t, {}, { pin });
    await symlink(join(outside, 'new.txt'), at('link'));
    await symlink(join(outside, 'new'), at('folder'));
    await assert.rejects(put(workspace, 'link', 'x'), refused('not-found'));
    await assert.rejects(put(workspace, 'folder/a.txt', 'x'), FileError);
    await assert.rejects(workspace.checkWritable('folder/deeper/a.txt'), FileError);
    assert.deepEqual(await readdir(outside), ['secret.txt']);
  });

  test(`a link that leads to itself is not called outside, ${how}`, async (t) => {
    const { workspace, at } = await makeWorkspace(t, {}, { pin });
    await symlink('loop', at('loop'));
    for (const path of ['loop', 'loop/a.txt']) {
      await assert.rejects(workspace.openFile(path), refused('wrong-kind'), path);
      await assert.rejects(put(workspace, path, 'x'), refused('wrong-kind'), path);
    }
  });

  test(`changes are made all or not at all, ${how}`, async (t) => {
    const { workspace, at, root } = await makeWorkspace(t, { a: '1', b: '2', gone: '3' }, { pin });
    const [a, b, gone] = await Promise.all(
      ['a', 'b', 'gone'].map((name) => workspace.read(name, LIMIT)),
    );
    await writeFile(at('b'), 'changed by somebody else');
    const changes = [
      { path: 'a', before: a, after: Buffer.from('new') },
      { path: 'made/for/it', before: undefined, after: Buffer.from('new') },
      { path: 'gone', before: gone, after: undefined },
      { path: 'b', before: b, after: Buffer.from('new') },
    ];
    await assert.rejects(workspace.apply(changes), refused('changed'));
    assert.deepEqual((await readdir(root)).toSorted(), ['a', 'b', 'gone']);
    assert.equal(await readFile(at('a'), 'utf8'), '1');
    assert.equal(await readFile(at('b'), 'utf8'), 'changed by somebody else');
  });
}

test('what was written already is put back when a later change cannot be made', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { a: '1', b: '2' });
  await chmod(at('a'), 0o640);
  const a = await workspace.read('a', LIMIT);
  const b = await workspace.read('b', LIMIT);
  // Both names are one file, so the second change finds it changed by the first, after the first was made.
  await assert.rejects(
    workspace.apply([
      { path: 'a', before: a, after: Buffer.from('first') },
      { path: 'b', before: b, after: undefined },
      { path: 'a', before: a, after: Buffer.from('second') },
    ]),
    refused('changed'),
  );
  assert.equal(await readFile(at('a'), 'utf8'), '1');
  assert.equal(await readFile(at('b'), 'utf8'), '2');
  assert.equal((await stat(at('a'))).mode & 0o777, 0o640);
});

test('a file keeps its mode, and can be made one that runs', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'run.sh': 'echo' });
  await chmod(at('run.sh'), 0o750);
  await put(workspace, 'run.sh', 'echo more');
  assert.equal((await stat(at('run.sh'))).mode & 0o777, 0o750);
  await workspace.apply([
    { path: 'new.sh', before: undefined, after: Buffer.from('x'), executable: true },
  ]);
  assert.notEqual((await stat(at('new.sh'))).mode & 0o100, 0);
});

test('writing to a hard link leaves the other name’s content alone', async (t) => {
  const { workspace, at, outside } = await makeWorkspace(t);
  await link(join(outside, 'secret.txt'), at('linked.txt'));
  await put(workspace, 'linked.txt', 'mine');
  assert.notEqual(await readFile(join(outside, 'secret.txt'), 'utf8'), 'mine');
});

test('nothing is left beside a file that was written', async (t) => {
  const { workspace, root } = await makeWorkspace(t, { a: '1' });
  await put(workspace, 'a', '2');
  await put(workspace, 'b', '3');
  assert.deepEqual((await readdir(root)).toSorted(), ['a', 'b']);
});

test('two writers of one file do not tear it, and readers see one or the other', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { a: 'A'.repeat(100_000) });
  const contents = ['A', 'B', 'C'].map((letter) => letter.repeat(100_000));
  const seen = new Set<string>();
  const written = new AbortController();
  const reading = (async () => {
    while (!written.signal.aborted)
      seen.add((await readFile(at('a'), 'utf8')).replaceAll(/(.)\1*/gs, '$1'));
  })();
  const results = await Promise.allSettled(
    Array.from({ length: 60 }, (_, at) => put(workspace, 'a', contents[at % 3] ?? '')),
  );
  written.abort();
  await reading;
  assert.ok(results.some(({ status }) => status === 'fulfilled'));
  for (const content of seen) assert.match(content, /^[ABC]$/);
});

test('who changes a file exclusively loses nothing of what others do', async (t) => {
  const { workspace } = await makeWorkspace(t, { count: '0' });
  await Promise.all(
    Array.from({ length: 30 }, () =>
      workspace.exclusively(['count'], async () => {
        const now = Number(await textOf(workspace, 'count'));
        await put(workspace, 'count', String(now + 1));
      }),
    ),
  );
  assert.equal(await textOf(workspace, 'count'), '30');
});

test('work that fails lets the next one in', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: '' });
  const failing = workspace.exclusively(['a'], () => Promise.reject(new Error('no')));
  const next = workspace.exclusively(['a'], () => Promise.resolve('in'));
  await assert.rejects(failing, /no/);
  assert.equal(await next, 'in');
});

test('a root that is a link is one folder by both of its names', async (t) => {
  const { base, root } = await makeWorkspace(t, { 'a.txt': 'x' });
  await symlink(root, join(base, 'alias'));
  const workspace = await openWorkspace([join(base, 'alias')]);
  assert.deepEqual(workspace.roots, [await realpath(root)]);
  for (const path of ['a.txt', join(base, 'alias', 'a.txt'), join(root, 'a.txt')]) {
    assert.equal(await textOf(workspace, path), 'x', path);
  }
});

test('of several roots each can be reached by absolute paths, the first by relative ones', async (t) => {
  const { base, root } = await makeWorkspace(t, { 'a.txt': 'first' });
  await mkdir(join(base, 'second'));
  await writeFile(join(base, 'second', 'b.txt'), 'second');
  const workspace = await openWorkspace([root, join(base, 'second')]);
  assert.equal(await textOf(workspace, 'a.txt'), 'first');
  assert.equal(await textOf(workspace, join(base, 'second', 'b.txt')), 'second');
  assert.equal(workspace.show(join(base, 'second', 'b.txt')), join(base, 'second', 'b.txt'));
  assert.throws(() => workspace.locate('../outside'), refused('outside'));
});

test('a folder that is renamed away while it is held is worked in all the same, and nothing else is', async (t) => {
  const { workspace, at, outside } = await makeWorkspace(t, { 'folder/a.txt': 'x' });
  await using folder = await workspace.openFolder('folder');
  await rename(at('folder'), at('elsewhere'));
  await symlink(outside, at('folder'));
  assert.deepEqual(await readdir(folder.self).catch(() => ['a.txt']), ['a.txt']);
});

test('.git and the settings can be read and not be written', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    '.git/config': 'x',
    'sub/.git/HEAD': 'x',
    '.parley/settings.json': '{}',
    '.parley/commands/a.md': 'x',
  });
  for (const path of ['.git/config', 'sub/.git/HEAD', '.parley/settings.json']) {
    assert.notEqual(await textOf(workspace, path), undefined, path);
    await assert.rejects(put(workspace, path, 'y'), refused('protected'), path);
    await assert.rejects(workspace.checkWritable(path), refused('protected'), path);
  }
  await put(workspace, '.parley/commands/a.md', 'y');
});

test('what .git and the settings lead to cannot be written by its other name', async (t) => {
  const { workspace, at } = await makeWorkspace(t, {
    'conf/settings.json': '{}',
    'repository/config': 'x',
    'hooks-by-link': 'x',
  });
  await symlink('conf', at('.parley'));
  await symlink('repository', at('.git'));
  await symlink('repository', at('innocent'));
  for (const path of ['conf/settings.json', 'repository/config', 'innocent/hooks/pre-commit']) {
    await assert.rejects(put(workspace, path, 'y'), refused('protected'), path);
  }
});

test('names that are .git to some file system are .git to us', () => {
  for (const name of [
    '.git',
    '.GIT',
    '.Git.',
    '.git ',
    '.git. .',
    '.g\u200cit',
    'GIT~1',
    '.git::$INDEX_ALLOCATION',
    '．ｇｉｔ',
  ]) {
    assert.notEqual(protectedName(`a/${name}/hooks/x`), undefined, name);
  }
  for (const name of ['.gitignore', '.github', 'git', '.git-blame-ignore-revs', 'a.git']) {
    assert.equal(protectedName(`a/${name}`), undefined, name);
  }
  assert.notEqual(protectedName('.Parley/Settings.JSON'), undefined);
  assert.notEqual(protectedName('.parley/\u017fettings.json'), undefined);
  assert.equal(protectedName('.parley/commands/a.md'), undefined);
});

test('a workspace that is no folder, or is not there, is refused', async (t) => {
  const { at } = await makeWorkspace(t, { 'a.txt': '' });
  await assert.rejects(openWorkspace([at('a.txt')]), refused('wrong-kind'));
  await assert.rejects(openWorkspace([at('nothing')]), refused('not-found'));
  await assert.rejects(openWorkspace([]), refused('bad-path'));
});

test('a file that is too large is not loaded', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x'.repeat(100) });
  await assert.rejects(workspace.read('a', 99), refused('too-large'));
});

test('errors do not show how a file was reached', async (t) => {
  const { workspace } = await makeWorkspace(t, { file: '' });
  await assert.rejects(put(workspace, 'file/below', 'x'), (error: Error) => {
    assert.doesNotMatch(error.message, /proc/);
    return true;
  });
});
