// The Responses API, with the vendor's own client, in front of each vendor.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import OpenAI from 'openai';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type FakeVendor, type Reply } from '../support/vendors/server.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';

const VENDORS = {
  openai: { wire: openai, model: 'gpt-6.1-sol' },
  anthropic: { wire: anthropic, model: 'claude-sonnet-5-5' },
  google: { wire: google, model: 'gemini-3.8-flash' },
  'openai-compatible': { wire: openaiCompatible, model: 'llama' },
} as const;
type VendorName = keyof typeof VENDORS;
const NAMES: readonly VendorName[] = ['openai', 'anthropic', 'google', 'openai-compatible'];

interface Subject extends AsyncDisposable {
  readonly vendor: FakeVendor;
  readonly gateway: RunningGateway;
  readonly client: OpenAI;
  readonly clientOf: (key: string) => OpenAI;
}

/** A gateway in front of a vendor. The model has the name `m`. */
async function before(type: VendorName, replies: readonly Reply[]): Promise<Subject> {
  const vendor = await fakeVendor(replies);
  const baseUrl = type === 'google' ? `${vendor.url}/v1beta` : `${vendor.url}/v1`;
  const gateway = await startGateway({
    config: {
      providers: { p: { type, baseUrl, apiKey: 'sk-vendor', attempts: 1, usageWaitMs: 0 } },
      models: { m: { provider: 'p', model: VENDORS[type].model } },
    },
  });
  const clientOf = (apiKey: string) =>
    new OpenAI({ baseURL: `${new URL(gateway.url).origin}/v1`, apiKey, maxRetries: 0 });
  return {
    vendor,
    gateway,
    client: clientOf(gateway.key()),
    clientOf,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
    },
  };
}

const tool = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather in a city',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const DETAILS = '"incomplete_details":{"reason":"max_output_tokens"}';
const reasoning = { effort: 'low', summary: 'auto' } as const;

for (const type of NAMES) {
  const { wire, model } = VENDORS[type];
  describe(`a response of ${type}`, () => {
    test('is whole or a stream, with the text, the thoughts and the tokens', async () => {
      const events = wire.answer;
      await using subject = await before(type, [{ events }, { events }]);
      const { client, vendor } = subject;
      const fields = { model: 'm', input: 'Weather?', reasoning };
      const whole = await client.responses.create(fields);
      assert.equal(whole.output_text, 'It is sunny.');
      assert.equal(whole.status, 'completed');
      assert.equal(whole.model, 'm');
      assert.match(whole.id, /^resp_[0-9a-f]{32}$/);
      assert.deepEqual(
        whole.output.map((item) => item.type),
        ['reasoning', 'message'],
      );
      assert.partialDeepStrictEqual(whole.output[0], { summary: [{ text: 'Let me see.' }] });
      assert.equal(whole.usage?.output_tokens, 12);
      const types: string[] = [];
      const stream = client.responses.stream(fields);
      for await (const event of stream) types.push(event.type);
      const last = await stream.finalResponse();
      assert.equal(last.output_text, 'It is sunny.');
      assert.equal(last.model, 'm');
      assert.equal(types[0], 'response.created');
      assert.equal(types.at(-1), 'response.completed');
      for (const expected of [
        'response.output_item.added',
        'response.reasoning_summary_text.delta',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.output_item.done',
      ]) {
        assert(types.includes(expected), `${type} has no ${expected}`);
      }
      assert.equal(vendor.asked.length, 2);
      assert(JSON.stringify(vendor.asked[0]).includes(model));
    });

    test('calls tools, and goes on with their output by previous_response_id', async () => {
      await using subject = await before(type, [{ events: wire.calls }, { events: wire.answer }]);
      const { client, vendor } = subject;
      const fields = { model: 'm', tools: [tool], instructions: 'Be brief.', reasoning };
      const first = await client.responses.stream({ ...fields, input: 'Weather?' }).finalResponse();
      const calls = first.output.filter((item) => item.type === 'function_call');
      assert.deepEqual(
        calls.map((call) => [call.name, JSON.parse(call.arguments)]),
        [
          ['get_weather', { city: 'Paris' }],
          ['get_weather', { city: 'Rome' }],
        ],
      );
      const [paris, rome] = calls;
      assert(paris && rome);
      const second = await client.responses.create({
        ...fields,
        previous_response_id: first.id,
        input: [
          { type: 'function_call_output', call_id: paris.call_id, output: 'sunny' },
          { type: 'function_call_output', call_id: rome.call_id, output: 'rain' },
        ],
      });
      assert.equal(second.output_text, 'It is sunny.');
      assert.equal(second.previous_response_id, first.id);
      const sent = JSON.stringify(vendor.asked[1]?.body);
      for (const word of ['Weather?', 'Paris', 'Rome', 'sunny', 'rain']) {
        assert(sent.includes(word), `${type} did not get ${word}`);
      }
      // The vendor gets its own signatures back.
      const signature = { openai: 'enc-1', anthropic: 'sig-1', google: 'c2lnLTE=' };
      if (type !== 'openai-compatible') assert(sent.includes(signature[type]), sent);
      assert(!sent.includes('previous_response_id'));
      const kept = await client.responses.retrieve(second.id);
      assert.equal(kept.output_text, 'It is sunny.');
    });
  });
}

