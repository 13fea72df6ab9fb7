/**
 * The first words of commands that may be allowed with any further words, and the further options that are harmless.
 * `*` stands for the name of a script in package.json.
 *
 * Both lists are closed. The list of first words contains no program whose further words are another command or code,
 * such as interpreters, shells, sudo, env, xargs, npx, make (`--eval`), go (`-exec`), rg (`--pre`) and find. The list
 * of options contains no option that names a program, code, a configuration or a file to write, and no option that
 * makes a check change files, such as `--fix`. It also contains no option that has another meaning in some version of
 * the program.
 *
 * Programs in JavaScript and some others disagree on the meaning of `-abc` and `-aVALUE`. So their short options are in
 * `long` and `longValued`, and must be words of their own.
 */
import {
  git,
  gitReads,
  harmless,
  type FurtherWords,
  type HarmlessOptions,
} from './further-words.ts';
import { wordsIn } from './read-options.ts';

/** Options with the same meaning in most programs for tests and checks. A script may run any of them. */
const SCRIPT = {
  long: wordsIn(
    '--watch --verbose --silent --quiet --bail --coverage --check --version --help -v -h',
  ),
  longValued: wordsIn('-t --grep --testNamePattern --test-name-pattern'),
} satisfies HarmlessOptions;
const script = harmless(SCRIPT, SCRIPT);
const npm = harmless(
  {
    long: [...SCRIPT.long, ...wordsIn('-s --if-present --workspaces')],
    longValued: [...SCRIPT.longValued, ...wordsIn('-w --workspace')],
    scopes: true,
  },
  SCRIPT,
);

const CARGO = {
  flags: 'vqr',
  valued: 'pjF',
  long: wordsIn(
    '--workspace --all --lib --bins --examples --tests --benches --all-targets --release --all-features ' +
      '--no-default-features --verbose --quiet --locked --offline --frozen --keep-going',
  ),
  longValued: wordsIn(
    '--package --exclude --bin --example --test --bench --jobs --features --color --message-format',
  ),
} satisfies HarmlessOptions;
const cargo = harmless(CARGO);

const dotnet = harmless({
  long: wordsIn(
    '--no-restore --no-build --no-incremental --no-dependencies --nologo -nologo --list-tests --help -h',
  ),
  longValued: wordsIn('-c --configuration -f --framework -v --verbosity --filter'),
  other: /^-v:\w+$/,
  texts: ['--filter'],
});

const VITEST: HarmlessOptions = {
  long: wordsIn(
    '--run --watch -w --coverage --silent --no-color --passWithNoTests --hideSkippedTests ' +
      '--no-file-parallelism --version -v --help -h',
  ),
  longValued: wordsIn(
    '-t --testNamePattern --project --bail --retry --testTimeout --maxWorkers --shard',
  ),
  other: /^--reporter=(?:default|basic|verbose|dot|tap|tap-flat|json)$/,
  texts: wordsIn('-t --testNamePattern'),
};

const RUFF: HarmlessOptions = {
  flags: 'qvsenw',
  long: wordsIn(
    '--quiet --verbose --silent --diff --check --statistics --show-files --show-settings --no-cache --exit-zero ' +
      '--no-fix --preview --no-preview --watch --version --help',
  ),
  longValued: wordsIn(
    '--select --ignore --extend-select --line-length --target-version --output-format',
  ),
};

