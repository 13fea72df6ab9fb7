// The limits of a model hold for requests that a provider gets in its own format, and for providers that answer at once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { fakeVendor, type Asked, type Reply } from '../support/vendors/server.ts';
import { ENDPOINTS, at, eventsIn, IMAGE, type Endpoint } from './endpoints-support.ts';
import { VENDORS, type VendorType } from './vendors-support.ts';

interface Own {
  readonly endpoint: Endpoint;
  /** Where the limit of the answer is in a request to the vendor. */
  readonly limit: readonly string[];
  /** The whole answer of a vendor that does not stream. Others are made by the fake. */
  readonly whole?: object;
  /** Fields with tools that the converted request does not have. */
  readonly tools: readonly object[];
}

const QUESTION = { role: 'user', content: 'Weather?' };
const WEB_SEARCH = { type: 'web_search_20250305', name: 'web_search' };

const OWN: Readonly<Record<VendorType, Own>> = {
  'openai-compatible': {
    endpoint: ENDPOINTS['/v1/chat/completions'],
    limit: ['max_tokens'],
    tools: [
      { functions: [{ name: 'f', parameters: {} }] },
      { web_search_options: {} },
      { plugins: [{ id: 'web' }] },
      { search_parameters: { mode: 'on' } },
    ],
  },
  openai: {
    endpoint: ENDPOINTS['/v1/responses'],
    limit: ['max_output_tokens'],
    tools: [
      { tools: [{ type: 'web_search' }] },
      { input: [{ type: 'additional_tools', tools: [{ type: 'web_search' }] }, QUESTION] },
    ],
  },
  anthropic: {
    endpoint: ENDPOINTS['/v1/messages'],
    limit: ['max_tokens'],
    tools: [
      { tools: [WEB_SEARCH] },
      { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'm' }] },
      {
        messages: [
          {
            role: 'system',
            content: [
              { type: 'tool_removal', tool: { type: 'tool_reference', name: 'web_search' } },
              { type: 'tool_addition', tool: { type: 'tool_definition', definition: WEB_SEARCH } },
            ],
          },
          QUESTION,
        ],
      },
    ],
    whole: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [{ type: 'text', text: 'It is sunny.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 20, output_tokens: 12 },
    },
  },
  google: {
    endpoint: ENDPOINTS['/v1beta'],
    limit: ['generationConfig', 'maxOutputTokens'],
    tools: [{ tools: [{ googleSearch: {} }] }, { tools: { google_search: {} } }],
    whole: {
      candidates: [
        { content: { role: 'model', parts: [{ text: 'It is sunny.' }] }, finishReason: 'STOP' },
      ],
      usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 12, totalTokenCount: 32 },
    },
  },
};

function isStream({ path, body }: Asked): boolean {
  return at(body, 'stream') === true || path.includes('streamGenerateContent');
}