test('a client that keeps the conversation itself gets all data of the vendor back and forth', async () => {
  await using subject = await before('google', [
    { events: google.calls },
    { events: google.answer },
  ]);
  const { client, vendor } = subject;
  const fields = { model: 'm', tools: [tool], store: false };
  const asked = { role: 'user' as const, content: 'Weather?' };
  const first = await client.responses.create({ ...fields, input: [asked] });
  assert.equal(Reflect.get(first, 'store'), false);
  const outputs = first.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }]
      : [],
  );
  const history = first.output.flatMap((item) =>
    item.type === 'function_call' || item.type === 'reasoning' ? [item] : [],
  );
  await client.responses.create({ ...fields, input: [asked, ...history, ...outputs] });
  const sent = JSON.stringify(vendor.asked[1]?.body);
  assert(sent.includes('"thoughtSignature":"c2lnLTE="'), sent);
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
});

test('a custom tool gets its input as text', async () => {
  const calls = google.calls.map((text) => text.replaceAll('"city"', '"input"'));
  await using subject = await before('google', [{ events: calls }]);
  const response = await subject.client.responses.create({
    model: 'm',
    input: 'Patch!',
    tools: [{ type: 'custom', name: 'get_weather' }, { type: 'web_search' }],
  });
  assert.partialDeepStrictEqual(
    response.output.filter((item) => item.type === 'custom_tool_call'),
    [{ name: 'get_weather', input: 'Paris' }, { input: 'Rome' }],
  );
});

test('a stored response can be deleted, and then it is not found', async () => {
  await using subject = await before('anthropic', [
    { events: anthropic.answer },
    { events: anthropic.answer },
  ]);
  const { client } = subject;
  const first = await client.responses.create({ model: 'm', input: 'Weather?' });
  const second = await client.responses.create({ model: 'm', input: 'Rain?' });
  assert.deepEqual(await client.responses.delete(first.id), {
    id: first.id,
    object: 'response',
    deleted: true,
  });
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
  await assert.rejects(client.responses.delete(first.id), OpenAI.NotFoundError);
  await assert.rejects(
    client.responses.create({ model: 'm', input: 'And?', previous_response_id: first.id }),
    OpenAI.BadRequestError,
  );
  assert.equal((await client.responses.retrieve(second.id)).id, second.id);
});

test('a 404 has the code model_not_found only if it is about a model', async () => {
  await using gateway = await startGateway();
  const missing = `/v1/responses/resp_${'0'.repeat(32)}`;
  for (const [path, code] of [
    [missing, null],
    ['/v1/responses/x', null],
    ['/v1/chat/x', null],
    ['/v1/models/x', 'model_not_found'],
  ] as const) {
    const answer = await gateway.ask(gateway.key(), 'GET', path);
    const { error } = (await answer.json()) as { error: { code: unknown; param: unknown } };
    const expected = [404, code, code === null ? null : 'model'];
    assert.deepEqual([answer.status, error.code, error.param], expected, path);
  }
});

test('a response of OpenAI is stored as the client got it', async () => {
  const [last = ''] = openai.answer.slice(-1);
  const cut = last
    .replaceAll('response.completed', 'response.incomplete')
    .replace('"status":"completed","incomplete_details":null', `"status":"incomplete",${DETAILS}`);
  assert(cut.includes(DETAILS));
  await using subject = await before('openai', [{ events: [...openai.answer.slice(0, -1), cut] }]);
  const { client } = subject;
  const got = await client.responses.stream({ model: 'm', input: 'Weather?' }).finalResponse();
  assert.equal(got.status, 'incomplete');
  const kept = await client.responses.retrieve(got.id);
  assert.equal(kept.status, 'incomplete');
  assert.deepEqual(kept.incomplete_details, { reason: 'max_output_tokens' });
  assert.equal(kept.usage?.output_tokens, 12);
  assert.equal(kept.output_text, 'It is sunny.');
});

