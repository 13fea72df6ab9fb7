// What clients do over HTTP, as the person at the terminal sees it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { post } from '../coder/flat-support.ts';
import { rpc, stream, userMessage, type RpcReply } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { startShared } from './program.ts';

const says = (text: string): ScriptedResponse => [{ text }];
const ESCAPE = '\u001b';

test('a prompt over HTTP, its sender and its approval are on the screen', async (t) => {
  const script = [writes('a.txt', 'A'), says('Written.')];
  const { terminal, url, workspace } = await startShared(t, { script });
  // Without the extension, so that it gets the question in words.
  const body = { jsonrpc: '2.0', id: 1, method: 'message/send' };
  const { body: reply } = await post(url, {
    ...body,
    params: { message: userMessage('write a file') },
  });
  const asked = reply as RpcReply;
  assert.equal(asked.result?.status.state, 'input-required');
  assert.match(JSON.stringify(asked.result.status), /May I do this\?/);
  await terminal.sees(/\[A2A\] http: write a file/);
  await terminal.sees(/1 client/);
  // The question is on the screen before anybody can have answered it.
  await terminal.sees(/Allow once[^]*Reject/);
  // It is there once, as a dialog.
  assert.doesNotMatch(terminal.all(), /May I do this/);
  const taskId = asked.result.id;
  const answer = userMessage('Allow once', { taskId });
  const { body: last } = await post(url, { ...body, params: { message: answer } });
  assert.equal((last as RpcReply).result?.status.state, 'completed');
  await terminal.sees(/http: Allow once/);
  await terminal.sees(/Written\./);
  assert.equal(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'A');
  await terminal.sees(/0 clients/);
});

test('a prompt over HTTP waits on the screen while a turn runs, and its sender hears when it is dropped', async (t) => {
  const script = [
    writes('a.txt', 'A'),
    says('Rejected.'),
    says('Both heard.'),
    writes('b.txt', 'B'),
  ];
  const { terminal, url, say, workspace } = await startShared(t, { script });
  say('write a file');
  await terminal.sees(/Reject/);
  const waiting = stream(url, userMessage('are you there?'));
  await terminal.sees(/http: are you there\?/);
  assert.ok(!existsSync(join(workspace, 'a.txt')));
  terminal.type(ESCAPE);
  assert.match(JSON.stringify(await waiting), /Both heard\./);
  await terminal.sees(/\[A2A\] http: are you there\?[^]*Both heard\./);

  say('another file');
  await terminal.sees(/b\.txt[^]*Reject/);
  const dropped = rpc(url, 'message/send', { message: userMessage('and then') });
  await terminal.sees(/http: and then/);
  const { result } = await rpc(url, 'tasks/list', {});
  const [task] = (result as unknown as { tasks: { id: string }[] }).tasks;
  await rpc(url, 'tasks/cancel', { id: task?.id ?? '' });
  assert.equal((await dropped).error?.code, -31409);
  await terminal.sees(/Canceled/);
  assert.ok(!existsSync(join(workspace, 'b.txt')));
});
