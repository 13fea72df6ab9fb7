/** Which words may follow the first words of a command that a rule allows. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { ROOT, SHELL, shellRule, verdict } from '../../../test/support/policy.ts';
import { isInside } from '../files/path-rules.ts';

/** Returns the decision about a line after "Always allow" for these first words. */
function decision(words: string, line: string, root = ROOT): string {
  return verdict([shellRule('allow', words)], SHELL, { command: line }, { root }).decision;
}

/** A workspace with a package in `src`, and links that lead outside. */
function makeRoot(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-further-')));
  t.after(() => rmSync(folder, { recursive: true }));
  const root = path.join(folder, 'root');
  mkdirSync(path.join(root, 'src'), { recursive: true });
  mkdirSync(path.join(folder, 'outside'));
  writeFileSync(path.join(folder, 'outside/secret.py'), '');
  for (const file of ['a.py', '-x.py', '.b.py', 'src/c.py'])
    writeFileSync(path.join(root, file), '');
  symlinkSync('../outside', path.join(root, 'link'));
  symlinkSync('../../outside/secret.py', path.join(root, 'src/linked.py'));
  symlinkSync('../absent', path.join(root, 'broken'));
  symlinkSync('src', path.join(root, 'inside'));
  return root;
}

test('harmless options and operands are allowed', () => {
  for (const [words, ...lines] of [
    [
      'npm test',
      'npm test -w a --watch',
      'npm test -w @scope/a',
      'npm test -- src/*.test.ts -t name',
      'npm test -v',
    ],
    ['npm run *', 'npm run lint -- --quiet src', 'npm run build --watch'],
    ['pnpm test', 'pnpm test -- parser', 'pnpm test -t "reads a list"'],
    ['bun test', 'bun test src/a.test.ts -t "a (b)" --bail=1'],
    ['cargo test', 'cargo test -p core --release -- --nocapture --test-threads=1 tokens::it'],
    ['cargo clippy', 'cargo clippy --all-targets -- -D warnings', 'cargo clippy --workspace'],
    ['cargo fmt', 'cargo fmt --all -- --check'],
    [
      'dotnet test',
      'dotnet test -c Release --no-build --filter "Name~It&A!=B"',
      'dotnet test -v:q',
    ],
    [
      'git log',
      'git log --oneline -20 main..topic',
      'git log -p -- src/*.ts',
      'git log -S x HEAD~2',
    ],
    ['git diff', 'git diff --stat HEAD~2 src', 'git diff -U5 @{u} -- "a b"'],
    ['git show', 'git show HEAD:src/a.ts', 'git show stash@{0} --stat'],
    ['git add', 'git add -A', 'git add src/x{a,b}.ts src/c*.ts'],
    ['git commit', 'git commit -am "Fix: see https://x.example/?a=/b, ~3 files; ../c"'],
    ['pytest', 'pytest -xvs -k "name and not slow" tests/test_a.py::T::test_b[1-x]', 'pytest -rA'],
    ['tsc', 'tsc --noEmit --pretty', 'tsc -w'],
    ['eslint', 'eslint . --ext .ts,.tsx --max-warnings=0', "eslint 'src/**/*.{ts,tsx}'"],
    ['prettier', 'prettier --check "src/**/*.ts" README.md', 'prettier -c .'],
    ['jest', 'jest -t "adds (1 + 1)" --runInBand src/a.test.ts', 'jest --maxWorkers=50%'],
    ['vitest', 'vitest src/a.test.ts', 'vitest --run --reporter=verbose'],
    ['vitest run', 'vitest run parser -t "a name"'],
    ['mocha', 'mocha --bail -g "a|b" test', 'mocha test/*.js --reporter=dot'],
    ['ruff', 'ruff check --select E,F src', 'ruff format --check'],
    ['ruff check', 'ruff check src --statistics'],
    ['rspec', 'rspec spec/a_spec.rb:12 -e "a name" --format=documentation'],
    ['phpunit', 'phpunit --filter "/^it::/" --testdox tests'],
  ]) {
    for (const line of lines) assert.equal(decision(words!, line), 'allow', line);
  }
});

