import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customAgent } from '../agents/custom.ts';
import { openRun } from './open-run.ts';
import { createRunner } from './runner.ts';
import { all, at } from '../../../test/support/runs.ts';

const asking = customAgent({ name: 'asking' }, async function* (context) {
  yield context.question('city', { text: 'Which city?' });
});

test('a run that is aborted before it starts or continues leaves nothing in the session', async () => {
  const runner = createRunner({ agent: asking, app: 'app' });
  const key = { app: 'app', user: 'ann', id: 's' };
  const stored = async () => (await runner.sessions.get(key))?.events ?? [];
  const signal = AbortSignal.abort(new Error('enough'));
  {
    using opened = await openRun(runner.sessions, key, 'r1', { create: true });
    await assert.rejects(all(runner.begin(opened, { message: 'go', signal })), /enough/);
  }
  assert.deepEqual(await stored(), []);

  const { questions } = await runner.runToEnd({ ...at, message: 'go', runId: 'r2' });
  const before = await stored();
  {
    using opened = await openRun(runner.sessions, key, 'r2', {});
    const answers = questions.map(({ id }) => ({ questionId: id, value: 'Oslo' }));
    await assert.rejects(all(runner.proceed(opened, { answers, signal })), /enough/);
  }
  assert.deepEqual(await stored(), before);
});

test('a run that is stopped before it begins has the state that it was given', async () => {
  const runner = createRunner({ agent: asking, app: 'app' });
  await runner.sessions.open({ app: 'app', user: 'ann', id: 's' }, { city: 'Oslo', old: true });
  using opened = await openRun(runner.sessions, { app: 'app', user: 'ann', id: 's' }, 'r');
  const state = { city: 'Rome', 'temp:once': true };
  await runner.end(opened, { begin: { message: [], state } });
  assert.deepEqual(opened.session?.state, { city: 'Rome', old: true });
});
