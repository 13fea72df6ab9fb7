import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, at } from '../../../test/support/runs.ts';
import type { Agent } from '../agent.ts';
import { customAgent } from '../agents/custom.ts';
import { createRunner } from './runner.ts';

const asking = customAgent({ name: 'asking' }, async function* (context) {
  yield context.question('city', { text: 'Which city?' });
});

test('a run that was canceled while it waited takes no answer, and its agents are told once', async () => {
  const told: string[] = [];
  const agent: Agent = {
    ...asking,
    async cancel({ runId, events }) {
      told.push(`${runId} ${events.length}`);
      throw new Error('nobody there');
    },
  };
  const runner = createRunner({ agent });
  const { questions } = await runner.runToEnd({ ...at, message: 'go', runId: 'r' });
  await runner.cancel({ ...at, runId: 'r' });
  await runner.cancel({ ...at, runId: 'r' });
  assert.deepEqual(told, ['r 2']);
  assert.deepEqual(await runner.pending({ ...at, runId: 'r' }), []);
  const answers = [{ questionId: questions[0]!.id, value: 'Rome' }];
  await assert.rejects(all(runner.resume({ ...at, runId: 'r', answers })), { code: 'not-open' });
});

test('a run that is not there cannot be canceled', async () => {
  const runner = createRunner({ agent: asking });
  await assert.rejects(runner.cancel({ ...at, runId: 'r' }), { name: 'SessionNotFound' });
  await runner.runToEnd({ ...at, message: 'go' });
  await assert.rejects(runner.cancel({ ...at, runId: 'r' }), { code: 'unknown-run' });
});