test('paths outside the workspace and expansions are asked about in every form', () => {
  for (const [words, ...lines] of [
    [
      'git diff',
      'git diff -- "$HOME/.ssh/id_rsa" /dev/nul[l]',
      'git diff /etc/passw[d] /dev/nul[l]',
      'git diff --no-index a b',
      'git diff /dev/null /etc/passwd',
      'git diff -- ../a b',
      'git diff -- ~/a b',
      'git diff -- {..,.}/a b',
      'git diff -- ":(top)../a"',
      'git diff - a',
    ],
    [
      'pytest',
      'pytest /tmp/evil/test_*.py',
      'pytest ../other/test_*.py',
      'pytest .?/x.py',
      'pytest .*',
      'pytest src/.?/.?/x.py',
      'pytest src/../../x.py',
      'pytest x{,/../..}/y',
      'pytest {/tmp,.}/y',
      'pytest file:///tmp/x.py',
      'pytest a:/tmp/x.py',
      'pytest a:../x.py',
      'pytest @/tmp/arguments',
      'pytest @arguments',
      'pytest -k @arguments',
      'pytest -- @arguments',
      'pytest --rootdir=/tmp',
      'pytest -k=~/x',
      'pytest -k a --ignore=/tmp',
      'pytest *',
      'pytest -*',
      'pytest ~ann/x',
      'pytest < /etc/passwd',
      'pytest < ../x',
    ],
    [
      'mocha',
      'mocha /tmp/e*',
      "mocha '{/tmp,x}/e.js'",
      "mocha '.{.,x}/e.js'",
      "mocha '@(..)/x.js'",
    ],
    ['prettier', "prettier '{.,x}{.,y}/a.json'", "prettier '*/a.json'", 'prettier src/**/a.json'],
    [
      'git commit',
      'git commit --allow-empty -F/home/ann/.ssh/id_ed25519',
      'git commit -F../x',
      'git commit -aF ../x',
      'git commit -F - < list.txt',
    ],
    ['git add', 'git add :/', 'git add ../x', 'git add --pathspec-from-file=/tmp/x'],
    ['npm test', 'npm test -- /tmp/x.js', 'npm test -w ../x', 'npm test $X', 'npm test {a,--b}'],
  ]) {
    for (const line of lines) assert.equal(decision(words!, line), 'ask', line);
  }
});

test('options that write, delete, run or configure something are asked about', () => {
  for (const [words, ...lines] of [
    [
      'pytest',
      'pytest --basetemp=src',
      'pytest --junit-xml=src/main.py',
      'pytest --debug=src/main.py',
      'pytest -p x',
      'pytest -xp x',
      'pytest -c x',
      'pytest -k "a().b"',
    ],
    [
      'mypy',
      'mypy --junit-xml=src/x.py .',
      'mypy --python-executable x src',
      'mypy --html-report x',
    ],
    ['phpunit', 'phpunit --testdox-text=src/index.php', 'phpunit --coverage-php=x', 'phpunit -c x'],
    [
      'tsc',
      'tsc --OUTFILE src/x.js',
      'tsc -outFile src/x.js',
      'tsc --tsBuildInfoFile x',
      'tsc --declarationDir x',
      'tsc --generateCpuProfile x',
      'tsc src/x.ts',
      'tsc @x',
    ],
    [
      'eslint',
      'eslint --cache --cache-location=src/index.ts',
      'eslint --fix .',
      'eslint -f ./x',
      'eslint --format=./x',
    ],
    ['prettier', 'prettier --write .', 'prettier --plugin=./x a'],
    [
      'cargo test',
      'cargo test -- --logfile=src/main.rs',
      'cargo test --config x',
      'cargo test -- -Z x',
    ],
    [
      'cargo clippy',
      'cargo clippy -- --codegen linker=./x',
      'cargo clippy -- @x',
      'cargo clippy -- -D @x',
      'cargo clippy --fix',
    ],
    [
      'dotnet test',
      'dotnet test --diag:F',
      'dotnet test -- A.B=x',
      'dotnet test --filter @x',
      'dotnet test -p:A=b',
    ],
    ['dotnet build', 'dotnet build -bl:F', 'dotnet build -flp:logfile=F', 'dotnet build /p:A=b'],
    [
      'vitest',
      'vitest --typecheck.enabled --typecheck.checker=./evil',
      'vitest init browser',
      "vitest 'ini[t]'",
      'vitest --reporter=./x.js',
    ],
    ['jest', 'jest --testSequencer=./x.js', 'jest --filter=./x.js', 'jest -iR ./x', 'jest -t./x'],
    ['mocha', 'mocha -gR./x', 'mocha -bR ./x', 'mocha -r ./x', 'mocha init src', 'mocha inspect x'],
    ['git blame', 'git blame -S -- --output=x README.md', 'git blame --contents x a'],
    ['git log', 'git log -1 --format=x --output=a', 'git log --ext-diff', 'git log --format=%G?'],
    ['git add', 'git add -f .env', 'git add -e'],
    ['git commit', 'git commit --amend -m x', 'git commit -nm x', 'git commit -m x --template=y'],
    ['ruff', 'ruff --config x check', 'ruff server', 'ruff check --fix', 'ruff check --add-noqa'],
    ['black', 'black --config x .', 'black - < x'],
    ['rspec', 'rspec -r ./x', 'rspec --format=./x', 'rspec -fx', 'rspec -o x'],
    ['rubocop', 'rubocop -a', 'rubocop -x', 'rubocop -lx', 'rubocop --require x'],
    ['oxlint', 'oxlint --fix', 'oxlint -c x'],
    ['bun test', 'bun test --preload ./x', 'bun test -r./x', 'bun test -u'],
    ['cargo fmt', 'cargo fmt -- --config-path x', 'cargo fmt --manifest-path x'],
  ]) {
    for (const line of lines) assert.equal(decision(words!, line), 'ask', line);
  }
});

