// A client of gemini-cli's a2a-server on the live port: its dialect is a view of the session that everybody shares.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { answer, brief, partIn, post, settings, streamed, textIn } from '../coder/gemini-talk.ts';
import { makePlace, userMessage } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { serveSession, Watcher } from './support.ts';

test('its prompt is a turn of the session, it gives the approval, and its turn ends alone', async (t) => {
  const place = makePlace(t);
  const script = [writes('a.txt', 'A'), [{ text: 'Written.' }], [{ text: 'Again.' }]];
  const { url, live } = await serveSession(t, { place, script });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const message = userMessage('write', { metadata: settings(place.workspace) });
  const first = await streamed(url, { message });
  assert.equal(brief(first.at(-1)!), 'state-change input-required final');
  const { callId } = partIn(first, 'tool-call-confirmation')!.data!.request!;
  const yes = answer(first.at(-1)!, { callId, outcome: 'proceed_once' });
  const second = await streamed(url, yes);
  assert.equal(textIn(second), 'Written.');
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'A');
  await ann.state('completed');
  assert.deepEqual(ann.said, ['http: write', 'agent: Written.']);
  const third = await streamed(url, {
    message: userMessage('again'),
    metadata: { ...settings('/') },
  });
  assert.equal(textIn(third), 'Again.');
  assert.deepEqual(third.slice(-2).map(brief), [
    'text-content working',
    'state-change input-required final',
  ]);
});

test('without the role it cannot approve in its dialect', async (t) => {
  const place = makePlace(t);
  const tokens = [{ name: 'Bob', roles: ['prompt' as const], token: 'b'.repeat(32) }];
  const script = [writes('a.txt', 'A')];
  const { url } = await serveSession(t, { place, script, access: { tokens } });
  const bob = { authorization: `Bearer ${'b'.repeat(32)}` };
  const message = userMessage('write', { metadata: settings(place.workspace) });
  const first = await streamed(url, { message }, bob);
  const { callId } = partIn(first, 'tool-call-confirmation')!.data!.request!;
  const yes = answer(first.at(-1)!, { callId, outcome: 'proceed_once' });
  await assert.rejects(streamed(url, yes, bob), /role \\?"approve/);
  assert.equal(existsSync(join(place.workspace, 'a.txt')), false);
});

test('the client that begins the session does not choose the view of the others', async (t) => {
  const place = makePlace(t);
  const script = [writes('a.txt', 'A'), [{ text: 'Written.' }], [{ text: 'Again.' }]];
  const { url, live } = await serveSession(t, { place, script });
  await streamed(url, { message: userMessage('write', { metadata: settings(place.workspace) }) });
  const id = live.taskId;
  const seen = [
    await post(url, 'tasks/get', { id, historyLength: 0 }),
    await (await fetch(`${url}/tasks/${id}/events`)).text(),
    await post(url, 'message/send', { message: userMessage('Allow once', { taskId: id }) }),
    await post(url, 'message/stream', { message: userMessage('again') }),
  ];
  assert.match(seen[0]!, /May I do this\?/);
  assert.match(seen[2]!, /"state":"completed"[^]*"artifacts":[^]*Written\./);
  assert.match(seen[3]!, /artifact-update[^]*Again\.[^]*"state":"completed"/);
  for (const each of seen) assert.doesNotMatch(each, /"kind":"(data|state-change|text-content)"/);
});

test('"yes" of another client does not approve several calls that it was not shown', async (t) => {
  const place = makePlace(t);
  const script = [[...writes('a.txt', 'A'), ...writes('b.txt', 'B')]];
  const { url, live } = await serveSession(t, { place, script });
  await streamed(url, { message: userMessage('write', { metadata: settings(place.workspace) }) });
  const yes = userMessage('yes', { taskId: live.taskId });
  assert.match(await post(url, 'message/send', { message: yes }), /were not shown to this client/);
  assert.equal(existsSync(join(place.workspace, 'a.txt')), false);
});
