import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../../base/index.ts';
import { customAgent } from '../agents/custom.ts';
import { createRunner } from './runner.ts';
import { at } from '../../../test/support/runs.ts';

test('a value that is undefined changes nothing, in this run and in the next', async () => {
  const seen: unknown[] = [];
  const agent = customAgent({ name: 'a' }, async function* ({ state }) {
    seen.push(state.get('given'));
    state.set('kept', 1);
    Reflect.apply(Reflect.get(state, 'set'), state, ['kept', undefined]);
    yield 'first';
    seen.push(state.get('kept'));
    Reflect.apply(Reflect.get(state, 'set'), state, ['kept', undefined]);
    yield { content: { role: 'model', parts: [] } };
    seen.push(state.get('kept'));
  });
  const runner = createRunner({ agent, app: 'app' });
  await runner.sessions.open({ app: 'app', user: at.user, id: at.session }, { given: 'yes' });
  const state: Record<string, JsonValue> = {};
  Object.assign(state, { given: undefined });
  await runner.runToEnd({ ...at, message: 'go', state });
  assert.deepEqual(seen, ['yes', 1, 1]);
  const session = await runner.sessions.get({ app: 'app', user: at.user, id: at.session });
  assert.deepEqual(session?.state, { given: 'yes', kept: 1 });
});
