/** Who allowed or rejected what, from where and when: /approvals, and what parley export reads. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { approvalsIn, type Approval } from '../../src/coder/approval/approvals.ts';
import { APP } from '../../src/coder/session/workspace-agent.ts';
import { EXTENSION_URI, eventIn } from '../../src/protocol/development-tool/index.ts';
import { answerIn, begin, turnOf, writes } from '../coder/talk.ts';
import {
  callIn,
  confirmation,
  makePlace,
  rpc,
  startCoder,
  stream,
  userMessage,
  type Place,
} from '../coder/support.ts';
import { RawClient } from './raw-client.ts';
import { serveSession, Watcher } from './support.ts';

const done: ScriptedResponse = [{ text: 'Done.' }];
const run = (command: string): ScriptedResponse => [
  { call: { name: 'run_shell_command', args: { command } } },
];

/** What parley export reads: the log of the session. */
async function stored({ home }: Place, contextId: string): Promise<Approval[]> {
  const sessions = sqliteSessions(join(home, 'sessions.db'));
  try {
    const session = await sessions.get({ app: APP, user: 'anonymous', id: contextId });
    return approvalsIn(session?.events ?? []);
  } finally {
    await sessions.close();
  }
}

test('decisions by the terminal, over /ws and by HTTP are listed with their clients', async (t) => {
  const ask: ScriptedResponse = [
    { call: { name: 'ask_user', args: { question: 'Which colour?', options: ['red', 'blue'] } } },
  ];
  const script = [writes('a.txt', 'a'), run('touch b.txt'), ask, run('touch c.txt'), done];
  const { live, url, ws, place } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal' });
  const watcher = new Watcher(terminal);
  const phone = new RawClient(t, `${ws}?name=phone`);
  await phone.snapshot();
  let seen = 0;
  const waiting = async () => {
    const call = await watcher.until((item) => {
      const found = item.kind === 'event' ? callIn(item.event) : undefined;
      return found?.confirmation_request && found;
    }, seen);
    await watcher.until(
      (item) =>
        item.kind === 'event' &&
        item.event.kind === 'status-update' &&
        item.event.status.state === 'input-required'
          ? true
          : undefined,
      seen,
    );
    seen = watcher.items.length;
    return call;
  };
  const before = new Date().toISOString();
  await terminal.prompt('go');
  const first = await waiting();
  await terminal.confirm({ tool_call_id: first.tool_call_id, selected_option_id: 'proceed_once' });
  const second = await waiting();
  const no = { tool_call_id: second.tool_call_id, selected_option_id: 'cancel', reason: 'not now' };
  assert.equal((await phone.ask('session/confirm', no)).error, undefined);
  const third = await waiting();
  const blue = { tool_call_id: third.tool_call_id, selected_option_id: 'option_2' };
  assert.equal((await phone.ask('session/confirm', blue)).error, undefined);
  const fourth = await waiting();
  const yes = { tool_call_id: fourth.tool_call_id, selected_option_id: 'proceed_always' };
  const { error } = await rpc(url, 'message/send', { message: confirmation(live.taskId, yes) });
  assert.equal(error, undefined);
  await watcher.until(
    (item) =>
      item.kind === 'event' &&
      item.event.kind === 'status-update' &&
      item.event.status.state === 'completed'
        ? true
        : undefined,
    seen,
  );
  const list = await stored(place, live.contextId);
  const terminalId = terminal.self.id;
  assert.deepEqual(
    list.map(({ decision, call, option, reason, by }) => [
      decision,
      call,
      option?.name,
      reason,
      by?.name,
      by?.kind,
    ]),
    [
      ['approved', 'Write a.txt', 'Allow once', undefined, 'terminal', 'terminal'],
      ['rejected', 'Run touch b.txt', 'Reject', 'not now', 'phone', 'a2a'],
      ['answered', 'Which colour?', 'blue', undefined, 'phone', 'a2a'],
      [
        'approved',
        'Run touch c.txt',
        'Always allow this command in this session',
        undefined,
        'http',
        'a2a',
      ],
    ],
  );
  assert.equal(list[0]?.by?.client, terminalId);
  for (const { at } of list) assert.ok(at >= before && at <= new Date().toISOString());

  // The command answers the same over the wire, for a client that may only look and prompt.
  const reply = await phone.say('/approvals');
  assert.equal(reply.error, undefined);
  const { params } = await phone.state('completed', 2);
  const { result } = await rpc(url, 'tasks/get', { id: live.taskId });
  const text = answerIn(result);
  assert.equal(eventIn(params.event.metadata)?.error, undefined);
  assert.equal(text.split('\n').length, 6, 'four lines in a block of code');
  assert.match(text, /approved by "terminal" \(terminal-1 terminal\), Allow once {2}Write a\.txt/);
  assert.match(text, /rejected by "phone" \(a2a-2 a2a\): not now {2}Run touch b\.txt/);
});

