import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { llmAgent } from '../../agent/agents/llm.ts';
import type { Usage } from '../../agent/event.ts';
import type { Model } from '../../agent/model.ts';
import { resolveModel } from '../../agent/models/resolve.ts';
import { createRunner } from '../../agent/run/runner.ts';
import { tool } from '../../agent/tools/function-tool.ts';
import { MODEL_KEY, sessionModel } from './session-model.ts';
import type { Settings } from '../settings/schema.ts';

const at = { user: 'ann', session: 's' };

/** A model that calls a tool each time, and says that it used so much. */
function busy(name: string, usage: Usage): Model {
  let calls = 0;
  return {
    name,
    async *generate() {
      yield { kind: 'function-call', id: `c${++calls}`, name: 'work', args: {} };
      yield { kind: 'finish', reason: 'tool-calls', usage };
    },
  };
}

function runner(model: Model, limits: Settings['limits']) {
  let worked = 0;
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    run: () => ++worked,
  });
  const { agent, modelOf } = sessionModel({
    model,
    limits,
    resolve: (name) => resolveModel(name),
    agentWith: (chosen) => llmAgent({ name: 'a', model: chosen, tools: [work] }),
  });
  return { runner: createRunner({ agent }), modelOf, worked: () => worked };
}

test('a run ends when the session has cost what it may', async () => {
  const model = busy('openai:gpt-5', { inputTokens: 1_000_000, outputTokens: 0 });
  const { runner: made, worked } = runner(model, { maxCostUsd: 3 });
  const { error } = await made.runToEnd({ ...at, message: 'go' });
  assert.equal(error?.code, 'cost-limit');
  // $1.25, $2.50, and the calls of the third answer are not made.
  assert.equal(worked(), 2);
  const again = await made.runToEnd({ ...at, message: 'go on' });
  assert.equal(again.error?.code, 'cost-limit');
  assert.equal(worked(), 2);
});

test('a limit on tokens counts all that came before in the session', async () => {
  const model = busy('offline', { inputTokens: 10, outputTokens: 1 });
  const { runner: made } = runner(model, { maxTokens: 50 });
  assert.equal((await made.runToEnd({ ...at, message: 'go' })).error?.code, 'token-limit');
  const session = await made.sessions.get({ app: 'a', user: 'ann', id: 's' });
  assert.equal(session?.events.filter(({ usage }) => usage).length, 5);
  const other = await made.runToEnd({ user: 'ann', session: 'other', message: 'go' });
  assert.equal(other.error?.code, 'token-limit');
});

test('a session has the model that its state names, else the one of the workspace', () => {
  const model = busy('mine', { inputTokens: 1, outputTokens: 1 });
  const { modelOf } = runner(model, undefined);
  assert.equal(
    modelOf(() => undefined),
    model,
  );
  const chosen = (key: string) => (key === MODEL_KEY ? 'offline' : undefined);
  assert.equal(modelOf(chosen).name, 'offline');
  assert.equal(modelOf(chosen), modelOf(chosen));
});
