import assert from 'node:assert/strict';
import {
  chmod,
  open,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { test } from 'node:test';
import { createTwoFilesPatch } from 'diff';
import fc from 'fast-check';
import { toolContext } from '../../../test/support/tool-context.ts';
import { call, callRich, makeWorkspace } from '../../../test/support/workspace.ts';
import { applyHunks } from '../files/apply-hunks.ts';
import { withEditor } from '../files/editor-files.ts';
import { parsePatch } from '../files/parse-patch.ts';
import { applyPatchTool } from './apply-patch.ts';

type Files = Record<string, string>;

/** Applies the patch to the files and returns all that is there afterwards. */
async function patched(t: test.TestContext, files: Files, patch: string): Promise<Files> {
  const { workspace, root } = await makeWorkspace(t, files);
  await call(applyPatchTool(workspace), { patch });
  const after: Files = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = `${entry.parentPath}/${entry.name}`;
    after[path.slice(root.length + 1)] = await readFile(path, 'utf8');
  }
  return after;
}

function begin(...lines: string[]): string {
  return ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
}

test('files are added, updated, moved and deleted in one patch', async (t) => {
  const after = await patched(
    t,
    { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n', 'c.txt': 'c1\nc2\n' },
    begin(
      '*** Add File: new/d.txt',
      '+d1',
      '+',
      '*** Update File: a.txt',
      '@@',
      ' one',
      '-two',
      '+2',
      '*** Delete File: b.txt',
      '*** Update File: c.txt',
      '*** Move to: moved/c.txt',
      '@@ c1',
      '-c2',
      '+C2',
    ),
  );
  assert.deepEqual(after, {
    'new/d.txt': 'd1\n\n',
    'a.txt': 'one\n2\nthree\n',
    'moved/c.txt': 'c1\nC2\n',
  });
});

test('a line behind @@ says which of several places is meant', async (t) => {
  const file = 'class A:\n  x = 1\nclass B:\n  x = 1\n';
  const patch = begin('*** Update File: a', '@@ class B:', '-  x = 1', '+  x = 2');
  assert.equal(
    (await patched(t, { a: file }, patch))['a'],
    'class A:\n  x = 1\nclass B:\n  x = 2\n',
  );
});

test('lines that are only added go behind the named line, or to the end', async (t) => {
  const end = begin('*** Update File: a', '@@', '+z');
  assert.equal((await patched(t, { a: 'x\ny\n' }, end))['a'], 'x\ny\nz\n');
  const behind = begin('*** Update File: a', '@@ x', '+z');
  assert.equal((await patched(t, { a: 'x\ny\n' }, behind))['a'], 'x\nz\ny\n');
});

test('*** End of File means the last of several places', async (t) => {
  const patch = begin('*** Update File: a', '@@', '-x', '+z', '*** End of File');
  assert.equal((await patched(t, { a: 'x\ny\nx\n' }, patch))['a'], 'x\ny\nz\n');
});

test('a git diff adds, deletes, renames and makes files that run', async (t) => {
  const { workspace, root, at } = await makeWorkspace(t, {
    gone: 'x\n',
    old: 'a\nb\n',
    's p': '1\n',
  });
  const patch = `diff --git a/new.sh b/new.sh
new file mode 100755
index 0000000..1111111
--- /dev/null
+++ b/new.sh
@@ -0,0 +1 @@
+echo
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old b/sub/new
similarity index 50%
rename from old
rename to sub/new
--- a/old
+++ b/sub/new
@@ -1,2 +1,2 @@
 a
-b
+c
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git "a/s p" "b/s p"
--- "a/s\\040p"
+++ "b/s p"
@@ -1 +1 @@
-1
+2
-- 
2.39.0
`;
  await call(applyPatchTool(workspace), { patch });
  const names = (await readdir(root, { recursive: true })).toSorted();
  assert.deepEqual(names, ['empty', 'new.sh', 's p', 'sub', 'sub/new']);
  assert.equal(await readFile(at('sub/new'), 'utf8'), 'a\nc\n');
  assert.equal(await readFile(at('s p'), 'utf8'), '2\n');
  assert.notEqual((await stat(at('new.sh'))).mode & 0o100, 0);
});

test('a file that moves can still be run', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.sh': 'x\n' });
  await chmod(at('a.sh'), 0o755);
  const patch = begin('*** Update File: a.sh', '*** Move to: b.sh');
  await call(applyPatchTool(workspace), { patch });
  assert.notEqual((await stat(at('b.sh'))).mode & 0o100, 0);
});

