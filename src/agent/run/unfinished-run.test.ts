import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, at, toolOf } from '../../../test/support/runs.ts';
import { customAgent } from '../agents/custom.ts';
import { llmAgent } from '../agents/llm.ts';
import { createEvent } from '../event.ts';
import { scriptedModel, type ScriptedResponse } from '../models/scripted.ts';
import { memorySessions } from '../sessions/memory.ts';
import type { Tool } from '../tool.ts';
import { createRunner } from './runner.ts';
import { hasUnfinishedRun } from './unfinished-run.ts';

const key = { app: 'app', user: at.user, id: at.session };

/** A runner, and whether its session has an unfinished run. */
function start(script: readonly ScriptedResponse[], ...tools: Tool[]) {
  const sessions = memorySessions();
  const agent = llmAgent({ name: 'app', model: scriptedModel(script), tools });
  const runner = createRunner({ agent, sessions });
  const unfinished = async () => hasUnfinishedRun((await sessions.get(key))?.events ?? []);
  return { runner, sessions, unfinished };
}

test('a run is unfinished from its start to its answer, at every event', async () => {
  const look = toolOf('look', () => 'seen');
  const { runner, unfinished } = start([[{ call: { name: 'look' } }], [{ text: 'Done.' }]], look);
  assert.equal(await unfinished(), false);
  const seen: boolean[] = [];
  for await (const event of runner.run({ ...at, message: 'go' })) {
    if (event.partial !== true) seen.push(await unfinished());
  }
  assert.deepEqual(seen, [true, true, false]);
});

test('a run that waits is unfinished until it is canceled', async () => {
  const ask = toolOf('ask', () => 'done', { confirm: () => true });
  const { runner, unfinished } = start([[{ call: { name: 'ask' } }]], ask);
  await all(runner.run({ ...at, runId: 'r', message: 'go' }));
  assert.equal(await unfinished(), true);
  await runner.cancel({ ...at, runId: 'r' });
  assert.equal(await unfinished(), false);
});

test('a run that failed is finished', async () => {
  const { runner, unfinished } = start([]);
  await all(runner.run({ ...at, message: 'go' }));
  assert.equal(await unfinished(), false);
});

test('an interrupted run is unfinished until a later run is done, or it goes on itself', async () => {
  const { runner, sessions, unfinished } = start([[{ text: 'Cut' }], [{ text: 'Done.' }]]);
  for await (const event of runner.run({ ...at, runId: 'r1', message: 'go' })) {
    if (event.partial === true) break;
  }
  assert.equal(await unfinished(), true, 'only its start is stored');
  // A command is not part of the conversation.
  const command = customAgent({ name: 'command' }, async function* () {
    yield 'ok';
  });
  await all(
    createRunner({ agent: command, app: 'app', sessions }).run({
      ...at,
      message: '/x',
      aside: true,
    }),
  );
  assert.equal(await unfinished(), true);
  await all(runner.run({ ...at, runId: 'r2', message: 'again' }));
  assert.equal(await unfinished(), false);
  await sessions.append(key, [createEvent({ runId: 'r1', author: 'user' })]);
  assert.equal(await unfinished(), true, 'another process has resumed the first run');
});

test('events that belong to no run are not counted', async () => {
  const { sessions, unfinished } = start([]);
  await sessions.open(key);
  const event = createEvent({ runId: 'flags-1', author: 'user' }, { aside: true });
  await sessions.append(key, [event]);
  assert.equal(await unfinished(), false);
});
