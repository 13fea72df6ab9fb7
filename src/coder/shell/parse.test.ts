import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_LINE, parseCommandLine } from './parse.ts';

const LONG = process.env['PARLEY_TEST_LONG'] !== undefined;

/** Each command as one text; words that are not literal are in ‹›, assignments are marked. */
function commands(text: string): string[] {
  return parseCommandLine(text).commands.map(({ words, assigns }) => {
    const shown = words.map((word) => (word.literal ? word.text : `‹${word.text}›`));
    return (assigns ? ['=', ...shown] : shown).join(' ');
  });
}

function understood(text: string): boolean {
  return parseCommandLine(text).problem === undefined;
}

test('a line is split into its simple commands', () => {
  for (const separator of [';', '&&', '||', '|', '|&', '&', '\n', ' ; ', '\n\n']) {
    assert.deepEqual(commands(`git status${separator}rm x`), ['git status', 'rm x'], separator);
  }
  assert.deepEqual(commands('(cd a && { rm b; }) & wait'), ['cd a', 'rm b', 'wait']);
  assert.deepEqual(commands('if true; then rm x; else ls; fi'), ['true', 'rm x', 'ls']);
  assert.deepEqual(commands('while ! test -f a\ndo sleep 1\ndone'), ['test -f a', 'sleep 1']);
});

test('commands inside words are found', () => {
  assert.deepEqual(commands('git log $(rm x)'), ['rm x', 'git log ‹$(rm x)›']);
  assert.deepEqual(commands('git log "a $(rm "b c") d"'), [
    'rm b c',
    'git log ‹"a $(rm "b c") d"›',
  ]);
  assert.deepEqual(commands('a `b \\`c\\``'), ['c', 'b ‹`c`›', 'a ‹`b \\`c\\``›']);
  assert.deepEqual(commands('diff <(a) >(b)'), ['a', 'b', 'diff ‹<(a)› ‹>(b)›']);
  assert.deepEqual(commands('cat <<< "$(rm x)"'), ['rm x', 'cat']);
});

test('quotes and escapes are taken off, and protect what is in them', () => {
  assert.deepEqual(commands(`r\\m 'a;b' "c && d" e\\ f 'g'"h"i`), ['rm a;b c && d e f ghi']);
  assert.deepEqual(commands('echo \'$(rm x)\' "\\$(rm x)" \\$\\(rm'), [
    'echo $(rm x) $(rm x) $(rm',
  ]);
  assert.deepEqual(commands('echo a\\\nb'), ['echo ab']);
});

test('comments are no commands, and a number sign in a word is no comment', () => {
  assert.deepEqual(commands('ls # rm x\nls a#b'), ['ls', 'ls a#b']);
});

test('words that can become something else are not literal', () => {
  for (const word of [
    '$X',
    '${X}',
    '"$X"',
    '*.ts',
    'a?',
    '[ab]',
    '~',
    '~/x',
    '{a,b}',
    "$'a'",
    '$1',
  ]) {
    const { words } = parseCommandLine(`echo ${word}`).commands.at(-1)!;
    assert.equal(words[1]?.literal, false, word);
    assert.ok(understood(`echo ${word}`), word);
  }
  for (const word of ['a', '-x', '{}', 'a=b', '$', "'*'", '"~"', 'a!']) {
    assert.equal(parseCommandLine(`echo ${word}`).commands[0]!.words[1]?.literal, true, word);
  }
});

test('assignments are noticed, before a command and alone', () => {
  assert.deepEqual(commands("GIT_PAGER='rm x' git log"), ['= git log']);
  assert.deepEqual(commands('PATH=/tmp; git log'), ['=', 'git log']);
  assert.deepEqual(commands('export PATH=/tmp; git log'), ['= export PATH=/tmp', 'git log']);
  assert.deepEqual(commands('printf -v PATH /tmp; printf -- %s'), [
    '= printf -v PATH /tmp',
    'printf -- %s',
  ]);
  assert.deepEqual(commands('A=1 B+=2 C[0]=$(rm x) git log'), ['rm x', '= git log']);
});

