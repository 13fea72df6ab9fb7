// The routes for OpenAI's clients, over HTTP: byte by byte, and with a real client as the peer.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as z from 'zod';
import type { Content } from '../../src/agent/content.ts';
import type { ModelChunk, ModelRequest } from '../../src/agent/model.ts';
import { vendorEmbeddings, vendorModel } from '../../src/agent/models/vendor-model.ts';
import { EmbeddingsAnswer, ModelsAnswer } from '../../src/gateway/models/openai/schema.ts';
import { saidIn } from '../support/model.ts';
import { google } from '../support/vendors/google.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { openai } from '../support/vendors/openai.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import { compatible, piece, says } from './models-support.ts';
import { before, beforeVendor, served, type Served } from './openai-support.ts';

const messages = [{ role: 'user', content: 'Weather?' }];
const CHAT = '/v1/chat/completions';
const never = new AbortController().signal;
const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

const Failure = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

async function failureIn(response: Response): Promise<z.infer<typeof Failure>['error']> {
  return Failure.parse(await response.json()).error;
}

/** The objects of a stream; `[DONE]` is a string. */
function events(text: string): unknown[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      assert(frame.startsWith('data: '), frame);
      const body = frame.slice('data: '.length);
      return body === '[DONE]' ? body : JSON.parse(body);
    });
}

