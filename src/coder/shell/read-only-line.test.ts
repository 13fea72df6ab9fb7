/** Lines that run without approval, with a real bash and real programs as judges of what they do. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { commandEnvironment } from './environment.ts';
import { parseCommandLine } from './parse.ts';
import { readOnlyCommands } from './read-only-commands.ts';
import { readOnlyEnvironment } from './read-only-line.ts';

const LONG = process.env['PARLEY_TEST_LONG'] !== undefined;
const SYSTEM = '/usr/bin:/bin';

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-reads-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function makeRoot(t: TestContext): string {
  const root = path.join(makeFolder(t), 'work');
  mkdirSync(path.join(root, 'src'), { recursive: true });
  writeFileSync(path.join(root, 'a.txt'), 'alpha\nbeta\n');
  writeFileSync(path.join(root, 'src/b.ts'), 'const b = 1;\n');
  return root;
}

const environmentWith = (search: string) => commandEnvironment({ ...process.env, PATH: search });

async function reads(root: string, line: string, search = SYSTEM): Promise<boolean> {
  const environment = environmentWith(search);
  return (await readOnlyEnvironment(line, { root, environment })) !== undefined;
}

test('a line of commands that only read is on the list', () => {
  for (const line of [
    'ls',
    'ls -la src',
    'pwd',
    'cat a.txt | head -5',
    'tail -n +2 a.txt',
    'wc -l a.txt src/b.ts',
    'file a.txt',
    'stat -c %s a.txt',
    'du -sh .',
    'grep -rn "foo(bar|baz)" src --include="*.ts"',
    'grep -A3 -e x -e y a.txt',
    "rg -n 'a;b && c' -g '*.ts' src | head -n 20",
    'rg --files',
    'find . -type f -name "*.ts" -not -path "./node_modules/*" | wc -l',
    'find src \\( -name a -o -name b \\) -print',
    'git status --short',
    'git log --oneline -5 HEAD~3..HEAD -- src',
    'git log --format="%h %an %s" --since="2 weeks ago"',
    'git diff --stat HEAD~1',
    'git show HEAD:src/b.ts',
    "git show 'HEAD@{1}'",
    'git branch --list "feature/*"',
    'git blame -L 1,5 a.txt',
    'git --no-pager log -1',
    'git diff -U0 -- src',
    'git log -n 5 -S needle --author=me',
    'node --version',
  ]) {
    assert.ok(readOnlyCommands(line), line);
  }
});

test('whatever could write, run or expand something is not on the list', () => {
  for (const line of [
    '',
    ' ',
    'ls; ls',
    'ls && ls',
    'ls || ls',
    'ls &',
    'ls |& cat',
    'ls\nls',
    '(ls)',
    '{ ls; }',
    '! ls',
    'time ls',
    'ls | sh',
    'ls | xargs rm',
    'cat a > b',
    'cat a 2>/dev/null',
    'cat < a',
    'cat <<< a',
    'cat <(ls)',
    'cat $HOME',
    'cat "$HOME"',
    'cat `ls`',
    'cat "`ls`"',
    'cat $(ls)',
    "cat $'a'",
    'ls *',
    'ls ?',
    'ls [a]',
    'ls {a,b}',
    'ls ~',
    'ls a=~',
    'A=b ls',
    'ls # comment',
    'ls \\',
    'cat "a',
    'cat ü',
    'cat a\u00a0b',
    '/bin/ls',
    './ls',
    'bin/ls',
    'l\\s | command ls',
    'env ls',
    'sudo ls',
    'echo a',
    'sort -o a b',
    'tee a',
    'awk 1',
    'sed -n p a',
    'npm --version',
    'node --version x',
    'node -e 1',
    'tail -f a',
    'tail --follow a',
    'wc --files0-from=a',
    'du --files0-from=a',
    'du -X a',
    'file -C -m a',
    'file -f a',
    'file -z a',
    'grep -f a b',
    'grep -R a .',
    'grep --file=a b',
    'rg --pre cat a',
    'rg --pre=cat a',
    'rg -z a',
    'rg -L a',
    'rg -f a',
    'rg --hostname-bin=x a',
    'rg --ignore-file=x a',
    'find . -delete',
    'find . -exec rm {} \\;',
    'find . -execdir rm {} +',
    'find . -ok rm {} \\;',
    'find . -fprint a',
    'find . -fprintf a b',
    'find . -fls a',
    'find -L . -name a',
    'find . -newer /etc/passwd',
    'find -files0-from a',
    'ls -L a',
    'ls --dereference a',
    'git',
    'git -c a=b status',
    'git -C x status',
    'git --git-dir=x status',
    'git --exec-path=x status',
    'git -p log',
    'git push',
    'git fetch',
    'git config -l',
    'git branch new',
    'git branch -D a --list',
    'git branch --sort=signature',
    'git diff --output=x',
    'git diff --output x',
    'git diff --no-index a b',
    'git diff -U --output=x',
    'git diff --unified --output=x',
    'git diff -S --output=x',
    'git log --author -- --output=x',
    'git log -- --output=x',
    'head -n -- -f',
    'java -version',
    'git diff --ext-diff',
    'git diff --textconv',
    'git diff --submodule=diff',
    'git diff -Oorder',
    'git log --show-signature',
    'git log --format=%G?',
    'git log --pretty="%+GK"',
    'git log --pretty=mine',
    'git log --remerge-diff',
    'git log --diff-merges=remerge',
    'git show --output=x',
    'git status ":(top)"',
    'git status -v',
    'git blame --contents /etc/passwd a.txt',
    'git blame --ignore-revs-file=/etc/passwd a.txt',
    'git grep -O a',
  ]) {
    assert.equal(readOnlyCommands(line), undefined, line);
  }
});

test('only files of the workspace are read without approval', async (t) => {
  const root = makeRoot(t);
  const outside = path.join(root, '../outside');
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'secret'), 'secret\n');
  symlinkSync('../outside', path.join(root, 'folder'));
  symlinkSync('../outside/secret', path.join(root, 'file'));
  symlinkSync('../outside/none', path.join(root, 'nothing'));
  symlinkSync('src', path.join(root, 'inner'));
  spawnSync('mkfifo', [path.join(root, 'pipe')]);
  for (const line of [
    'cat a.txt',
    `cat ${root}/a.txt`,
    'ls inner',
    'cat inner/b.ts',
    'cat none.txt',
    'ls none/deep',
    'find . -name secret',
    'grep -r secret .',
  ]) {
    assert.equal(await reads(root, line), true, line);
  }
  for (const line of [
    'cat /etc/passwd',
    'cat ../outside/secret',
    'cat src/../a.txt',
    'cat folder/secret',
    'cat folder/../secret',
    'cat folder/none',
    'cat file',
    'cat nothing',
    'cat pipe',
    'cat /dev/stdin',
    'cat /proc/self/environ',
    'ls /',
    'ls ..',
    'ls folder',
    'ls folder/',
    'find folder -name x',
    'find . / -name x',
    'grep -r x folder',
    'grep -rex folder',
    'du /',
    'wc -l a.txt file',
    'head -n 5 file',
    'head -5 -- file',
    'cat a.txt | head /etc/passwd',
    'stat /etc/passwd',
    // Some versions of these programs do not take the word after the option as its value.
    'grep -C 3 /etc/passwd a.txt',
    'head -n /etc/passwd a.txt',
  ]) {
    assert.equal(await reads(root, line), false, line);
  }
});

test('a file that a rule protects is not read, and no folder either', async (t) => {
  const root = makeRoot(t);
  const environment = environmentWith(SYSTEM);
  const shows = (file: string) => !file.startsWith(path.join(root, 'src'));
  const isRead = async (line: string) =>
    (await readOnlyEnvironment(line, { root, environment, shows })) !== undefined;
  assert.equal(await isRead('cat a.txt'), true);
  assert.equal(await isRead('pwd'), true);
  for (const line of ['cat src/b.ts', 'ls', 'ls a.txt', 'grep -r b .', 'find .', 'du', 'git log']) {
    assert.equal(await isRead(line), false, line);
  }
});

test('a program of the workspace, or one that the system does not have, is not run', async (t) => {
  const root = makeRoot(t);
  const own = path.join(root, 'bin');
  mkdirSync(own);
  writeFileSync(path.join(own, 'cat'), '#!/bin/sh\ntouch pwned\n', { mode: 0o755 });
  assert.equal(await reads(root, 'cat a.txt', SYSTEM), true);
  assert.equal(await reads(root, 'cat a.txt', `${own}:${SYSTEM}`), false);
  assert.equal(await reads(root, 'ls', `${own}:${SYSTEM}`), true);
  assert.equal(await reads(root, 'ls', '/nowhere'), false);
  // A workspace that contains the system's own programs.
  assert.equal(await reads('/', 'ls'), false);
  assert.equal(await reads('/usr', 'ls'), false);
});

test('the environment has nothing that makes a program run another one', async (t) => {
  const root = makeRoot(t);
  const environment = commandEnvironment({
    PATH: `${root}/bin:${SYSTEM}`,
    HOME: '/home/me',
    LC_ALL: 'C.UTF-8',
    RIPGREP_CONFIG_PATH: 'a',
    LD_PRELOAD: 'b',
    GIT_EXTERNAL_DIFF: 'c',
    GIT_DIR: 'd',
    NODE_OPTIONS: '--require e',
    'BASH_FUNC_ls%%': '() { touch f; }',
    POSIXLY_CORRECT: '1',
  });
  const own = await readOnlyEnvironment('ls', { root, environment });
  const names = 'CI HOME LC_ALL NO_COLOR PAGER PATH TERM';
  assert.equal(
    Object.keys(own ?? {})
      .toSorted()
      .join(' '),
    names,
  );
  assert.doesNotMatch(own?.['PATH'] ?? '', /work/);
});

/** Names that are programs in the property below: those of the list, and others that must not run. */
const STUBS = (
  'ls cat head tail wc file stat du grep rg find git node python3 rm touch sh bash env xargs tee sort echo evil ' +
  'command eval q a b x'
).split(' ');

