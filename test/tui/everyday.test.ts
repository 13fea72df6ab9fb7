// The program at its prompt, on a real pseudo-terminal: what a person does all day.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace } from '../coder/support.ts';
import { CTRL_C, ENTER, startProgram, startShared } from '../live/program.ts';
import { RawClient } from '../live/raw-client.ts';
import { parley } from '../cli/support.ts';

const ESCAPE = '\u001b';
const SHIFT_TAB = '\u001b[Z';
const DOWN = '\u001b[B';
const CTRL_L = '\u000c';
const says = (text: string): ScriptedResponse => [{ text }];
const writes = (path: string, content = 'hello\n'): ScriptedResponse => [
  { call: { name: 'write_file', args: { path, content } } },
];

/** `parley` with a script, without a port. */
function start(
  t: TestContext,
  script: readonly ScriptedResponse[],
  args: readonly string[] = [],
  { place = makePlace(t), environment = {} } = {},
) {
  const file = join(place.home, 'script.json');
  writeFileSync(file, JSON.stringify(script));
  const model = ['--workspace', place.workspace, '--model', `scripted:${file}`];
  const terminal = startProgram(t, [...model, ...args], { place, environment });
  const say = (text: string) => terminal.type(`${text}${ENTER}`);
  return { ...place, terminal, say, model };
}