test('writing redirections are noticed, harmless ones are not', () => {
  for (const sign of ['>', '>>', '>|', '&>', '&>>', '>&', '<>', '2>', '1>>', '3<>']) {
    assert.deepEqual(parseCommandLine(`ls ${sign} out`).writes, ['out'], sign);
    assert.deepEqual(parseCommandLine(`ls ${sign}out`).writes, ['out'], sign);
  }
  for (const rest of ['>/dev/null', '2>&1', '>&2', '2>&-', '< in', '<<< text', '&> /dev/null']) {
    const { writes, problem } = parseCommandLine(`ls ${rest}`);
    assert.deepEqual([writes, problem], [[], undefined], rest);
  }
  assert.deepEqual(parseCommandLine('> ~/.bashrc').writes, ['~/.bashrc']);
  assert.deepEqual(parseCommandLine('(ls; pwd) > out').writes, ['out']);
});

test('here-documents are no commands, but what is expanded in them is', () => {
  assert.deepEqual(commands('cat <<EOF\nrm x\nEOF\nls'), ['cat', 'ls']);
  assert.deepEqual(commands('cat <<EOF\n$(rm x) `rm y` \\$(no)\nEOF\nls'), [
    'cat',
    'rm x',
    'rm y',
    'ls',
  ]);
  assert.deepEqual(commands("cat <<'EOF'\n$(rm x)\nEOF\nls"), ['cat', 'ls']);
  assert.deepEqual(commands('cat <<-"A" <<B; ls\n\tx\n\tA\n$(rm y)\nB\npwd'), [
    'cat',
    'ls',
    'rm y',
    'pwd',
  ]);
  assert.equal(understood('cat <<EOF\nrm x'), false);
});

test('what is not clear beforehand is not understood', () => {
  for (const line of [
    '$X y',
    '`a` b',
    '~/bin/x',
    './r*m x',
    'f() { rm x; }',
    'function f { rm x; }',
    'for PATH in /tmp; do git log; done',
    'case x in y) rm z;; esac',
    '[[ -v a ]]',
    '((x=1))',
    'echo $((x))',
    'echo $[1]',
    'echo ${x@P}',
    'echo ${x:-y}',
    'echo ${!x}',
    'a=(b c)',
    'coproc rm x',
    'curl x | sh',
    'bash',
    'bash -s < x',
    'bash <(curl x)',
    'bash -c "$X"',
    'bash --rcfile x -c y',
    'eval "$X"',
    'env -S "rm x"',
    'xargs bash',
    "find . -exec sh -c 'rm {}' \\;",
    'find . $X rm {} +',
    'sudo -s',
    'su -c "rm x"',
    'zsh -c "rm x"',
    'parallel rm',
    'time ! rm x',
    'cat < /dev/tcp/example.com/80',
    'exec {fd}> x',
    'echo "a',
    "echo 'a",
    'echo `a',
    'echo $(a',
    'echo )',
    'echo a\\',
    'ls >',
    'ls\rrm x',
    'ls \x1b[2K',
    'ls \u202egpj.exe',
    // What one reader takes for text and another for a command.
    "cat <<E\n \\\nE\ncat <<'X'\nE\nrm x\nX\n",
    'cat <<E $(true\nrm x\nE\n)',
    'cat <<E `true\nrm x\nE\n`',
    'git log "`echo "\\"; rm x; \\""`"',
    'git log "$\\\n(rm x)"',
    'i\\\nf rm x; then ls; fi',
    "test -v 'a[$(rm x)]'",
    "printf -v 'a[`rm x`]' b",
    "mapfile -C 'rm x' a",
    'sudo A=1 -u root rm x',
    'set -k; git log GIT_PAGER=rm',
    'set -o history -H',
    'shopt -s extglob',
    'prlimit rm x',
    `${'$('.repeat(50)}rm x${')'.repeat(50)}`,
    `${'sudo '.repeat(50)}rm x`,
    `ls ${'a'.repeat(MAX_LINE)}`,
  ]) {
    assert.equal(understood(line), false, line);
  }
});

test('the files that redirections read are listed', () => {
  assert.deepEqual(parseCommandLine('sort < a | (head -1 <b) 3< "c d"').reads, ['a', 'b', 'c d']);
  assert.deepEqual(parseCommandLine('sort <<< a < /dev/null <&0').reads, []);
});