/** A folder with a program for each name, which records its arguments. */
function makeStubs(t: TestContext): { readonly folder: string; readonly record: string } {
  const folder = makeFolder(t);
  const record = path.join(folder, '.record');
  const [first, ...others] = STUBS.map((name) => path.join(folder, name));
  // No other program is started, so that the search path can contain the stubs alone.
  writeFileSync(first!, `#!/bin/bash\nprintf '%q ' "\${0##*/}" "$@" @@end >>'${record}'\n`);
  chmodSync(first!, 0o755);
  for (const stub of others) symlinkSync(first!, stub);
  return { folder, record };
}

const OPERATORS = [
  '|',
  ' | ',
  ';',
  '&&',
  '||',
  '&',
  '|&',
  '\n',
  '>',
  '<',
  '>>',
  '2>&1',
  '<<<',
  '#',
];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a.txt', 'src', '-n', '-la', '.', 'HEAD~1', '--', '-5') },
  {
    weight: 3,
    arbitrary: fc.constantFrom('"a b"', "'c;d'", '"x|y"', '\\(', "'$(evil)'", '"a\\.b"'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('$(evil)', '`evil`', '"$(evil)"', '${x}', '~', '*', '{a,b}'),
  },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom(...`ab'"\\$\`|;&<>(){}~*!#= -/`.split('')),
      maxLength: 8,
    }),
  },
);
const start = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('ls', 'cat', 'head', 'grep x', 'git log', 'find .', 'pwd', 'rg y'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('evil', 'sh', 'A=b ls', 'l"s"', "c'a't", 'env ls', '\\ls', '! ls'),
  },
);
const command = fc
  .tuple(start, fc.array(word, { maxLength: 4 }))
  .map(([first, rest]) => [first, ...rest].join(' '));