test('a response is stored even if too many tasks are being executed', async () => {
  await using vendor = await fakeVendor(({ body }) =>
    JSON.stringify(body).includes('wait') ? 'silence' : { events: openaiCompatible.answer },
  );
  const provider = { type: 'openai-compatible', baseUrl: `${vendor.url}/v1`, models: ['m'] };
  await using gateway = await startGateway({
    config: { providers: { p: provider }, limits: { maxRunning: 1 } } as object,
  });
  const key = gateway.key();
  const task = { message: { role: 'user', content: 'wait' }, metadata: { model: 'm' } };
  const running = await gateway.ask(key, 'POST', '/a2a/tasks/sendSubscribe', task);
  const refused = await gateway.ask(key, 'POST', '/a2a/tasks/sendSubscribe', task);
  assert.deepEqual([running.status, refused.status], [200, 503]);
  const asked = { model: 'm', input: 'Weather?' };
  const response = await gateway.ask(key, 'POST', '/v1/responses', asked);
  assert.equal(response.status, 200);
  const { id } = (await response.json()) as { id: string };
  assert.equal((await gateway.ask(key, 'GET', `/v1/responses/${id}`)).status, 200);
  await running.body?.cancel();
});

test('a stored response belongs to its workspace', async () => {
  await using subject = await before('anthropic', [{ events: anthropic.answer }]);
  const { client, gateway, clientOf } = subject;
  const { id } = await client.responses.create({ model: 'm', input: 'Weather?' });
  const other = clientOf(gateway.key('other'));
  await assert.rejects(other.responses.retrieve(id), OpenAI.NotFoundError);
  await assert.rejects(other.responses.delete(id), OpenAI.NotFoundError);
  await assert.rejects(
    other.responses.create({ model: 'm', input: 'And?', previous_response_id: id }),
    (error) => {
      assert(error instanceof OpenAI.BadRequestError);
      assert.equal(error.code, 'previous_response_not_found');
      assert.equal(error.param, 'previous_response_id');
      return true;
    },
  );
  // It is not one of the gateway's own tasks.
  const listed = await gateway.ask(gateway.key(), 'GET', '/v1/tasks');
  assert(!(await listed.text()).includes(id));
});

test('unknown fields reach OpenAI, and its unknown events reach the client', async () => {
  const strange = 'event: response.strange\ndata: {"type":"response.strange","x":1}\n\n';
  const events = openai.answer.toSpliced(1, 0, strange);
  await using subject = await before('openai', [{ events }]);
  const { client, vendor } = subject;
  const body = { model: 'm', input: 'Weather?', stream: true as const, max_output_tokens: 50 };
  const more = { prompt_cache_key: 'k', tools: [{ type: 'web_search' as const }], strange: 1 };
  const types: string[] = [];
  for await (const event of await client.responses.create({ ...body, ...more })) {
    types.push(event.type);
  }
  assert(types.includes('response.strange'));
  assert.partialDeepStrictEqual(vendor.asked[0], {
    path: '/v1/responses',
    headers: { authorization: 'Bearer sk-vendor' },
    body: {
      model: 'gpt-6.1-sol',
      store: false,
      strange: 1,
      prompt_cache_key: 'k',
      max_output_tokens: 50,
    },
  });
});

describe('a response that fails', () => {
  for (const type of NAMES) {
    test(`in the middle of its stream ends with response.failed: ${type}`, async () => {
      await using subject = await before(type, [{ events: VENDORS[type].wire.failing }]);
      const { client } = subject;
      const types: string[] = [];
      let message = '';
      const body = { model: 'm', input: 'Weather?', stream: true as const };
      for await (const event of await client.responses.create(body)) {
        types.push(event.type);
        if (event.type === 'response.failed') message = event.response.error?.message ?? '';
      }
      assert.equal(types.at(-1), 'response.failed');
      assert.equal(types.filter((each) => each === 'response.failed').length, 1);
      assert.match(message, /^The model m failed in the middle/);
    });
  }

  test('because the input is too long has the code by which clients compact', async () => {
    const error = {
      message: 'Too big',
      type: 'x',
      param: 'input',
      code: 'context_length_exceeded',
    };
    await using subject = await before('openai', [{ status: 400, body: { error } }]);
    await assert.rejects(subject.client.responses.create({ model: 'm', input: 'x' }), (thrown) => {
      assert(thrown instanceof OpenAI.BadRequestError);
      assert.equal(thrown.code, 'context_length_exceeded');
      return true;
    });
  });

  test('because a field is not supported names the field', async () => {
    await using subject = await before('anthropic', []);
    const asked = subject.client.responses.create({ model: 'm', input: 'x', background: true });
    await assert.rejects(asked, (thrown) => {
      assert(thrown instanceof OpenAI.BadRequestError);
      assert.equal(thrown.param, 'background');
      assert.match(thrown.message, /not supported by this gateway/);
      return true;
    });
  });

  for (const [choice, why] of [
    ['required', 'requires a tool of the type function or custom'],
    [{ type: 'function', name: 'missing' }, 'the tool missing is not in tools'],
    [{ type: 'web_search_preview' }, 'only models of OpenAI have the tool web_search_preview'],
  ] as const) {
    test(`because of its tool_choice says why: ${why}`, async () => {
      await using subject = await before('anthropic', []);
      const tools = choice === 'required' ? [] : [tool];
      const body = { model: 'm', input: 'x', tools, tool_choice: choice };
      await assert.rejects(subject.client.responses.create(body), (thrown) => {
        assert(thrown instanceof OpenAI.BadRequestError);
        assert.match(thrown.message, new RegExp(`tool_choice: ${why}$`));
        return true;
      });
    });
  }
});

