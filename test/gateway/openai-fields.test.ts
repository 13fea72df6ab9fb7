// The fields of chat completions, with the vendor's own client, in front of each vendor.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import OpenAI from 'openai';
import { chatRelay } from '../../src/gateway/models/openai/relay.ts';
import { ChatBody } from '../../src/gateway/models/openai/schema.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { beforeVendor, openaiClient, served } from './openai-support.ts';

const messages = [{ role: 'user' as const, content: 'Weather?' }];
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};

async function bodyFor(
  type: string,
  events: readonly string[],
  fields: object,
  model?: string,
): Promise<unknown> {
  await using gateway = await beforeVendor(type, [{ events }], model);
  await openaiClient(gateway).chat.completions.create({ model: 'm', messages, ...fields });
  return gateway.vendor.asked[0]?.body;
}

describe('a field of a chat', () => {
  test('reasoning_effort and verbosity reach each vendor in its own words', async () => {
    const fields = { reasoning_effort: 'low', verbosity: 'low' };
    assert.partialDeepStrictEqual(
      await bodyFor('openai-compatible', openaiCompatible.answer, fields),
      { reasoning_effort: 'low', verbosity: 'low' },
    );
    assert.partialDeepStrictEqual(
      await bodyFor('google', google.answer, fields, 'gemini-3.8-flash'),
      { generationConfig: { thinkingConfig: { thinkingLevel: 'low', includeThoughts: true } } },
    );
    assert.partialDeepStrictEqual(
      await bodyFor('anthropic', anthropic.answer, fields, 'claude-sonnet-5-5'),
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    );
  });

  test('max_tokens and max_completion_tokens are both limits, for a server that knows only one', async () => {
    const sent = (fields: object) =>
      bodyFor('openai-compatible', openaiCompatible.answer, fields) as Promise<ChatBody>;
    const { max_completion_tokens: one, max_tokens: other } = await sent({
      max_completion_tokens: 5,
      max_tokens: 1_000_000,
    });
    assert.deepEqual([one, other], [5, 5]);
    const { max_tokens: smaller } = await sent({ max_completion_tokens: 100, max_tokens: 7 });
    assert.equal(smaller, 7);
    const alone = await sent({ max_completion_tokens: 5 });
    assert.deepEqual([alone.max_completion_tokens, alone.max_tokens], [5, undefined]);
  });

  test('parallel_tool_calls and strict reach the vendor', async () => {
    const fields = { tools: [weather], parallel_tool_calls: false };
    assert.partialDeepStrictEqual(
      await bodyFor('openai-compatible', openaiCompatible.answer, fields),
      {
        parallel_tool_calls: false,
        tools: [{ type: 'function', function: { name: 'get_weather', strict: true } }],
      },
    );
    assert.partialDeepStrictEqual(
      await bodyFor('anthropic', anthropic.answer, fields, 'claude-sonnet-5-5'),
      { tool_choice: { disable_parallel_tool_use: true }, tools: [{ strict: true }] },
    );
  });

  test('without parallel calls, the client gets one call, although the vendor sends two', async () => {
    await using gateway = await beforeVendor('google', [{ events: google.calls }]);
    const { choices } = await openaiClient(gateway).chat.completions.create({
      model: 'm',
      messages,
      tools: [weather],
      parallel_tool_calls: false,
    });
    assert.equal(choices[0]?.message.tool_calls?.length, 1);
  });

  test('thoughts come as reasoning_content, whole and streamed, and go back to the vendor', async () => {
    const events = openaiCompatible.calls;
    await using gateway = await beforeVendor('openai-compatible', [
      { events },
      { events },
      { events: openaiCompatible.answer },
    ]);
    const client = openaiClient(gateway);
    const asked = { model: 'm', messages, tools: [weather] };
    const whole = await client.chat.completions.create(asked);
    const message = whole.choices[0]?.message;
    assert(message);
    assert.equal(Reflect.get(message, 'reasoning_content'), 'Both cities.');
    let thoughts = '';
    for await (const { choices } of await client.chat.completions.create({
      ...asked,
      stream: true,
    })) {
      const delta: object = choices[0]?.delta ?? {};
      thoughts += String(Reflect.get(delta, 'reasoning_content') ?? '');
    }
    assert.equal(thoughts, 'Both cities.');
    const results = (message.tool_calls ?? []).map(({ id }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: 'sunny',
    }));
    await client.chat.completions.create({
      ...asked,
      messages: [...messages, message, ...results],
    });
    assert.partialDeepStrictEqual(gateway.vendor.asked[2]?.body, {
      messages: [{ role: 'user' }, { role: 'assistant', reasoning_content: 'Both cities.' }],
    });
  });

  test('an image reaches the vendor, also one in a tool message, and one at an address', async () => {
    await using gateway = await beforeVendor('anthropic', [
      { events: anthropic.answer },
      { events: anthropic.answer },
    ]);
    const call = {
      id: 'a',
      type: 'function' as const,
      function: { name: 'look', arguments: '{}' },
    };
    const image = { type: 'image_url', image_url: { url: PIXEL } };
    await gateway.post('/v1/chat/completions', {
      model: 'm',
      messages: [
        ...messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'Look:' }, image] },
      ],
    });
    const text = JSON.stringify(gateway.vendor.asked[0]?.body);
    assert.match(text, /"media_type":"image\/png"/);
    const url = 'https://example.com/a.png';
    await openaiClient(gateway).chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    });
    assert.partialDeepStrictEqual(gateway.vendor.asked[1]?.body, {
      messages: [{ content: [{ type: 'image', source: { type: 'url', url } }] }],
    });
  });

  test('an image or a file at an address is refused for a vendor that does not download it', async () => {
    await using gateway = await beforeVendor('openai-compatible', []);
    const url = 'http://169.254.169.254/a.png';
    for (const part of [
      { type: 'image_url' as const, image_url: { url } },
      { type: 'file' as const, file: { file_data: url } },
    ]) {
      const asked = openaiClient(gateway).chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content: [part] }],
      });
      await assert.rejects(asked, (error) => {
        assert(error instanceof OpenAI.BadRequestError);
        assert.match(error.message, /The model m cannot download a file of this kind/);
        return true;
      });
    }
    assert.deepEqual(gateway.vendor.asked, []);
  });

  test('the dimensions of embeddings reach the vendor, and are refused if it has others', async () => {
    const body = (length: number) => ({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: Array.from({ length }, () => 0.5) }],
      model: 'e',
      usage: { prompt_tokens: 1, total_tokens: 1 },
    });
    await using gateway = await beforeVendor('openai', [
      { status: 200, body: body(2) },
      { status: 200, body: body(3) },
    ]);
    const { embeddings } = openaiClient(gateway);
    const fields = { model: 'e', input: 'a', dimensions: 2 };
    const { data } = await embeddings.create({ ...fields, encoding_format: 'float' });
    assert.equal(data[0]?.embedding.length, 2);
    assert.partialDeepStrictEqual(gateway.vendor.asked[0]?.body, { dimensions: 2 });
    await assert.rejects(embeddings.create(fields), OpenAI.BadRequestError);
    await using offline = await served({});
    const small = await openaiClient(offline).embeddings.create({ ...fields, model: 'offline' });
    assert.equal(small.data[0]?.embedding.length, 2);
  });
});

