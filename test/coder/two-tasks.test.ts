/** Two tasks in one workspace do not write over each other. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { calls, done, talk } from './checked-talk.ts';
import { callIn, stream, userMessage } from './support.ts';
import { begin, writes } from './talk.ts';

const read = calls('read_file', { path: 'a.txt' });

test('a file that another task has changed is read again before it is written', async (t) => {
  const { say, seen, at } = await talk(
    t,
    [
      // The first task looks,
      read,
      done,
      // the second writes,
      read,
      writes('a.txt', 'the second\n'),
      done,
      // and the first, which does not know that, is told so.
      writes('a.txt', 'the first\n'),
      calls('edit', { path: 'a.txt', old: 'the', new: 'not the' }),
      read,
      writes('a.txt', 'the first, after it has looked\n'),
      done,
    ],
    { mode: 'auto-edit' },
  );
  writeFileSync(at('a.txt'), 'at the beginning\n');
  const [first] = await say('look');
  assert.ok(first?.kind === 'task');
  await say('write, from another task');
  const events = await say('write, from the first', { contextId: first.contextId });
  const ends = events
    .map(callIn)
    .filter((call) => call?.status === 'SUCCEEDED' || call?.status === 'FAILED');
  assert.deepEqual(
    ends.map((call) => `${call?.tool_name} ${call?.status}`),
    ['write_file FAILED', 'edit FAILED', 'read_file SUCCEEDED', 'write_file SUCCEEDED'],
  );
  assert.match(ends[0]?.error?.message ?? '', /another task has changed this file/);
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'the first, after it has looked\n');
  assert.deepEqual(seen.ends, ['completed', 'completed', 'completed']);
});

test('of tasks that write the same new file at the same time one does, and the others are told', async (t) => {
  const TASKS = 8;
  let asked = 0;
  const together = Promise.withResolvers<void>();
  /** Each conversation gets the same script; nobody is answered before everybody has asked. */
  const model: Model = {
    name: 'scripted',
    async *generate(request, signal) {
      const said = request.messages.filter(({ role }) => role === 'model').length;
      if (++asked >= TASKS) together.resolve();
      await together.promise;
      const [words] = request.messages[0]?.parts ?? [];
      const content = words?.kind === 'text' ? words.text : '';
      const script = [writes('new.txt', content), done];
      yield* scriptedModel(script.slice(said)).generate(request, signal);
    },
  };
  const { url, place } = await begin(t, [], { model, mode: 'auto-edit' });
  const names = Array.from({ length: TASKS }, (_, index) => `task ${index}`);
  const all = await Promise.all(names.map((name) => stream(url, userMessage(name))));
  const wrote = names.filter((_, index) =>
    all[index]!.some((event) => callIn(event)?.status === 'SUCCEEDED'),
  );
  assert.equal(wrote.length, 1);
  assert.equal(readFileSync(`${place.workspace}/new.txt`, 'utf8'), wrote[0]);
  const failed = all
    .flat()
    .map(callIn)
    .filter((call) => call?.status === 'FAILED');
  assert.equal(failed.length, TASKS - 1);
  for (const call of failed) assert.match(call?.error?.message ?? '', /another task has changed/);
});
