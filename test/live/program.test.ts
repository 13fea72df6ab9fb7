// The program as a person has it: how it is left, taken up again, used line by line, and kept from others.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace } from '../coder/support.ts';
import { CTRL_C, ENTER, READY, startProgram, startShared } from './program.ts';
import { RawClient } from './raw-client.ts';

const says = (text: string): ScriptedResponse => [{ text }];
/** Writes its process id, and would stay for ever. */
const STAYS: ScriptedResponse = [
  {
    call: {
      name: 'run_shell_command',
      args: { command: 'echo pid-$$-is-here; exec sleep 1000' },
    },
  },
];
const ESCAPE = '\u001b';
const SHOWS_CURSOR = '\u001b[?25h';
const PASTES_PLAIN = '\u001b[?2004l';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const ENDS: readonly [how: string, end: 'keys' | NodeJS.Signals, code: number][] = [
  ['Ctrl-C twice', 'keys', 0],
  ['SIGTERM', 'SIGTERM', 0],
  ['SIGINT', 'SIGINT', 130],
  ['a terminal that is gone', 'SIGHUP', 130],
];

for (const [how, end, code] of ENDS) {
  test(`${how} ends it: the terminal is as it was, and what ran is dead`, async (t) => {
    const script = [STAYS, says('Never said.')];
    const { terminal, say } = await startShared(t, { script, args: ['--approval', 'yolo'] });
    say('stay');
    const pid = Number(
      await terminal.until('the child', () => /pid-(\d+)-is/.exec(terminal.all())?.[1]),
    );
    assert.ok(isAlive(pid));
    if (end === 'keys') {
      terminal.type(CTRL_C);
      await terminal.sees(/again/i);
      terminal.type(CTRL_C);
    } else {
      terminal.signal(end);
    }
    assert.deepEqual(await terminal.exited(), { code });
    assert.ok(!isAlive(pid), 'what it started is still there');
    const raw = terminal.raw();
    for (const put of [SHOWS_CURSOR, PASTES_PLAIN]) {
      const [on, off] = [put.slice(0, -1), put.at(-1) === 'h' ? 'l' : 'h'];
      assert.ok(raw.lastIndexOf(put) > raw.lastIndexOf(`${on}${off}`), JSON.stringify(put));
    }
  });
}

test('a session is taken up again by its id, and by choosing it', async (t) => {
  const place = makePlace(t);
  const first = await startShared(t, { place, script: [says('Seven it is.')] });
  first.say('remember seven');
  await first.terminal.sees(/Seven it is\./);
  first.terminal.type(`${CTRL_C}${CTRL_C}`);
  await first.terminal.exited();
  const [, id = ''] = /parley --resume (\S+)/.exec(first.terminal.all()) ?? [];
  assert.notEqual(id, '');

  const script = [says('It was seven.')];
  const second = await startShared(t, { place, script, args: ['--resume', id] });
  await second.terminal.sees(/remember seven/);
  second.say('what was it?');
  await second.terminal.sees(/It was seven\./);
  second.terminal.type(`${CTRL_C}${CTRL_C}`);
  await second.terminal.exited();

  const third = startProgram(t, ['--resume', '--model', 'offline'], { place });
  await third.sees(/remember seven/);
  third.type(ENTER);
  await third.sees(/It was seven\./);
  await third.sees(READY);
});

test('a session shows why settings are ignored; if nothing is said in it, it leaves nothing to resume', async (t) => {
  const place = makePlace(t);
  mkdirSync(join(place.workspace, '.parley'));
  writeFileSync(join(place.workspace, '.parley', 'settings.json'), '{}');
  const { terminal } = await startShared(t, { place });
  await terminal.sees(/workspace\s+is\s+not\s+trusted/);
  terminal.type(`${CTRL_C}${CTRL_C}`);
  await terminal.exited();
  assert.doesNotMatch(terminal.all(), /--resume/);
  const again = startProgram(t, ['--resume'], { place });
  assert.deepEqual(await again.exited(), { code: 2 });
  assert.match(again.all(), /there are no conversations yet: start one without --resume/);
});

test('a session whose last turn was canceled goes on, and shows what was said', async (t) => {
  const place = makePlace(t);
  const script = [STAYS, says('Here again.')];
  const first = await startShared(t, { place, script, args: ['--approval', 'yolo'] });
  first.say('stay');
  await first.terminal.sees(/pid-\d+-is/);
  first.terminal.type(ESCAPE);
  await first.terminal.sees(/cancel+ed/i);
  first.terminal.type(`${CTRL_C}${CTRL_C}`);
  await first.terminal.exited();
  const [, id = ''] = /parley --resume (\S+)/.exec(first.terminal.all()) ?? [];

  const second = await startShared(t, { place, script: script.slice(1), args: ['--resume', id] });
  await second.terminal.sees(/❯ stay[^]*Canceled/);
  second.say('are you there?');
  await second.terminal.sees(/Here again\./);
});

test('two terminals in one folder have a session each', async (t) => {
  const place = makePlace(t);
  const one = await startShared(t, { place, script: [says('One.')] });
  const two = await startShared(t, { place, script: [says('Two.')] });
  one.say('who?');
  two.say('who?');
  await two.terminal.sees(/Two\./);
  await one.terminal.sees(/One\./);
});