test('a file that moves keeps its mode', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { secret: 'x\n' });
  await chmod(at('secret'), 0o600);
  const patch = begin('*** Update File: secret', '*** Move to: sub/secret');
  await call(applyPatchTool(workspace), { patch });
  assert.equal((await stat(at('sub/secret'))).mode & 0o777, 0o600);
});

test('a file that moves keeps its mode if there is an editor too', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { secret: 'x\n' });
  await chmod(at('secret'), 0o600);
  const editor = {
    read: (path: string) => readFile(path, 'utf8').catch(() => ''),
    write: (path: string, text: string) => writeFile(path, text),
  };
  const tool = applyPatchTool(workspace, () => withEditor(workspace, editor));
  await call(tool, { patch: begin('*** Update File: secret', '*** Move to: b', '@@', '-x', '+y') });
  assert.equal((await stat(at('b'))).mode & 0o777, 0o600);
  assert.equal(await readFile(at('b'), 'utf8'), 'y\n');
});

test('a private file is private while it is written, too', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { secret: 'x\n' });
  await chmod(at('secret'), 0o600);
  await using opened = await open(at('secret'));
  const modes: number[] = [];
  const handles = Object.getPrototypeOf(opened) as FileHandle;
  t.mock.method(handles, 'writeFile', async function (this: FileHandle, content: Buffer) {
    modes.push((await this.stat()).mode & 0o777);
    await this.write(content);
  });
  const lines = ['*** Update File: secret', '@@', '-x', '+y'];
  await call(applyPatchTool(workspace), { patch: begin(...lines) });
  assert.deepEqual(modes, [0o600]);
  assert.equal(await readFile(at('secret'), 'utf8'), 'y\n');
});

test('a new file does not get the mode of a file that was at its path in between', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { secret: 'x\n', plain: '' });
  await chmod(at('secret'), 0o600);
  const lines = ['*** Update File: secret', '*** Move to: b', '*** Delete File: b'];
  const patch = begin(...lines, '*** Add File: b', '+new');
  await call(applyPatchTool(workspace), { patch });
  assert.equal((await stat(at('b'))).mode, (await stat(at('plain'))).mode);
});

test('a file that a patch moves and enlarges must not exceed the size limit', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: `${'x'.repeat(8 * 2 ** 20)}\n` });
  const added = `+${'y'.repeat(3 * 2 ** 20)}`;
  const patch = begin('*** Update File: a', '*** Move to: b', '@@', added);
  await assert.rejects(call(applyPatchTool(workspace), { patch }), /b would be larger than 10/);
});

test('a file with a mode can be added and moved in one patch', async (t) => {
  const add =
    'diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n';
  const move = 'diff --git a/a b/b\nrename from a\nrename to b\n';
  assert.deepEqual(await patched(t, {}, add + move), { b: 'x\n' });
});

test('wrong numbers, missing blanks and a fence around the patch do not matter', async (t) => {
  const file = 'a\n\nb\nc\nd\ne\n';
  const patch =
    '```diff\n--- a/f\n+++ b/f\n@@ -40,2 +40,9 @@\n a\n\n-b\n+B\n c\n@@ ... @@\n d\n-e\n+E\n```\n';
  assert.equal((await patched(t, { f: file }, patch))['f'], 'a\n\nB\nc\nd\nE\n');
});

test('blanks at the ends of lines may differ, and stay as the file has them', async (t) => {
  const patch = begin('*** Update File: f', '@@', ' a', '-b', '+B');
  assert.equal((await patched(t, { f: 'a  \nb\t\nc\n' }, patch))['f'], 'a  \nB\nc\n');
});

test('a file with CRLF and a byte order mark keeps both', async (t) => {
  const patch = begin('*** Update File: f', '@@', ' a', '-b', '+B', '+C');
  assert.equal((await patched(t, { f: '\uFEFFa\r\nb\r\n' }, patch))['f'], '\uFEFFa\r\nB\r\nC\r\n');
});

