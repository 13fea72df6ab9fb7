import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { rulesFrom } from '../approval/policy.ts';
import type { PolicyRule } from '../approval/rule.ts';
import { mentionsIn, messageContext, type FileAccess } from './context.ts';
import { openWorkspace } from '../files/workspace.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1');

function accessIn(root: string, rules: readonly PolicyRule[] = [], mayApprove = false): FileAccess {
  return { policy: { mode: 'ask', root, ...rulesFrom(rules) }, mayApprove };
}

async function opened(t: TestContext) {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-context-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  const folder = path.join(root, 'workspace');
  const at = (name: string) => path.join(folder, name);
  const put = async (name: string, content: string | Buffer) => {
    await mkdir(path.dirname(at(name)), { recursive: true });
    await writeFile(at(name), content);
  };
  await put('a.txt', 'alpha\n');
  await put('src/my file.ts', 'blank');
  const workspace = await openWorkspace([folder]);
  const expand = async (text: string, rules: readonly PolicyRule[] = [], mayApprove = false) => {
    const access = accessIn(folder, rules, mayApprove);
    const { parts, problems } = await messageContext([{ kind: 'text', text }], workspace, access);
    return {
      texts: parts.map((part) => (part.kind === 'text' ? part.text : part.kind)),
      parts,
      problems,
    };
  };
  return { root, at, put, workspace, expand };
}

test('a mention is a word that begins with @', () => {
  const found: [text: string, mentions: string[]][] = [
    ['look at @a.txt please', ['a.txt']],
    ['@a.txt\n@b/c.ts', ['a.txt', 'b/c.ts']],
    ['(@a.txt), "@b.txt"', ['a.txt),', 'b.txt"']],
    ['@"my file.ts" and @my\\ file.ts', ['my file.ts']],
    ['mail me@example.com or a.b@c', []],
    ['\\@a.txt and \\@"b"', []],
    ['@ alone, @@twice', ['@twice']],
    ['@a @a', ['a']],
  ];
  for (const [text, mentions] of found) assert.deepEqual(mentionsIn(text), mentions, text);
  assert.equal(
    mentionsIn(Array.from({ length: 80 }, (_, index) => `@${index}`).join(' ')).length,
    50,
  );
});

test('the words stay, and the file comes behind them, once', async (t) => {
  const { expand } = await opened(t);
  const { texts, problems } = await expand(
    'Explain @a.txt, and @./a.txt again; also @"src/my file.ts".',
  );
  assert.deepEqual(texts, [
    'Explain @a.txt, and @./a.txt again; also @"src/my file.ts".',
    '[File a.txt]\nalpha\n[End of a.txt]',
    '[File src/my file.ts]\nblank\n[End of src/my file.ts]',
  ]);
  assert.deepEqual(problems, []);
});

test('punctuation behind a mention is not taken for its name, unless it is', async (t) => {
  const { expand, put } = await opened(t);
  for (const text of ['See @a.txt.', '(@a.txt)', '"@a.txt"?!', "@a.txt's", 'is it @a.txt?']) {
    assert.equal((await expand(text)).texts[1], '[File a.txt]\nalpha\n[End of a.txt]', text);
  }
  await put('a.txt.', 'with a dot');
  assert.match((await expand('See @a.txt.')).texts[1]!, /with a dot/);
});

test('what leads nowhere stays as it was written, and \\@ is an @', async (t) => {
  const { expand } = await opened(t);
  const { texts, problems } = await expand('@Injectable() @types/node me@example.com \\@a.txt');
  assert.deepEqual(texts, ['@Injectable() @types/node me@example.com @a.txt']);
  assert.deepEqual(problems, []);
});