test('--plain is line by line, and answers by number', async (t) => {
  const place = makePlace(t);
  const file = join(place.home, 'script.json');
  const call = { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } };
  writeFileSync(file, JSON.stringify([[{ call }], says('Written.')]));
  const args = ['--plain', '--workspace', place.workspace, '--model', `scripted:${file}`];
  const terminal = startProgram(t, args, { place });
  await terminal.sees(/Type a request/);
  terminal.type(`write a file${ENTER}`);
  await terminal.sees(/Type the number of an option/);
  terminal.type(`1${ENTER}`);
  await terminal.sees(/Written\./);
  terminal.type(`/quit${ENTER}`);
  assert.deepEqual(await terminal.exited(), { code: 0 });
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'hello\n');
});

test('--plain takes no text as an answer unless it is given as one', async (t) => {
  const place = makePlace(t);
  const file = join(place.home, 'script.json');
  const call = { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } };
  const ask = { name: 'ask_user', args: { question: 'Which colour?' } };
  const script = [[{ call }], says('As you wish.'), [{ call: ask }], says('Painted.')];
  writeFileSync(file, JSON.stringify(script));
  const args = ['--plain', '--workspace', place.workspace, '--model', `scripted:${file}`];
  const terminal = startProgram(t, args, { place });
  await terminal.sees(/Type a request/);
  terminal.type(`write a file${ENTER}`);
  await terminal.sees(/or \/reject and a reason/);
  terminal.type(`yes${ENTER}`);
  await terminal.sees(/Queued until the turn ends\. The question is still waiting\./);
  assert.ok(!existsSync(join(place.workspace, 'a.txt')));
  terminal.type(`/reject call it b.txt${ENTER}`);
  await terminal.sees(/As you wish\./);
  // The queued prompt makes the model ask a question, which takes an answer in words.
  await terminal.sees(/or \/answer and your answer/);
  terminal.type(`unrelated${ENTER}`);
  await terminal.sees(/Not sent, because a question is waiting\./);
  terminal.type(`/answer blue${ENTER}`);
  await terminal.sees(/Painted\./);
  assert.ok(!existsSync(join(place.workspace, 'a.txt')));
});

test('a port that is in use is said in one line', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const address = other.address();
  assert.ok(address && typeof address === 'object');
  const terminal = startProgram(t, ['--a2a-port', `${address.port}`]);
  assert.deepEqual(await terminal.exited(), { code: 2 });
  assert.match(terminal.all(), new RegExp(`parley: port ${address.port} is in use`));
});

test('strangers are refused, roles hold over HTTP too, the log is a file, and the person notices nothing', async (t) => {
  const tokens = ['phone:view,prompt,approve:secret-of-phone', 'wall:view:secret-of-wall'];
  const { terminal, say, ws, url, home } = await startShared(t, {
    script: [says('Still here.')],
    args: tokens.flatMap((token) => ['--a2a-token', token]),
  });
  const bearer = (name: string) => ({ authorization: `Bearer secret-of-${name}` });

  const page = new RawClient(t, ws, 'a2a', {
    origin: 'http://evil.example',
    headers: bearer('phone'),
  });
  assert.equal(await page.refused, 403);
  const rebound = new RawClient(t, ws, 'a2a', {
    headers: { ...bearer('phone'), host: 'evil.example' },
  });
  assert.equal(await rebound.refused, 403);
  assert.equal((await new RawClient(t, ws, 'a2a').closed).code, 4001);
  const large = new RawClient(t, ws, ['a2a', 'token.secret-of-phone']);
  await large.snapshot();
  large.socket.send(Buffer.alloc(100 * 1024 * 1024, 32), { binary: false }, () => undefined);
  await large.closed;

  const parts = [{ kind: 'text', text: 'hello' }];
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message },
  });
  const headers = { 'content-type': 'application/json', ...bearer('wall') };
  const told = await fetch(url, { method: 'POST', headers, body });
  assert.match(await told.text(), /-31403/);
  const wall = new RawClient(t, ws, 'a2a', { headers: bearer('wall') });
  await wall.snapshot();
  assert.equal((await wall.say('hello')).error.code, -31403);

  say('are you there?');
  await terminal.sees(/Still here\./);
  await wall.state('completed');
  const log = readFileSync(join(home, 'parley.log'), 'utf8');
  assert.equal(log.match(/a WebSocket was refused/g)?.length, 3);
  assert.match(log, /closed a WebSocket after an invalid frame/);
  assert.doesNotMatch(terminal.all() + log, /secret-of/);
});

test('parley attach does not send PARLEY_TOKEN, which is the token of a server', async (t) => {
  const args = ['--a2a-token', 'phone:view:secret-of-phone'];
  const { url, ...place } = await startShared(t, { args });
  const attached = startProgram(t, ['attach', url], {
    place,
    environment: { PARLEY_TOKEN: 'secret-of-phone' },
  });
  assert.deepEqual(await attached.exited(), { code: 1 });
  assert.match(attached.all(), /requires a token: add --token T/);
});

test('what --approval plan forbids, only the terminal allows again', async (t) => {
  const { terminal, say, ws, url } = await startShared(t, { args: ['--approval', 'plan'] });
  const phone = new RawClient(t, ws, 'a2a');
  assert.equal((await phone.snapshot()).params.approval, 'plan');
  assert.equal((await phone.say('/approval ask')).error.code, -31403);
  const command = { command_path: ['approval'], args: 'ask' };
  assert.equal((await phone.ask('command/execute', command)).error.code, -31403);
  const parts = [{ kind: 'text', text: '/approval ask' }];
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
  });
  assert.equal(response.status, 403);
  say('/approval ask');
  await terminal.sees(/The approval mode of this session is now ask/);
  await phone.state('completed');
  const later = new RawClient(t, ws, 'a2a');
  assert.equal((await later.snapshot()).params.approval, 'ask');
});