test('two updates of one file add up, also by another name of it', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { a: '1\n2\n' });
  await symlink('a', at('alias'));
  const patch = begin('*** Update File: a', '-1', '+one', '*** Update File: alias', '-2', '+two');
  await call(applyPatchTool(workspace), { patch });
  assert.equal(await readFile(at('a'), 'utf8'), 'one\ntwo\n');
});

const MISFITS: Readonly<Record<string, readonly [patch: string, message: RegExp]>> = {
  'context that is not there': [
    begin(
      '*** Update File: a',
      '@@',
      ' one',
      '-two',
      '*** Update File: b',
      '@@',
      ' b',
      '-nothing like this',
    ),
    /hunk 1 of b does not match: its lines are not in the file/,
  ],
  'the second hunk': [
    '--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -3 +3 @@\n-thre\n+3\n',
    /hunk 2 \(@@ -3 \+3 @@\) of a does not match: .*most similar passage is at line 3; line 3 is "three"/s,
  ],
  'hunks out of order': [
    begin('*** Update File: a', '@@', '-three', '+3', '@@', '-one', '+1'),
    /before the lines of the previous hunk/,
  ],
  'an anchor that is not there': [
    begin('*** Update File: a', '@@ nowhere', '-two', '+2'),
    /"nowhere" after its @@ is not in the file/,
  ],
  'lines before the anchor of their own hunk': [
    begin('*** Update File: a', '@@ two', '-one', '+1'),
    /its lines are in the file, but not after the line "two" after its @@/,
  ],
  'a file that is not there': [begin('*** Update File: x', '-a', '+b'), /x does not exist/],
  'a deletion of nothing': [begin('*** Delete File: x'), /x does not exist/],
  'an addition over a file': [begin('*** Add File: a', '+x'), /a already exists/],
  'a move over a file': [begin('*** Update File: a', '*** Move to: b'), /b already exists/],
  'a deletion that leaves lines': [
    '--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n',
    /does not list all of its lines/,
  ],
  'no end': ['*** Begin Patch\n*** Delete File: a', /no \*\*\* End Patch/],
  'no file': ['some words', /names no file/],
  'a hunk before its file': ['@@ -1 +1 @@\n-a\n+b\n', /before the first --- and \+\+\+/],
  'a line with no sign': [
    begin('*** Update File: a', '@@', ' one', 'two'),
    /does not start with a space/,
  ],
  'an added line with no sign': [begin('*** Add File: n', 'two'), /without \+/],
  'a link': [
    'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n',
    /not links/,
  ],
  'a binary file': ['diff --git a/l b/l\nGIT binary patch\nliteral 1\n', /binary/],
  'a copy': ['diff --git a/a b/z\ncopy from a\ncopy to z\n', /copies/],
  'git’s own folder': [begin('*** Add File: .git/hooks/pre-commit', '+x'), /\.git/],
  'a move into git’s own folder': [begin('*** Update File: a', '*** Move to: .git/x'), /\.git/],
};
for (const [name, [patch, message]] of Object.entries(MISFITS)) {
  test(`a patch that does not fit changes nothing and says why: ${name}`, async (t) => {
    const { workspace, root, at } = await makeWorkspace(t, { a: 'one\ntwo\nthree\n', b: 'b\n' });
    await assert.rejects(call(applyPatchTool(workspace), { patch }), message);
    assert.deepEqual((await readdir(root)).toSorted(), ['a', 'b']);
    assert.equal(await readFile(at('a'), 'utf8'), 'one\ntwo\nthree\n');
  });
}

test('the preview has a diff for each file, and a move is one', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: '1\n', b: '2\n' });
  const patch = begin('*** Update File: a', '*** Move to: c', '-1', '+one', '*** Delete File: b');
  const tool = applyPatchTool(workspace);
  const preview = await tool.preview({ patch }, toolContext());
  assert.ok(preview.kind === 'edit');
  assert.deepEqual(
    preview.diffs.map(({ formatted_diff }) => formatted_diff),
    [
      'diff --git a/a b/c\nrename from a\nrename to c\n--- a/a\n+++ b/c\n@@ -1,1 +1,1 @@\n-1\n+one\n',
      'diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-2\n',
    ],
  );
  assert.equal(tool.describe({ patch }), 'Patch a, c, b');
  const { response } = await callRich(tool, { patch });
  assert.equal(response, 'Moved a to c, deleted b.');
});