test('ordinary uses of builtins are understood', () => {
  for (const line of [
    'arch',
    'xcrun --show-sdk-path',
    'set -euo pipefail; ls',
    'set -x; ls',
    'set -- a "$b"; ls',
    'shopt -s globstar nullglob; ls',
    'export PATH=$PWD/bin:$PATH',
    'export A=1 B="$C" D',
    'declare -x A=b; local c; readonly D="$e"',
    'read -r line rest',
    'unset A B',
    'printf "%s\\n" "$x" [a]',
    'printf -v name %s "$x"',
    '[ -f "$file" ] && ls',
    '[ "$a" = "$b" ] || ls',
    'test -n "$x" -a 1 -lt $#',
    'test -v NAME',
    'wait; wait $!; jobs -l; hash -r; alias',
    'source venv/bin/activate && pytest',
    'bash scripts/build.sh "$x"',
    'env A=1 B=c ls',
    'time npm test',
  ]) {
    assert.equal(parseCommandLine(line).problem, undefined, line);
  }
});

test('a reserved word behind a redirection is a program', () => {
  assert.deepEqual(commands('</dev/null if git status'), ['if git status']);
});

/** Pieces of command lines, between bars. */
function pieces(...texts: string[]): fc.Arbitrary<string> {
  return fc.constantFrom(...texts.flatMap((text) => text.split('¦')));
}

const fragment = pieces(
  'git¦ ¦status¦\'¦"¦\\¦$¦(¦)¦`¦{¦}¦<¦>¦&¦|¦;¦\n¦#¦<<E¦E\n¦$(¦${¦$((¦[[¦=¦!¦*¦~¦2¦\t¦\r¦\0¦é¦😀',
  ' bash -c ¦ xargs ¦ find . -exec ¦for ¦do ¦case ¦env -i A=1 ',
);

test('anything can be parsed', () => {
  const hostile = fc.oneof(
    fc.string(),
    fc.array(fragment).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      const { commands: found, writes } = parseCommandLine(text);
      assert.ok(Array.isArray(found) && Array.isArray(writes));
    }),
    { numRuns: LONG ? 100_000 : 2000 },
  );
});

/** Ways to run another command along with one that is harmless. */
const hidings: readonly ((harmless: string, other: string) => string)[] = [
  (harmless, other) => `${harmless};${other}`,
  (harmless, other) => `${harmless}&&${other}`,
  (harmless, other) => `${harmless} || ${other}`,
  (harmless, other) => `${harmless} | ${other}`,
  (harmless, other) => `${harmless}\n${other}`,
  (harmless, other) => `${harmless} & ${other}`,
  (harmless, other) => `${other}; ${harmless}`,
  (harmless, other) => `${harmless} $(${other})`,
  (harmless, other) => `${harmless} "$(${other})"`,
  (harmless, other) => `${harmless} \`${other}\``,
  (harmless, other) => `${harmless} <(${other})`,
  (harmless, other) => `${harmless} <<< "\`${other}\`"`,
  (harmless, other) => `${harmless} <<E\n$(${other})\nE\n`,
  (harmless, other) => `${harmless} <<E\n'\nE\n${other}`,
  (harmless, other) => `( ${harmless}; (${other}) )`,
  (harmless, other) => `{ ${harmless}; ${other}; }`,
  (harmless, other) => `if ${harmless}; then ${other}; fi`,
  (harmless, other) => `! ${harmless} && ! ${other}`,
  (harmless, other) => `bash -c '${harmless}; ${other}'`,
  (harmless, other) => `eval '${other}'; ${harmless}`,
  (harmless, other) => `${harmless} | xargs ${other}`,
  (harmless, other) => `${harmless} # '\n${other}`,
  (harmless, other) => `${harmless} \\\n; ${other}`,
  (harmless, other) => `f() { ${other}; }; ${harmless}`,
  (harmless, other) => `for x in 1; do ${other}; done; ${harmless}`,
];

