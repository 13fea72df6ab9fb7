// The routes for Anthropic's clients, with Anthropic's own client as the peer and fake vendors on loopback.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type FakeVendor, type Reply } from '../support/vendors/server.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';

const VENDORS = {
  anthropic: { wire: anthropic, path: '' },
  google: { wire: google, path: '/v1beta' },
  openai: { wire: openai, path: '/v1' },
  'openai-compatible': { wire: openaiCompatible, path: '/v1' },
} as const;
type Type = keyof typeof VENDORS;

interface Served extends AsyncDisposable {
  readonly gateway: RunningGateway;
  readonly vendor: FakeVendor;
  readonly client: Anthropic;
}

/** A gateway whose model `house` leads to a vendor of the type, and Anthropic's client of the gateway. */
async function served(
  type: Type,
  replies: readonly Reply[],
  options: ConstructorParameters<typeof Anthropic>[0] = {},
): Promise<Served> {
  const vendor = await fakeVendor(replies);
  const baseUrl = vendor.url + VENDORS[type].path;
  const gateway = await startGateway({
    config: {
      providers: { p: { type, baseUrl, apiKey: 'vendor-key', attempts: 1, models: [] } },
      models: { house: { provider: 'p', model: modelOf(type) } },
    },
  });
  const client = new Anthropic({
    baseURL: gateway.url,
    apiKey: gateway.key(),
    maxRetries: 0,
    ...options,
  });
  return {
    gateway,
    vendor,
    client,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
    },
  };
}

function modelOf(type: Type): string {
  return VENDORS[type].wire.model.slice(type.length + 1);
}

const tools = [
  {
    name: 'get_weather',
    description: 'The weather',
    input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
    cache_control: { type: 'ephemeral' as const },
  },
];
const question = {
  model: 'house',
  max_tokens: 4096,
  messages: [{ role: 'user' as const, content: 'Weather?' }],
};
const thinking = { type: 'enabled' as const, budget_tokens: 2048 };

describe('An answer for a client of Anthropic', () => {
  for (const [type, { wire }] of Object.entries(VENDORS)) {
    test(`has the thoughts, the text and the tokens of ${type}`, async () => {
      await using at = await served(type as Type, [{ events: wire.answer }]);
      const message = await at.client.messages.stream({ ...question, thinking }).finalMessage();
      const [thought, text] = message.content;
      assert.equal(thought?.type === 'thinking' && thought.thinking, 'Let me see.');
      assert.equal(text?.type === 'text' && text.text, 'It is sunny.');
      assert.equal(message.model, 'house');
      assert.equal(message.stop_reason, 'end_turn');
      const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
      assert.deepEqual([input_tokens, cache_read_input_tokens, output_tokens], [15, 5, 12]);
    });

    test(`has the tool calls of ${type}, and their results reach it`, async () => {
      await using at = await served(type as Type, [
        { events: wire.calls },
        { events: wire.answer },
      ]);
      const asked = { ...question, system: 'Be brief.', tools, thinking };
      const { content, stop_reason } = await at.client.messages.stream(asked).finalMessage();
      assert.equal(stop_reason, 'tool_use');
      const calls = content.filter((block) => block.type === 'tool_use');
      assert.deepEqual(
        calls.map(({ name, input }) => [name, input]),
        [
          ['get_weather', { city: 'Paris' }],
          ['get_weather', { city: 'Rome' }],
        ],
      );
      const [paris, rome] = calls;
      await at.client.messages
        .stream({
          ...asked,
          ...(type === 'anthropic' && { thinking: { type: 'adaptive', display: 'summarized' } }),
          messages: [
            { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
            { role: 'assistant', content },
            {
              role: 'user',
              content: [
                { type: 'tool_result', tool_use_id: paris?.id ?? '', content: 'sunny' },
                {
                  type: 'tool_result',
                  tool_use_id: rome?.id ?? '',
                  content: 'no such city',
                  is_error: true,
                },
              ],
            },
          ],
        })
        .finalMessage();
      wire.checkReturn(at.vendor.asked[1]?.body);
    });
  }
});
