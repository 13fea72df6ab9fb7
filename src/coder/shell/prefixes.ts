/**
 * Lists the first words of commands, such as `cargo test`. A rule for these first words may allow further words. Each
 * entry also lists the options that are harmless as further words. `*` stands for the name of a script in package.json.
 *
 * Both lists are allowlists. The list of first words contains no program whose further words are another command or
 * code, such as interpreters, shells, sudo, env, xargs, npx, make (`--eval`), go (`-exec`), rg (`--pre`) and find. The
 * list of options contains no option that names a program, code, a configuration or a file to write, and no option that
 * makes a check change files, such as `--fix`. It also contains no option that has another meaning in some version of
 * the program.
 *
 * Programs in JavaScript and some others disagree on the meaning of `-abc` and `-aVALUE`. So their short options are in
 * `long`, and must be words of their own.
 */
import {
  git,
  gitReads,
  harmless,
  type FurtherWords,
  type HarmlessOptions,
} from './further-words.ts';
import { wordsIn } from './read-options.ts';

/** Options with the same meaning in most programs for tests and checks. A script may run any such program. */
const SCRIPT = {
  long: `--watch --verbose --silent --quiet --bail --coverage --check --version --help -v -h -t: --grep:
    --testNamePattern: --test-name-pattern:`,
} satisfies HarmlessOptions;
const npm = harmless(
  { long: `${SCRIPT.long} -s --if-present --workspaces -w: --workspace:`, scopes: true },
  SCRIPT,
);

const CARGO = {
  short: 'vqrp:j:F:',
  long: `--workspace --all --lib --bins --examples --tests --benches --all-targets --release --all-features
    --no-default-features --verbose --quiet --locked --offline --frozen --keep-going --package: --exclude:
    --bin: --example: --test: --bench: --jobs: --features: --color: --message-format:`,
} satisfies HarmlessOptions;

const dotnet = harmless({
  long: `--no-restore --no-build --no-incremental --no-dependencies --nologo -nologo --list-tests --help -h -c:
    --configuration: -f: --framework: -v: --verbosity: --filter:`,
  other: /^-v:\w+$/,
  texts: ['--filter'],
});

const VITEST: HarmlessOptions = {
  long: `--run --watch -w --coverage --silent --no-color --passWithNoTests --hideSkippedTests
    --no-file-parallelism --version -v --help -h -t: --testNamePattern: --project: --bail: --retry:
    --testTimeout: --maxWorkers: --shard:`,
  other: /^--reporter=(?:default|basic|verbose|dot|tap|tap-flat|json)$/,
  texts: wordsIn('-t --testNamePattern'),
};

const RUFF: HarmlessOptions = {
  short: 'qvsenw',
  long: `--quiet --verbose --silent --diff --check --statistics --show-files --show-settings --no-cache
    --exit-zero --no-fix --preview --no-preview --watch --version --help --select: --ignore: --extend-select:
    --line-length: --target-version: --output-format:`,
};

