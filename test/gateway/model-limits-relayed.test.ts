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
}

const OWN: Readonly<Record<VendorType, Own>> = {
  'openai-compatible': { endpoint: ENDPOINTS['/v1/chat/completions'], limit: ['max_tokens'] },
  openai: { endpoint: ENDPOINTS['/v1/responses'], limit: ['max_output_tokens'] },
  anthropic: {
    endpoint: ENDPOINTS['/v1/messages'],
    limit: ['max_tokens'],
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

for (const [type, { endpoint, limit, whole }] of Object.entries(OWN) as [VendorType, Own][]) {
  describe(`a provider of the type ${type}`, () => {
    const { wire, path } = VENDORS[type];
    const reply = (asked: Asked): Reply =>
      whole === undefined || isStream(asked)
        ? { events: wire.answer }
        : { status: 200, body: whole };

    async function served(
      use: (context: {
        readonly post: (model: string, more?: object) => Promise<Response>;
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
          },
        },
      });
      const key = gateway.key();
      await use({
        asked: vendor.asked,
        post(name, more = {}) {
          const request = endpoint.request({ model: name, ...more });
          return gateway.ask(key, 'POST', request.path, request.body);
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