describe('a chat', () => {
  test('is answered whole, and says what it took', async () => {
    await using gateway = await before([says('It is ', 'sunny.')]);
    const response = await gateway.post(CHAT, { model: 'm', messages, user: 'ann', whatever: 1 });
    assert.equal(response.status, 200);
    assert.partialDeepStrictEqual(await response.json(), {
      object: 'chat.completion',
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'It is sunny.', refusal: null },
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 12,
        total_tokens: 32,
        prompt_tokens_details: { cached_tokens: 5 },
      },
    });
    assert.equal(gateway.uses.length, 1);
  });

  test('is streamed as it comes, with the tokens last where they are asked for', async () => {
    await using gateway = await beforeVendor('google', [{ events: google.answer }]);
    const stream_options = { include_usage: true };
    const body = { model: 'm', messages, stream: true, stream_options };
    const response = await gateway.post(CHAT, body);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    const got = events(await response.text());
    const delta = (change: object, finish_reason: string | null = null) => ({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: change, finish_reason }],
      usage: null,
    });
    assert.equal(got.length, 7);
    assert.partialDeepStrictEqual(got, [
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'Let me see.' }),
      delta({ content: 'It is ' }),
      delta({ content: 'sunny.' }),
      delta({}, 'stop'),
      { object: 'chat.completion.chunk', choices: [], usage: { total_tokens: 32 } },
      '[DONE]',
    ]);
  });

  test('that breaks off in the middle ends with an error and without [DONE]', async () => {
    await using gateway = await before([{ events: [piece('It is ')], after: 'break' }]);
    const response = await gateway.post(CHAT, { model: 'm', messages, stream: true });
    assert.equal(response.status, 200);
    const got = events(await response.text());
    assert.deepEqual(got.at(-1), {
      error: {
        message: 'The model m failed in the middle of its answer: try again',
        type: 'server_error',
        param: null,
        code: 'model_cut_off',
      },
    });
    assert(!got.includes('[DONE]'));
  });

  test('that fails before it begins has a status, streamed or not', async () => {
    const limited: Reply = { status: 429, body: 'no', headers: { 'retry-after': '90' } };
    await using gateway = await before([limited, limited]);
    for (const stream of [false, true]) {
      const response = await gateway.post(CHAT, { model: 'm', messages, stream });
      assert.equal(response.status, 429);
      assert.equal(response.headers.get('retry-after'), '90');
      assert.partialDeepStrictEqual(await response.json(), {
        error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      });
    }
  });

  for (const stream of [false, true]) {
    const how = stream ? 'in the middle of a stream' : 'before the answer';
    test(`a client that leaves ${how} ends the provider's request`, async () => {
      await using gateway = await before([{ events: [piece('It is ')], after: 'hang' }]);
      const leaving = new AbortController();
      const asking = gateway.post(CHAT, { model: 'm', messages, stream }, leaving.signal);
      if (stream) {
        const reader = (await asking).body?.getReader();
        await reader?.read();
        leaving.abort();
      } else {
        const asked = asking.catch(() => undefined);
        await gateway.vendor.reached;
        leaving.abort();
        await asked;
      }
      await gateway.vendor.hungUp;
    });
  }

  test('with an unknown model is refused, and the nearest are named', async () => {
    await using gateway = await before([]);
    const response = await gateway.post(CHAT, { model: 'n', messages });
    assert.equal(response.status, 400);
    assert.deepEqual(await response.json(), {
      error: {
        message: 'Unknown model "n". Similar names: m, offline',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    });
  });

  const refused: Readonly<Record<string, object>> = {
    n: { n: 2 },
    logprobs: { logprobs: true },
    functions: { functions: [{ name: 'f' }] },
    tool_choice: { tool_choice: 'required' },
    'messages.0.content.0.image_url.url': {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'ftp://example.com/a.png' } }],
        },
      ],
    },
    'messages.0': { messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] },
    messages: {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
      ],
    },
    'messages.0.tool_calls.0.function.arguments': {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }],
        },
      ],
    },
  };
  for (const [param, fields] of Object.entries(refused)) {
    test(`what cannot be honoured is refused by name: ${param}`, async () => {
      await using gateway = await beforeVendor('google', []);
      const response = await gateway.post(CHAT, { model: 'm', messages, ...fields });
      assert.equal(response.status, 400);
      const error = await failureIn(response);
      assert.equal(error.param, param);
      assert.match(error.message, new RegExp(`^${param}: `));
      assert.equal(gateway.vendor.asked.length, 0);
    });
  }

  test('a body that is wrong names its field', async () => {
    await using gateway = await before([]);
    const response = await gateway.post(CHAT, { model: 'm', messages: [{ role: 'robot' }] });
    assert.equal(response.status, 400);
    const error = await failureIn(response);
    assert.equal(error.type, 'invalid_request_error');
    assert.match(error.message, /^messages\.0/);
    assert.match(error.param ?? '', /^messages\.0/);
  });

  test('a setting that the vendor would leave out is refused, not left out', async () => {
    await using vendor = await fakeVendor([{ events: openai.answer }]);
    await using gateway = await served({
      providers: { p: { type: 'openai', apiKey: 'k', baseUrl: vendor.url, models: ['m'] } },
    });
    const response = await gateway.post(CHAT, { model: 'm', messages, stop: 'x' });
    assert.equal(response.status, 400);
    const error = await failureIn(response);
    assert.equal(
      error.message,
      'The model m does not support stop sequences: remove it from the request',
    );
    assert.deepEqual(gateway.uses, []);
  });

  test('the defaults of sampling settings are accepted for a model that has none, other values are not', async () => {
    await using vendor = await fakeVendor([{ events: openai.answer }, { events: openai.answer }]);
    await using gateway = await served({
      providers: { p: { type: 'openai', apiKey: 'k', baseUrl: vendor.url, models: ['gpt-5'] } },
    });
    const body = { model: 'gpt-5', messages };
    const refused = await gateway.post(CHAT, { ...body, temperature: 0.2 });
    assert.equal(refused.status, 400);
    assert.match((await failureIn(refused)).message, /does not support a temperature/);
    const defaults = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };
    assert.equal((await gateway.post(CHAT, { ...body, ...defaults })).status, 200);
    assert.deepEqual(Object.keys(Object(vendor.asked.at(-1)?.body)).includes('temperature'), false);
  });
});