describe('a provider with the same API', () => {
  test('gets fields that the gateway does not know, and its unknown fields reach the client', async () => {
    const events = openaiCompatible.answer.map((text) =>
      text.replace('"object"', '"strange":1,"object"'),
    );
    await using gateway = await beforeVendor(
      'openai-compatible',
      [{ events }, { events }],
      'llama',
    );
    const client = openaiClient(gateway);
    const chat_template_kwargs = { enable_thinking: false };
    const fields = { model: 'm', messages, logprobs: true, top_k: 3, chat_template_kwargs };
    const whole = await client.chat.completions.create({ ...fields, service_tier: 'priority' });
    assert.equal(whole.model, 'm');
    assert.equal(Reflect.get(whole, 'strange'), 1);
    const seen: unknown[] = [];
    for await (const chunk of await client.chat.completions.create({ ...fields, stream: true })) {
      assert.equal(chunk.model, 'm');
      seen.push(chunk.usage ?? undefined);
    }
    // The gateway asks for the usage, and the client gets it only if it asked for it too.
    assert(seen.every((usage) => usage === undefined));
    assert.deepEqual(
      gateway.uses.map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]),
      [
        [20, 12],
        [20, 12],
      ],
    );
    assert.partialDeepStrictEqual(gateway.vendor.asked[1]?.body, {
      model: 'llama',
      top_k: 3,
      chat_template_kwargs,
      stream_options: { include_usage: true },
    });
    assert(!JSON.stringify(gateway.vendor.asked[0]?.body).includes('service_tier'));
  });

  test('is the only route that is tried for what only this API can do', async () => {
    const events = openaiCompatible.answer;
    await using own = await fakeVendor([{ events }, { events }]);
    await using other = await fakeVendor([]);
    await using gateway = await served({
      providers: {
        first: { type: 'anthropic', baseUrl: other.url, apiKey: 'k' },
        p: { type: 'openai-compatible', baseUrl: own.url },
      },
      models: {
        m: {
          routes: [
            { provider: 'first', weight: 1 },
            { provider: 'p', weight: 0 },
          ],
        },
        elsewhere: { provider: 'first' },
      },
    });
    const { completions } = openaiClient(gateway).chat;
    const fields = { model: 'm', messages, logprobs: true };
    await completions.create(fields);
    for await (const _ of await completions.create({ ...fields, stream: true }));
    assert.deepEqual([own.asked.length, other.asked.length], [2, 0]);
    assert.partialDeepStrictEqual(own.asked[0]?.body, { logprobs: true });
    const refused = [{ model: 'elsewhere' }, { n: 2 }];
    for (const change of refused)
      await assert.rejects(completions.create({ ...fields, ...change }), OpenAI.BadRequestError);
  });

  test('gets the limit that a budget leaves, in the field of the client', () => {
    const body = { model: 'm', messages };
    const limited = (more: object) => chatRelay(ChatBody.parse({ ...body, ...more })).body('x', 7);
    assert.partialDeepStrictEqual(limited({ max_completion_tokens: 9 }), {
      max_completion_tokens: 7,
    });
    assert.partialDeepStrictEqual(limited({}), { max_tokens: 7 });
  });

  test('must not answer several times, because budgets reserve one answer', async () => {
    await using gateway = await beforeVendor('openai-compatible', []);
    const asked = openaiClient(gateway).chat.completions.create({ model: 'm', messages, n: 5 });
    await assert.rejects(asked, OpenAI.BadRequestError);
    assert.deepEqual(gateway.vendor.asked, []);
  });
});

