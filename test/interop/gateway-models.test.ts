/**
 * The vendors' own clients and the AI SDK, each with a model of every type of provider behind the gateway. Text,
 * thoughts and tools of each API are tested in test/gateway. This file tests that each client understands images, filtered
 * answers and errors of each provider.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, type LanguageModelV4 } from '@ai-sdk/provider';
import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { tries } from '../support/interop-table.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type Asked, type FakeVendor, type Reply } from '../support/vendors/server.ts';

const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** What the user says, and so which reply of the vendor comes. */
const [WEATHER, FORBIDDEN, LONG, BUSY] = ['Weather?', 'Forbidden?', 'Too long?', 'Busy?'];

/** Each type of provider, with the changes that make the vendor filter its answer. */
const VENDORS = [
  {
    type: 'openai',
    wire: openai,
    path: '/v1',
    filter: [
      ['response.completed', 'response.incomplete'],
      ['"incomplete_details":null', '"incomplete_details":{"reason":"content_filter"}'],
    ],
  },
  { type: 'anthropic', wire: anthropic, path: '/v1', filter: [['"end_turn"', '"refusal"']] },
  { type: 'google', wire: google, path: '/v1beta', filter: [['"STOP"', '"SAFETY"']] },
  {
    type: 'openai-compatible',
    wire: openaiCompatible,
    path: '/v1',
    filter: [['"finish_reason":"stop"', '"finish_reason":"content_filter"']],
  },
] as const;

function replyOf({ wire, filter }: (typeof VENDORS)[number], { body }: Asked): Reply {
  const request = JSON.stringify(body);
  if (request.includes(LONG)) {
    const message = 'prompt is too long: 300000 tokens > 200000 maximum';
    return { status: 400, body: wire.error(400, message) };
  }
  if (request.includes(BUSY)) {
    return { status: 429, headers: { 'retry-after': '7' }, body: wire.error(429, 'Slow down') };
  }
  if (!request.includes(FORBIDDEN)) return { events: wire.answer };
  const changed = (event: string) =>
    filter.reduce((text, [from, to]) => text.replaceAll(from, to), event);
  return { events: wire.answer.map(changed) };
}

interface At {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

interface Client {
  readonly peer: string;
  /** How this API says that an answer was filtered. */
  readonly filtered: string;
  /** Streams an answer to a text and an image. Returns the text and why it ended. */
  ask(at: At, text: string): Promise<{ readonly text: string; readonly end: unknown }>;
  /** Whether this error makes the client's user shorten the conversation. */
  isTooLong(error: unknown): boolean;
  statusOf(error: unknown): unknown;
}

const dataUrl = `data:image/png;base64,${IMAGE}`;
const openaiAt = ({ url, key }: At) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const openaiErrors: Pick<Client, 'isTooLong' | 'statusOf'> = {
  isTooLong: (error) =>
    error instanceof OpenAI.BadRequestError && error.code === 'context_length_exceeded',
  statusOf: (error) => error instanceof OpenAI.APIError && error.status,
};

/** A provider of the AI SDK, and the words with which its API says that a prompt is too long. */
function aiSdk(peer: string, tooLong: RegExp, modelAt: (at: At) => LanguageModelV4): Client {
  return {
    peer,
    filtered: 'content-filter',
    async ask(at, text) {
      const file = {
        type: 'file' as const,
        mediaType: 'image/png',
        data: { type: 'data' as const, data: IMAGE },
      };
      const content = [{ type: 'text' as const, text }, file];
      const { stream } = await modelAt(at).doStream({ prompt: [{ role: 'user', content }] });
      let said = '';
      let end: unknown;
      for await (const part of stream) {
        if (part.type === 'text-delta') said += part.delta;
        if (part.type === 'finish') end = part.finishReason.unified;
        if (part.type === 'error') throw part.error;
      }
      return { text: said, end };
    },
    isTooLong: (error) => APICallError.isInstance(error) && tooLong.test(error.responseBody ?? ''),
    statusOf: (error) => APICallError.isInstance(error) && error.statusCode,
  };
}

const CLIENTS: readonly Client[] = [
  {
    peer: 'openai 7.53.0 (chat completions)',
    filtered: 'content_filter',
    async ask(at, text) {
      const image = { type: 'image_url' as const, image_url: { url: dataUrl } };
      const stream = openaiAt(at).chat.completions.stream({
        model: at.model,
        messages: [{ role: 'user', content: [{ type: 'text', text }, image] }],
      });
      let said = '';
      let end: unknown;
      for await (const { choices } of stream) {
        said += choices[0]?.delta.content ?? '';
        end = choices[0]?.finish_reason ?? end;
      }
      return { text: said, end };
    },
    ...openaiErrors,
  },
  {
    peer: 'openai 7.53.0 (responses)',
    filtered: 'content_filter',
    async ask(at, text) {
      const content = [
        { type: 'input_text' as const, text },
        { type: 'input_image' as const, image_url: dataUrl, detail: 'auto' as const },
      ];
      const input = [{ role: 'user' as const, content }];
      const answer = await openaiAt(at)
        .responses.stream({ model: at.model, input })
        .finalResponse();
      return { text: answer.output_text, end: answer.incomplete_details?.reason };
    },
    ...openaiErrors,
  },
  {
    peer: '@anthropic-ai/sdk 1.8.0',
    filtered: 'refusal',
    async ask({ url, key, model }, text) {
      const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
      const source = { type: 'base64' as const, media_type: 'image/png' as const, data: IMAGE };
      const content = [
        { type: 'text' as const, text },
        { type: 'image' as const, source },
      ];
      const messages = [{ role: 'user' as const, content }];
      const stream = client.messages.stream({ model, max_tokens: 4096, messages });
      const message = await stream.finalMessage();
      const said = message.content.map((block) => (block.type === 'text' ? block.text : ''));
      return { text: said.join(''), end: message.stop_reason };
    },
    isTooLong: (error) =>
      error instanceof Anthropic.BadRequestError && error.message.includes('prompt is too long'),
    statusOf: (error) => error instanceof Anthropic.APIError && error.status,
  },
  {
    peer: '@google/genai 2.32.0',
    filtered: 'SAFETY',
    async ask({ url, key, model }, text) {
      const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
      const image = { inlineData: { mimeType: 'image/png', data: IMAGE } };
      const contents = [{ role: 'user', parts: [{ text }, image] }];
      let said = '';
      let end: unknown;
      for await (const { candidates } of await client.models.generateContentStream({
        model,
        contents,
      })) {
        for (const part of candidates?.[0]?.content?.parts ?? [])
          if (part.thought !== true) said += part.text ?? '';
        end = candidates?.[0]?.finishReason ?? end;
      }
      return { text: said, end };
    },
    isTooLong: (error) =>
      error instanceof ApiError && error.status === 400 && /input token count/.test(error.message),
    statusOf: (error) => error instanceof ApiError && error.status,
  },
  aiSdk('@ai-sdk/openai 4.0.114', /context_length_exceeded/, ({ url, key, model }) =>
    createOpenAI({ baseURL: `${url}/v1`, apiKey: key })(model),
  ),
  aiSdk('@ai-sdk/openai-compatible 3.0.90', /context_length_exceeded/, ({ url, key, model }) =>
    createOpenAICompatible({ name: 'parley', baseURL: `${url}/v1`, apiKey: key })(model),
  ),
  aiSdk('@ai-sdk/anthropic 4.0.102', /prompt is too long/, ({ url, key, model }) =>
    createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model),
  ),
  aiSdk('@ai-sdk/google 4.0.117', /input token count/, ({ url, key, model }) =>
    createGoogle({ baseURL: `${url}/v1beta`, apiKey: key })(model),
  ),
];

