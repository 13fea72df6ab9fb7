import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../protocol/index.ts';
import { OwnPrompts } from './own-prompts.ts';

/** A session that accepts every prompt, unless the test overrides it. */
function prompts({
  prompt = async () => {},
  cancel = async () => {},
  forgotten = (_text: unknown): Promise<void> | undefined => undefined,
} = {}) {
  return new OwnPrompts({
    async prompt(text) {
      await prompt();
      const fate = forgotten(text);
      return { queued: false, taskId: 't1', ...(fate && { forgotten: fate }) };
    },
    confirm: async () => {},
    cancel,
  });
}

test('each prompt ends with the turn that it started', async () => {
  const own = prompts();
  const [first, second] = [await own.send('one'), await own.send('two')];
  own.began({ own: true });
  own.end('end_turn');
  assert.equal(await first.done, 'end_turn');
  own.began({ own: true });
  own.end('refusal');
  assert.equal(await second.done, 'refusal');
});

test('the turn of another client ends no own prompt', async () => {
  const own = prompts();
  const { done } = await own.send('mine');
  own.began({ own: false });
  own.end('end_turn');
  own.began({ own: true });
  own.end('max_turn_requests');
  assert.equal(await done, 'max_turn_requests');
});

test('a refused prompt is not tracked any more', async () => {
  let refuse = true;
  const own = prompts({
    async prompt() {
      if (refuse) throw new A2AError('rateLimited');
    },
  });
  await assert.rejects(own.send('too much'), { kind: 'rateLimited' });
  refuse = false;
  const { done } = await own.send('enough');
  own.began({ own: true });
  own.end('end_turn');
  assert.equal(await done, 'end_turn');
});

test('a dropped prompt ends as canceled, and the others still start', async () => {
  const forgotten = Promise.withResolvers<void>();
  const own = prompts({
    forgotten: (text) => (text === 'before' ? forgotten.promise : undefined),
  });
  const running = await own.send('running');
  own.began({ own: true });
  const before = await own.send('before');
  const after = await own.send('after');
  await own.cancel();
  own.end('cancelled');
  assert.equal(await running.done, 'cancelled');
  forgotten.resolve();
  assert.equal(await before.done, 'cancelled');
  own.began({ own: true });
  own.end('end_turn');
  assert.equal(await after.done, 'end_turn');
});

test('a prompt that is being sent when its client cancels ends as canceled', async () => {
  const sending = Promise.withResolvers<void>();
  const own = prompts({ prompt: () => sending.promise });
  const sent = own.send('now');
  const canceling = own.cancel();
  sending.reject(new A2AError('unavailable'));
  await canceling;
  assert.equal(await (await sent).done, 'cancelled');
});