test("the vendor's code of a refusal is kept, so that clients can shorten the conversation", async () => {
  const refusals: readonly (readonly [string, unknown, string])[] = [
    [
      'openai',
      { error: { message: 'Too big.', type: 'x', param: null, code: 'context_length_exceeded' } },
      'context_length_exceeded',
    ],
    [
      'openai-compatible',
      { error: { message: 'maximum context length is 8 tokens', code: 400 } },
      'context_length_exceeded',
    ],
    [
      'anthropic',
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 9 tokens > 8 maximum',
        },
      },
      'context_length_exceeded',
    ],
    [
      'google',
      {
        error: {
          code: 400,
          message: 'The input token count (9) exceeds the maximum',
          status: 'INVALID_ARGUMENT',
        },
      },
      'context_length_exceeded',
    ],
    [
      'openai',
      { error: { message: 'Bad image.', type: 'x', param: null, code: 'invalid_image_format' } },
      'invalid_image_format',
    ],
  ];
  for (const [type, body, code] of refusals) {
    await using gateway = await beforeVendor(type, [{ status: 400, body }]);
    const asked = openaiClient(gateway).chat.completions.create({ model: 'm', messages });
    await assert.rejects(asked, (error) => {
      assert(error instanceof OpenAI.BadRequestError, type);
      assert.equal(error.code, code, type);
      return true;
    });
  }
});
