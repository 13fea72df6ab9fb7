// The routes for Anthropic's clients, with Anthropic's own client as the peer and fake vendors on loopback.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import * as z from 'zod';
import { GatewayConfig } from '../../src/gateway/config.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import { serveVendor, VENDORS, type ServedVendor, type VendorType } from './vendors-support.ts';

interface Served extends ServedVendor {
  readonly client: Anthropic;
}

/** The gateway, and Anthropic's client of it. */
async function served(
  type: VendorType,
  replies: readonly Reply[],
  options: ConstructorParameters<typeof Anthropic>[0] = {},
): Promise<Served> {
  const own = await serveVendor(type, replies);
  const at = { baseURL: own.gateway.url, apiKey: own.gateway.key() };
  return { ...own, client: new Anthropic({ ...at, maxRetries: 0, ...options }) };
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
      await using at = await served(type as VendorType, [{ events: wire.answer }]);
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
      await using at = await served(type as VendorType, [
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

test('the usage of an answer has the caller’s name of the model', async () => {
  await using at = await served('openai', [{ events: openai.answer }]);
  await at.client.messages.create(question);
  const usage = await at.gateway.ask(at.gateway.key(), 'GET', '/a2a/usage');
  assert.partialDeepStrictEqual(await usage.json(), {
    items: [{ model: 'house', inputTokens: 20, outputTokens: 12 }],
  });
});

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-5-5',
  content: [{ type: 'text', text: 'It is sunny.', something_new: true }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 15, cache_read_input_tokens: 5, output_tokens: 12 },
};

describe('A provider of the type anthropic', () => {
  test('gets the client’s own request, with the provider’s key and name of the model', async () => {
    await using at = await served('anthropic', [{ status: 200, body: MESSAGE }], {
      defaultHeaders: { 'x-internal': 'secret', 'anthropic-version': '2023-01-01' },
      defaultQuery: { beta: 'true', other: 'x' },
    });
    const body = {
      ...question,
      system: [
        { type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } },
      ],
      tools: [...tools, { type: 'web_search_20260318' as const, name: 'web_search' as const }],
      metadata: { user_id: 'u1' },
      something_new: { deep: [1] },
      service_tier: 'standard_only' as const,
    };
    const message = await at.client.beta.messages.create({
      ...body,
      // It would cost more than the price on the model card.
      speed: 'fast',
      betas: ['context-1m-2025-08-07'],
    });
    const [asked] = at.vendor.asked;
    assert.deepEqual(asked?.body, { ...body, model: 'claude-sonnet-5-5' });
    assert.equal(asked.path, '/v1/messages?beta=true');
    assert.equal(asked.headers['anthropic-beta'], 'context-1m-2025-08-07');
    assert.equal(asked.headers['anthropic-version'], '2023-01-01');
    assert.equal(asked.headers['x-api-key'], 'vendor-key');
    assert.equal(asked.headers['authorization'], undefined);
    assert.equal(asked.headers['x-internal'], undefined);
    assert.equal(message.model, 'house');
    assert.partialDeepStrictEqual(message.content, MESSAGE.content);
  });

  test('does not get the thoughts of another vendor’s model, which it would refuse', async () => {
    await using other = await served('google', [{ events: google.calls }]);
    const asked = { ...question, tools, thinking };
    const { content } = await other.client.messages.stream(asked).finalMessage();
    assert.ok(content.some(({ type }) => type === 'thinking'));
    await using at = await served('anthropic', [{ events: anthropic.answer }]);
    const results = content
      .filter((block) => block.type === 'tool_use')
      .map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'sunny' }));
    const messages = [
      ...question.messages,
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: results },
    ];
    await at.client.messages.stream({ ...asked, messages }).finalMessage();
    const types = z
      .object({ messages: z.array(z.object({ content: z.any() })) })
      .parse(at.vendor.asked[0]?.body)
      .messages[1]?.content.map(({ type }: { type: string }) => type);
    assert.deepEqual(types, ['tool_use', 'tool_use']);
  });

  test('is the only route that is tried for what only Anthropic can do', async () => {
    await using at = await served('anthropic', [{ events: anthropic.answer }]);
    await using other = await fakeVendor([]);
    at.gateway.gateway.reload(
      GatewayConfig.parse({
        providers: {
          first: { type: 'openai', baseUrl: `${other.url}/v1`, apiKey: 'k' },
          p: { type: 'anthropic', baseUrl: at.vendor.url, apiKey: 'k' },
        },
        models: {
          house: {
            routes: [
              { provider: 'first', weight: 1 },
              { provider: 'p', weight: 0 },
            ],
          },
          elsewhere: { provider: 'first' },
        },
      }),
    );
    const asked = {
      ...question,
      tools: [{ type: 'web_search_20260318' as const, name: 'web_search' as const }],
    };
    await at.client.messages.stream(asked).finalMessage();
    assert.equal(other.asked.length, 0);
    await assert.rejects(at.client.messages.create({ ...asked, model: 'elsewhere' }), {
      status: 400,
      type: 'invalid_request_error',
      message: /tools\.0: only models of Anthropic have the tool web_search_20260318/,
    });
  });

  test('counts the tokens of a request', async () => {
    await using at = await served('anthropic', [
      { status: 200, body: { input_tokens: 1234 } },
      { status: 404, body: anthropic.error(404, 'Not found') },
    ]);
    const { messages, model } = question;
    const count = await at.client.messages.countTokens({ messages, model, tools });
    assert.equal(count.input_tokens, 1234);
    const [asked] = at.vendor.asked;
    assert.equal(asked?.path, '/v1/messages/count_tokens');
    assert.deepEqual(asked.body, { messages, tools, model: 'claude-sonnet-5-5' });
    const estimate = await at.client.messages.countTokens({ messages, model, tools });
    assert.ok(estimate.input_tokens > 0 && estimate.input_tokens < 1000);
  });
});

