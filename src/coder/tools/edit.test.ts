import assert from 'node:assert/strict';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import { toolContext } from '../../../test/support/tool-context.ts';
import { call, callRich, makeWorkspace } from '../../../test/support/workspace.ts';
import { findPassage, replaceMatches } from '../files/replace.ts';
import { toLf } from '../files/text.ts';
import { editTool } from './edit.ts';

async function edited(
  t: test.TestContext,
  content: string,
  args: { old: string; new: string; all?: boolean },
): Promise<string> {
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': content });
  await call(editTool(workspace), { path: 'a.txt', ...args });
  return readFile(at('a.txt'), 'utf8');
}

test('a passage becomes another', async (t) => {
  assert.equal(
    await edited(t, 'one\ntwo\nthree\n', { old: 'two\n', new: '2\n' }),
    'one\n2\nthree\n',
  );
});

test('what looks like a pattern for replacements is put in as it is', async (t) => {
  assert.equal(await edited(t, 'x', { old: 'x', new: "$& $1 $' $$" }), "$& $1 $' $$");
});

test('every occurrence is replaced when that is asked for', async (t) => {
  assert.equal(await edited(t, 'a b a b a', { old: 'a', new: 'c', all: true }), 'c b c b c');
});

test('a file with CRLF is edited by passages with LF and keeps its line ends', async (t) => {
  assert.equal(
    await edited(t, 'one\r\ntwo\r\nthree\r\n', { old: 'one\ntwo', new: '1\n1.5\n2' }),
    '1\r\n1.5\r\n2\r\nthree\r\n',
  );
  assert.equal(await edited(t, 'a\r\nb', { old: 'b', new: 'c\nd' }), 'a\r\nc\r\nd');
});

test('a file with both line ends keeps those of the lines that are not touched', async (t) => {
  assert.equal(
    await edited(t, 'a\r\nb\nc\r\nd\n', { old: 'c', new: 'x\ny' }),
    'a\r\nb\nx\r\ny\r\nd\n',
  );
  assert.equal(
    await edited(t, 'a\r\nb\nc\r\nd\n', { old: 'b', new: 'x\ny' }),
    'a\r\nx\ny\nc\r\nd\n',
  );
});

test('a byte order mark stays, and is no part of the text', async (t) => {
  assert.equal(await edited(t, '\uFEFFone', { old: 'one', new: 'two' }), '\uFEFFtwo');
});

test('a passage that is there twice is refused with its lines', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': 'x\ny\nx\nx\n' });
  await assert.rejects(call(editTool(workspace), { path: 'a.txt', old: 'x', new: 'z' }), {
    message:
      '"old" occurs 3 times in a.txt, at lines 1, 3, 4; quote more lines around the intended passage, or set "all"',
  });
});

const MISSING: Readonly<Record<string, readonly [old: string, hint: RegExp]>> = {
  'blanks instead of a tab': [
    'function a() {\n  return 1;\n}',
    /line 1, except for white space: line 2 is "\\treturn 1;"/,
  ],
  'another word': [
    '\treturn 1;\n}\n\nfunction c()',
    /most similar passage is at line 2; line 5 is "function b\(\) \{"/,
  ],
  'a line that is only alike': ['function bee() {', /most similar passage is at line 5/],
  'line numbers': ['1\tfunction a() {\n2\t\treturn 1;', /line numbers/],
  'nothing like it': ['zzzzzz qqqqq', /no similar passage/],
  'white space alone': ['\n\n\n\n', /white space/],
};
for (const [name, [old, hint]] of Object.entries(MISSING)) {
  test(`a passage that is not there gets a hint: ${name}`, async (t) => {
    const { workspace } = await makeWorkspace(t, {
      'a.ts': 'function a() {\n\treturn 1;\n}\n\nfunction b() {\n\treturn 2;\n}\n',
    });
    await assert.rejects(call(editTool(workspace), { path: 'a.ts', old, new: '' }), hint);
  });
}

test('a hint about long lines shows where they differ', async (t) => {
  const same = 'ab '.repeat(100);
  const { workspace } = await makeWorkspace(t, { 'a.ts': `${same}one\n` });
  const edit = call(editTool(workspace), { path: 'a.ts', old: `${same}two`, new: '' });
  await assert.rejects(edit, /line 1 is …"[ab ]{40}one", "old" has …"[ab ]{40}two"/);
});

test('a hint for a long file does not claim anything about lines that were not searched', async (t) => {
  const text = `${'x\n'.repeat(19_999)}the last line that is searched\nthe next line\n`;
  const { workspace } = await makeWorkspace(t, { 'a.ts': text });
  const hint = (old: string) => call(editTool(workspace), { path: 'a.ts', old, new: '' });
  await assert.rejects(hint('zzzzzz qqqqq'), /The first 20000 lines have no similar passage/);
  await assert.rejects(
    hint('the last line that is searched\nanother line'),
    /line 20001 is "the next line", "old" has "another line"/,
  );
});