describe('a relayed response', () => {
  test('uses nothing that is stored in the account of the operator', async () => {
    await using subject = await before('openai', []);
    for (const field of ['conversation', 'prompt', 'background']) {
      const body = { model: 'm', input: 'x', [field]: field === 'background' || { id: 'x' } };
      const asked = subject.client.responses.create(body);
      await assert.rejects(asked, (thrown) => {
        assert(thrown instanceof OpenAI.BadRequestError);
        assert.equal(thrown.param, field);
        return true;
      });
    }
    assert.equal(subject.vendor.asked.length, 0);
  });

  test('comes from the next route, with another API, if OpenAI does not begin', async () => {
    await using down = await fakeVendor([{ status: 500, body: { error: { message: 'down' } } }]);
    await using other = await fakeVendor([{ events: anthropic.answer }]);
    const provider = { apiKey: 'k', attempts: 1 };
    await using gateway = await startGateway({
      config: {
        providers: {
          first: { ...provider, type: 'openai', baseUrl: `${down.url}/v1` },
          second: { ...provider, type: 'anthropic', baseUrl: `${other.url}/v1` },
        },
        models: {
          m: {
            routes: [
              { provider: 'first', model: 'gpt-6.1-sol', weight: 1 },
              { provider: 'second', model: 'claude-sonnet-5-5', weight: 0 },
            ],
          },
        },
      },
    });
    const baseURL = `${new URL(gateway.url).origin}/v1`;
    const client = new OpenAI({ baseURL, apiKey: gateway.key(), maxRetries: 0 });
    const response = await client.responses.stream({ model: 'm', input: 'x' }).finalResponse();
    assert.equal(response.output_text, 'It is sunny.');
    assert.equal(down.asked.length, 1);
    assert.equal(other.asked.length, 1);
  });

  test('comes only from OpenAI if the request cannot be converted', async () => {
    await using own = await fakeVendor([{ events: openai.answer }]);
    await using other = await fakeVendor([]);
    await using gateway = await startGateway({
      config: {
        providers: {
          first: { type: 'anthropic', baseUrl: `${other.url}/v1`, apiKey: 'k' },
          p: { type: 'openai', baseUrl: `${own.url}/v1`, apiKey: 'k' },
        },
        models: {
          m: {
            routes: [
              { provider: 'first', weight: 1 },
              { provider: 'p', weight: 0 },
            ],
          },
        },
      },
    });
    const baseURL = `${new URL(gateway.url).origin}/v1`;
    const client = new OpenAI({ baseURL, apiKey: gateway.key(), maxRetries: 0 });
    await client.responses.create({ model: 'm', input: 'Weather?', top_logprobs: 3 });
    assert.partialDeepStrictEqual(own.asked[0]?.body, { top_logprobs: 3 });
    assert.deepEqual(other.asked, []);
  });

  test('ends at OpenAI when the client leaves', async () => {
    const events = openai.answer.slice(0, 3);
    await using subject = await before('openai', [{ events, after: 'hang' }]);
    const { client, vendor } = subject;
    const body = { model: 'm', input: 'Weather?', stream: true as const };
    for await (const event of await client.responses.create(body)) {
      assert.equal(event.type, 'response.created');
      break;
    }
    await vendor.hungUp;
  });

  test('that breaks off ends with response.failed, and its tokens are counted', async () => {
    const events = openai.answer.slice(0, -1);
    await using subject = await before('openai', [{ events, after: 'break' }]);
    const { client, gateway } = subject;
    const body = { model: 'm', input: 'Weather?', stream: true as const };
    const types: string[] = [];
    for await (const event of await client.responses.create(body)) types.push(event.type);
    assert.equal(types.at(-1), 'response.failed');
    const usage = await gateway.ask(gateway.key(), 'GET', '/a2a/usage');
    assert.match(await usage.text(), /"outputTokens":[1-9]/);
  });
});
