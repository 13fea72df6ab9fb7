import assert from 'node:assert/strict';
import {
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runTogether } from '../../../test/support/processes.ts';
import { addMemory, loadMemory, memoryText } from './memory.ts';

async function home(t: TestContext) {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-memory-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  const at = (name: string) => path.join(root, name);
  const put = async (name: string, text: string) => {
    await mkdir(path.dirname(at(name)), { recursive: true });
    await writeFile(at(name), text);
  };
  await mkdir(at('home/repo/app'), { recursive: true });
  const options = { workspace: at('home/repo/app'), configFolder: at('config'), home: at('home') };
  const load = async (more: Partial<Parameters<typeof loadMemory>[0]> = {}) => {
    const { files, problems } = await loadMemory({ ...options, ...more });
    return { texts: files.map(({ text }) => text), files, problems };
  };
  return { at, put, load, options };
}

test('the user first, then the folders from the outermost to the workspace', async (t) => {
  const { put, load, at } = await home(t);
  await put('config/AGENTS.md', 'mine');
  await put('home/CLAUDE.md', 'home');
  await put('home/repo/AGENTS.md', 'repo');
  await put('home/repo/app/GEMINI.md', 'app, gemini');
  await put('home/repo/app/AGENTS.md', 'app');
  await put('AGENTS.md', 'outside of the home');
  const { texts, files } = await load();
  assert.deepEqual(texts, ['mine', 'home', 'repo', 'app', 'app, gemini']);
  assert.equal(files[0]?.scope, 'user');
  assert.equal(
    memoryText({ files: files.slice(0, 2), problems: [] }),
    `## From ${at('config/AGENTS.md')}\n\nmine\n\n## From ${at('home/CLAUDE.md')}\n\nhome`,
  );
});

test('a repository is the limit, and outside of the home folder the workspace itself', async (t) => {
  const { put, load, at } = await home(t);
  await put('AGENTS.md', 'everywhere');
  await put('home/AGENTS.md', 'home');
  await put('home/repo/AGENTS.md', 'repo');
  await put('home/repo/app/AGENTS.md', 'app');
  assert.deepEqual((await load({ home: at('elsewhere') })).texts, ['app']);
  await put('home/repo/.git', 'gitdir: elsewhere');
  assert.deepEqual((await load()).texts, ['repo', 'app']);
});

test(
  'the repository of another user around the workspace is not used',
  { skip: process.getuid?.() !== 0 },
  async (t) => {
    const { put, load, at } = await home(t);
    await put('home/repo/AGENTS.md', 'repo');
    await put('home/repo/app/AGENTS.md', 'app');
    await put('home/repo/.git', 'gitdir: elsewhere');
    await chown(at('home/repo/.git'), 1234, 1234);
    assert.deepEqual((await load({ home: at('elsewhere') })).texts, ['app']);
    await chown(at('home/repo/app'), 1234, 1234);
    assert.deepEqual((await load({ home: at('elsewhere') })).texts, ['repo', 'app']);
  },
);

test('what is there twice is read once, empty files not at all', async (t) => {
  const { put, load, at } = await home(t);
  await put('home/repo/app/AGENTS.md', 'the same');
  await symlink('AGENTS.md', at('home/repo/app/CLAUDE.md'));
  await put('home/repo/app/GEMINI.md', 'the same');
  await put('home/repo/AGENTS.md', ' \n');
  assert.deepEqual((await load()).texts, ['the same']);
});

test('a link out of the folders is not followed, and said', async (t) => {
  const { put, load, at } = await home(t);
  await put('secret', 'key');
  await symlink(at('secret'), at('home/repo/app/AGENTS.md'));
  await mkdir(at('home/repo/app/CLAUDE.md'));
  const { texts, problems } = await load();
  assert.deepEqual(texts, []);
  assert.equal(problems.length, 2);
  assert.match(problems.join('\n'), /AGENTS\.md is outside/);
});

