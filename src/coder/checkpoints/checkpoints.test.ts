import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { CheckpointError, MAX_FILE_BYTES, openCheckpoints } from './checkpoints.ts';

async function folders(t: TestContext) {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-checkpoints-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  const workspace = path.join(root, 'workspace');
  const dataFolder = path.join(root, 'data');
  await mkdir(workspace);
  await mkdir(dataFolder);
  return { root, workspace, dataFolder };
}

async function opened(t: TestContext, options: { keep?: number; keepDays?: number } = {}) {
  const places = await folders(t);
  const checkpoints = await openCheckpoints({ ...places, ...options });
  t.after(() => checkpoints.close());
  const at = (name: string) => path.join(places.workspace, name);
  const put = async (name: string, content: string | Buffer) => {
    await mkdir(path.dirname(at(name)), { recursive: true });
    await writeFile(at(name), content);
  };
  return { ...places, checkpoints, at, put };
}

/** Every file of a folder with its content, links as they are, .git aside. */
function filesOf(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of globSync('**', { cwd: folder, exclude: ['.git'] }).toSorted()) {
    const where = path.join(folder, name);
    const stats = lstatSync(where);
    if (stats.isSymbolicLink()) files[name] = `-> ${readlinkSync(where)}`;
    else if (stats.isFile()) {
      files[name] = `${(stats.mode & 0o100) !== 0 ? 'x ' : ''}${readFileSync(where, 'latin1')}`;
    }
  }
  return files;
}

test('files are made what they were: changed, added, removed, renamed, executable and linked ones', async (t) => {
  const { checkpoints, workspace, at, put } = await opened(t);
  await put('changed.txt', 'one\r\n');
  await put('deep/er/removed.txt', 'two');
  await put('bytes.bin', Buffer.from([0, 255, 13, 10, 0]));
  await put('script.sh', '#!/bin/sh');
  await chmod(at('script.sh'), 0o755);
  await symlink('changed.txt', at('link'));
  const before = filesOf(workspace);
  const { id } = await checkpoints.take('edit changed.txt', { event: 'e1' });

  await put('changed.txt', 'other');
  await rm(at('deep'), { recursive: true });
  await put('deep', 'a file where a folder was');
  await put('new/file.txt', 'new');
  await put('bytes.bin', '');
  await chmod(at('script.sh'), 0o644);
  await rm(at('link'));
  await put('link', 'a file where a link was');
  const after = filesOf(workspace);

  const restored = await checkpoints.restore(id);
  assert.deepEqual(filesOf(workspace), before);
  assert.deepEqual(restored.removed.toSorted(), ['deep', 'new/file.txt']);
  assert.deepEqual(restored.blocked, []);
  assert.throws(() => lstatSync(at('new')), { code: 'ENOENT' });

  await checkpoints.restore(restored.before.id);
  assert.deepEqual(filesOf(workspace), after);
});

test('any two states of a folder can be gone between', async (t) => {
  const { checkpoints, workspace, put } = await opened(t);
  const name = fc.constantFrom('a', 'b', 'a/x', 'a/y', 'c/d/e', 'c/d', '.gitattributes', 'ü ✓\n"');
  const content = fc.constantFrom('', 'text\n', 'crlf\r\n', '* text=auto eol=crlf\n', '$Id$');
  const state = fc.dictionary(name, content, { maxKeys: 5 });
  const enter = async (files: Record<string, string>) => {
    for (const entry of globSync('*', { cwd: workspace, exclude: [] })) {
      await rm(path.join(workspace, entry), { recursive: true });
    }
    await rm(path.join(workspace, '.gitattributes'), { force: true });
    const names = Object.keys(files);
    for (const [file, text] of Object.entries(files)) {
      if (!names.some((other) => other.startsWith(`${file}/`))) await put(file, text);
    }
    return filesOf(workspace);
  };
  await fc.assert(
    fc.asyncProperty(state, state, async (first, second) => {
      const then = await enter(first);
      const { id } = await checkpoints.take('then');
      await enter(second);
      await checkpoints.restore(id);
      assert.deepEqual(filesOf(workspace), then);
    }),
    { numRuns: process.env['PARLEY_TEST_LONG'] ? 300 : 12 },
  );
});