/** Hides the command in these ways, one in the other. */
function hidden(ways: readonly (typeof hidings)[number][]): string {
  let line = 'evil --now';
  for (const hide of ways) {
    // Quotes in quotes would need escaping, which is not what this is about.
    const clash = ["'", '`'].some((quote) => line.includes(quote) && hide('', '').includes(quote));
    if (!clash) line = hide('git status', line);
  }
  return line;
}

function isSeen(line: string): boolean {
  const { commands: found, problem } = parseCommandLine(line);
  return problem !== undefined || found.some(({ words }) => words[0]?.text.endsWith('evil'));
}

test('a command that is hidden behind others is always found', () => {
  const ways = fc.array(fc.constantFrom(...hidings), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(ways, (chosen) => assert.ok(isSeen(hidden(chosen)), hidden(chosen))),
    { numRuns: LONG ? 50_000 : 2000 },
  );
});

const bash = spawnSync('bash', ['-c', 'command -v bash env xargs find'], { encoding: 'utf8' });

/**
 * Forms in which bash runs `evil`, and which name it only in a quoted text, behind a word that is not a command, or in a
 * file that is not on the disk.
 */
const UNUSUAL = String.raw`
env 1=2 evil
env -u B A=1 2b=3 evil
time X=1 evil
time -p X=1 evil
time -- X=1 evil
jobs -x evil
x['$(evil)']=1
y='a[$(evil)]'; x[y]=1
source <(echo evil)
. /dev/stdin <<<evil
. ./../../../../../../../../dev/stdin <<<evil
cd /dev; . ./stdin <<<evil
cd /dev/fd; source 0 <<<evil
command . /dev/stdin <<<evil
builtin source /dev/fd/0 <<<evil
bash //dev/stdin <<<evil
cd /dev; bash stdin <<<evil
hash -p "$EVIL" z; z
hash -tp "$EVIL" z 2>&1; hash -p "$EVIL" z; z
BASH_CMDS[z]=$EVIL; z
declare "BASH_CMDS[z]=$EVIL"; z
read 'BASH_CMDS[z]' <<<"$EVIL"; z
printf -v 'BASH_CMDS[z]' %s "$EVIL"; z
declare -i x; x='a[$(evil)]'
typeset -i x='a[$(evil)]'
declare -n r; r='a[$(evil)]'; r=1
declare -a x='($(evil))'
declare -A 'x=([$(evil)]=1)'
y[0]=1; declare 'y=($(evil))'
y[0]=1; x='($(evil))'; declare y="$x"
export -a 'x=($(evil))'
readonly -a 'x=($(evil))'
x='a[$(evil)]'; test -v "$x"
x='b[$(evil)]'; [ -n a -o -v $x ]
a=-v; b='x[$(evil)]'; [ "$a" "$b" ]
set -- -v 'a[$(evil)]'; [ "$@" ]
[ ! -v 'x[$(evil)]' ]
x='-va[$(evil)]'; printf "$x" y
x=1; unset 'x[$(evil)]'
x='y[$(evil)]'; y=1; unset "$x"
let 'x[$(evil)]'
y='a[$(evil)]'; let x=y
: & wait -n -p 'x[$(evil)]'
RANDOM='a[$(evil)]'
read OPTIND <<<'a[$(evil)]'
printf -v SRANDOM %s 'a[$(evil)]'
export HISTCMD='a[$(evil)]'
PS4='$(evil)'; set -x; :
BASH_ENV='$(evil)' bash -c :
read BASH_ENV <<<'$(evil)'; export BASH_ENV; bash -c :
env BASH_ENV='$(evil)' bash -c :
env 'BASH_FUNC_git%%=() { evil; }' bash -c git
shopt -s expand_aliases; alias z=evil\nz
set -o posix; alias z=evil\nz
: {x['$(evil)']}>/dev/null
find . -maxdepth 0 {-exec,evil,\;}
x=-exec; find . -maxdepth 0 "$x" evil \;
x=xec; find . -maxdepth 0 -e"$x" evil \;
mapfile -c1 -C 'evil;:' x <<<a
compgen -C evil
coproc evil; wait
trap evil EXIT
echo a | xargs --max-lines evil
echo a | xargs --replace evil
echo a | xargs --replace=x evil x
echo evil | xargs --replace env {}
echo evil | xargs -Ia -Ib env b
echo evil | xargs -Ix -n2 env
echo evil | xargs -Ix --max-lines env
echo evil | xargs -E -Ix env
bash -oc pipefail evil
bash -eoc pipefail evil
bash -oec pipefail evil
bash -ooc pipefail errexit evil
bash -Oc extglob evil
bash -oOc pipefail extglob evil
bash -c - evil
bash +c evil
bash + -c evil
bash +o errexit -c evil
bash +O extglob -c evil
command -p evil
exec -a z evil
`;