/** Each key is a list of prefixes, separated by commas. The value checks the further words of their commands. */
const PREFIXES: Readonly<Record<string, FurtherWords>> = {
  'npm test, npm run *, npm run-script *': npm,
  'pnpm test, pnpm run *, yarn test, yarn run *': harmless(SCRIPT, SCRIPT),
  'bun test': harmless({
    long: `--watch --only --todo --coverage --randomize --pass-with-no-tests --help --bail:: -t:
      --test-name-pattern: --timeout: --rerun-each: --seed: --max-concurrency:`,
    texts: wordsIn('-t --test-name-pattern'),
  }),
  'cargo build, cargo check': harmless(CARGO),
  'cargo test': harmless(
    { ...CARGO, long: `${CARGO.long} --no-run --no-fail-fast --doc` },
    {
      short: 'q',
      long: `--nocapture --no-capture --ignored --include-ignored --exact --list --show-output --quiet
        --test-threads: --skip: --color:`,
    },
  ),
  'cargo clippy': harmless(
    { ...CARGO, long: `${CARGO.long} --no-deps` },
    { short: 'A:W:D:F:', long: '--allow: --warn: --deny: --forbid:' },
  ),
  'cargo fmt': harmless(
    { short: 'vqp:', long: '--all --check --verbose --quiet --package:' },
    { short: 'lvq', long: '--check --files-with-diff --verbose --quiet' },
  ),
  'cargo doc': harmless({ ...CARGO, long: `${CARGO.long} --no-deps --document-private-items` }),
  'dotnet build, dotnet test': dotnet,
  'git status': gitReads('status'),
  'git diff': gitReads('diff'),
  'git log': gitReads('log'),
  'git show': gitReads('show'),
  'git blame': gitReads('blame'),
  // Without -f, which adds ignored files such as `.env`.
  'git add': git({
    short: 'AuvnN',
    long: '--all --update --verbose --dry-run --intent-to-add --ignore-errors',
  }),
  // Without --amend, which replaces a commit, and without --no-verify, which skips hooks.
  'git commit': git({
    short: 'aqvsiom:',
    long: `--all --quiet --verbose --signoff --include --only --allow-empty --dry-run --short --branch
      --porcelain --long --message:`,
  }),
  'git rev-parse': git({
    short: 'q',
    long: `--show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir
      --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository
      --symbolic-full-name --verify --quiet --all --abbrev-ref:: --short:: --branches:: --tags:: --remotes::`,
  }),
  'git ls-files': git({
    short: 'cdmoisuktvz',
    long: `--cached --deleted --modified --others --ignored --stage --unmerged --killed --directory
      --no-empty-directory --exclude-standard --error-unmatch --full-name --eol --deduplicate --abbrev::`,
  }),
  pytest: harmless({
    short: 'xvqslhk:m:r:n:',
    long: `--exitfirst --verbose --quiet --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise
      --collect-only --co --showlocals --no-header --no-summary --disable-warnings --strict-markers --full-trace
      --runxfail --setup-show --setup-plan --fixtures --markers --cov --no-cov --version --help --maxfail:
      --durations: --tb: --color: --capture: --timeout:`,
  }),
  // A file as an operand would be compiled to a file beside it.
  tsc: harmless({
    long: `--noEmit --watch -w --pretty --strict --skipLibCheck --listFiles --listFilesOnly --diagnostics
      --extendedDiagnostics --showConfig --explainFiles --noErrorTruncation --version -v --help -h --all`,
    first: /(?!)/,
  }),
  eslint: harmless({
    long: `--quiet --color --no-color --no-warn-ignored --no-error-on-unmatched-pattern --pass-on-no-patterns
      --exit-on-fatal-error --report-unused-disable-directives --no-inline-config --no-ignore --stats --version
      -v --help -h --max-warnings: --ext:`,
    other: /^--format=(?:stylish|json)$/,
  }),
  prettier: harmless({
    long: `--check -c --list-different -l --ignore-unknown -u --no-color --no-config --no-editorconfig
      --no-error-on-unmatched-pattern --version -v --help -h --log-level:`,
  }),
  jest: harmless({
    long: `--watch --watchAll --bail -b --verbose --silent --runInBand -i --ci --coverage --onlyChanged -o
      --passWithNoTests --forceExit --detectOpenHandles --listTests --expand -e --errorOnDeprecated --json
      --noStackTrace --randomize --runTestsByPath --findRelatedTests --colors --no-cache --version -v --help -h
      -t: --testNamePattern: --testPathPattern: --testPathPatterns: --maxWorkers: -w: --testTimeout: --seed:
      --shard: --selectProjects:`,
    texts: wordsIn('-t --testNamePattern --testPathPattern --testPathPatterns'),
  }),
  'vitest run': harmless(VITEST),
  // `vitest init` writes files.
  vitest: harmless({ ...VITEST, first: /[./]|^(?:watch|dev|list|bench|related|tests?|src)$/ }),
  // `mocha init` writes files. The word `inspect` or `debug` starts the debugger of node, which runs code from its
  // standard input.
  mocha: harmless({
    long: `--bail -b --watch -w --exit --check-leaks --forbid-only --forbid-pending --full-trace --parallel -p
      --recursive --sort -S --invert -i --dry-run --color -c --no-color -C --diff --no-diff --inline-diffs
      --version -V --help -h -g: --grep: -f: --fgrep: -t: --timeout: -s: --slow: -j: --jobs: --retries:`,
    other: /^--reporter=(?:spec|dot|min|list|tap|json|nyan|progress|landing)$/,
    texts: wordsIn('-g --grep -f --fgrep'),
    first: /[./]|^(?:run|specs?|tests?|src)$/,
    refused: ['init', 'inspect', 'debug'],
  }),
  mypy: harmless({
    short: 'vh',
    long: `--strict --ignore-missing-imports --pretty --show-error-codes --hide-error-codes --show-error-context
      --show-column-numbers --no-error-summary --check-untyped-defs --disallow-untyped-defs
      --disallow-incomplete-defs --warn-unused-ignores --warn-return-any --warn-unreachable --namespace-packages
      --explicit-package-bases --no-incremental --no-color-output --verbose --version --help --python-version:
      --platform: --follow-imports: --disable-error-code: --enable-error-code:`,
  }),
  'ruff check, ruff format': harmless(RUFF),
  ruff: harmless({ ...RUFF, first: /^(?:check|format)$/ }),
  black: harmless({
    short: 'qvShl:t:W:',
    long: `--check --diff --color --no-color --quiet --verbose --fast --safe --preview
      --skip-string-normalization --skip-magic-trailing-comma --version --help --line-length: --target-version:
      --workers:`,
  }),
  rspec: harmless({
    long: `--fail-fast --no-fail-fast --backtrace -b --color -c --no-color --force-color --warnings -w
      --only-failures --next-failure -n --dry-run --profile -p --version -v --help -h -e: --example: -t: --tag:
      --order: --seed:`,
    other: /^(?:--format=|-f)(?:d|documentation|p|progress|j|json)$/,
    texts: wordsIn('-e --example'),
  }),
  rubocop: harmless({
    long: `--parallel -P --no-parallel --lint -l --fail-fast -F --display-cop-names -D --extra-details -E
      --display-style-guide -S --display-only-fail-level-offenses --list-target-files -L --force-exclusion
      --color --no-color --debug -d --version -v -V --help -h --only: --except: --fail-level:`,
  }),
  phpunit: harmless({
    long: `--stop-on-failure --stop-on-error --stop-on-warning --stop-on-defect --testdox --verbose -v --debug
      --list-tests --list-suites --list-groups --random-order --no-coverage --no-progress --no-output
      --fail-on-warning --fail-on-risky --display-warnings --display-deprecations --display-errors
      --display-notices --do-not-cache-result --version --help -h --colors:: --filter: --group: --exclude-group:
      --testsuite: --order-by: --random-order-seed:`,
    texts: ['--filter'],
  }),
  oxlint: harmless({
    long: `--quiet --deny-warnings --silent --type-aware --rules --version -V --help -h --max-warnings:
      --threads: -A: --allow: -W: --warn: -D: --deny:`,
  }),
};

export interface Prefix {
  readonly words: readonly string[];
  readonly further: FurtherWords;
}

/** If a command starts with several of these prefixes, the most specific one comes first. */
export const prefixes: readonly Prefix[] = Object.entries(PREFIXES).flatMap(([texts, further]) =>
  texts.split(', ').map((text) => ({ words: wordsIn(text), further })),
);