test('a link is followed to a file of the workspace and to other memory, and to no other file around the workspace', async (t) => {
  const { put, load, at } = await home(t);
  await put('home/.ssh/key', 'key');
  await put('home/repo/notes.md', 'notes of the repository');
  await put('home/repo/AGENTS.md', 'repo');
  await put('home/repo/app/docs/agents.md', 'docs');
  await symlink('docs/agents.md', at('home/repo/app/AGENTS.md'));
  await symlink('../AGENTS.md', at('home/repo/app/GEMINI.md'));
  await symlink('../notes.md', at('home/repo/app/CLAUDE.md'));
  await symlink('../.ssh/key', at('home/repo/CLAUDE.md'));
  const { texts, problems } = await load();
  assert.deepEqual(texts, ['docs', 'repo']);
  assert.equal(problems.length, 2);
  for (const problem of problems) assert.match(problem, /CLAUDE\.md is outside the workspace/);
});

test('a file that a rule protects is left out, also through a link; the file of the user is not', async (t) => {
  const { put, load, at } = await home(t);
  await put('config/AGENTS.md', 'mine');
  await put('home/repo/app/secrets/a.md', 'secret');
  await put('home/repo/app/GEMINI.md', 'app');
  await symlink('secrets/a.md', at('home/repo/app/AGENTS.md'));
  const shows = (file: string) => !file.includes('secrets') && !file.includes('config');
  const { texts, problems } = await load({ shows });
  assert.deepEqual(texts, ['mine', 'app']);
  assert.match(problems.join(), /app\/AGENTS\.md: a rule protects it from being read/);
});

test('long files are cut, and what is nearest comes first when there is too much', async (t) => {
  const { put, load } = await home(t);
  const folders = ['home', 'home/repo', 'home/repo/app'];
  for (const [index, folder] of folders.entries()) {
    for (const name of ['AGENTS', 'GEMINI', 'CLAUDE']) {
      await put(`${folder}/${name}.md`, `${index}${name}`.padEnd(70_000, 'x'));
    }
  }
  const { files, problems } = await load();
  assert.deepEqual(
    files.map(({ text, cut }) => [text.slice(0, 7), text.length, cut]),
    ['1CLAUDE', '2AGENTS', '2GEMINI', '2CLAUDE'].map((start) => [start, 65_536, true]),
  );
  assert.equal(problems.length, 5);
});

test('memories are added one to a line, at the same time too', async (t) => {
  const { at, options, load, put } = await home(t);
  await addMemory(options.configFolder, ' likes tabs\n really ');
  await Promise.all(['a', 'b', 'c'].map((note) => addMemory(options.configFolder, note)));
  assert.equal(
    await readFile(at('config/AGENTS.md'), 'utf8'),
    '- likes tabs really\n- a\n- b\n- c\n',
  );
  assert.equal((await load()).texts.length, 1);
  await addMemory(options.configFolder, 'two\u0007  words');
  assert.equal(
    await addMemory(options.configFolder, 'Two   words', { once: true }),
    undefined,
    'the same words with other white space are the same line',
  );
  assert.match(await readFile(at('config/AGENTS.md'), 'utf8'), /- two words\n$/);
  await assert.rejects(addMemory(options.configFolder, '  '), RangeError);
  await put('config/AGENTS.md', 'x'.repeat(65_530));
  await assert.rejects(addMemory(options.configFolder, 'one more'), /memory is full/);
});

test('memories that several processes add at the same time are not lost', async (t) => {
  const { at, options } = await home(t);
  await runTogether(
    4,
    `
    const { addMemory } = await import('${path.join(import.meta.dirname, 'memory.ts')}');
    await start();
    for (let at = 0; at < 5; at += 1) {
      await addMemory(${JSON.stringify(options.configFolder)}, \`\${process.argv[1]} \${at}\`);
    }`,
  );
  const lines = (await readFile(at('config/AGENTS.md'), 'utf8')).trim().split('\n');
  assert.deepEqual(
    lines.toSorted(),
    [0, 1, 2, 3].flatMap((number) => [0, 1, 2, 3, 4].map((note) => `- ${number} ${note}`)),
  );
});

test('if the memory is a link, its target is written, even if the target does not exist yet', async (t) => {
  const { at, options, put } = await home(t);
  await put('dotfiles/README.md', 'mine');
  await mkdir(at('config'));
  await symlink(path.join('..', 'dotfiles', 'AGENTS.md'), at('config/AGENTS.md'));
  await addMemory(options.configFolder, 'a');
  await addMemory(options.configFolder, 'b');
  assert.ok((await lstat(at('config/AGENTS.md'))).isSymbolicLink());
  assert.equal(await readFile(at('dotfiles/AGENTS.md'), 'utf8'), '- a\n- b\n');
});