test('a word that * matches is no option, and is checked like further words', () => {
  for (const [words, ...lines] of [
    ['npm run * $', 'npm run build'],
    ['npm test *', 'npm test src', 'npm test src --watch'],
    ['git * main', 'git push main'],
  ] as const) {
    for (const line of lines) assert.equal(decision(words, line), 'allow', line);
  }
  for (const [words, ...lines] of [
    ['npm run * $', 'npm run --script-shell=./x', "npm run 'a b'"],
    ['npm run *', 'npm run -w build'],
    ['npm test *', 'npm test --script-shell=./x', 'npm test /tmp/x.js', 'npm test -- --require'],
    ['npm test * $', 'npm test ../x', 'npm test -w'],
    ['git diff *', 'git diff --output=x'],
    ['git * main', 'git --exec-path=. main'],
    ['make * $', 'make -fx', "make --eval='x:'"],
  ] as const) {
    for (const line of lines) assert.equal(decision(words, line), 'ask', line);
  }
});

test('if * matches the subcommand, the options of the subcommand are checked', () => {
  for (const [words, ...lines] of [
    [
      'git * main',
      'git diff main --output=/tmp/x',
      'git log main --ext-diff',
      'git show main -- ../x',
    ],
    ['git *', 'git diff --output=/tmp/x'],
    ['npm * build', 'npm run build --script-shell=./x', 'npm test build /tmp/x.js'],
    ['* test', 'npm test --script-shell=./x'],
  ] as const) {
    for (const line of lines) assert.equal(decision(words, line), 'ask', line);
  }
  for (const [words, line] of [
    ['git * main', 'git diff main --stat'],
    ['npm * build', 'npm run build --watch'],
    ['npm * $', 'npm test'],
  ] as const) {
    assert.equal(decision(words, line), 'allow', line);
  }
});

test('yarn runs only scripts of package.json if * matches the name', (t) => {
  const root = makeRoot(t);
  writeFileSync(path.join(root, 'package.json'), '{ "scripts": { "lint": "x" } }');
  for (const words of ['yarn run *', 'yarn run * $', 'yarn * lint', 'yarn *']) {
    assert.equal(decision(words, 'yarn run lint', root), 'allow', words);
  }
  for (const words of ['yarn run *', 'yarn run * $', 'yarn *', 'yarn * rimraf']) {
    assert.equal(decision(words, 'yarn run rimraf', root), 'ask', words);
  }
  // A person has named this program.
  assert.equal(decision('yarn run rimraf $', 'yarn run rimraf', root), 'allow');
  assert.equal(decision('yarn run rimraf', 'yarn run rimraf', root), 'allow');
});

