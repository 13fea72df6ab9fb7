// The routes for Google's clients, with Google's own client as the peer and fake vendors on loopback.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { ApiError, GoogleGenAI, type GenerateContentResponse, type Part } from '@google/genai';
import { GatewayConfig } from '../../src/gateway/config.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import type { GatewayStart } from '../support/gateway.ts';
import { serveVendor, VENDORS, type ServedVendor, type VendorType } from './vendors-support.ts';

interface Served extends ServedVendor {
  readonly client: GoogleGenAI;
  /** Sends a request without Google's client. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** The gateway, and Google's client of it. */
async function served(
  type: VendorType,
  replies: readonly Reply[],
  start: Pick<GatewayStart, 'logger'> = {},
): Promise<Served> {
  const own = await serveVendor(type, replies, start);
  const { gateway } = own;
  const key = gateway.key();
  return {
    ...own,
    client: new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.url } }),
    post: (path, body, headers = { 'x-goog-api-key': key }) =>
      gateway.ask(undefined, 'POST', path, body, headers),
  };
}

async function collected(stream: AsyncIterable<GenerateContentResponse>) {
  const parts: Part[] = [];
  let last: GenerateContentResponse | undefined;
  for await (const answer of stream) {
    parts.push(...(answer.candidates?.[0]?.content?.parts ?? []));
    last = answer;
  }
  const text = (thought: boolean) =>
    parts.filter((part) => (part.thought === true) === thought).map((part) => part.text ?? '');
  return { parts, last, text: text(false).join(''), thoughts: text(true).join('') };
}

const tools = [
  {
    functionDeclarations: [
      {
        name: 'get_weather',
        description: 'The weather',
        parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  },
];
const thinkingConfig = { includeThoughts: true };
const question = { model: 'house', contents: 'Weather?' };
const CONTENTS = [{ role: 'user', parts: [{ text: 'Weather?' }] }];
const GENERATE = '/v1beta/models/house:generateContent';
const STREAM = '/v1beta/models/house:streamGenerateContent';

describe('An answer for a client of Google', () => {
  for (const [type, { wire }] of Object.entries(VENDORS)) {
    test(`has the thoughts, the text and the tokens of ${type}`, async () => {
      await using at = await served(type as VendorType, [{ events: wire.answer }]);
      const stream = await at.client.models.generateContentStream({
        ...question,
        config: { thinkingConfig },
      });
      const { text, thoughts, last } = await collected(stream);
      assert.deepEqual([thoughts, text], ['Let me see.', 'It is sunny.']);
      assert.equal(last?.candidates?.[0]?.finishReason, 'STOP');
      assert.partialDeepStrictEqual(last.usageMetadata, {
        promptTokenCount: 20,
        cachedContentTokenCount: 5,
        totalTokenCount: 32,
      });
      const usage = await at.gateway.ask(at.gateway.key(), 'GET', '/a2a/usage');
      assert.partialDeepStrictEqual(await usage.json(), {
        items: [{ model: 'house', inputTokens: 20, outputTokens: 12 }],
      });
    });

    test(`has the function calls of ${type}, and their responses reach it`, () =>
      callsAndResponses(type as VendorType, (parts) => [...parts]));

    // An openai-compatible provider has no signatures. Google gets what the client sends.
    if (type === 'anthropic' || type === 'openai') {
      test(`has calls that bring the thoughts of ${type} back, if the client sends only calls`, () =>
        callsAndResponses(type, (parts) => parts.filter(({ thought }) => thought !== true)));
    }

    async function callsAndResponses(
      type: VendorType,
      sentBack: (parts: readonly Part[]) => Part[],
    ): Promise<void> {
      await using at = await served(type, [{ events: wire.calls }, { events: wire.answer }]);
      const config = { systemInstruction: 'Be brief.', tools, thinkingConfig };
      const first = await at.client.models.generateContentStream({ ...question, config });
      const { parts } = await collected(first);
      const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
      assert.deepEqual(
        calls.map(({ name, args }) => [name, args]),
        [
          ['get_weather', { city: 'Paris' }],
          ['get_weather', { city: 'Rome' }],
        ],
      );
      const responses = [{ output: 'sunny' }, { error: 'no such city' }];
      const second = await at.client.models.generateContentStream({
        model: 'house',
        config,
        contents: [
          ...CONTENTS,
          { role: 'model', parts: sentBack(parts) },
          {
            role: 'user',
            parts: calls.map(({ id, name }, index) => ({
              functionResponse: {
                name: name ?? '',
                response: responses[index] ?? {},
                ...(id !== undefined && { id }),
              },
            })),
          },
        ],
      });
      await collected(second);
      wire.checkReturn(at.vendor.asked[1]?.body);
    }
  }

  test('is one object without a stream', async () => {
    await using at = await served('openai', [{ events: openai.answer }]);
    const answer = await at.client.models.generateContent({
      ...question,
      config: { thinkingConfig },
    });
    assert.equal(answer.text, 'It is sunny.');
    assert.equal(answer.modelVersion, 'house');
    assert.deepEqual(
      answer.candidates?.[0]?.content?.parts?.map(({ thought = false, text }) => [thought, text]),
      [
        [true, 'Let me see.'],
        [false, 'It is sunny.'],
      ],
    );
  });

  for (const type of ['google', 'openai'] as const) {
    test(`of ${type} is a JSON array if the client does not ask for server-sent events`, async () => {
      const { answer, failing } = VENDORS[type].wire;
      await using at = await served(type, [{ events: answer }, { events: failing }]);
      const response = await at.post(STREAM, { contents: CONTENTS });
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
      const items: GenerateContentResponse[] = JSON.parse(await response.text());
      const texts = items.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
      const said = texts.flatMap(({ text, thought }) => (thought === true ? [] : (text ?? [])));
      assert.equal(said.join(''), 'It is sunny.');
      const broken: unknown[] = JSON.parse(
        await (await at.post(STREAM, { contents: CONTENTS })).text(),
      );
      assert.partialDeepStrictEqual(broken.at(-1), { error: { code: 502, status: 'UNAVAILABLE' } });
    });
  }
});

const ANSWER = {
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'It is sunny.', something_new: true }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 12, totalTokenCount: 32 },
  modelVersion: 'gemini-3.8-flash-001',
};