describe("a client of OpenAI's format", () => {
  /** Such a client, pointed at the gateway. */
  function peer(gateway: Served) {
    const settings = { baseURL: `${gateway.url}/v1`, apiKey: 'k', structuredOutputs: true };
    return {
      chat: (model: string) => vendorModel('openai-compatible', model, settings, { retry: false }),
      embeddings: (model: string) => vendorEmbeddings('openai-compatible', model, settings),
    };
  }

  async function collect(chunks: AsyncIterable<ModelChunk>): Promise<ModelChunk[]> {
    const all: ModelChunk[] = [];
    for await (const chunk of chunks) all.push(chunk);
    return all;
  }

  const question: ModelRequest = {
    system: 'Be brief.',
    messages: [{ role: 'user', parts: [{ kind: 'text', text: 'Weather?' }] }],
  };

  test('gets words, the end and the tokens', async () => {
    await using gateway = await before([{ events: openaiCompatible.answer }]);
    const chunks = await collect(peer(gateway).chat('m').generate(question, never));
    assert.equal(saidIn(chunks), 'It is sunny.');
    assert.deepEqual(chunks.at(-1), {
      kind: 'finish',
      reason: 'stop',
      usage: { inputTokens: 20, outputTokens: 12, cachedTokens: 5, thoughtTokens: 4 },
    });
  });

  test('its settings, tools, pictures and schema arrive at the provider as they were', async () => {
    await using gateway = await before([says('{}')]);
    const picture = { kind: 'blob', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
    const { messages: said } = question;
    await collect(
      peer(gateway)
        .chat('m')
        .generate(
          {
            ...question,
            messages: [{ role: 'user', parts: [...(said[0]?.parts ?? []), picture] }],
            tools: [weather],
            toolChoice: { tool: 'get_weather' },
            temperature: 0.5,
            topP: 0.9,
            stop: ['END'],
            seed: 7,
            maxOutputTokens: 100,
            presencePenalty: 0.1,
            frequencyPenalty: 0.2,
            outputSchema: { type: 'object', properties: { a: { type: 'string' } } },
          },
          never,
        ),
    );
    assert.partialDeepStrictEqual(gateway.vendor.asked[0]?.body, {
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Weather?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'get_weather' } }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      temperature: 0.5,
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
      max_tokens: 100,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      response_format: {
        type: 'json_schema',
        json_schema: { schema: { type: 'object', properties: { a: { type: 'string' } } } },
      },
    });
  });

  test('gets calls, and gives them back with their responses and signatures', async () => {
    await using vendor = await fakeVendor([{ events: google.calls }, { events: google.answer }]);
    await using gateway = await served({
      providers: {
        p: { type: 'google', apiKey: 'k', baseUrl: vendor.url, models: ['gemini-3.8-flash'] },
      },
    });
    const model = peer(gateway).chat('gemini-3.8-flash');
    const request = { ...question, tools: [weather] };
    const chunks = await collect(model.generate(request, never));
    const calls = chunks.filter((chunk) => chunk.kind === 'function-call');
    assert.deepEqual(
      calls.map(({ name, args }) => ({ name, args })),
      [
        { name: 'get_weather', args: { city: 'Paris' } },
        { name: 'get_weather', args: { city: 'Rome' } },
      ],
    );
    const finish = chunks.at(-1);
    assert(finish?.kind === 'finish');
    assert.equal(finish.reason, 'tool-calls');

    const back: Content[] = [
      ...question.messages,
      { role: 'model', parts: calls },
      {
        role: 'user',
        parts: calls.map(({ id, name }) => ({
          kind: 'function-response' as const,
          id,
          name,
          response: 'sunny',
        })),
      },
    ];
    const more = await collect(model.generate({ ...request, messages: back }, never));
    assert.equal(saidIn(more), 'It is sunny.');
    assert.partialDeepStrictEqual(vendor.asked[1]?.body, {
      contents: [
        { role: 'user' },
        {
          role: 'model',
          parts: [
            {
              functionCall: { name: 'get_weather', args: { city: 'Paris' } },
              thoughtSignature: 'c2lnLTE=',
            },
            { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
          ],
        },
        { role: 'user', parts: [{ functionResponse: { name: 'get_weather' } }, {}] },
      ],
    });
  });

  test('an answer that breaks off is an error at the client too', async () => {
    await using gateway = await before([{ events: [piece('It is ')], after: 'break' }]);
    await assert.rejects(collect(peer(gateway).chat('m').generate(question, never)));
  });

  test('gets embeddings, from the provider and from the offline model', async () => {
    const body = {
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0.1, 0.2] },
        { object: 'embedding', index: 1, embedding: [0.3, 0.4] },
      ],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    };
    await using gateway = await before([{ status: 200, body }]);
    const { vectors, inputTokens } = await peer(gateway).embeddings('e').embed(['a', 'b'], never);
    assert.deepEqual(vectors, [
      [0.1, 0.2],
      [0.3, 0.4],
    ]);
    assert.equal(inputTokens, 8);
    assert.equal(gateway.uses[0]?.inputTokens, 8);
    const offline = await peer(gateway).embeddings('offline').embed(['a'], never);
    assert.equal(offline.vectors[0]?.length, 256);
  });
});

