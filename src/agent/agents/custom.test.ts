import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, at } from '../../../test/support/runs.ts';
import { contentText } from '../content.ts';
import { createRunner } from '../run/runner.ts';
import { customAgent } from './custom.ts';

test('strings are pieces of one answer up to the next event, and have the id of the whole', async () => {
  const agent = customAgent({ name: 'teller' }, async function* (context) {
    yield 'Once ';
    yield 'upon';
    context.state.set('told', 1);
    yield { actions: { checkpoint: { path: context.path, value: 'half' } } };
    yield 'a time';
  });
  const events = await all(createRunner({ agent }).run({ ...at, message: 'go' }));
  const ids = [...new Set(events.map(({ id }) => id))];
  assert.deepEqual(
    events.map(({ id, partial, content }) => [
      ids.indexOf(id),
      partial === true,
      content && contentText(content),
    ]),
    [
      [0, true, 'Once '],
      [0, true, 'upon'],
      [0, false, 'Once upon'],
      [1, false, undefined],
      [2, true, 'a time'],
      [2, false, 'a time'],
    ],
  );
  assert.deepEqual(events[2]?.actions.stateDelta, { told: 1 }, 'what was set goes with the whole');
});