describe('A request for another provider', () => {
  test('has the images and documents of the messages and of tool results', async () => {
    await using at = await served('openai', [{ events: openai.answer }]);
    const data =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data },
    };
    const message = await at.client.messages.create({
      ...question,
      tools,
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { effort: 'low' },
      messages: [
        {
          role: 'user',
          content: [
            image,
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            {
              type: 'document',
              title: 'Notes',
              source: { type: 'text', media_type: 'text/plain', data: 'rain' },
            },
            { type: 'text', text: 'Look.' },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'text', text: 'seen' }, image],
            },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
    });
    assert.equal(
      message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      'It is sunny.',
    );
    const sent = JSON.stringify(at.vendor.asked[0]?.body);
    assert.equal(sent.split(data).length, 3);
    for (const part of ['https://example.com/a.png', 'Notes:\\\\nrain', 'seen', 'And now?']) {
      assert.ok(sent.includes(part.replace('\\\\n', '\\n')), part);
    }
    assert.partialDeepStrictEqual(at.vendor.asked[0]?.body, {
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      max_output_tokens: 4096,
    });
  });

  test('is refused if a tool call has no result', async () => {
    await using at = await served('openai', []);
    const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'get_weather', input: {} };
    const messages = [
      ...question.messages,
      { role: 'assistant' as const, content: [call] },
      { role: 'user' as const, content: 'Well?' },
    ];
    await assert.rejects(at.client.messages.create({ ...question, tools, messages }), {
      status: 400,
      message: /messages\.2\.content: the tool_use block with the id toolu_1 has no tool_result/,
    });
    assert.equal(at.vendor.asked.length, 0);
  });
});

