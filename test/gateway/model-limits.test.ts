// What a model card says about a model holds on every endpoint: its context window, longest answer, inputs, tools and streaming.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { userContent } from '../../src/agent/index.ts';
import { isObject } from '../../src/base/index.ts';
import { A2AError } from '../../src/protocol/index.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type FakeVendor } from '../support/vendors/server.ts';
import {
  at,
  ENDPOINTS,
  eventsIn,
  field,
  IMAGE,
  type AskedModel,
  type Endpoint,
} from './endpoints-support.ts';
import { ask, rig, spendingInto } from './models-support.ts';
import { serveVendor, VENDORS, type VendorType } from './vendors-support.ts';

const PDF = Buffer.from('%PDF-1.4 hello').toString('base64');

/** The cards of the tests, by slug. All lead to the same model. */
const CARDS = {
  small: { contextWindow: 300 },
  short: { maxOutputTokens: 50 },
  blind: { capabilities: [{ type: 'vision', enabled: false }] },
  listed: { inputs: ['text', 'image'] },
  mute: { capabilities: [{ type: 'streaming', enabled: false }] },
  toolless: { capabilities: [{ type: 'function-calling', enabled: false }] },
};

let vendor: FakeVendor;
let gateway: RunningGateway;
let key: string;

before(async () => {
  vendor = await fakeVendor(() => ({ events: openaiCompatible.answer }));
  const provider = { type: 'openai-compatible' as const, baseUrl: `${vendor.url}/v1` };
  gateway = await startGateway({ config: { providers: { p: { ...provider, models: ['m'] } } } });
  key = gateway.key();
  for (const [slug, limits] of Object.entries(CARDS)) {
    const card = { schemaVersion: '1.0', name: 'm', provider: 'p', ...limits };
    const made = await gateway.ask(key, 'POST', '/a2a/model-cards', { name: slug, slug, card });
    assert.equal(made.status, 201, await made.text());
  }
});

after(async () => {
  await gateway[Symbol.asyncDispose]();
  await vendor[Symbol.asyncDispose]();
});

async function post(endpoint: Endpoint, asked: AskedModel): Promise<Response> {
  const { path, body } = endpoint.request(asked);
  return gateway.ask(key, 'POST', path, body);
}

/** Compares a response with the expected fields. A regular expression stands for a text that matches it. */
async function expect(answer: Response, expected: object): Promise<void> {
  const got = { status: answer.status, body: await answer.json() };
  const check = (value: unknown, wanted: unknown, path: string) => {
    if (wanted instanceof RegExp) assert.match(String(value), wanted, path);
    else if (isObject(wanted)) {
      for (const [name, each] of Object.entries(wanted))
        check(at(value, name), each, `${path}.${name}`);
    } else assert.deepEqual(value, wanted, `${path} in ${JSON.stringify(got)}`);
  };
  check(got, expected, '');
}

for (const [name, endpoint] of Object.entries(ENDPOINTS)) {
  describe(`at ${name}`, () => {
    test("a prompt that is longer than the card's context window is refused before the call", async () => {
      const calls = vendor.asked.length;
      const text = 'How is the weather today? '.repeat(100);
      await expect(await post(endpoint, { model: 'small', text }), endpoint.tooLong);
      assert.equal(vendor.asked.length, calls);
      const fits = await post(endpoint, { model: 'small' });
      assert.equal(fits.status, 200, await fits.text());
    });

    test("the limit of an answer is lowered to the card's, and it is the default", async () => {
      for (const maxTokens of [5000, undefined, 20]) {
        const answer = await post(endpoint, { model: 'short', ...(maxTokens && { maxTokens }) });
        assert.equal(answer.status, 200, await answer.text());
        const { body } = vendor.asked.at(-1) ?? {};
        const limit = field(body, 'max_tokens') ?? field(body, 'max_completion_tokens');
        assert.equal(limit, maxTokens === 20 ? 20 : 50);
      }
    });

    test('an image is refused for a model without vision, and reaches the others', async () => {
      const calls = vendor.asked.length;
      const answer = await post(endpoint, { model: 'blind', image: true });
      assert.match(await answer.clone().text(), /It accepts text, audio and PDF files/);
      await expect(answer, endpoint.unacceptable);
      assert.equal(vendor.asked.length, calls);
      const taken = await post(endpoint, { model: 'listed', image: true });
      assert.equal(taken.status, 200, await taken.text());
      assert.ok(JSON.stringify(vendor.asked.at(-1)?.body).includes(IMAGE));
    });

    test('a stream of a model that does not stream has the whole answer in one piece', async () => {
      const answer = await post(endpoint, { model: 'mute', stream: true });
      assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
      const events = await eventsIn(answer);
      assert.deepEqual(
        endpoint.pieces(events).filter((piece) => piece !== ''),
        ['It is sunny.'],
      );
      assert.notEqual(field(vendor.asked.at(-1)?.body, 'stream'), true, 'what the provider gets');
    });

    if (!name.startsWith('/')) return;
    test('tools are refused for a model without tools', async () => {
      const calls = vendor.asked.length;
      const answer = await post(endpoint, { model: 'toolless', tool: true });
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /the model toolless does not support tools/);
      assert.equal(vendor.asked.length, calls);
    });
  });
}