test('mocha starts no debugger and writes no files, wherever the word is', () => {
  for (const line of ['mocha test/inspect.js', 'mocha test/*.js', 'mocha -g inspects test']) {
    assert.equal(decision('mocha', line), 'allow', line);
  }
  for (const word of ['inspect', 'debug', 'init']) {
    for (const line of [
      `mocha test ${word}`,
      `mocha -g ${word} test`,
      `mocha test/a.js --bail ${word}`,
      `mocha -- test ${word}`,
      `mocha test ${word[0]}*`,
      `mocha test '{${word},x}'`,
      `mocha test {${word},x}`,
      `mocha -g *.js ${word.slice(0, -1)}?`,
    ]) {
      assert.equal(decision('mocha', line), 'ask', line);
    }
  }
});

test('a script gets no words that a shell or a package manager could read in another way', () => {
  for (const words of ['npm test', 'pnpm test', 'yarn test', 'yarn run concurrently']) {
    for (const further of [
      "-- '$(rm x)'",
      "-t '\"; rm x'",
      '-t "a;b"',
      '-t "a --import=x"',
      '"a /tmp/x"',
      '"rm -rf src"',
      '-- --import=x',
      '-C x',
      '--prefix x',
      '--script-s ./x',
      '-w x -- -w x',
    ]) {
      assert.equal(decision(words, `${words} ${further}`), 'ask', `${words} ${further}`);
    }
  }
  assert.equal(decision('npm test --', 'npm test -- -w x'), 'ask');
  assert.equal(decision('yarn run *', 'yarn run concurrently src'), 'ask');
});

test('a link in the workspace does not lead outside it', (t) => {
  const root = makeRoot(t);
  for (const line of ['a.py', 'src', 'inside/c.py', 'src/c*.py', 'absent/x.py', 'src/c.py::x']) {
    assert.equal(decision('pytest', `pytest ${line}`, root), 'allow', line);
  }
  for (const line of [
    'link',
    'link/secret.py',
    'link/secret.py::x',
    'link/absent.py',
    'inside/linked.py',
    'src/linked.py::x',
    'src/linked.py:1',
    'l*',
    'lin[k]',
    'link/s*.py',
    'src/*.py',
    'broken',
    'broken/x',
    '-k link/secret.py',
  ]) {
    assert.equal(decision('pytest', `pytest ${line}`, root), 'ask', line);
  }
  assert.equal(decision('mocha', 'mocha -g l*', root), 'ask');
  for (const line of ['git diff link/secret.py a.py', 'git diff < link/secret.py']) {
    assert.equal(decision('git diff', line, root), 'ask', line);
  }
  assert.equal(decision('git diff', 'git diff < a.py', root), 'allow');
});

const bash = spawnSync('bash', ['-c', 'exit'], { stdio: 'ignore' });

test(
  'whatever bash makes of the words that are allowed, it stays in the workspace',
  { skip: bash.status !== 0 && 'no bash' },
  (t) => {
    const root = makeRoot(t);
    const piece = fc.constantFrom(
      ...'/ / . .. * ** ? [ ] { } , a src link outside inside secret c linked .py ~ $HOME " \' \\ - x @ : = -k $(pwd)'.split(
        ' ',
      ),
      ' ',
      ' ',
    );
    let allowed = 0;
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 9 }), (pieces) => {
        const words = pieces.join('');
        if (decision('pytest', `pytest ${words}`, root) !== 'allow') return;
        allowed++;
        const script = `shopt -u globskipdots 2>/dev/null; printf '%s\\0' ${words}`;
        const { stdout } = spawnSync('bash', ['-c', script], { cwd: root, encoding: 'utf8' });
        for (const word of stdout.split('\0').slice(0, -1)) {
          const written = words
            .replaceAll(/["'\\]/g, '')
            .split(' ')
            .includes(word);
          if (word.startsWith('-') && written) continue;
          assert.ok(!/^[-@/~]/.test(word), `${words} becomes ${word}`);
          const file = path.resolve(root, word);
          const real = existsSync(file) ? realpathSync(file) : file;
          assert.ok(isInside(root, real), `${words} becomes ${word}, which is ${real}`);
        }
      }),
      { numRuns: process.env['PARLEY_TEST_LONG'] ? 50_000 : 2000 },
    );
    assert.ok(allowed > 10, 'some words are allowed');
  },
);
