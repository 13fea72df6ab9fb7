import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../protocol/index.ts';
import { OwnPrompts } from './own-prompts.ts';

/** A session that takes what it is given, or does what it is told. */
function prompts({ prompt = async () => {}, cancel = async () => {} } = {}) {
  return new OwnPrompts({
    async prompt() {
      await prompt();
      return { queued: false, taskId: 't1' };
    },
    cancel,
  });
}

test('each prompt ends with the turn that it began', async () => {
  const own = prompts();
  const [first, second] = [await own.send('one'), await own.send('two')];
  own.began({ own: true });
  own.end('end_turn');
  assert.equal(await first.done, 'end_turn');
  own.began({ own: true });
  own.end('refusal');
  assert.equal(await second.done, 'refusal');
});

test('a turn of somebody else ends none of them', async () => {
  const own = prompts();
  const { done } = await own.send('mine');
  own.began({ own: false });
  own.end('end_turn');
  own.began({ own: true });
  own.end('max_turn_requests');
  assert.equal(await done, 'max_turn_requests');
});

test('a prompt that is refused is not waited for', async () => {
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

test('what was sent before a cancellation is forgotten, what came after it is not', async () => {
  const own = prompts();
  const running = await own.send('running');
  own.began({ own: true });
  const before = await own.send('before');
  const canceling = own.cancel();
  const after = await own.send('after');
  await canceling;
  assert.equal(await before.done, 'cancelled');
  own.canceled();
  assert.equal(await running.done, 'cancelled');
  own.began({ own: true });
  own.end('end_turn');
  assert.equal(await after.done, 'end_turn');
});

test('a cancellation that found nothing to cancel is forgotten when the next turn begins', async () => {
  const own = prompts();
  await own.cancel();
  own.began({ own: false });
  const { done } = await own.send('waits');
  own.canceled();
  assert.equal(await done, 'cancelled');
});

test('a prompt that is being sent when its client cancels was canceled', async () => {
  const sending = Promise.withResolvers<void>();
  const own = prompts({ prompt: () => sending.promise });
  const sent = own.send('now');
  const canceling = own.cancel();
  sending.reject(new A2AError('unavailable'));
  await canceling;
  assert.equal(await (await sent).done, 'cancelled');
});
