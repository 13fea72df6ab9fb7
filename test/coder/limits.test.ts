/** Limits on what a session may use. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePlace } from './support.ts';
import { begin, settings, writes } from './talk.ts';

test('a session that has used its tokens takes no more turns, and a new one does', async (t) => {
  const place = makePlace(t);
  settings(place, { limits: { maxTokens: 50 } });
  const script = [[{ text: 'A long answer. '.repeat(20) }], [{ text: 'Hello.' }]];
  const { say, requests } = await begin(t, script, { place });
  assert.equal((await say('hi')).state, 'completed');
  const { state, text } = await say('and?');
  assert.equal(state, 'failed');
  assert.match(text, /reached its token limit \(limits\.maxTokens\)/);
  assert.equal(requests.length, 1);
  assert.match((await say('/stats')).text, /^Limit: 50 tokens$/m);
  assert.equal((await say('hi', { contextId: 'another' })).text, 'Hello.');
});

test('/stats names the limit of the cost, and which models do not count', async (t) => {
  const place = makePlace(t);
  settings(place, { limits: { maxCostUsd: 5 } });
  const { say } = await begin(t, [], { place });
  assert.match(
    (await say('/stats')).text,
    /^Limit: \$5 \(models with an unknown price do not count\)$/m,
  );
});

test('a turn that reaches the limit makes no more calls', async (t) => {
  const place = makePlace(t);
  settings(place, { limits: { maxTokens: 50 } });
  const script = [[{ text: 'word '.repeat(100) }, ...writes('a.txt', 'a\n')]];
  const { say } = await begin(t, script, { place, mode: 'auto-edit' });
  assert.equal((await say('write')).state, 'failed');
  assert.equal(existsSync(join(place.workspace, 'a.txt')), false);
});

test("a helper's tokens count too", async (t) => {
  const script = [
    [{ call: { name: 'task', args: { prompt: 'look around' } } }],
    [{ text: 'I looked.' }],
    [{ text: 'The helper looked.' }],
  ];
  const { say } = await begin(t, script);
  assert.equal((await say('have a look')).text, 'The helper looked.');
  assert.match((await say('/stats')).text, /^scripted: 3 requests/m);
});