for (const [type, { endpoint, limit, whole, tools }] of Object.entries(OWN) as [
  VendorType,
  Own,
][]) {
  describe(`a provider of the type ${type}`, () => {
    const { wire, path } = VENDORS[type];
    const reply = (asked: Asked): Reply =>
      whole === undefined || isStream(asked)
        ? { events: wire.answer }
        : { status: 200, body: whole };

    async function served(
      use: (context: {
        readonly post: (model: string, more?: object, fields?: object) => Promise<Response>;
        readonly asked: readonly Asked[];
      }) => Promise<void>,
    ): Promise<void> {
      await using vendor = await fakeVendor(reply);
      const provider = { type, baseUrl: vendor.url + path, apiKey: 'k', attempts: 1 };
      const model = wire.model.slice(type.length + 1);
      const to = { provider: 'p', model };
      await using gateway = await startGateway({
        config: {
          providers: { p: provider },
          models: {
            house: { ...to, contextWindow: 300, maxOutputTokens: 50, inputs: ['text'] },
            mute: { ...to, capabilities: [{ type: 'streaming', enabled: false }] },
            toolless: { ...to, capabilities: [{ type: 'tools', enabled: false }] },
          },
        },
      });
      const key = gateway.key();
      await use({
        asked: vendor.asked,
        post(name, more = {}, fields = {}) {
          const request = endpoint.request({ model: name, ...more });
          return gateway.ask(key, 'POST', request.path, { ...request.body, ...fields });
        },
      });
    }

    test('gets its own format only within the limits of the model', () =>
      served(async ({ post, asked }) => {
        for (const stream of [false, true]) {
          const answer = await post('house', { maxTokens: 5000, stream });
          assert.equal(answer.status, 200, await answer.text());
          assert.equal(at(asked.at(-1)?.body, ...limit), 50);
        }
        const calls = asked.length;
        for (const more of [{ text: 'How is the weather? '.repeat(200) }, { image: true }]) {
          assert.equal((await post('house', more)).status, 400);
        }
        assert.equal(asked.length, calls);
        assert.ok(!JSON.stringify(asked).includes(IMAGE));
      }));

    test('gets no tools of its own for a model without tools', () =>
      served(async ({ post, asked }) => {
        for (const fields of tools) {
          const answer = await post('toolless', {}, fields);
          assert.equal(answer.status, 400, JSON.stringify(fields));
          assert.match(await answer.text(), /the model toolless does not support tools/);
        }
        assert.equal(asked.length, 0);
        const plain = await post('toolless', {}, { tools: [] });
        assert.equal(plain.status, 200, await plain.text());
        const allowed = await post('mute', {}, tools[0]);
        assert.equal(allowed.status, 200, await allowed.text());
      }));

    test('that does not stream is asked for the whole answer, which a stream has in one piece', () =>
      served(async ({ post, asked }) => {
        const answer = await post('mute', { stream: true });
        assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
        const pieces = endpoint.pieces(await eventsIn(answer)).filter((piece) => piece !== '');
        assert.deepEqual(pieces, ['It is sunny.']);
        const plain = await post('mute');
        assert.match(await plain.text(), /It is sunny\./);
        assert.equal(asked.length, 2);
        assert.ok(!asked.some(isStream));
      }));
  });
}

test('a file counts as the kind of its media type in any spelling, and a file without a type as any kind', async () => {
  const { wire, path } = VENDORS.google;
  const { whole: body, endpoint } = OWN.google;
  await using vendor = await fakeVendor(() => ({ status: 200, body }));
  const provider = { type: 'google' as const, baseUrl: vendor.url + path, apiKey: 'k' };
  const to = { provider: 'p', model: wire.model.slice('google:'.length) };
  const without = (type: string) => ({ ...to, capabilities: [{ type, enabled: false }] });
  await using gateway = await startGateway({
    config: {
      providers: { p: provider },
      models: { all: to, blind: without('vision'), still: without('video') },
    },
  });
  const key = gateway.key();
  const send = async (model: string, part: object) => {
    const request = endpoint.request({ model });
    const contents = [{ role: 'user', parts: [{ text: 'What is this?' }, part] }];
    const answer = await gateway.ask(key, 'POST', request.path, { ...request.body, contents });
    return [answer.status, await answer.text()] as const;
  };
  const inline = (mimeType: string) => ({ inlineData: { mimeType, data: IMAGE } });
  const fileUri = 'https://www.youtube.com/watch?v=x';
  const refused: readonly (readonly [string, object, RegExp])[] = [
    ['blind', inline('IMAGE/PNG'), /does not accept image\/png\. It accepts text, audio/],
    ['still', inline('Video/MP4; codecs="avc1"'), /does not accept video\/mp4\. It accepts text/],
    ['still', inline(''), /does not accept files of unknown type: send the media type/],
    ['still', { fileData: { fileUri } }, /does not accept files of unknown type: send the media/],
    ['still', { fileData: { fileUri, mimeType: '*/*' } }, /files of unknown type: send the media/],
  ];
  for (const [model, part, why] of refused) {
    const [status, text] = await send(model, part);
    assert.equal(status, 400, JSON.stringify(part));
    assert.match(text, why);
  }
  assert.equal(vendor.asked.length, 0);
  for (const part of [inline('IMAGE/PNG'), { fileData: { fileUri } }])
    assert.equal((await send('all', part))[0], 200);
  assert.equal((await send('still', inline('Image/PNG')))[0], 200);
});
