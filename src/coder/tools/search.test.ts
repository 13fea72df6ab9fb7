import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, makeWorkspace } from '../../../test/support/workspace.ts';
import { ripgrep } from '../files/ripgrep.ts';
import { searchTool } from './search.ts';

test('lines are found with their file and number', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    'a.ts': 'x\nfoo(1)\n  foo(2) foo(3)\n',
    'b/c.ts': 'y',
  });
  const search = searchTool(workspace);
  assert.equal(
    await call(search, { pattern: 'foo\\(' }),
    'a.ts:2: foo(1)\na.ts:3:   foo(2) foo(3)',
  );
  assert.equal(await call(search, { pattern: '(?i)Y' }), 'b/c.ts:1: y');
  assert.equal(await call(search, { pattern: 'nothing' }), '[no line matches nothing]');
});

test('a folder, a file or a kind of file narrows it', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.ts': 'x', 'b/a.ts': 'x', 'b/a.js': 'x' });
  const search = searchTool(workspace);
  const found = async (args: object) => {
    return (await call(search, { pattern: 'x', ...args })).split('\n').toSorted();
  };
  assert.deepEqual(await found({ path: 'b' }), ['b/a.js:1: x', 'b/a.ts:1: x']);
  assert.deepEqual(await found({ path: at('b/a.js') }), ['b/a.js:1: x']);
  assert.deepEqual(await found({ include: '*.ts' }), ['a.ts:1: x', 'b/a.ts:1: x']);
  assert.deepEqual(await found({ include: 'b/*.ts' }), ['b/a.ts:1: x']);
  assert.deepEqual(await found({ include: '*.{js,md}' }), ['b/a.js:1: x']);
});

test('what .gitignore names is left out even when include names it; hidden files are not', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    '.gitignore': '*.log\n',
    'a.log': 'needle',
    '.env.example': 'needle',
    '.git/config': 'needle',
    data: Buffer.from('needle\0'),
  });
  const search = searchTool(workspace);
  assert.equal(await call(search, { pattern: 'needle' }), '.env.example:1: needle');
  assert.equal(
    await call(search, { pattern: 'needle', include: '*.log' }),
    '[no line matches needle]',
  );
});

test('an ignore file of the workspace does not count as the own one of a person without an absolute HOME', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    'home/.config/git/ignore': '*.txt\n',
    'home/.gitconfig': '',
    'a.txt': 'needle',
  });
  const before = process.env['HOME'];
  t.after(() => {
    if (before === undefined) delete process.env['HOME'];
    else process.env['HOME'] = before;
  });
  process.env['HOME'] = 'home';
  assert.equal(await call(searchTool(workspace), { pattern: 'needle' }), 'a.txt:1: needle');
});

test('a long line is cut around its match', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    'a.min.js': `${'é'.repeat(100_000)}needle${'ü'.repeat(100_000)}\n`,
  });
  const line = await call(searchTool(workspace), { pattern: 'needle' });
  assert.match(line, /^a\.min\.js:1: …é+needleü+…$/);
  assert.ok(line.length < 330);
});

test('no more than 200 lines are shown', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x\n'.repeat(1000), b: 'x '.repeat(100_000) });
  const lines = (await call(searchTool(workspace), { pattern: 'x' })).split('\n');
  assert.equal(lines.length, 201);
  assert.match(lines.at(-1) ?? '', /^\[more than 200 lines match/);
});

test('a pattern that is no regular expression is explained', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x' });
  const search = searchTool(workspace);
  await assert.rejects(
    call(search, { pattern: 'foo(' }),
    /"foo\(" is not a valid regular expression.*unclosed group/,
  );
  await assert.rejects(call(search, { pattern: '(?=x)' }), /look-around/);
  await assert.rejects(call(search, { pattern: '' }), /pattern/);
});

test('lines with CRLF are shown without it, and the last without a line end', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x1\r\nx2' });
  assert.equal(await call(searchTool(workspace), { pattern: 'x' }), 'a:1: x1\na:2: x2');
});

test('a byte order mark does not shift what is shown', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: '\uFEFFone\ntwo\n' });
  assert.equal(await call(searchTool(workspace), { pattern: 'two' }), 'a:2: two');
});

test('an aborted search ends ripgrep', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x\n'.repeat(1_000_000) });
  await using folder = await workspace.openFolder('.');
  const controller = new AbortController();
  const running = ripgrep(folder, ['--regexp=x', './'], controller.signal, () => {
    controller.abort(new Error('enough'));
    return true;
  });
  await assert.rejects(running, /enough/);
  const aborted = { signal: AbortSignal.abort(new Error('before')) };
  await assert.rejects(call(searchTool(workspace), { pattern: 'x' }, aborted), /before/);
});

test('ripgrep is ended when its time is up', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x\n'.repeat(1_000_000) });
  await using folder = await workspace.openFolder('.');
  const { signal } = new AbortController();
  const stopped = await ripgrep(folder, ['--regexp=x', './'], signal, () => true, 0);
  assert.equal(stopped, 'timeout');
});

test('the environment’s configuration of ripgrep is not used', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { a: 'X', 'rg.conf': '--ignore-case\n' });
  process.env['RIPGREP_CONFIG_PATH'] = at('rg.conf');
  t.after(() => delete process.env['RIPGREP_CONFIG_PATH']);
  assert.equal(
    await call(searchTool(workspace), { pattern: 'x', path: 'a' }),
    '[no line matches x]',
  );
});