test('ignored files are left alone, also those that only the rules of then ignored', async (t) => {
  const { checkpoints, at, put } = await opened(t);
  await put('.gitignore', '.env\nbuild/\n');
  await put('.env', 'secret');
  await put('build/out.js', 'old');
  await put('node_modules/x/index.js', 'x');
  await put('a.txt', 'a');
  const { id } = await checkpoints.take('then');
  await put('.gitignore', '');
  await put('build/out.js', 'new');
  await put('build/more.js', 'more');
  await checkpoints.take('now nothing is ignored');
  await checkpoints.restore(id);
  assert.equal(await readFile(at('.env'), 'utf8'), 'secret');
  assert.equal(await readFile(at('build/out.js'), 'utf8'), 'new');
  assert.equal(await readFile(at('build/more.js'), 'utf8'), 'more');
  assert.equal(await readFile(at('node_modules/x/index.js'), 'utf8'), 'x');
  assert.equal(await readFile(at('.gitignore'), 'utf8'), '.env\nbuild/\n');
});

test('what is written over can be brought back, though it is ignored by now', async (t) => {
  const { checkpoints, at, put } = await opened(t);
  await put('config.json', 'then');
  const { id } = await checkpoints.take('then');
  await put('.gitignore', 'config.json\n');
  await put('config.json', 'now');
  await checkpoints.take('ignored');
  const { before } = await checkpoints.restore(id);
  assert.equal(await readFile(at('config.json'), 'utf8'), 'then');
  await checkpoints.restore(before.id);
  assert.equal(await readFile(at('config.json'), 'utf8'), 'now');
});

test("the workspace's own repository is neither read nor written", async (t) => {
  const { checkpoints, workspace, at, put } = await opened(t);
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: workspace, encoding: 'utf8' });
  git('init', '--quiet');
  await put('a.txt', 'a');
  git('add', 'a.txt');
  await put('b.txt', 'b');
  const state = () => [git('status', '--porcelain'), filesOf(at('.git'))];
  const before = state();
  const { id, skipped } = await checkpoints.take('then');
  await put('c.txt', 'c');
  await checkpoints.restore(id);
  assert.deepEqual(state(), before);
  assert.deepEqual(skipped, []);
});

test('nothing in the workspace or the environment makes git run a program', async (t) => {
  const { root, checkpoints, workspace, put } = await opened(t);
  const ran = path.join(root, 'ran');
  const program = `touch ${ran}; cat`;
  const config = `[filter "evil"]\n\tclean = ${program}\n\tsmudge = ${program}\n[core]\n\tfsmonitor = ${program}\n\thooksPath = ${workspace}/hooks\n[include]\n\tpath = ${workspace}/gitconfig\n`;
  await put('gitconfig', config);
  await put('.gitconfig', config);
  await put('.gitattributes', '* filter=evil ident text=auto eol=crlf\n');
  for (const hook of [
    'post-index-change',
    'reference-transaction',
    'post-checkout',
    'pre-auto-gc',
  ]) {
    await put(`hooks/${hook}`, `#!/bin/sh\ntouch ${ran}\n`);
    await chmod(path.join(workspace, 'hooks', hook), 0o755);
  }
  await put('git', `#!/bin/sh\ntouch ${ran}\n`);
  await chmod(path.join(workspace, 'git'), 0o755);
  const old = { ...process.env };
  t.after(() => {
    process.env = old;
  });
  process.env = {
    ...old,
    PATH: `.${path.delimiter}${old['PATH']}`,
    HOME: workspace,
    GIT_CONFIG_GLOBAL: path.join(workspace, 'gitconfig'),
    GIT_EXTERNAL_DIFF: program,
    GIT_INDEX_FILE: path.join(root, 'elsewhere'),
  };
  const { id } = await checkpoints.take('then');
  await put('new.txt', 'new');
  await checkpoints.restore(id);
  assert.throws(() => lstatSync(ran), { code: 'ENOENT' });
  assert.throws(() => lstatSync(path.join(root, 'elsewhere')), { code: 'ENOENT' });
});