describe('files of an A2A message', () => {
  const TAKEN: Readonly<Record<VendorType, readonly string[]>> = {
    openai: ['image/png', 'application/pdf'],
    anthropic: ['image/png', 'application/pdf'],
    'openai-compatible': ['image/png', 'application/pdf', 'audio/wav'],
    google: ['image/png', 'application/pdf', 'audio/wav', 'video/mp4'],
  };
  const bytesOf: Readonly<Record<string, string>> = {
    'image/png': IMAGE,
    'application/pdf': PDF,
    'audio/wav': 'UklGRiQAAABXQVZF',
    'video/mp4': 'AAAAGGZ0eXBtcDQy',
  };
  for (const [type, taken] of Object.entries(TAKEN) as [VendorType, readonly string[]][]) {
    test(`reach a model of ${type} if its API takes them, and are refused otherwise`, async () => {
      const answers = Array.from({ length: 8 }, () => ({ events: VENDORS[type].wire.answer }));
      await using served = await serveVendor(type, answers);
      const secret = served.gateway.key();
      for (const [mimeType, bytes] of Object.entries(bytesOf)) {
        const calls = served.vendor.asked.length;
        // Half of the clients do not say what a file is.
        const isNamed = !/image|pdf/.test(mimeType);
        const file = { bytes, name: 'a.bin', ...(isNamed && { mimeType }) };
        const content = [
          { type: 'text', text: 'What is this?' },
          { type: 'file', file },
        ];
        const body = { message: { role: 'user', content }, metadata: { model: 'house' } };
        const answer = await served.gateway.ask(secret, 'POST', '/a2a/tasks/send', body);
        const said = await answer.text();
        if (taken.includes(mimeType)) {
          assert.equal(answer.status, 200, said);
          assert.match(said, /"status":"completed"/);
          assert.ok(JSON.stringify(served.vendor.asked.at(-1)?.body).includes(bytes), mimeType);
        } else {
          assert.equal(answer.status, 400, said);
          assert.match(said, /The model house does not accept .*\. It accepts text, images/);
          assert.equal(served.vendor.asked.length, calls);
        }
      }
    });
  }

  test('are refused by the offline model', async () => {
    const content = [{ type: 'file', file: { bytes: IMAGE, mimeType: 'image/png' } }];
    const body = { message: { role: 'user', content }, metadata: { model: 'offline' } };
    const answer = await gateway.ask(key, 'POST', '/a2a/tasks/send', body);
    assert.deepEqual(await answer.json(), {
      error: 'The model offline does not accept image/png. It accepts text',
    });
  });

  test('at an address are refused by a provider that does not download them', async () => {
    const calls = vendor.asked.length;
    const image = { uri: 'https://example.com/a.png' };
    const text = { uri: 'https://example.com/a', mimeType: 'text/plain' };
    for (const file of [image, text]) {
      const content = [{ type: 'file', file }];
      const body = { message: { role: 'user', content }, metadata: { model: 'listed' } };
      const answer = await gateway.ask(key, 'POST', '/a2a/tasks/send', body);
      assert.deepEqual(await answer.json(), {
        error: 'The model listed cannot download a file of this kind: send its content',
      });
    }
    assert.equal(vendor.asked.length, calls);
  });

  test('in earlier turns do not stop a conversation with a model that does not take them', async () => {
    const sessionId = crypto.randomUUID();
    const image = { type: 'file', file: { bytes: IMAGE, mimeType: 'image/png' } };
    const content = [{ type: 'text', text: 'What is this?' }, image];
    const ask = (model: string, said: unknown) =>
      gateway.ask(key, 'POST', '/a2a/tasks/send', {
        sessionId,
        message: { role: 'user', content: said },
        metadata: { model },
      });
    await ask('listed', content);
    const answer = await ask('blind', 'Thanks');
    assert.match(await answer.text(), /"status":"completed"/);
    const sent = JSON.stringify(vendor.asked.at(-1)?.body);
    assert.ok(sent.includes('image/png: not shown') && !sent.includes(IMAGE), sent);
  });
});

