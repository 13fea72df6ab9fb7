import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf } from '../../../test/support/model.ts';
import { ModelError, type Model, type ModelChunk } from '../model.ts';
import { withRetry } from './retry.ts';

type Attempt = readonly (ModelChunk | ModelError)[];
const finish: ModelChunk = { kind: 'finish', reason: 'stop' };
const text: ModelChunk = { kind: 'text', text: 'hi' };
const busy = new ModelError('rate-limit', 'slow down', { status: 429, retryable: true });

/** A model that makes these attempts, one for each call. */
function playing(...attempts: Attempt[]): Model & { calls: number } {
  return {
    name: 'fake',
    contextWindow: 1000,
    calls: 0,
    async *generate() {
      for (const step of attempts[this.calls++] ?? []) {
        if (step instanceof ModelError) throw step;
        yield step;
      }
    },
  };
}

function run(model: Model): Promise<ModelChunk[]> {
  return answerOf(model, { messages: [] });
}

test('a retryable failure is retried, with a delay that doubles each time', async () => {
  const waits: number[] = [];
  const model = playing([busy], [busy], [busy], [text, finish]);
  const retried = withRetry(model, {
    delayMs: 2,
    maxDelayMs: 5,
    onRetry: (_error, _attempt, wait) => waits.push(wait),
  });
  assert.equal(retried.contextWindow, 1000);
  assert.deepEqual(await run(retried), [text, finish]);
  assert.equal(model.calls, 4);
  for (const [index, longest] of [2, 4, 5].entries()) {
    const wait = waits[index] ?? 0;
    assert(wait >= longest / 2 && wait <= longest, `${wait} of ${longest}`);
  }
});

test('the number of attempts is limited', async () => {
  const model = playing([busy], [busy], [text, finish]);
  await assert.rejects(run(withRetry(model, { delayMs: 1, attempts: 2 })), busy);
  assert.equal(model.calls, 2);
});

test('there is no retry after the first chunk', async () => {
  const model = playing([text, busy], [text, finish]);
  await assert.rejects(run(withRetry(model, { delayMs: 1 })), busy);
  assert.equal(model.calls, 1);
});

test('permanent failures and our own timeouts are not retried', async () => {
  for (const error of [
    new ModelError('bad-key', 'no', { status: 401 }),
    new ModelError('timeout', 'silent', { retryable: true }),
  ]) {
    const model = playing([error], [text, finish]);
    await assert.rejects(run(withRetry(model, { delayMs: 1 })), error);
    assert.equal(model.calls, 1);
  }
});

test('there is no retry if the vendor asks for a delay above the maximum', async () => {
  const tomorrow = new ModelError('rate-limit', 'come back tomorrow', {
    status: 429,
    retryable: true,
    retryAfterMs: 86_400_000,
  });
  const model = playing([tomorrow], [text, finish]);
  await assert.rejects(run(withRetry(model, { delayMs: 1 })), tomorrow);
  assert.equal(model.calls, 1);
});

test('an abort ends the delay', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const model = withRetry(playing([busy], [text, finish]), {
    delayMs: 3_600_000,
    maxDelayMs: 3_600_000,
    onRetry: () => queueMicrotask(() => controller.abort(reason)),
  });
  await assert.rejects(
    answerOf(model, { messages: [] }, controller.signal),
    (error) => error === reason,
  );
});