/** The diffs that the preview of a patch shows. The files have the modes 755 or 644, whatever the umask is. */
async function shownDiffs(
  t: test.TestContext,
  files: Record<string, { content: string | Uint8Array; executable?: boolean }>,
  patch: string,
) {
  const contents = Object.entries(files).map(([name, { content }]) => [name, content]);
  const { workspace, at } = await makeWorkspace(t, Object.fromEntries(contents));
  for (const [name, { executable }] of Object.entries(files)) {
    await chmod(at(name), executable === true ? 0o755 : 0o644);
  }
  const preview = await applyPatchTool(workspace).preview({ patch }, toolContext());
  assert.ok(preview.kind === 'edit');
  return preview.diffs.map(({ formatted_diff }) => formatted_diff);
}

test('the preview shows that a file becomes executable, or is no longer executable', async (t) => {
  const modes = 'diff --git a/s b/s\nold mode 100644\nnew mode 100755\n';
  const content = { content: 'a\n' };
  assert.deepEqual(await shownDiffs(t, { s: content }, modes), [modes]);
  const lines = '--- a/s\n+++ b/s\n@@ -1,1 +1,1 @@\n-a\n+b\n';
  assert.deepEqual(await shownDiffs(t, { s: content }, modes + lines), [modes + lines]);
  const back = 'diff --git a/s b/s\nold mode 100755\nnew mode 100644\n';
  assert.deepEqual(await shownDiffs(t, { s: { ...content, executable: true } }, back), [back]);
  const created =
    'diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+a\n';
  assert.deepEqual(await shownDiffs(t, {}, created), [created]);
  const [many] = await shownDiffs(
    t,
    { s: { content: 'a\n'.repeat(5000) } },
    `${modes}--- a/s\n+++ b/s\n@@ -1,5000 +1,5000 @@\n${'-a\n'.repeat(5000)}${'+b\n'.repeat(5000)}`,
  );
  assert.equal(many, `${modes}[too many differences to show: 5001 lines become 5001]\n`);
});

test('the preview shows everything else that happens to a file', async (t) => {
  const moved = 'diff --git a/s b/d/s\nrename from s\nrename to d/s\n';
  const program = { content: 'a\n', executable: true };
  assert.deepEqual(await shownDiffs(t, { s: program }, moved), [moved]);
  const both = moved.replace('rename', 'old mode 100755\nnew mode 100644\nrename');
  assert.deepEqual(await shownDiffs(t, { s: program }, both), [both]);
  const twice = `${moved}diff --git a/d/s b/e\nrename from d/s\nrename to e\n`;
  assert.deepEqual(await shownDiffs(t, { s: program }, twice), [
    'diff --git a/s b/s\ndeleted file mode 100755\n--- a/s\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n',
    'diff --git a/e b/e\nnew file mode 100755\n--- /dev/null\n+++ b/e\n@@ -0,0 +1,1 @@\n+a\n',
  ]);
  const gone = 'diff --git a/s b/s\ndeleted file mode 100644\n';
  assert.deepEqual(await shownDiffs(t, { s: { content: '' } }, begin('*** Delete File: s')), [
    gone,
  ]);
  const binaries = { s: { content: 'a\0' }, b: { content: 'b\0' } };
  const swap = begin('*** Delete File: b', '*** Update File: s', '*** Move to: b');
  assert.equal(
    (await shownDiffs(t, binaries, swap))[0],
    '--- a/b\n+++ b/b\n@@ -1,1 +1,1 @@\n-[binary data, 2 bytes]\n+[another binary data, 2 bytes]\n',
  );
});

test('the approved mode is the mode that is set, or nothing is written', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { a: '1\n' });
  await chmod(at('a'), 0o644);
  const tool = applyPatchTool(workspace);
  const args = { patch: begin('*** Update File: a', '*** Move to: b') };
  const preview = await tool.preview(args, toolContext());
  assert.ok(preview.kind === 'edit' && preview.fingerprint !== undefined);
  const confirmation = { questionId: 'q', value: { fingerprint: preview.fingerprint } };
  await chmod(at('a'), 0o755);
  await assert.rejects(
    call(tool, args, { confirmation }),
    /modified after the approval was requested/,
  );
  await chmod(at('a'), 0o644);
  await call(tool, args, { confirmation });
  assert.equal((await stat(at('b'))).mode & 0o777, 0o644);
});