test('a hint for a large file does not take for ever', { timeout: 30_000 }, async (t) => {
  const { workspace } = await makeWorkspace(t, { big: 'the same line again\n'.repeat(200_000) });
  const old = 'the same line agein\n'.repeat(300);
  await assert.rejects(call(editTool(workspace), { path: 'big', old, new: '' }), /most similar/i);
});

test('what cannot be an edit is refused with what to do instead', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'x', data: Buffer.from('caf\xe9', 'latin1') });
  const edit = editTool(workspace);
  await assert.rejects(call(edit, { path: 'a', old: '', new: 'y' }), /write_file/);
  await assert.rejects(call(edit, { path: 'a', old: 'x', new: 'x' }), /are the same/);
  await assert.rejects(call(edit, { path: 'b', old: 'x', new: 'y' }), /does not exist.*write_file/);
  await assert.rejects(call(edit, { path: 'data', old: 'caf', new: 'y' }), /not UTF-8/);
  await assert.rejects(call(edit, { path: 'a', old: 'x' }), /new/);
});

test('the preview shows the change and makes none', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': 'one\ntwo\n' });
  const args = { path: 'a.txt', old: 'two', new: '2' };
  const preview = await editTool(workspace).preview(args, toolContext());
  assert.ok(preview.kind === 'edit');
  assert.deepEqual(preview.diffs, [
    {
      file_name: 'a.txt',
      file_path: at('a.txt'),
      old_content: 'one\ntwo\n',
      new_content: 'one\n2\n',
      formatted_diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n',
    },
  ]);
  assert.equal(await readFile(at('a.txt'), 'utf8'), 'one\ntwo\n');
  const { response, display } = await callRich(editTool(workspace), args);
  assert.equal(response, 'Edited a.txt: 1 place, line 2.');
  assert.deepEqual(display, { diff: preview.diffs[0] });
});

test('what was allowed is done as it was shown, or not at all', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': 'one\ntwo\n' });
  const edit = editTool(workspace);
  const args = { path: 'a.txt', old: 'two', new: '2' };
  const preview = await edit.preview(args, toolContext());
  assert.ok(preview.kind === 'edit' && preview.fingerprint !== undefined);
  const answer = {
    questionId: 'call',
    confirmed: true,
    value: { fingerprint: preview.fingerprint },
  };
  await writeFile(at('a.txt'), 'one more\ntwo\n');
  await assert.rejects(
    call(edit, args, { confirmation: answer }),
    /modified after the approval was requested/,
  );
  await writeFile(at('a.txt'), 'one\ntwo\n');
  await call(edit, args, { confirmation: answer });
  assert.equal(await readFile(at('a.txt'), 'utf8'), 'one\n2\n');
});

test('a person’s own content is written instead of the proposed one', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': 'one\r\ntwo\r\n' });
  const answer = { questionId: 'call', confirmed: true, value: { new_content: 'mine\n' } };
  const said = await call(
    editTool(workspace),
    { path: 'a.txt', old: 'two', new: '2' },
    { confirmation: answer },
  );
  assert.match(said, /The user modified the proposed content/);
  assert.equal(await readFile(at('a.txt'), 'utf8'), 'mine\r\n');
});

test('edits of one file at the same time are all made', async (t) => {
  const words = Array.from({ length: 20 }, (_, at) => `word-${at}-`);
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': words.join('\n') });
  const edit = editTool(workspace);
  await Promise.all(words.map((old) => call(edit, { path: 'a.txt', old, new: `${old}done` })));
  const expected = words.map((word) => `${word}done`).join('\n');
  assert.equal(await readFile(at('a.txt'), 'utf8'), expected);
});

const passage = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', ' '), maxLength: 40 });

test('the text around a replaced passage stays as it was, whatever the line ends', () => {
  fc.assert(
    fc.property(passage, passage, passage, (head, old, tail) => {
      fc.pre(toLf(old) !== '');
      const text = head + old + tail;
      const matches = findPassage(text, toLf(old));
      assert.ok(matches.length > 0);
      for (const { from, to, line } of matches) {
        assert.equal(toLf(text.slice(from, to)), toLf(old));
        assert.equal(text.slice(0, from).split('\n').length, line);
      }
      const result = replaceMatches(text, matches, '<X>');
      assert.equal(toLf(result), toLf(text).replaceAll(toLf(old), '<X>'));
      // The rest, byte for byte.
      let rest = '';
      let done = 0;
      for (const { from, to } of matches) {
        rest += text.slice(done, from);
        done = to;
      }
      assert.equal(result.replaceAll('<X>', ''), rest + text.slice(done));
    }),
    { numRuns: 2000 },
  );
});

test('the preview shows the file that a link leads to', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'src/a.ts': 'old\n' });
  await symlink('src/a.ts', at('notes.txt'));
  const args = { path: 'notes.txt', old: 'old', new: 'new' };
  const preview = await editTool(workspace).preview(args, toolContext());
  assert.ok(preview.kind === 'edit');
  assert.equal(preview.diffs[0]?.file_path, at('src/a.ts'));
  assert.match(preview.diffs[0].formatted_diff ?? '', /^--- a\/src\/a\.ts\n\+\+\+ b\/src\/a\.ts$/m);
});