test('a text that is too long for an embedding model is refused', async () => {
  const card = { schemaVersion: '1.0', name: 'offline', provider: 'offline', contextWindow: 20 };
  await gateway.ask(key, 'POST', '/a2a/model-cards', { name: 'tiny', slug: 'tiny', card });
  const embed = (input: string[]) =>
    gateway.ask(key, 'POST', '/v1/embeddings', { model: 'tiny', input });
  const fits = await embed(['one', 'two', 'three', 'four']);
  assert.equal(fits.status, 200, await fits.text());
  const refused = { status: 400, body: { error: { code: 'context_length_exceeded' } } };
  await expect(await embed(['one', 'weather '.repeat(50)]), refused);
});

test('nothing is reserved for a request that the model cannot take', async () => {
  const reserved: unknown[] = [];
  const { models } = rig({
    cards: { blind: { schemaVersion: '1.0', name: 'offline', inputs: ['text'] } },
    spending: {
      ...spendingInto([]),
      reserve: async (call) => Promise.reject(reserved.push(call)),
    },
  });
  const parts = [{ kind: 'blob' as const, mediaType: 'image/png', data: IMAGE }];
  const { error } = await ask(models, 'blind', { request: { messages: [userContent(parts)] } });
  assert(error instanceof A2AError);
  assert.equal(error.kind, 'contentTypeNotSupported');
  assert.deepEqual(reserved, []);
});

test('files that only different providers of the model accept are refused together', async () => {
  const provider = { apiKey: 'k', baseUrl: 'http://127.0.0.1:9/v1' };
  const { models } = rig({
    providers: {
      one: { ...provider, type: 'openai' },
      other: { ...provider, type: 'openai-compatible' },
    },
    models: { both: { routes: [{ provider: 'one' }, { provider: 'other' }] } },
  });
  const parts = [
    { kind: 'blob' as const, mediaType: 'audio/wav', data: IMAGE },
    { kind: 'file' as const, mediaType: 'image/png', uri: 'https://example.com/a.png' },
  ];
  const { error } = await ask(models, 'both', { request: { messages: [userContent(parts)] } });
  assert(error instanceof A2AError);
  const message =
    'No provider of the model both accepts all of these files: send fewer kinds of files';
  assert.deepEqual([error.kind, error.message], ['contentTypeNotSupported', message]);
});

test('the lists of models have the limits of the cards', async () => {
  const google = await gateway.ask(key, 'GET', '/v1beta/models/small');
  assert.partialDeepStrictEqual(await google.json(), { inputTokenLimit: 300 });
  const version = { 'anthropic-version': '2023-06-01' };
  const anthropic = await gateway.ask(key, 'GET', '/v1/models/short', undefined, version);
  assert.partialDeepStrictEqual(await anthropic.json(), { max_input_tokens: null, max_tokens: 50 });
});

test('earlier turns that do not fit in the context window are left out, the oldest first', async () => {
  const sessionId = crypto.randomUUID();
  for (const content of ['First', 'Second '.repeat(250), 'Third', 'Fourth']) {
    const message = { role: 'user', content };
    const metadata = { model: content === 'Fourth' ? 'small' : 'm' };
    const answer = await gateway.ask(key, 'POST', '/a2a/tasks/send', {
      sessionId,
      message,
      metadata,
    });
    assert.match(await answer.text(), /"status":"completed"/);
  }
  const messages = field(vendor.asked.at(-1)?.body, 'messages');
  assert.ok(Array.isArray(messages));
  assert.deepEqual(
    messages.map((message) => field(message, 'content')),
    ['Third', 'It is sunny.', 'Fourth'],
  );
});

test('an answer that was cut off says so in its metadata', async () => {
  const cut = openaiCompatible.answer.map((event) =>
    event.replace('"finish_reason":"stop"', '"finish_reason":"length"'),
  );
  await using served = await serveVendor('openai-compatible', [{ events: cut }]);
  const message = { role: 'user', content: 'Weather?' };
  const body = { message, metadata: { model: 'house' } };
  const answer = await served.gateway.ask(served.gateway.key(), 'POST', '/a2a/tasks/send', body);
  const { task } = (await answer.json()) as { task: { artifacts: object[] } };
  assert.partialDeepStrictEqual(task.artifacts[0], { metadata: { finishReason: 'length' } });
});