test('the description names each path once', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: '1\n' });
  const patch = begin('*** Update File: a', '-1', '+2', '*** Update File: a', '*** Move to: b');
  assert.equal(applyPatchTool(workspace).describe({ patch }), 'Patch a, b');
});

const HIDDEN: Record<string, [string[], string[]]> = {
  'new content at the old path of a moved file': [
    ['*** Update File: a', '*** Move to: c', '*** Add File: a', '+new'],
    ['a/a b/a', 'a/a b/c'],
  ],
  'the removal of a file that is moved and then deleted': [
    ['*** Update File: a', '*** Move to: c', '*** Delete File: c'],
    ['a/a /dev/null'],
  ],
  'the removal of a file and another file at its new path': [
    ['*** Update File: a', '*** Move to: c', '*** Delete File: c', '*** Add File: c', '+new'],
    ['a/a /dev/null', '/dev/null b/c'],
  ],
  'the removal of a file that is moved twice': [
    ['*** Update File: a', '*** Move to: c', '*** Update File: c', '*** Move to: d'],
    ['a/a /dev/null', '/dev/null b/d'],
  ],
  'the old content of a file that a moved file replaces': [
    ['*** Delete File: b', '*** Update File: a', '*** Move to: b'],
    ['a/b b/b', 'a/a /dev/null'],
  ],
};
for (const [name, [lines, shown]] of Object.entries(HIDDEN)) {
  test(`the preview shows ${name}`, async (t) => {
    const { workspace } = await makeWorkspace(t, { a: '1\n', b: '2\n' });
    const preview = await applyPatchTool(workspace).preview(
      { patch: begin(...lines) },
      toolContext(),
    );
    assert.ok(preview.kind === 'edit');
    const headers = preview.diffs.map(({ formatted_diff }) => {
      const names = /^--- (.*)\n\+\+\+ (.*)\n/m.exec(formatted_diff ?? '');
      // A moved file with the same content has only this line.
      const [, from, to] = names ?? /^diff --git (.*) (.*)\n/.exec(formatted_diff ?? '')!;
      return `${from} ${to}`;
    });
    assert.deepEqual(headers, shown);
  });
}

const line = fc.constantFrom(
  'a',
  'b',
  '',
  '  x',
  '-- y',
  '++ z',
  '-',
  '+',
  '@@ -1 +1 @@',
  '\\ No',
  '--- a',
  'c\r',
);
const text = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
  .map(([lines, end]) => (lines.length === 0 ? '' : lines.join('\n') + (end ? '\n' : '')));

test('a diff of any two texts, applied to the first, gives the second', () => {
  fc.assert(
    fc.property(text, text, fc.nat({ max: 4 }), (before, after, context) => {
      fc.pre(before !== after);
      const patch = createTwoFilesPatch('a/f', 'b/f', before, after, undefined, undefined, {
        context,
      });
      const [file] = parsePatch(patch);
      assert.equal(applyHunks(before, file?.hunks ?? [], 'f'), after);
    }),
    { numRuns: 3000 },
  );
});

test('a patch of several files in one gives each what its diff says, through the tool', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  const tool = applyPatchTool(workspace);
  let round = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 }),
      async (pairs) => {
        const changes = pairs.filter(([before, after]) => before !== after);
        fc.pre(changes.length > 0);
        round += 1;
        const named = changes.map(([before, after], index) => ({
          before,
          after,
          name: `r${round}/${index}`,
        }));
        for (const { name, before } of named) {
          await workspace.apply([{ path: name, before: undefined, after: Buffer.from(before) }]);
        }
        const patch = named
          .map(({ name, before, after }) =>
            createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after),
          )
          .join('');
        await call(tool, { patch });
        for (const { name, after } of named) assert.equal(await readFile(at(name), 'utf8'), after);
      },
    ),
    { numRuns: 60 },
  );
});
