/** What programs that start other programs are known to run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCommandLine } from './parse.ts';

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

test('programs that run others are listed with what they run', () => {
  const cases: Record<string, string> = {
    'bash -c "rm x"': 'rm x',
    "sh -ec 'ls; rm x'": 'rm x',
    '/bin/bash --norc -o pipefail -c "rm x"': 'rm x',
    'env -i A=1 rm x': '= rm x',
    'env - rm x': 'rm x',
    'sudo -u root -- rm x': 'rm x',
    'nohup nice -n 5 rm x': 'rm x',
    'timeout -k 1 5 rm x': 'rm x',
    'time -p rm x': 'rm x',
    'command rm x': 'rm x',
    'exec rm x': 'rm x',
    'eval "rm x"': 'rm x',
    'eval rm x': 'rm x',
    "trap 'rm x' EXIT": 'rm x',
    'ls | xargs -0 -n 1 rm x': 'rm x ‹…›',
    'ls | xargs -I{} rm {}': 'rm ‹{}›',
    'find . -name a -exec rm x \\;': 'rm x',
    "find . -execdir sh -c 'rm x' \\;": 'rm x',
    'busybox rm x': 'rm x',
    'genv A=1 rm x': '= rm x',
    'gtimeout -k 1 5 rm x': 'rm x',
    'gnice -n 5 rm x': 'rm x',
    'ls | gxargs -0 rm x': 'rm x ‹…›',
    'gfind . -exec rm x \\;': 'rm x',
    'arch rm x': 'rm x',
    'xcrun --sdk macosx rm x': 'rm x',
    'sudo bash -c "eval \'rm x\'"': 'rm x',
  };
  for (const [line, inner] of Object.entries(cases)) {
    assert.ok(commands(line).includes(inner), `${line}: ${commands(line).join(' | ')}`);
    assert.ok(commands(line).length > 1, line);
    assert.ok(understood(line), line);
  }
  assert.ok(parseCommandLine('find . -delete').writes.length > 0);
});

test('an error names the program as it is written', () => {
  for (const [line, name] of [
    ['gfind . "$X"', 'gfind'],
    ['/usr/bin/gtimeout --x 5 rm x', 'gtimeout'],
    ['SUDO --x rm', 'SUDO'],
  ] as const) {
    assert.equal(parseCommandLine(line).problem, `it is not clear what "${name}" would run`);
  }
});

test('what a program that only starts other programs would run is not clear', () => {
  for (const line of [
    'caffeinate rm -rf x',
    'arch -x86_64 rm x',
    'sandbox-exec -n x rm x',
    'chronic rm x',
    'ifne rm x',
    'pee "rm x"',
    'systemd-inhibit rm x',
    'run0 rm x',
    'i386 rm x',
    'x86_64 rm x',
    'uname26 rm x',
    'sem rm x',
    '/lib64/ld-linux-x86-64.so.2 /bin/rm x',
    '/lib/ld-musl-x86_64.so.1 /bin/rm x',
    'ld.so /bin/rm x',
    'taskpolicy -b rm x',
    'envuidgid root rm x',
    'setlock f rm x',
    'uclampset -m 5 rm x',
    'lldb -- rm x',
    'sshpass -p x rm x',
    'lxc-usernsexec rm x',
    'flatpak-spawn --host rm x',
    'proxychains4 rm x',
    'watchexec rm x',
    'ksh93 -c "rm x"',
    'wsl.exe rm x',
    'xcrun --find rm',
    'sudo caffeinate rm x',
  ]) {
    assert.equal(understood(line), false, line);
  }
});
