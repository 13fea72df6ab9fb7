// A helper in a live session: the terminal, a WebSocket and an editor each see its calls, with its name, and are asked
// about the real call. The answer goes to this call.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { allowed, editorAt } from '../acp/support.ts';
import { startShared } from './program.ts';
import { RawClient } from './raw-client.ts';

const script: ScriptedResponse[] = [
  [{ call: { name: 'task', args: { prompt: 'Write a greeting.', name: 'greeter' } } }],
  [
    { text: 'I look around first.' },
    { call: { name: 'list_directory', args: {} } },
    { call: { name: 'todo', args: { items: [{ text: 'greet', status: 'pending' }] } } },
  ],
  [{ call: { name: 'write_file', args: { path: 'hello.txt', content: 'hello\n' } } }],
  [{ text: 'The greeting is written.' }],
  [{ text: 'All done.' }],
];

test('everybody sees the calls of a helper, and is asked about the real one', async (t) => {
  const { terminal, ws, say, workspace } = await startShared(t, { script, rows: 45 });
  const socket = new RawClient(t, ws, 'a2a');
  await socket.snapshot();
  const editor = await editorAt(t, ws);
  await editor.open();
  const seen = Promise.withResolvers<void>();
  editor.answer = async () => {
    await seen.promise;
    return allowed;
  };
  say('have it greeted');

  const screen = await terminal.until('the dialog', () => {
    const shown = terminal.visible();
    return /Allow once/.test(shown) && shown;
  });
  assert.match(screen, /greeter › Write hello\.txt/);
  assert.match(screen, /\+ ?hello/);
  assert.match(screen, /greeter › I look around first\./);
  assert.match(screen, /greeter › List/);
  seen.resolve();

  await terminal.sees(/All done\./);
  assert.equal(readFileSync(join(workspace, 'hello.txt'), 'utf8'), 'hello\n');
  assert.equal(editor.text, 'All done.', 'what the helper says is not the answer');
  const [permission] = editor.asked;
  assert.equal(permission?.toolCall.title, 'greeter: Write hello.txt');
  assert.equal(permission.toolCall.content?.[0]?.type, 'diff');
  const kinds = editor.updates.map(({ sessionUpdate }) => sessionUpdate);
  assert.ok(!kinds.includes('plan'), "a helper's list is not the plan of the session");
  assert.ok(JSON.stringify(editor.updates).includes('[greeter] I look around first.'));

  await socket.state('completed');
  const lives = new Map<string, string[]>();
  for (const { method, params } of socket.frames) {
    const call = method === 'tasks/event' && params.event.status?.message?.parts?.[0]?.data;
    if (!call || call.tool_name === undefined) continue;
    const name = `${call.agent ?? ''} ${call.tool_name}`.trim();
    const life = lives.get(name) ?? [];
    if (life.at(-1) !== call.status) life.push(call.status);
    lives.set(name, life);
  }
  const whole = ['PENDING', 'EXECUTING', 'SUCCEEDED'];
  assert.deepEqual(Object.fromEntries(lives), {
    task: whole,
    'greeter list_directory': whole,
    'greeter todo': whole,
    'greeter write_file': whole,
  });
});