test('a file that is too large is said to be left out, and is not touched', async (t) => {
  const { checkpoints, at, put } = await opened(t);
  await put('large.bin', '');
  await truncate(at('large.bin'), MAX_FILE_BYTES + 1);
  await put('grows.bin', 'small');
  const { id, skipped } = await checkpoints.take('then');
  assert.deepEqual(skipped, ['large.bin']);
  await put('large.bin', 'small by now');
  await truncate(at('grows.bin'), MAX_FILE_BYTES + 1);
  const { blocked } = await checkpoints.restore(id);
  assert.equal(await readFile(at('large.bin'), 'utf8'), 'small by now');
  assert.deepEqual(blocked, ['grows.bin']);
  assert.equal(lstatSync(at('grows.bin')).size, MAX_FILE_BYTES + 1);
});

test('repositories inside the workspace are left out, with and without commits', async (t) => {
  const { checkpoints, workspace, at, put } = await opened(t);
  await put('a.txt', 'a');
  execFileSync('git', ['init', '--quiet', 'nested'], { cwd: workspace });
  await put('nested/file.txt', 'nested');
  const { id, skipped } = await checkpoints.take('then');
  assert.deepEqual(skipped, ['nested/']);
  await rm(at('nested/.git'), { recursive: true });
  await put('nested/file.txt', 'changed');
  await checkpoints.restore(id);
  assert.equal(await readFile(at('nested/file.txt'), 'utf8'), 'changed');
});

test('nothing is written or removed through a link', async (t) => {
  const { root, checkpoints, at, put } = await opened(t);
  const outside = path.join(root, 'outside');
  await mkdir(outside);
  await put('folder/a.txt', 'a');
  const { id } = await checkpoints.take('then');
  await put('folder/b.txt', 'b');
  await checkpoints.take('more');
  await writeFile(path.join(outside, 'b.txt'), 'outside');
  await rm(at('folder'), { recursive: true });
  await symlink(outside, at('folder'));
  await checkpoints.restore(id);
  assert.deepEqual(filesOf(outside), { 'b.txt': 'outside' });
  assert.equal(await readFile(at('folder/a.txt'), 'utf8'), 'a');
});

test('a folder with ignored files in it is not replaced by a file', async (t) => {
  const { checkpoints, at, put } = await opened(t);
  await put('.gitignore', '*.log\n');
  await put('thing', 'a file');
  const { id } = await checkpoints.take('then');
  await rm(at('thing'));
  await put('thing/kept.log', 'log');
  const { blocked } = await checkpoints.restore(id);
  assert.deepEqual(blocked, ['thing']);
  assert.equal(await readFile(at('thing/kept.log'), 'utf8'), 'log');
});

test('the list has the latest first, with what was noted, and another opening sees it', async (t) => {
  const { checkpoints, workspace, dataFolder, put } = await opened(t);
  await put('a.txt', 'a');
  const first = await checkpoints.take('one "quoted"\nline', { session: 's', event: [1, null] });
  const second = await checkpoints.take('two');
  const again = await openCheckpoints({ workspace, dataFolder });
  assert.deepEqual(await again.list(), [second, first]);
  await again.close();
  await assert.rejects(checkpoints.restore('nope'), { name: 'CheckpointError', code: 'not-found' });
  await assert.rejects(checkpoints.take('x', { large: 'x'.repeat(100_000) }), TypeError);
});

test('a checkpoint whose note is damaged is left out, and the others can still be used', async (t) => {
  const { checkpoints, dataFolder, at, put } = await opened(t);
  await put('a.txt', 'a');
  const first = await checkpoints.take('one');
  const [head] = globSync('**/HEAD', { cwd: dataFolder });
  const git = (...args: string[]) =>
    execFileSync('git', ['--git-dir', path.join(dataFolder, path.dirname(head!)), ...args], {
      encoding: 'utf8',
      env: {
        ...process.env,
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a',
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a',
      },
    }).trim();
  const tree = `refs/checkpoints/${first.id}^{tree}`;
  git('update-ref', 'refs/checkpoints/damaged', git('commit-tree', tree, '-m', 'no JSON'));
  assert.deepEqual(await checkpoints.list(), [first]);
  await put('a.txt', 'changed');
  await checkpoints.restore(first.id);
  assert.equal(await readFile(at('a.txt'), 'utf8'), 'a');
});