const generated = fc
  .tuple(
    command,
    fc.array(
      fc.tuple(
        fc.oneof({ weight: 4, arbitrary: fc.constant(' | ') }, fc.constantFrom(...OPERATORS)),
        command,
      ),
      { maxLength: 2 },
    ),
  )
  .map(([first, rest]) => first + rest.map(([operator, next]) => operator + next).join(''));

test('bash runs exactly the commands of a generated line that needs no approval, and writes nothing', (t) => {
  const root = makeRoot(t);
  const { folder, record } = makeStubs(t);
  const before = stateOf(root);
  let accepted = 0;
  fc.assert(
    fc.property(generated, (line) => {
      const commands = readOnlyCommands(line);
      if (!commands) return;
      accepted++;
      writeFileSync(record, '');
      const { stderr } = spawnSync('/bin/bash', ['-c', line], {
        cwd: root,
        env: { PATH: folder, HOME: '/evil', x: 'evil' },
        encoding: 'utf8',
      });
      assert.equal(stderr, '', line);
      const wanted = parseCommandLine(line)
        .commands.map(({ words }) => words.map(({ text }) => text))
        .filter(([program]) => program !== 'pwd');
      assert.deepEqual(
        recorded(record),
        wanted.map((each) => JSON.stringify(each)).toSorted(),
        line,
      );
      assert.deepEqual(stateOf(root), before, line);
    }),
    { numRuns: LONG ? 20_000 : 400 },
  );
  assert.ok(accepted > (LONG ? 2000 : 40), `only ${accepted} lines were accepted`);
});