describe('A provider of the type google', () => {
  test('gets the client’s own request, with the provider’s key and name of the model', async () => {
    await using at = await served('google', [{ status: 200, body: ANSWER }]);
    const body = {
      contents: CONTENTS,
      tools: [{ googleSearch: {} }],
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      generationConfig: { maxOutputTokens: 100, something_new: { deep_er: [1] } },
      something_new: true,
    };
    const response = await at.post(GENERATE, { ...body, serviceTier: 'priority', model: 'x' });
    const [asked] = at.vendor.asked;
    assert.deepEqual(asked?.body, body);
    assert.equal(asked.path, '/v1beta/models/gemini-3.8-flash:generateContent');
    assert.equal(asked.headers['x-goog-api-key'], 'vendor-key');
    assert.deepEqual(await response.json(), { ...ANSWER, modelVersion: 'house' });
  });

  test('is called at the same address for each spelling of a name', async () => {
    await using at = await served('google', [
      { status: 200, body: ANSWER },
      { events: google.answer },
      { status: 200, body: { totalTokens: 5 } },
    ]);
    const card = { schemaVersion: '1.0', name: 'm', provider: 'p', model: 'models/gemini-3' };
    const key = at.gateway.key();
    await at.gateway.ask(key, 'POST', '/a2a/model-cards', { name: 'm', slug: 'm', card });
    const contents = 'Weather?';
    await at.client.models.generateContent({ model: 'm', contents });
    const messages = [{ role: 'user', content: contents }];
    await at.gateway.ask(key, 'POST', '/v1/chat/completions', { model: 'm', messages });
    await at.client.models.countTokens({ model: 'm', contents });
    assert.deepEqual(
      at.vendor.asked.map(({ path }) => path),
      ['generateContent', 'streamGenerateContent?alt=sse', 'countTokens'].map(
        (method) => `/v1beta/models/gemini-3:${method}`,
      ),
    );
  });

  test('gets no signatures of another vendor’s model, which it would refuse', async () => {
    await using other = await served('anthropic', [{ events: anthropic.calls }]);
    const config = { tools, thinkingConfig };
    const stream = await other.client.models.generateContentStream({ ...question, config });
    const { parts } = await collected(stream);
    assert.ok(parts.some(({ thoughtSignature }) => thoughtSignature !== undefined));
    await using at = await served('google', [
      { events: google.answer },
      { status: 200, body: { totalTokens: 5 } },
    ]);
    const responses = parts
      .flatMap(({ functionCall }) => functionCall?.name ?? [])
      .map((name) => ({ functionResponse: { name, response: { output: 'sunny' } } }));
    const contents = [...CONTENTS, { role: 'model', parts }, { role: 'user', parts: responses }];
    await collected(
      await at.client.models.generateContentStream({ model: 'house', config, contents }),
    );
    await at.client.models.countTokens({ model: 'house', contents });
    assert.equal(at.vendor.asked.length, 2);
    const sent = JSON.stringify(at.vendor.asked);
    for (const { thoughtSignature = 'none' } of parts) assert.ok(!sent.includes(thoughtSignature));
  });

  test('is the only route that is tried for what only Google can do', async () => {
    await using at = await served('google', [{ events: google.answer }]);
    await using other = await fakeVendor([]);
    at.gateway.gateway.reload(
      GatewayConfig.parse({
        providers: {
          first: { type: 'openai', baseUrl: `${other.url}/v1`, apiKey: 'k' },
          p: { type: 'google', baseUrl: `${at.vendor.url}/v1beta`, apiKey: 'k' },
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
    const config = { tools: [{ googleSearch: {} }] };
    await collected(await at.client.models.generateContentStream({ ...question, config }));
    assert.equal(other.asked.length, 0);
    await assert.rejects(
      at.client.models.generateContent({ ...question, model: 'elsewhere', config }),
      { status: 400, message: /tools\.0: only models of Google have the tool googleSearch/ },
    );
  });

  test('counts the tokens of a request', async () => {
    await using at = await served('google', [
      { status: 200, body: { totalTokens: 1234 } },
      { status: 404, body: google.error(404, 'Not found') },
    ]);
    const count = await at.client.models.countTokens(question);
    assert.equal(count.totalTokens, 1234);
    assert.equal(at.vendor.asked[0]?.path, '/v1beta/models/gemini-3.8-flash:countTokens');
    const { totalTokens = 0 } = await at.client.models.countTokens(question);
    assert.ok(totalTokens > 0 && totalTokens < 1000);
  });
});

describe('A request for another provider', () => {
  test('may have names in snake_case, single items for lists, and Google’s schemas', async () => {
    await using at = await served('openai', [{ events: openai.answer }]);
    const response = await at.post(GENERATE, {
      contents: {
        parts: [{ text: 'Look.' }, { inline_data: { mime_type: 'image/png', data: PIXEL } }],
      },
      system_instruction: { parts: { text: 'Be brief.' } },
      tools: {
        function_declarations: [
          {
            name: 'f',
            parameters: {
              type: 'OBJECT',
              properties: { my_list: { type: 'ARRAY', items: { type: 'STRING' }, min_items: '1' } },
            },
          },
          { name: 'g' },
        ],
      },
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } },
      generation_config: {
        max_output_tokens: 100,
        temperature: 1,
        top_p: 0.95,
        top_k: 64,
        thinking_config: { thinking_budget: 1024 },
        response_mime_type: 'application/json',
        response_schema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
      },
      safety_settings: [{ category: 'X', threshold: 'Y' }],
    });
    assert.equal(response.status, 200, await response.text());
    const sent = at.vendor.asked[0]?.body;
    assert.partialDeepStrictEqual(sent, {
      max_output_tokens: 100,
      reasoning: { effort: 'low' },
      tool_choice: { type: 'function', name: 'f' },
      tools: [
        {
          name: 'f',
          parameters: {
            type: 'object',
            properties: { my_list: { type: 'array', items: { type: 'string' }, minItems: 1 } },
          },
        },
      ],
      text: { format: { schema: { properties: { a: { type: ['string', 'null'] } } } } },
    });
    assert.ok(JSON.stringify(sent).includes(PIXEL));
  });

  test('matches function responses without ids by the name of the function', async () => {
    await using at = await served('openai', [{ events: openai.answer }]);
    const call = (city: string) => ({ functionCall: { name: 'get_weather', args: { city } } });
    const result = (output: string) => ({
      functionResponse: { name: 'get_weather', response: { output } },
    });
    const contents = [
      ...CONTENTS,
      { role: 'model', parts: [call('Paris'), call('Rome')] },
      { role: 'function', parts: [result('sunny'), result('rainy')] },
    ];
    await at.client.models.generateContent({ model: 'house', contents, config: { tools } });
    assert.partialDeepStrictEqual(at.vendor.asked[0]?.body, {
      input: [
        {},
        { type: 'function_call', call_id: 'call_0', arguments: '{"city":"Paris"}' },
        { type: 'function_call', call_id: 'call_1', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 'call_0', output: 'sunny' },
        { type: 'function_call_output', call_id: 'call_1', output: 'rainy' },
      ],
    });
    const unanswered = contents.slice(0, 2);
    await assert.rejects(
      at.client.models.generateContent({ model: 'house', contents: unanswered }),
      {
        status: 400,
        message: /the call of the function get_weather has no functionResponse/,
      },
    );
  });
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('An error for a client of Google', () => {
  test('has the status and the details that its own API has', async () => {
    const tooLong = { error: { message: 'too long', code: 'context_length_exceeded' } };
    await using at = await served('openai-compatible', [
      { status: 400, body: tooLong },
      { status: 503, body: openaiCompatible.error(503, 'busy') },
      { status: 429, body: openaiCompatible.error(429, 'slow'), headers: { 'retry-after': '60' } },
    ]);
    const ask = (more: object = {}) => at.client.models.generateContent({ ...question, ...more });
    const failed = async (work: Promise<unknown>, status: number, name: string) => {
      const error = await work.then(
        () => assert.fail('must fail'),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof ApiError, String(error));
      assert.equal(error.status, status, error.message);
      const body = JSON.parse(error.message);
      assert.partialDeepStrictEqual(body, { error: { code: status, status: name } });
      return JSON.stringify(body);
    };
    assert.match(await failed(ask(), 400, 'INVALID_ARGUMENT'), /input token count exceeds/);
    await failed(ask(), 503, 'UNAVAILABLE');
    assert.match(await failed(ask(), 429, 'RESOURCE_EXHAUSTED'), /"retryDelay":"60s"/);
    await failed(ask({ model: 'nothing' }), 404, 'NOT_FOUND');
    await failed(ask({ config: { candidateCount: 2 } }), 400, 'INVALID_ARGUMENT');
    await failed(ask({ config: { cachedContent: 'cachedContents/x' } }), 400, 'INVALID_ARGUMENT');
    await failed(at.client.files.get({ name: 'files/x' }), 404, 'NOT_FOUND');
    const httpOptions = { baseUrl: at.gateway.url };
    const stranger = new GoogleGenAI({ apiKey: 'wrong', httpOptions });
    await failed(stranger.models.generateContent(question), 401, 'UNAUTHENTICATED');
  });

  for (const type of ['google', 'openai-compatible'] as const) {
    test(`ends a stream of ${type} that fails`, async () => {
      await using at = await served(type, [{ events: VENDORS[type].wire.failing }]);
      const stream = await at.client.models.generateContentStream(question);
      await assert.rejects(collected(stream), { status: 502 });
    });
  }
});

test('a key may be in the header or the URL of Google’s API, and in no other URL', async () => {
  await using at = await served('openai', []);
  const key = at.gateway.key();
  const list = (query: string, headers?: Record<string, string>) =>
    at.gateway.ask(undefined, 'GET', `/v1beta/models${query}`, undefined, headers);
  assert.equal((await list(`?key=${key}`)).status, 200);
  assert.equal((await list('', { 'x-goog-api-key': key })).status, 200);
  assert.equal((await list('', { authorization: `Bearer ${key}` })).status, 200);
  assert.equal((await list(`?key=${key}`, { 'x-goog-api-key': 'other' })).status, 401);
  assert.equal((await list('?key=wrong')).status, 401);
  const elsewhere = await at.gateway.ask(undefined, 'GET', `/a2a/usage?key=${key}`);
  assert.equal(elsewhere.status, 401);
});

test('a key in the URL is neither in the log nor sent to the provider', async () => {
  const log: unknown[] = [];
  const write = (...said: unknown[]) => void log.push(...said);
  const logger = { debug: write, info: write, warn: write, error: write };
  const replies = [{ events: google.failing }, { status: 500, body: google.error(500, 'broken') }];
  await using at = await served('google', replies, { logger });
  const key = at.gateway.key();
  const ask = async (path: string) => {
    const response = await at.post(`${path}?alt=sse&key=${key}`, { contents: CONTENTS }, {});
    return response.text();
  };
  const answers = [await ask(STREAM), await ask(GENERATE), await ask('/v1beta/models/x:unknown')];
  assert.ok(log.length > 0);
  const seen = inspect([log, answers, at.vendor.asked], { depth: 20 });
  assert.ok(!seen.includes(key), seen);
});

test('the models are listed in pages', async () => {
  await using at = await served('openai', []);
  const pager = await at.client.models.list({ config: { pageSize: 1 } });
  const names: unknown[] = [];
  for await (const { name } of pager) names.push(name);
  assert.ok(names.length > 1 && names.includes('models/house'), names.join());
  const { name, displayName } = await at.client.models.get({ model: 'house' });
  assert.deepEqual([name, displayName], ['models/house', 'house']);
  await assert.rejects(at.client.models.get({ model: 'nothing' }), { status: 404 });
});