test(
  'what bash itself runs is always found',
  { skip: bash.status !== 0 && 'no bash' },
  async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-parse-'));
    t.after(() => rm(folder, { recursive: true }));
    const programs = path.join(folder, 'bin');
    const work = path.join(folder, 'work');
    const proof = path.join(folder, 'proof');
    await mkdir(programs);
    await mkdir(work);
    for (const tool of bash.stdout.trim().split('\n')) {
      await symlink(tool, path.join(programs, path.basename(tool)));
    }
    await writeFile(path.join(programs, 'git'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    await writeFile(path.join(programs, 'evil'), `#!/bin/sh\n: > ${proof}\n`, { mode: 0o755 });

    function runs(line: string): boolean {
      rmSync(proof, { force: true });
      // Whatever it does, it finds no other programs and no place but a folder of its own.
      spawnSync('/bin/bash', ['-c', line], {
        cwd: work,
        env: { PATH: programs, EVIL: path.join(programs, 'evil') },
        stdio: 'ignore',
        timeout: 5000,
      });
      return existsSync(proof);
    }

    assert.ok(runs('git status; evil'), 'the proof works');
    for (const written of UNUSUAL.trim().split('\n')) {
      const line = written.replaceAll('\\n', '\n');
      assert.ok(isSeen(line), line);
      // `command -p` uses the system's own path, on which there is no such program.
      assert.ok(runs(line) || line.startsWith('command -p'), `bash does not run it: ${line}`);
    }
    const word = pieces(
      'evil¦evil¦git¦\'evil\'¦"evil"¦e\\vil¦ ¦ ¦ ¦;¦|¦&¦\n¦(¦)¦$(¦`¦"¦\'¦\\¦#¦<<E\n¦\nE\n¦$((¦))',
      '${x:-¦}¦{ ¦; }¦ bash -c ¦ env -i A=1 ¦ xargs ¦ find . -exec ¦ eval ¦ ! ¦ if ¦ then ¦ fi¦>¦<',
      "<(¦A=¦~¦[[ ¦ ]]¦ time ¦case x in x)¦;;¦ esac¦\\\n¦ \\\n¦<<'E'\n¦<<-E\n¦\n\tE\n¦<<<¦$'¦$\"¦\\\"¦\\`",
      '\\$¦>&¦2>¦ test -v a[¦]¦ printf -v ¦ for x in 1; do ¦; done¦ git() ¦ while ¦ trap ¦ exec ¦&&¦||',
      ' declare -i ¦ read ¦ x[¦]=¦ env 1=2 ¦ time ¦ jobs -x ¦ . /dev/stdin ¦ unset ¦ let ¦x=¦$x¦ set -- ¦ wait ',
    );
    const lines = fc.oneof(
      fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join('')),
      fc.array(fc.constantFrom(...hidings), { minLength: 1, maxLength: 3 }).map(hidden),
    );
    fc.assert(
      fc.property(lines, (line) => assert.ok(isSeen(line) || !runs(line), line)),
      { numRuns: LONG ? 20_000 : 1500 },
    );
  },
);

test('hostile input takes no more than linear time', () => {
  const units = [
    '$(',
    '`',
    '(',
    '"$(',
    "bash -c '",
    'sudo ',
    'find . -exec a ; ',
    'xargs -Ia -Ib ',
    '<<a ',
    '{',
    '<(',
    '\\',
  ];
  for (const unit of units) {
    const line = unit.repeat(MAX_LINE).slice(0, MAX_LINE);
    const began = performance.now();
    parseCommandLine(line);
    // Quadratic would be seconds; the limit leaves room for a busy machine.
    assert.ok(performance.now() - began < 1000, unit);
  }
});