test('nothing outside of the workspace is read, by whatever way', async (t) => {
  const { root, at, expand } = await opened(t);
  await writeFile(path.join(root, 'secret'), 'secret');
  await symlink(path.join(root, 'secret'), at('link'));
  await symlink(root, at('folder'));
  for (const text of [
    '@/etc/passwd',
    '@../secret',
    '@link',
    '@folder',
    '@folder/secret',
    `@${root}/secret`,
  ]) {
    const { texts, problems } = await expand(text);
    assert.deepEqual(texts, [text]);
    assert.match(problems.join(), /outside/, text);
  }
});

test('a picture comes as it is, by its bytes and not its name; other bytes are only named', async (t) => {
  const { expand, put } = await opened(t);
  await put('shot.dat', PNG);
  await put('data.bin', Buffer.from([1, 0, 2]));
  const { parts } = await expand('@shot.dat @data.bin');
  assert.deepEqual(parts.slice(1), [
    { kind: 'text', text: '[File shot.dat]' },
    { kind: 'blob', mediaType: 'image/png', data: PNG.toString('base64'), name: 'shot.dat' },
    { kind: 'text', text: '[File data.bin: binary data, 3 bytes, not shown]' },
  ]);
});

test('a folder is a list of what is in it, and a long one is cut', async (t) => {
  const { at, expand, put } = await opened(t);
  await mkdir(at('.git'));
  await mkdir(at('empty'));
  assert.deepEqual((await expand('@. @empty/')).texts.slice(1), [
    '[Folder .]\na.txt\nempty/\nsrc/',
    '[Folder empty]\n[empty]',
  ]);
  for (let index = 0; index < 205; index += 1) await put(`many/${index}`, '');
  assert.match((await expand('@many')).texts[1]!, /\n\[and 5 more\]$/);
});

test('long files are cut and say so, large pictures are left out and said', async (t) => {
  const { expand, put } = await opened(t);
  await put('long.txt', 'x'.repeat(300_000));
  await put('large.png', Buffer.concat([PNG, Buffer.alloc(6_000_000)]));
  const { texts, problems } = await expand('@long.txt @large.png');
  assert.equal(
    texts[1],
    `[File long.txt]\n${'x'.repeat(262_144)}\n[long.txt continues: its total size is 293.0 KB]`,
  );
  assert.equal(texts[2], '[File large.png: image/png, 5.7 MB, too large]');
  assert.match(problems.join(), /^large\.png was left out/);
});

test("a message's text, files, pictures, addresses and data all arrive", async (t) => {
  const { at, workspace, root } = await opened(t);
  const access = accessIn(at('.'));
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const { parts, problems } = await messageContext(
    [
      { kind: 'text', text: 'see @a.txt' },
      {
        kind: 'file',
        file: { bytes: base64('notes'), name: 'notes.md', mimeType: 'text/markdown' },
      },
      {
        kind: 'file',
        file: { bytes: PNG.toString('base64'), mimeType: 'application/octet-stream' },
      },
      { kind: 'file', file: { uri: pathToFileURL(at('src/my file.ts')).href } },
      { kind: 'file', file: { uri: pathToFileURL(path.join(root, 'x')).href } },
      { kind: 'file', file: { uri: 'http://169.254.169.254/latest', name: 'meta' } },
      { kind: 'data', data: { a: 1 } },
    ],
    workspace,
    access,
  );
  assert.deepEqual(parts, [
    { kind: 'text', text: 'see @a.txt' },
    { kind: 'data', data: { a: 1 } },
    { kind: 'text', text: '[File a.txt]\nalpha\n[End of a.txt]' },
    { kind: 'text', text: '[File notes.md]\nnotes\n[End of notes.md]' },
    { kind: 'text', text: '[File an attached file]' },
    {
      kind: 'blob',
      mediaType: 'image/png',
      data: PNG.toString('base64'),
      name: 'an attached file',
    },
    { kind: 'text', text: '[File src/my file.ts]\nblank\n[End of src/my file.ts]' },
    { kind: 'text', text: '[File meta at http://169.254.169.254/latest, not fetched]' },
  ]);
  assert.match(problems.join(), /outside/);
});