describe('A client of a vendor, with a model of another', () => {
  const vendors = new Map<string, FakeVendor>();
  let gateway: RunningGateway;

  before(async () => {
    for (const each of VENDORS)
      vendors.set(each.type, await fakeVendor((asked) => replyOf(each, asked)));
    // A provider for each client, because a provider that was busy is left alone for a while.
    const entries = VENDORS.flatMap(({ type, wire, path }) =>
      CLIENTS.map((_, index) => {
        const name = `${type}-${index}`;
        const baseUrl = `${vendors.get(type)?.url}${path}`;
        const provider = { type, baseUrl, apiKey: 'vendor-key', attempts: 1, models: [] };
        const model = { provider: name, model: wire.model.slice(type.length + 1) };
        return { name, provider, model };
      }),
    );
    gateway = await startGateway({
      config: {
        providers: Object.fromEntries(entries.map(({ name, provider }) => [name, provider])),
        models: {
          ...Object.fromEntries(entries.map(({ name, model }) => [name, model])),
          small: { provider: 'openai-compatible-0', model: 'm', contextWindow: 1000 },
          blind: { provider: 'openai-compatible-0', model: 'm', inputs: ['text'] },
          whole: {
            provider: 'openai-compatible-0',
            model: 'm',
            capabilities: [{ type: 'streaming', enabled: false }],
          },
        },
      },
    });
  });

  after(async () => {
    await gateway[Symbol.asyncDispose]();
    for (const vendor of vendors.values()) await vendor[Symbol.asyncDispose]();
  });

  for (const client of CLIENTS) {
    test(`${client.peer} understands the limits of a model card`, async () => {
      const url = new URL(gateway.url).origin;
      const at = { url, key: gateway.key(), model: 'whole' };
      assert.equal((await client.ask(at, WEATHER)).text, 'It is sunny.');
      const long = client.ask({ ...at, model: 'small' }, WEATHER.repeat(1000));
      await assert.rejects(long, (error) => client.isTooLong(error));
      const blind = client.ask({ ...at, model: 'blind' }, WEATHER);
      await assert.rejects(
        blind,
        (error) => client.statusOf(error) === 400 && /It accepts text/.test(String(error)),
      );
    });
  }

  for (const [index, client] of CLIENTS.entries()) {
    for (const { type } of VENDORS) {
      test(`${client.peer} understands answers and errors of ${type}`, async (t) => {
        tries(t, { protocol: 'gateway', peer: client.peer, role: 'client', operation: type });
        const at = {
          url: new URL(gateway.url).origin,
          key: gateway.key(),
          model: `${type}-${index}`,
        };
        const answer = await client.ask(at, WEATHER);
        assert.equal(answer.text, 'It is sunny.');
        assert.notEqual(answer.end, client.filtered);
        const asked = JSON.stringify(vendors.get(type)?.asked.at(-1)?.body);
        assert.ok(asked.includes(IMAGE), 'the vendor did not get the image');
        assert.equal((await client.ask(at, FORBIDDEN)).end, client.filtered);
        await assert.rejects(client.ask(at, LONG), (error) => client.isTooLong(error));
        await assert.rejects(client.ask(at, BUSY), (error) => client.statusOf(error) === 429);
      });
    }
  }
});
