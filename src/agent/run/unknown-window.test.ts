import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fakeOllama,
  fakeVllm,
  VLLM_TOO_LONG,
} from '../../../test/support/vendors/local-servers.ts';
import { openaiCompatible } from '../../../test/support/vendors/openai-compatible.ts';
import type { Asked, Reply } from '../../../test/support/vendors/server.ts';
import { llmAgent } from '../agents/llm.ts';
import { resolveModel } from '../models/resolve.ts';
import { memorySessions } from '../sessions/memory.ts';
import { createRunner } from './runner.ts';

/** About 8192 tokens of English. */
const MAX_CHARS = 32_000;
const key = { app: 'app', user: 'ann', id: 's' };

async function talk(model: string, env: Record<string, string>, turns: number) {
  const sessions = memorySessions();
  const agent = llmAgent({ name: 'a', model: resolveModel(model, { env }) });
  const runner = createRunner({ agent, app: 'app', sessions });
  for (let turn = 0; turn < turns; turn++) {
    const message = `${turn} ${'word '.repeat(1200)}`;
    const { text } = await runner.runToEnd({ user: 'ann', session: 's', message });
    assert.equal(text, 'It is sunny.', `turn ${turn}`);
  }
  const session = await sessions.get(key);
  return (session?.events ?? []).filter(({ actions }) => actions.compaction).length;
}

const sizeOf = ({ body }: Asked) => JSON.stringify(body).length;

/** An answer that counts the tokens of its request. */
function answer(asked: Asked): Reply {
  const tokens = `"prompt_tokens":${Math.ceil(sizeOf(asked) / 4)}`;
  const events = openaiCompatible.answer.map((event) =>
    event.replace('"prompt_tokens":20', tokens),
  );
  return { events };
}

test('a conversation that the model refuses as too long is compacted, and the turn goes on', async () => {
  let refused = 0;
  await using server = await fakeVllm([], (asked): Reply => {
    if (sizeOf(asked) <= MAX_CHARS) return answer(asked);
    refused++;
    return VLLM_TOO_LONG;
  });
  const compactions = await talk('vllm:x', { VLLM_BASE_URL: server.url }, 12);
  assert(compactions >= 1, 'the conversation was never compacted');
  assert.equal(refused, 1, 'the size was learned from the first error');
});

test('a server that drops the start of a long conversation in silence never gets one', async () => {
  let longest = 0;
  await using server = await fakeOllama([{ name: 'x:latest', context: 8192 }], (asked): Reply => {
    longest = Math.max(longest, sizeOf(asked));
    return answer(asked);
  });
  const compactions = await talk('ollama:x', { OLLAMA_BASE_URL: server.url }, 12);
  assert(compactions >= 1);
  assert(longest <= MAX_CHARS, `${longest} characters were sent`);
});
