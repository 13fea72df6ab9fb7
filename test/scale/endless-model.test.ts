// A model that sends empty chunks without end. It takes seconds until the limit of a run is reached.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRunner, llmAgent, type Event, type Model } from '../../src/agent/index.ts';

test('a model that says nothing without end ends the run with an error event', async () => {
  const model: Model = {
    name: 'test',
    async *generate() {
      for (;;) yield { kind: 'text', text: '' };
    },
  };
  const runner = createRunner({ agent: llmAgent({ name: 'a', model }) });
  let last: Event | undefined;
  for await (const event of runner.run({ user: 'ann', session: 's', message: 'go' })) last = event;
  assert.equal(last?.error?.code, 'model-failed');
});