describe('An error for a client of Anthropic', () => {
  test('has the type, the status and the request id that its own API has', async () => {
    const tooLong = { error: { message: 'too long', code: 'context_length_exceeded' } };
    await using at = await served('openai-compatible', [
      { status: 400, body: tooLong },
      { status: 503, body: openaiCompatible.error(503, 'busy') },
      { status: 429, body: openaiCompatible.error(429, 'slow'), headers: { 'retry-after': '60' } },
    ]);
    const ask = (more: object = {}) => at.client.messages.create({ ...question, ...more });
    const requestID = /^req_/;
    await assert.rejects(ask(), {
      status: 400,
      type: 'invalid_request_error',
      message: /prompt is too long/,
      requestID,
    });
    await assert.rejects(ask(), { status: 529, type: 'overloaded_error' });
    await assert.rejects(ask(), (error) => {
      assert.ok(error instanceof Anthropic.RateLimitError);
      assert.equal(error.headers.get('retry-after'), '60');
      return true;
    });
    await assert.rejects(ask({ model: 'nothing' }), { status: 404, type: 'not_found_error' });
    await assert.rejects(ask({ max_tokens: undefined }), { status: 400, message: /max_tokens/ });
    await assert.rejects(at.client.messages.batches.retrieve('b1'), Anthropic.NotFoundError);
    await assert.rejects(at.client.messages.batches.retrieve('b1'), { type: 'not_found_error' });
    await assert.rejects(at.client.get('/v1/messages'), {
      status: 405,
      type: 'invalid_request_error',
    });
    await assert.rejects(at.client.get('/v1/skills'), { status: 404, type: 'not_found_error' });
    const stranger = new Anthropic({ baseURL: at.gateway.url, apiKey: 'wrong', maxRetries: 0 });
    await assert.rejects(stranger.messages.create(question), { type: 'authentication_error' });
    await assert.rejects(stranger.models.list(), { type: 'authentication_error', requestID });
  });

  for (const type of ['anthropic', 'openai-compatible'] as const) {
    test(`ends a stream of ${type} that fails`, async () => {
      await using at = await served(type, [{ events: VENDORS[type].wire.failing }]);
      let text = '';
      const stream = at.client.messages.stream(question).on('text', (each) => (text += each));
      await assert.rejects(stream.finalMessage(), {
        type: 'api_error',
        message: /middle of its answer/,
      });
      assert.equal(text, 'It is ');
    });
  }

  test('says that a used-up budget is no reason to try again', async () => {
    await using at = await served('openai-compatible', [{ events: openaiCompatible.answer }]);
    const { secret } = at.gateway.gateway.keys.create(
      { workspace: 'default', name: 'poor', scopes: ['*'], budget: { tokens: 1, period: 'day' } },
      'test',
    );
    const poor = new Anthropic({ baseURL: at.gateway.url, authToken: secret, apiKey: null });
    await poor.messages.create(question).catch(() => undefined);
    await assert.rejects(poor.messages.create(question), (error) => {
      assert.ok(error instanceof Anthropic.RateLimitError);
      assert.equal(error.headers.get('x-should-retry'), 'false');
      return true;
    });
  });
});

test('a client of Anthropic gets the models in pages of its own format', async () => {
  await using at = await served('openai', []);
  at.gateway.gateway.reload(
    GatewayConfig.parse({
      providers: {
        p: { type: 'openai', baseUrl: at.vendor.url, apiKey: 'k', models: ['a', 'b', 'c'] },
      },
    }),
  );
  const names: string[] = [];
  for await (const { id, type } of at.client.models.list({ limit: 1 })) {
    assert.equal(type, 'model');
    names.push(id);
  }
  assert.deepEqual(names.toSorted(), ['a', 'b', 'c', 'offline']);
  const all = await at.client.models.list();
  assert.deepEqual([all.has_more, all.data.map(({ id }) => id)], [false, names]);
  const before = await at.client.models.list({ before_id: names[2] ?? '', limit: 1 });
  assert.deepEqual([before.has_more, before.data.map(({ id }) => id)], [true, [names[1]]]);
  assert.equal((await at.client.models.retrieve('b')).display_name, 'b');
  await assert.rejects(at.client.models.retrieve('z'), { type: 'not_found_error' });
});