const PREFIXES: Readonly<Record<string, FurtherWords>> = {
  'npm test': npm,
  'npm run *': npm,
  'npm run-script *': npm,
  'pnpm test': script,
  'pnpm run *': script,
  'yarn test': script,
  'yarn run *': script,
  'bun test': harmless({
    long: wordsIn('--watch --only --todo --coverage --randomize --pass-with-no-tests --help'),
    optional: ['--bail'],
    longValued: wordsIn('-t --test-name-pattern --timeout --rerun-each --seed --max-concurrency'),
    texts: wordsIn('-t --test-name-pattern'),
  }),
  'cargo build': cargo,
  'cargo check': cargo,
  'cargo test': harmless(
    { ...CARGO, long: [...CARGO.long, ...wordsIn('--no-run --no-fail-fast --doc')] },
    {
      flags: 'q',
      long: wordsIn(
        '--nocapture --no-capture --ignored --include-ignored --exact --list --show-output --quiet',
      ),
      longValued: wordsIn('--test-threads --skip --color'),
    },
  ),
  'cargo clippy': harmless(
    { ...CARGO, long: [...CARGO.long, '--no-deps'] },
    { valued: 'AWDF', longValued: wordsIn('--allow --warn --deny --forbid') },
  ),
  'cargo fmt': harmless(
    {
      flags: 'vq',
      valued: 'p',
      long: wordsIn('--all --check --verbose --quiet'),
      longValued: ['--package'],
    },
    { flags: 'lvq', long: wordsIn('--check --files-with-diff --verbose --quiet') },
  ),
  'cargo doc': harmless({
    ...CARGO,
    long: [...CARGO.long, ...wordsIn('--no-deps --document-private-items')],
  }),
  'dotnet build': dotnet,
  'dotnet test': dotnet,
  'git status': gitReads('status'),
  'git diff': gitReads('diff'),
  'git log': gitReads('log'),
  'git show': gitReads('show'),
  'git blame': gitReads('blame'),
  // Without -f, which adds ignored files such as `.env`.
  'git add': git({
    flags: 'AuvnN',
    long: wordsIn('--all --update --verbose --dry-run --intent-to-add --ignore-errors'),
  }),
  // Without --amend, which replaces a commit, and without --no-verify, which skips hooks.
  'git commit': git({
    flags: 'aqvsio',
    valued: 'm',
    long: wordsIn(
      '--all --quiet --verbose --signoff --include --only --allow-empty --dry-run --short --branch --porcelain --long',
    ),
    longValued: ['--message'],
  }),
  'git rev-parse': git({
    flags: 'q',
    long: wordsIn(
      '--show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree ' +
        '--is-inside-git-dir --is-bare-repository --is-shallow-repository --symbolic-full-name --verify --quiet --all',
    ),
    optional: wordsIn('--abbrev-ref --short --branches --tags --remotes'),
  }),
  'git ls-files': git({
    flags: 'cdmoisuktvz',
    long: wordsIn(
      '--cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory ' +
        '--exclude-standard --error-unmatch --full-name --eol --deduplicate',
    ),
    optional: ['--abbrev'],
  }),
  pytest: harmless({
    flags: 'xvqslh',
    valued: 'kmrn',
    long: wordsIn(
      '--exitfirst --verbose --quiet --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise ' +
        '--collect-only --co --showlocals --no-header --no-summary --disable-warnings --strict-markers --full-trace ' +
        '--runxfail --setup-show --setup-plan --fixtures --markers --cov --no-cov --version --help',
    ),
    longValued: wordsIn('--maxfail --durations --tb --color --capture --timeout'),
  }),
  // A file as an operand would be compiled to a file beside it.
  tsc: harmless({
    long: wordsIn(
      '--noEmit --watch -w --pretty --strict --skipLibCheck --listFiles --listFilesOnly --diagnostics ' +
        '--extendedDiagnostics --showConfig --explainFiles --noErrorTruncation --version -v --help -h --all',
    ),
    first: /(?!)/,
  }),
  eslint: harmless({
    long: wordsIn(
      '--quiet --color --no-color --no-warn-ignored --no-error-on-unmatched-pattern --pass-on-no-patterns ' +
        '--exit-on-fatal-error --report-unused-disable-directives --no-inline-config --no-ignore --stats --version ' +
        '-v --help -h',
    ),
    longValued: wordsIn('--max-warnings --ext'),
    other: /^--format=(?:stylish|json)$/,
  }),
  prettier: harmless({
    long: wordsIn(
      '--check -c --list-different -l --ignore-unknown -u --no-color --no-config --no-editorconfig ' +
        '--no-error-on-unmatched-pattern --version -v --help -h',
    ),
    longValued: ['--log-level'],
  }),
  jest: harmless({
    long: wordsIn(
      '--watch --watchAll --bail -b --verbose --silent --runInBand -i --ci --coverage --onlyChanged -o ' +
        '--passWithNoTests --forceExit --detectOpenHandles --listTests --expand -e --errorOnDeprecated --json ' +
        '--noStackTrace --randomize --runTestsByPath --findRelatedTests --colors --no-cache --version -v --help -h',
    ),
    longValued: wordsIn(
      '-t --testNamePattern --testPathPattern --testPathPatterns --maxWorkers -w --testTimeout --seed --shard ' +
        '--selectProjects',
    ),
    texts: wordsIn('-t --testNamePattern --testPathPattern --testPathPatterns'),
  }),
  'vitest run': harmless(VITEST),
  // `vitest init` writes files.
  vitest: harmless({ ...VITEST, first: /[./]|^(?:watch|dev|list|bench|related|tests?|src)$/ }),
  // `mocha init` writes files. The word `inspect` or `debug` starts the debugger of node, which runs code from its
  // standard input.
  mocha: harmless({
    long: wordsIn(
      '--bail -b --watch -w --exit --check-leaks --forbid-only --forbid-pending --full-trace --parallel -p ' +
        '--recursive --sort -S --invert -i --dry-run --color -c --no-color -C --diff --no-diff --inline-diffs ' +
        '--version -V --help -h',
    ),
    longValued: wordsIn('-g --grep -f --fgrep -t --timeout -s --slow -j --jobs --retries'),
    other: /^--reporter=(?:spec|dot|min|list|tap|json|nyan|progress|landing)$/,
    texts: wordsIn('-g --grep -f --fgrep'),
    first: /[./]|^(?:run|specs?|tests?|src)$/,
    refused: ['init', 'inspect', 'debug'],
  }),
  mypy: harmless({
    flags: 'vh',
    long: wordsIn(
      '--strict --ignore-missing-imports --pretty --show-error-codes --hide-error-codes --show-error-context ' +
        '--show-column-numbers --no-error-summary --check-untyped-defs --disallow-untyped-defs ' +
        '--disallow-incomplete-defs --warn-unused-ignores --warn-return-any --warn-unreachable --namespace-packages ' +
        '--explicit-package-bases --no-incremental --no-color-output --verbose --version --help',
    ),
    longValued: wordsIn(
      '--python-version --platform --follow-imports --disable-error-code --enable-error-code',
    ),
  }),
  'ruff check': harmless(RUFF),
  'ruff format': harmless(RUFF),
  ruff: harmless({ ...RUFF, first: /^(?:check|format)$/ }),
  black: harmless({
    flags: 'qvSh',
    valued: 'ltW',
    long: wordsIn(
      '--check --diff --color --no-color --quiet --verbose --fast --safe --preview --skip-string-normalization ' +
        '--skip-magic-trailing-comma --version --help',
    ),
    longValued: wordsIn('--line-length --target-version --workers'),
  }),
  rspec: harmless({
    long: wordsIn(
      '--fail-fast --no-fail-fast --backtrace -b --color -c --no-color --force-color --warnings -w --only-failures ' +
        '--next-failure -n --dry-run --profile -p --version -v --help -h',
    ),
    longValued: wordsIn('-e --example -t --tag --order --seed'),
    other: /^(?:--format=|-f)(?:d|documentation|p|progress|j|json)$/,
    texts: wordsIn('-e --example'),
  }),
  rubocop: harmless({
    long: wordsIn(
      '--parallel -P --no-parallel --lint -l --fail-fast -F --display-cop-names -D --extra-details -E ' +
        '--display-style-guide -S --display-only-fail-level-offenses --list-target-files -L --force-exclusion ' +
        '--color --no-color --debug -d --version -v -V --help -h',
    ),
    longValued: wordsIn('--only --except --fail-level'),
  }),
  phpunit: harmless({
    long: wordsIn(
      '--stop-on-failure --stop-on-error --stop-on-warning --stop-on-defect --testdox --verbose -v --debug ' +
        '--list-tests --list-suites --list-groups --random-order --no-coverage --no-progress --no-output ' +
        '--fail-on-warning --fail-on-risky --display-warnings --display-deprecations --display-errors ' +
        '--display-notices --do-not-cache-result --version --help -h',
    ),
    optional: ['--colors'],
    longValued: wordsIn(
      '--filter --group --exclude-group --testsuite --order-by --random-order-seed',
    ),
    texts: ['--filter'],
  }),
  oxlint: harmless({
    long: wordsIn('--quiet --deny-warnings --silent --type-aware --rules --version -V --help -h'),
    longValued: wordsIn('--max-warnings --threads -A --allow -W --warn -D --deny'),
  }),
};

export interface Prefix {
  readonly words: readonly string[];
  readonly further: FurtherWords;
}

/** The most specific prefix of a command comes first. */
export const prefixes: readonly Prefix[] = Object.entries(PREFIXES).map(([text, further]) => ({
  words: wordsIn(text),
  further,
}));