test('a stream for which there is no room gives its place at the provider back, and is counted', async () => {
  await using vendor = await fakeVendor([
    { events: [piece('It ')], after: 'hang' },
    says('Sunny.'),
  ]);
  const providers = { p: compatible(vendor.url, { models: ['m'], maxConcurrent: 1 }) };
  await using gateway = await served({ providers }, { maxStreams: 0 });
  const refused = await gateway.post(CHAT, { model: 'm', messages, stream: true });
  assert.notEqual(refused.status, 200);
  await refused.body?.cancel();
  const patience = AbortSignal.timeout(5000);
  const answer = await gateway.post(CHAT, { model: 'm', messages }, patience);
  assert.equal(answer.status, 200);
  assert.equal(gateway.uses.length, 2);
});

test('embeddings come in base64 where that is asked for', async () => {
  await using gateway = await served({});
  async function embedded(encoding_format: string): Promise<unknown> {
    const body = { model: 'offline', input: 'Hello', encoding_format };
    const response = await gateway.post('/v1/embeddings', body);
    return EmbeddingsAnswer.parse(await response.json()).data[0]?.embedding;
  }
  const plain = z.array(z.number()).parse(await embedded('float'));
  const bytes = Buffer.from(z.string().parse(await embedded('base64')), 'base64');
  const numbers = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
  assert.deepEqual(numbers, plain.map(Math.fround));
});

test('a model for chats makes no embeddings', async () => {
  await using gateway = await before([]);
  const response = await gateway.post('/v1/embeddings', { model: 'm', input: 'a' });
  assert.equal(response.status, 400);
  const error = await failureIn(response);
  assert.equal(error.message, 'The model "m" supports chat, not embeddings');
});

test('models are listed, and each is found, also one with a slash in its name', async () => {
  await using gateway = await served({
    models: { 'team/fast': { provider: 'offline', model: 'offline' } },
    cards: { mine: { schemaVersion: '1.0', name: 'offline' } },
  });
  const list = await (await fetch(`${gateway.url}/v1/models`)).json();
  const { data } = ModelsAnswer.parse(list);
  assert.deepEqual(
    data.map(({ id }) => id),
    ['mine', 'team/fast', 'offline'],
  );
  const one = await fetch(`${gateway.url}/v1/models/team%2Ffast`);
  assert.deepEqual(await one.json(), {
    id: 'team/fast',
    object: 'model',
    created: 0,
    owned_by: 'gateway',
  });
  const none = await fetch(`${gateway.url}/v1/models/nobody`);
  assert.equal(none.status, 404);
  const error = { type: 'invalid_request_error', param: 'model', code: 'model_not_found' };
  assert.deepEqual(await none.json(), { error: { message: 'Unknown model', ...error } });
});