test('the list covers earlier tasks of the conversation, words, and calls that a rule allows', async (t) => {
  const place = makePlace(t);
  const same = run('touch a.txt');
  const script = [same, done, same, done, writes('b.txt', 'b'), done];
  const first = await begin(t, script, { place });
  assert.equal(
    (await first.say('/approvals')).text,
    'No call has needed an approval in this session yet.',
  );
  const asked = await first.say('go');
  await first.answer(asked, 'proceed_always');
  await first.say('again');
  const { contextId, taskId } = await first.say('write');
  const { error } = await rpc(first.url, 'message/send', {
    message: userMessage('yes', { taskId }),
  });
  assert.equal(error, undefined);
  await first.stop();

  const second = await startCoder(t, place);
  const events = await stream(second.url, userMessage('/approvals', { contextId }));
  const lines = turnOf(events).text.split('\n').slice(1, -1);
  const expected = [
    /^\S+Z {2}approved by \(a2a http\), Always allow this command in this session {2}Run touch a\.txt$/,
    /^\S+Z {2}automatic: a rule allows run_shell_command .* {2}Run touch a\.txt$/,
    /^\S+Z {2}approved by \(a2a http\), Allow once: yes {2}Write b\.txt$/,
  ];
  assert.equal(lines.length, expected.length, lines.join('\n'));
  for (const [at, line] of lines.entries()) assert.match(line, expected[at]!);
});

test('an answer that begins like a command, but is none, is listed; a command is no answer', async (t) => {
  const ask: ScriptedResponse = [{ call: { name: 'ask_user', args: { question: 'Where?' } } }];
  const { say } = await begin(t, [ask, done]);
  const { taskId, contextId } = await say('go');
  assert.match((await say('/stats', { taskId })).text, /1 request,/);
  assert.equal((await say('/tmp', { taskId })).state, 'completed');
  const { text } = await say('/approvals', { contextId });
  assert.match(text, /answered by \(a2a http\): \/tmp {2}/);
  assert.doesNotMatch(text, /stats/);
});

test('calls of a helper are listed with its name, those that the mode allows, too', async (t) => {
  const job: ScriptedResponse = [{ call: { name: 'task', args: { prompt: 'do it' } } }];
  const script = [job, writes('a.txt', 'a'), writes('b.txt', 'b'), run('touch c.txt'), done, done];
  const talk = await begin(t, script, { mode: 'auto-edit' });
  const asked = await talk.say('go');
  const { contextId } = await talk.answer(asked, 'proceed_once');
  const list = await stored(talk.place, contextId);
  assert.deepEqual(
    list.map(({ decision, call, agent, reason }) => [decision, call, agent, reason]),
    [
      ['automatic', 'Write a.txt', 'helper', 'edits are allowed in auto-edit mode'],
      ['automatic', 'Write b.txt', 'helper', 'edits are allowed in auto-edit mode'],
      ['approved', 'Run touch c.txt', 'helper', undefined],
    ],
  );
});

test('a client cannot forge a line of the list, or pass for the terminal', async (t) => {
  const talk = await begin(t, [run('touch a.txt'), done]);
  const asked = await talk.say('go');
  const call = asked.events.map(callIn).findLast((each) => each !== undefined);
  const client = 'x\n2026-01-01T00:00:00.000Z  approved by "terminal" (terminal-1 terminal)';
  const data = { tool_call_id: call?.tool_call_id, selected_option_id: 'cancel', reason: 'a\nb' };
  const message = { ...confirmation(asked.taskId, data), ...named(client) };
  const { error } = await rpc(talk.url, 'message/send', { message });
  assert.equal(error, undefined);
  const { text } = await talk.say('/approvals');
  const lines = text.split('\n');
  assert.equal(lines.length, 3);
  assert.match(
    lines[1] ?? '',
    /rejected by "x 2026-01-01.*" \(a2a http\): a b {2}Run touch a\.txt$/,
  );
});

const named = (client: string) => ({ metadata: { [EXTENSION_URI]: { client } } });