test('parley "prompt" starts with that prompt, and the output of !command goes with the next one', async (t) => {
  const shell = join(makePlace(t).home, 'my-shell');
  writeFileSync(shell, '#!/bin/sh\necho "my shell runs: $2"\nexec /bin/sh "$@"\n', { mode: 0o755 });
  const environment = { SHELL: shell, MY_OWN: 'mine' };
  const script = [says('Hello.'), says('I see it.')];
  const started = start(t, script, ['say hello to me'], { environment });
  const { terminal, say, home } = started;
  await terminal.sees(/❯ say hello to me[^]*● Hello\./);
  say('!pwd; echo $MY_OWN; seq 30; exit 3');
  await terminal.sees(/✗ ! pwd; echo \$MY_OWN; seq 30; exit 3 {2}exit code 3/);
  assert.match(terminal.visible(), /… 2\d more lines\n[^]*30\n/, 'the end of the output is shown');
  say('what do you see?');
  await terminal.sees(/\[output of ! pwd; echo[^]*● I see it\./);
  terminal.type(`${CTRL_C}${CTRL_C}`);
  await terminal.exited();
  const [id] = /--resume (\S+)/.exec(terminal.all())?.slice(1) ?? [];
  const env = { PARLEY_HOME: home, XDG_CONFIG_HOME: join(home, 'config') };
  const { out } = await parley(['export', String(id)], { env });
  assert.match(out, /\$ pwd; echo \$MY_OWN/);
  assert.match(out, /my shell runs: pwd;[^]*\nmine\n1\n2\n[^]*\[exit code 3\]/);
});

test('a command of the person can be stopped, and a turn goes on meanwhile', async (t) => {
  const { terminal, say } = start(t, [[{ delayMs: 300 }, { text: 'Answered.' }]]);
  await terminal.sees(/Ask for something/);
  say('!echo begun; sleep 60');
  await terminal.sees(/! echo begun; sleep 60 .*Esc stops it\n {2}│ begun/);
  say('are you there?');
  await terminal.sees(/● Answered\./);
  terminal.type(ESCAPE);
  await terminal.sees(/✗ ! echo begun; sleep 60 {2}stopped by the person/);
  assert.doesNotMatch(terminal.visible(), /Canceled/);
});

test('an unknown command is refused with the nearest name, and two slashes send it', async (t) => {
  const script = [says('A path.'), says('As you say.'), says('Still here.')];
  const { terminal, say } = start(t, script);
  await terminal.sees(/Ask for something/);
  say('/hepl');
  await terminal.sees(/There is no command \/hepl\. Did you mean \/help\?[^]*❯ \/hepl\n/);
  terminal.type(CTRL_C);
  say('/etc/hosts is wrong');
  await terminal.sees(/● A path\./);
  say('//hepl');
  await terminal.sees(/❯ \/hepl\n[^]*● As you say\./);
  say('//quit');
  await terminal.sees(/❯ \/quit\n[^]*● Still here\./);
  say('/help');
  const help = /\/restore \[ID\]: [^]*\/clients: [^]*Shift-Tab changes the approval mode/;
  await terminal.until('the commands and keys', () => help.test(terminal.all()));
});

test('Shift-Tab changes the mode, and only the keyboard may choose yolo', async (t) => {
  const script = [writes('a.txt'), says('Written.'), writes('b.txt'), says('Also.')];
  const { terminal, say, ws, workspace } = await startShared(t, { script });
  const phone = new RawClient(t, ws, 'a2a');
  await phone.snapshot();
  terminal.type(SHIFT_TAB);
  await terminal.sees(/· ⚠ auto-edit ·/);
  await terminal.sees(/The approval mode of this session is now auto-edit/);
  say('write a.txt');
  await terminal.sees(/● Written\./);
  assert.ok(existsSync(join(workspace, 'a.txt')), 'without a question');
  terminal.type(SHIFT_TAB);
  await terminal.sees(/ is now plan[^]*· plan ·/);
  terminal.type(SHIFT_TAB);
  await terminal.sees(/ is now ask[^]*· ask ·/);
  assert.equal((await phone.say('/approval yolo')).error.code, -31403);
  say('/approval yolo');
  await terminal.sees(/is now yolo[^]*· ⚠ yolo ·/);
  say('write b.txt');
  await terminal.sees(/● Also\./);
  assert.ok(existsSync(join(workspace, 'b.txt')));
});

test('while a question is open, a command of the terminal runs at once', async (t) => {
  const script = [writes('a.txt'), writes('b.txt'), says('Both.')];
  const { terminal, say, workspace } = start(t, script);
  await terminal.sees(/Ask for something/);
  say('write both');
  await terminal.sees(/❯ 1 Allow once/);
  terminal.type(SHIFT_TAB);
  await terminal.sees(/is now auto-edit/);
  await terminal.sees(/❯ 1 Allow once/);
  terminal.type('1');
  await terminal.sees(/● Both\./);
  assert.ok(existsSync(join(workspace, 'b.txt')), 'the second file needs no answer');
});

test('Esc cancels the turn, and keeps the queued prompts and the draft', async (t) => {
  const { terminal, say } = start(t, [[{ delayMs: 60_000 }], says('The next one.')]);
  await terminal.sees(/Ask for something/);
  say('think for long');
  await terminal.sees(/Working/);
  say('and then this');
  await terminal.sees(/○ and then this/);
  terminal.type('a draft');
  await terminal.sees(/❯ a draft/);
  terminal.type(ESCAPE);
  await terminal.sees(/Canceled\.[^]*❯ and then this[^]*● The next one\.[^]*❯ a draft/);
});

test('a long paste is shown as a label, deleted as a whole, and sent whole', async (t) => {
  const { terminal, home } = start(t, [says('Read.')]);
  await terminal.sees(/Ask for something/);
  const lines = Array.from({ length: 200 }, (_, n) => `line ${n + 1} of the paste`);
  const paste = `\u001b[200~${lines.join('\r')}\u001b[201~`;
  terminal.type(`look at ${paste}`);
  await terminal.sees(/❯ look at \[Pasted 200 lines\]\n/);
  terminal.type('\u007f');
  await terminal.sees(/❯ look at *\n/);
  terminal.type(`${paste} please`);
  await terminal.sees(/❯ look at \[Pasted 200 lines\] please\n/);
  terminal.type(ENTER);
  await terminal.sees(/● Read\./);
  const history = readFileSync(join(home, 'prompts.jsonl'), 'utf8');
  const [sent] = history.trim().split('\n');
  assert.equal(JSON.parse(sent ?? ''), `look at ${lines.join('\n')} please`);
});

test('Ctrl-L and another size draw a clean screen', async (t) => {
  const { terminal, say } = start(t, [writes('a.txt')], ['--a2a-port', '0']);
  await terminal.sees(/Ask for something/);
  say('write it');
  await terminal.sees(/❯ 1 Allow once/);
  const isClean = () => {
    const { columns } = terminal.size();
    const screen = terminal.visible();
    const rules = screen.split('\n').filter((each) => /^─+$/.test(each));
    const whole = rules.length === 2 && rules.every((each) => each.length === columns);
    return whole && screen.match(/╭─ Write a\.txt/g)?.length === 1;
  };
  for (const [columns, rows] of [
    [60, 20],
    [100, 30],
    [46, 16],
    [90, 24],
  ] as const) {
    terminal.resize(columns, rows);
    await terminal.until(`a clean screen of ${columns}x${rows}`, isClean);
  }
  const garbage = '\u001b7\u001b[5;1Hgarbage of another program\u001b8';
  await new Promise<void>((resolve) => terminal.screen.write(garbage, resolve));
  assert.match(terminal.visible(), /garbage/);
  terminal.type(CTRL_L);
  await terminal.until('no garbage', () => !/garbage/.test(terminal.visible()) && isClean());
});

test('-c and --resume offer conversations, not single turns, with what was said', async (t) => {
  const place = makePlace(t);
  const first = start(t, [says('Ports are fun.')], [], { place });
  await first.terminal.sees(/Ask for something/);
  first.say('explain the ports');
  await first.terminal.sees(/● Ports are fun\./);
  first.terminal.type(`${CTRL_C}${CTRL_C}`);
  await first.terminal.exited();
  const env = { PARLEY_HOME: place.home, XDG_CONFIG_HOME: join(place.home, 'config') };
  const here = { env, cwd: place.workspace };
  await parley(['-p', 'list', '--model', 'offline'], here);
  await parley(['-p', '/help', '--model', 'offline'], here);

  const picked = start(t, [says('More ports.')], ['--resume'], { place });
  await picked.terminal.sees(
    /╭─ Resume a session ─+ 1 ─╮[^]*❯ explain the ports[^]*● Ports are fun\./,
  );
  assert.match(picked.terminal.visible(), /\b\d\d:\d\d\b/);
  picked.terminal.type('zzz');
  await picked.terminal.sees(/No matching session/);
  picked.terminal.type('\u007f\u007f\u007f');
  await picked.terminal.sees(/❯ explain the ports/);
  picked.terminal.type(ENTER);
  await picked.terminal.sees(/● Ports are fun\.[^]*Ask for something/);
  picked.terminal.type(`${CTRL_C}${CTRL_C}`);
  await picked.terminal.exited();

  const again = start(t, [says('Still ports.')], ['-c', 'and now?'], { place });
  await again.terminal.sees(/❯ explain the ports[^]*❯ and now\?[^]*● Still ports\./);
});

test('/restore shows what each checkpoint changes, and restores the chosen one', async (t) => {
  const script = [writes('a.txt', 'one\n'), says('1.'), writes('a.txt', 'two\n'), says('2.')];
  const { terminal, say, workspace } = start(t, script, ['--approval', 'auto-edit']);
  await terminal.sees(/Ask for something/);
  say('first');
  await terminal.sees(/● 1\./);
  say('second');
  await terminal.sees(/● 2\./);
  say('/restore');
  const changes = /❯ before: Write a\.txt +\d\d:\d\d[^]*a\.txt {2}changes[^]*-two[^]*\+one/;
  await terminal.sees(changes);
  terminal.type(ESCAPE);
  // The picker fills the screen. The conversation is back when it is closed.
  await terminal.sees(/● 1\.[^]*❯ second[^]*● 2\.[^]*❯ Ask for something/);
  say('/restore');
  await terminal.sees(changes);
  terminal.type(DOWN);
  await terminal.sees(/ {2}before: Write[^]*❯ before: Write[^]*a\.txt {2}is removed[^]*-two/);
  terminal.type(`\u001b[A${ENTER}`);
  await terminal.sees(/❯ 1 Restore/);
  terminal.type('1');
  await terminal.sees(/Restored \S+: 1 files written/);
  assert.equal(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'one\n');
  say('/restore');
  await terminal.sees(/❯ before: Restore \d{8}-/);
});
