import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FullChunk } from '../chunks.ts';
import { headOf, messageFrames } from './answer.ts';
import { MessagesBody } from './schema.ts';

const body = MessagesBody.parse({
  model: 'm',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Hello' }],
});
const used = { inputTokens: 1, outputTokens: 1, provider: 'p', model: 'm' };

test('the client gets pings while the model is silent', async () => {
  const silence = Promise.withResolvers<void>();
  async function* chunks(): AsyncGenerator<FullChunk> {
    yield { kind: 'text', text: 'Hello' };
    await silence.promise;
    yield { kind: 'finish', reason: 'stop', used };
  }
  const seen: string[] = [];
  for await (const frame of messageFrames(headOf(body, 1), chunks(), 5)) {
    seen.push(/^event: (\w+)/.exec(frame)?.[1] ?? '');
    if (seen.at(-1) === 'ping' && seen.includes('content_block_delta')) silence.resolve();
  }
  const last = ['content_block_delta', 'ping', 'content_block_stop'];
  assert.deepEqual(
    seen.filter((each, index) => each !== 'ping' || seen[index - 1] !== 'ping').slice(3, 6),
    last,
  );
  assert.equal(seen.at(-1), 'message_stop');
});

test('thoughts reach only a client that asks for them', async () => {
  async function* chunks(): AsyncGenerator<FullChunk> {
    yield { kind: 'thought', text: 'Hm.' };
    yield { kind: 'text', text: 'Hello' };
    yield { kind: 'finish', reason: 'stop', used };
  }
  async function framesFor(thinking: object | undefined): Promise<string> {
    const head = headOf(MessagesBody.parse({ ...body, thinking }), 1);
    let frames = '';
    for await (const frame of messageFrames(head, chunks())) frames += frame;
    return frames;
  }
  assert.match(await framesFor({ type: 'adaptive' }), /"thinking_delta","thinking":"Hm\."/);
  const omitted = await framesFor({ type: 'adaptive', display: 'omitted' });
  assert.ok(omitted.includes('signature_delta') && !omitted.includes('Hm.'));
  for (const none of [undefined, { type: 'disabled' }]) {
    const frames = await framesFor(none);
    assert.ok(!frames.includes('thinking"') && !frames.includes('Hm.'));
  }
});