test('real programs write nothing and show nothing from outside, whatever words need no approval', async (t) => {
  const root = makeRoot(t);
  const outside = path.join(root, '../outside');
  writeFileSync(outside, 'SECRET\n');
  symlinkSync('../outside', path.join(root, 'link'));
  const settings = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    [...settings, 'commit', '-qm', 'SUBJECT'],
  ]) {
    spawnSync('git', args, { cwd: root });
  }
  writeFileSync(path.join(root, 'a.txt'), 'changed\n');
  const programs =
    'git diff,git log,git show,git blame,git branch,git status,grep,head,tail,find,ls,cat,wc,du,stat,file';
  const options =
    '-U -U1 -S -G -L -n -C -A -M -O -e -r -f -o -p -d -c -l -v --unified --abbrev --stat --output=pwned --author ' +
    '--sort --date --list --no-index --include --exclude --max-count --lines --color -- - -5 -name -fprint -printf -newer';
  const others = [
    outside,
    'link',
    'a.txt',
    'src',
    '.',
    'pwned',
    'HEAD',
    '1',
    'alpha',
    '../outside',
  ];
  const line = fc
    .tuple(
      fc.constantFrom(...programs.split(',')),
      fc.array(fc.constantFrom(...options.split(' '), ...others), { maxLength: 4 }),
    )
    .map(([program, rest]) => [program, ...rest].join(' '));
  const before = stateOf(root);
  let accepted = 0;
  for (const each of fc.sample(line, LONG ? 20_000 : 300)) {
    const environment = environmentWith(SYSTEM);
    const env = await readOnlyEnvironment(each, { root, environment });
    if (!env) continue;
    accepted++;
    const run = spawnSync('/bin/bash', ['-c', each], {
      cwd: root,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000,
    });
    assert.doesNotMatch(run.stdout + run.stderr, /SECRET/, each);
    assert.deepEqual(stateOf(root), before, each);
  }
  assert.ok(accepted > 20, `only ${accepted} lines were accepted`);
});

/** The calls of the stubs, in any order, because the commands of a pipeline run at the same time. */
function recorded(record: string): string[] {
  const calls = readFileSync(record, 'utf8').split('@@end ').slice(0, -1);
  return calls
    .map((call) =>
      JSON.stringify(parseCommandLine(call).commands[0]!.words.map(({ text }) => text)),
    )
    .toSorted();
}

/** The files of a folder, with their content. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const stats = statSync(path.join(folder, name), { throwIfNoEntry: false });
      return `${name} ${stats?.isFile() ? readFileSync(path.join(folder, name), 'utf8') : ''}`;
    });
}