const DENIED: PolicyRule[] = [{ tool: 'read_file', pattern: 'secrets/**', decision: 'deny' }];

test('a file that a rule denies is not added, under none of its names', async (t) => {
  const { expand, put, at } = await opened(t);
  await put('secrets/key', 'hush');
  await put('open/key', 'fine');
  await symlink('secrets/key', at('link'));
  await symlink('open/key', at('other'));
  const why = 'was left out: a rule denies read_file "secrets/**"';
  for (const name of [
    'secrets/key',
    './open/../secrets/key',
    'secrets/absent',
    at('secrets/key'),
  ]) {
    const { texts, problems } = await expand(`see @${name}.`, DENIED, true);
    assert.equal(texts.length, 1);
    assert.equal(problems.length, 1);
    assert.ok(problems[0]?.startsWith('secrets/') && problems[0].endsWith(why), problems[0]);
  }
  const linked = await expand('@link @other', DENIED, true);
  assert.deepEqual(linked.problems, [`link ${why}`]);
  assert.deepEqual(linked.texts.slice(1), ['[File open/key]\nfine\n[End of open/key]']);
  const byLink: PolicyRule[] = [{ tool: 'read_file', pattern: 'other', decision: 'deny' }];
  assert.equal((await expand('@other', byLink)).texts.length, 1);
  const all: PolicyRule[] = [{ tool: 'read_file', decision: 'deny' }];
  assert.equal((await expand('@a.txt', all, true)).texts.length, 1);
});

test('a folder is listed without the files that a rule protects', async (t) => {
  const { expand, put } = await opened(t);
  await put('docs/a.md', '');
  await put('docs/b.key', '');
  const rules: PolicyRule[] = [{ tool: 'read_file', pattern: '**/*.key', decision: 'deny' }];
  const { texts } = await expand('@docs', rules);
  assert.equal(texts[1], '[Folder docs]\na.md\n[files that a rule protects are left out]');
  const listing: PolicyRule[] = [{ tool: 'list_directory', pattern: 'docs', decision: 'deny' }];
  const { texts: none, problems } = await expand('@docs', listing);
  assert.deepEqual(none, ['@docs']);
  assert.deepEqual(problems, ['docs was left out: a rule denies list_directory "docs"']);
});

test('a file for which a rule asks is added if the sender may approve calls', async (t) => {
  const { expand, put } = await opened(t);
  await put('secrets/key', 'hush');
  const rules: PolicyRule[] = [{ tool: 'read_file', pattern: 'secrets/**', decision: 'ask' }];
  assert.match((await expand('@secrets/key', rules, true)).texts.join(), /hush/);
  const { texts, problems } = await expand('@secrets/key', rules, false);
  assert.deepEqual(texts, ['@secrets/key']);
  assert.deepEqual(problems, [
    'secrets/key was left out: a rule asks before read_file "secrets/**", and the sender of the message may not approve calls',
  ]);
});

test('a folder is listed with the files for which a rule asks if the sender may approve calls', async (t) => {
  const { expand, put } = await opened(t);
  await put('docs/a.md', '');
  await put('docs/b.key', '');
  const note = '[files that a rule protects are left out]';
  const asks: PolicyRule[] = [{ tool: 'read_file', pattern: '**/*.key', decision: 'ask' }];
  assert.equal((await expand('@docs', asks, true)).texts[1], '[Folder docs]\na.md\nb.key');
  assert.equal((await expand('@docs', asks, false)).texts[1], `[Folder docs]\na.md\n${note}`);
  await put('docs/c.pem', '');
  const rules: PolicyRule[] = [
    ...asks,
    { tool: 'read_file', pattern: '**/*.pem', decision: 'deny' },
  ];
  assert.equal(
    (await expand('@docs', rules, true)).texts[1],
    `[Folder docs]\na.md\nb.key\n${note}`,
  );
});
