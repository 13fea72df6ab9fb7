import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Question } from '../../agent/index.ts';
import type { Message } from '../../protocol/index.ts';
import { Inbox } from './inbox.ts';

const question: Question = { id: 'call_1', kind: 'confirmation', text: 'May I?', agent: 'coder' };
const data = { tool_call_id: 'call_1', selected_option_id: 'cancel', reason: 'too dear' };
const message: Message = {
  kind: 'message',
  messageId: 'm',
  role: 'user',
  parts: [{ kind: 'data', data }],
};

test('an answer takes effect when it is stored, and the turn waits for it', async () => {
  const inbox = new Inbox();
  let arrived = 0;
  using _ = inbox.listen(() => void arrived++);
  const stored = Promise.withResolvers<void>();
  inbox.put(message, stored.promise);
  assert.deepEqual([inbox.take(question), inbox.empty, arrived], [undefined, false, 0]);
  const arriving = inbox.arriving();
  stored.resolve();
  await arriving;
  assert.equal(arrived, 1);
  const answer = inbox.take(question);
  assert.deepEqual([answer?.confirmed, answer?.value], [false, 'too dear']);
  assert.equal(inbox.empty, true);
});

test('an answer that could not be stored has no effect', async () => {
  const inbox = new Inbox();
  inbox.put(message, Promise.reject(new Error('disk full')));
  await inbox.arriving();
  assert.deepEqual([inbox.take(question), inbox.empty], [undefined, true]);
});