test('calls at the same time, from two openings too, are all kept in order', async (t) => {
  const { checkpoints, workspace, dataFolder, put } = await opened(t);
  const other = await openCheckpoints({ workspace, dataFolder });
  t.after(() => other.close());
  await put('a.txt', 'a');
  const labels = ['1', '2', '3', '4'];
  const taken = await Promise.all([
    ...labels.map((label) => checkpoints.take(label)),
    ...labels.map((label) => other.take(label)),
  ]);
  const list = await checkpoints.list();
  assert.deepEqual(list.map(({ id }) => id).toSorted(), taken.map(({ id }) => id).toSorted());
  const mine = new Set(taken.slice(0, 4).map(({ id }) => id));
  const order = list.filter(({ id }) => mine.has(id)).map(({ label }) => label);
  assert.deepEqual(order, labels.toReversed());
});

test('old ones go, by number and by age', async (t) => {
  const { checkpoints, workspace, dataFolder, put } = await opened(t, { keep: 3 });
  for (let count = 1; count <= 26; count += 1) {
    await put('a.txt', String(count));
    await checkpoints.take(String(count));
  }
  assert.deepEqual(
    (await checkpoints.list()).map(({ label }) => label),
    ['26', '25', '24'],
  );
  const strict = await openCheckpoints({ workspace, dataFolder, keepDays: -1 });
  await strict.take('the only one');
  assert.deepEqual(
    (await strict.list()).map(({ label }) => label),
    ['the only one'],
  );
  await strict.close();
});

test('a data folder inside the workspace is no part of it', async (t) => {
  const { workspace } = await folders(t);
  const dataFolder = path.join(workspace, 'my [data] #1');
  await mkdir(dataFolder);
  const checkpoints = await openCheckpoints({ workspace, dataFolder });
  t.after(() => checkpoints.close());
  await writeFile(path.join(workspace, 'a.txt'), 'a');
  const { id } = await checkpoints.take('then');
  await checkpoints.take('more');
  const { removed, skipped } = await checkpoints
    .restore(id)
    .then(({ removed, before }) => ({ removed, skipped: before.skipped }));
  assert.deepEqual([removed, skipped], [[], []]);
});

test('without git there is one clear line', async (t) => {
  const places = await folders(t);
  const { PATH } = process.env;
  t.after(() => {
    process.env['PATH'] = PATH;
  });
  process.env['PATH'] = places.root;
  await assert.rejects(openCheckpoints(places), (error: unknown) => {
    assert.ok(error instanceof CheckpointError);
    assert.equal(error.code, 'no-git');
    assert.match(error.message, /^checkpoints are not available, because git is not installed/);
    return true;
  });
});

test('a damaged index is made anew', async (t) => {
  const { checkpoints, workspace, dataFolder, at, put } = await opened(t);
  await put('a.txt', 'a');
  const { id } = await checkpoints.take('then');
  const [index] = globSync('checkpoints/*/index', { cwd: dataFolder });
  await writeFile(path.join(dataFolder, index!), '');
  const again = await openCheckpoints({ workspace, dataFolder });
  t.after(() => again.close());
  await put('a.txt', 'b');
  await again.restore(id);
  assert.equal(await readFile(at('a.txt'), 'utf8'), 'a');
});

test('an aborted call says so, and the next one works', async (t) => {
  const { checkpoints, put } = await opened(t);
  await put('a.txt', 'a');
  const reason = new Error('enough');
  await assert.rejects(checkpoints.take('x', {}, AbortSignal.abort(reason)), reason);
  assert.equal((await checkpoints.take('y')).label, 'y');
});
