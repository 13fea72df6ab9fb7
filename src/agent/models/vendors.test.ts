// Each vendor through its own client, against a server on loopback that speaks the vendor's streaming format.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { saidIn } from '../../../test/support/model.ts';
import { anthropic } from '../../../test/support/vendors/anthropic.ts';
import { google } from '../../../test/support/vendors/google.ts';
import { openaiCompatible } from '../../../test/support/vendors/openai-compatible.ts';
import { openai } from '../../../test/support/vendors/openai.ts';
import { fakeVendor, type FakeVendor, type Reply } from '../../../test/support/vendors/server.ts';
import { userContent, type Content, type FunctionCallPart, type ContentPart } from '../content.ts';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';
import { resolveModel, type ResolveOptions } from './resolve.ts';

const KEY = 'sk-secret-0123456789';
const question: ModelRequest = {
  system: 'Be brief.',
  messages: [userContent('Weather?')],
  tools: [
    {
      name: 'get_weather',
      description: 'The weather in a city',
      parameters: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      },
    },
  ],
};
const never = new AbortController().signal;

for (const wire of [google, anthropic, openai, openaiCompatible]) {
  describe(wire.model, () => {
    function connect(vendor: FakeVendor, options: ResolveOptions = {}): Model {
      return resolveModel(wire.model, {
        env: wire.env(vendor.url, KEY),
        retry: { delayMs: 1 },
        ...options,
      });
    }
    /** Asks once, and returns what came and what was thrown. */
    async function ask(replies: readonly Reply[], options?: ResolveOptions) {
      await using vendor = await fakeVendor(replies);
      return { ...(await collect(connect(vendor, options), question)), asked: vendor.asked };
    }

    test('streams thoughts and text, and counts tokens', async () => {
      const { chunks, error, asked } = await ask([{ events: wire.answer }]);
      assert.equal(error, undefined);
      assert.equal(saidIn(chunks, 'thought'), 'Let me see.');
      assert.equal(saidIn(chunks), 'It is sunny.');
      const pieces = chunks.filter((chunk) => chunk.kind === 'text' && chunk.text !== '');
      assert.equal(pieces.length, 2, 'text comes piece by piece');
      assert.deepEqual(chunks.at(-1), {
        kind: 'finish',
        reason: 'stop',
        usage: { inputTokens: 20, outputTokens: 12, cachedTokens: 5, thoughtTokens: 4 },
      });
      assert.equal(asked[0]?.path, wire.path);
      assert.match(String(asked[0]?.headers[wire.keyHeader]), new RegExp(KEY));
    });

    test('a call that failed is sent with its whole response', async () => {
      await using vendor = await fakeVendor([{ events: wire.answer }]);
      const call = { kind: 'function-call', id: 'c1', name: 'get_weather', args: {} } as const;
      const response = { output: 'wrong', exit_code: 3 };
      const failed = {
        kind: 'function-response',
        id: 'c1',
        name: 'get_weather',
        response,
        isError: true,
      } as const;
      const messages: Content[] = [
        ...question.messages,
        { role: 'model', parts: [call] },
        { role: 'user', parts: [failed] },
      ];
      const { error } = await collect(connect(vendor), { ...question, messages });
      assert.equal(error, undefined);
      // Some vendors get the response as an object, others as text.
      const sent = JSON.stringify(vendor.asked[0]?.body).replaceAll('\\', '');
      assert.match(sent, /"output":"wrong","exit_code":3/);
    });

    test('makes two calls at once, and gives thoughts, calls and responses back as they were', async () => {
      await using vendor = await fakeVendor([{ events: wire.calls }, { events: wire.answer }]);
      const model = connect(vendor);
      const { chunks, error } = await collect(model, question);
      assert.equal(error, undefined);
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

      const back = stored([
        ...question.messages,
        { role: 'model', parts: partsOf(chunks) },
        { role: 'user', parts: responsesTo(calls) },
      ]);
      await collect(model, { ...question, messages: back });
      wire.checkReturn(vendor.asked[1]?.body);
    });

    if (wire.badCall !== undefined) {
      test('a call whose arguments are not JSON is passed on with what is wrong', async () => {
        const { chunks, error } = await ask([{ events: wire.badCall ?? [] }]);
        assert.equal(error, undefined);
        const [call] = chunks;
        assert(call?.kind === 'function-call');
        assert.deepEqual(call.args, {});
        assert.match(call.problem ?? '', /not JSON/);
      });
    }

    test('asks again after 429, no sooner than Retry-After says', async () => {
      const waits: number[] = [];
      const busy = {
        status: 429,
        headers: { 'retry-after': '0.05' },
        body: wire.error(429, 'slow down'),
      };
      const { chunks, error, asked } = await ask([busy, { events: wire.answer }], {
        retry: { delayMs: 1, onRetry: (_error, _attempt, wait) => waits.push(wait) },
      });
      assert.equal(error, undefined);
      assert.equal(saidIn(chunks), 'It is sunny.');
      assert.equal(asked.length, 2);
      assert.deepEqual(waits, [50]);
    });

    test('asks again after a server error, and gives up in the end', async () => {
      const broken = { status: 500, body: wire.error(500, 'oh dear') };
      const good = await ask([broken, { events: wire.answer }]);
      assert.equal(saidIn(good.chunks), 'It is sunny.');
      const bad = await ask([broken, broken, broken, { events: wire.answer }], {
        retry: { delayMs: 1, attempts: 3 },
      });
      assert.equal(bad.asked.length, 3, "the client's own retries do not come on top");
      assert.equal(bad.error?.code, 'failed');
      assert.match(bad.error?.message ?? '', /oh dear/);
    });

    test('a stream that ends in the middle is an error, not a short answer', async () => {
      for (const after of ['end', 'break'] as const) {
        const half = wire.answer.slice(
          0,
          wire.answer.findIndex((event) => event.includes('sunny')),
        );
        const { chunks, error, asked } = await ask([{ events: half, after }]);
        assert.equal(error?.code, 'cut-off', after);
        assert(!chunks.some(({ kind }) => kind === 'finish'));
        assert.equal(asked.length, 1, 'what was shown is not taken back');
      }
    });

    test('an error in the middle of the stream is an error', async () => {
      const { error } = await ask([{ events: wire.failing }]);
      assert(error !== undefined);
      assert.match(error.message, new RegExp(`^${wire.model} `));
    });

    test('invalid data in the stream is an error', async () => {
      const rubbish = [...wire.answer.slice(0, 2), 'data: {"oh": \n\n', ...wire.answer.slice(2)];
      const { error } = await ask([{ events: rubbish }]);
      assert.match(error?.message ?? '', /sent an invalid response/);
    });

    test('a stream that hangs causes a timeout', async () => {
      await using vendor = await fakeVendor([{ events: wire.answer.slice(0, 2), after: 'hang' }]);
      const { error } = await collect(connect(vendor, { idleTimeoutMs: 250 }), question);
      assert.equal(error?.code, 'timeout');
      assert.match(error?.message ?? '', /sent nothing for 250 ms/);
      await vendor.hungUp;
    });

    test('a bad key gets one line that names the variable and not the key', async () => {
      const message = `Incorrect API key provided: ${KEY}.\nSee the documentation.`;
      const { error, asked } = await ask([{ status: 401, body: wire.error(401, message) }]);
      assert.equal(error?.code, 'bad-key');
      assert.equal(error.status, 401);
      assert.equal(
        error.message,
        `${wire.model} refused the key in ${wire.keyVariable} (401): set a valid key`,
      );
      assert.equal(asked.length, 1);
      assert(!JSON.stringify([error, error.cause, error.stack]).includes(KEY));
    });

    test('the key is removed from the message of the vendor', async () => {
      const { error } = await ask([{ status: 403, body: wire.error(403, `no rights for ${KEY}`) }]);
      assert.match(error?.message ?? '', /no rights for \[key\]/);
    });

    test('a conversation that is too long is reported as such', async () => {
      const message = 'prompt is too long: 300000 tokens > 200000 maximum';
      const { error } = await ask([{ status: 400, body: wire.error(400, message) }]);
      assert.equal(error?.code, 'too-long');
      assert.equal(error.retryable, false);
    });

    test('a name that the vendor does not have is refused with similar names, and nothing else is', async () => {
      const [prefix = '', id = ''] = wire.model.split(':');
      const checked = async (models: readonly string[], name: string): Promise<string> => {
        await using vendor = await fakeVendor([], { models });
        const model = resolveModel(name, { env: wire.env(vendor.url, KEY) });
        return await model.checkName!(never).then(
          () => 'known',
          (error: unknown) => (error instanceof ModelError ? `${error.code} ${error.message}` : ''),
        );
      };
      assert.equal(await checked([id, 'other'], wire.model), 'known');
      assert.equal(
        await checked([id, 'other'], `${wire.model}x`),
        `not-found unknown model "${wire.model}x": did you mean ${wire.model}?`,
      );
      assert.match(
        await checked([id], `${prefix}:../../secret`),
        /^not-found .* has no such model$/,
      );
      assert.equal(await checked([], `${wire.model}x`), 'known', 'a server without a list');
    });

    test('an abort in the middle closes the connection', async () => {
      await using vendor = await fakeVendor([{ events: wire.answer.slice(0, -2), after: 'hang' }]);
      const controller = new AbortController();
      const reason = new Error('enough');
      await assert.rejects(
        async () => {
          for await (const chunk of connect(vendor).generate(question, controller.signal)) {
            if (chunk.kind === 'text') controller.abort(reason);
          }
        },
        (error) => error === reason,
      );
      await vendor.hungUp;
    });

    test('a reader that leaves closes the connection', async () => {
      await using vendor = await fakeVendor([{ events: wire.answer.slice(0, -2), after: 'hang' }]);
      for await (const chunk of connect(vendor).generate(question, never)) {
        if (chunk.kind === 'text') break;
      }
      await vendor.hungUp;
    });

    test('does not follow a redirect with the key', async () => {
      await using elsewhere = await fakeVendor([{ events: wire.answer }]);
      const headers = { location: elsewhere.url };
      const { error } = await ask([{ status: 307, headers, body: '' }], { retry: { attempts: 1 } });
      assert(error !== undefined);
      assert.deepEqual(elsewhere.asked, []);
    });
  });
}

test('a vendor without a server is unreachable', async () => {
  let url = '';
  {
    await using vendor = await fakeVendor([]);
    url = vendor.url;
  }
  const model = resolveModel(openai.model, { env: openai.env(url, KEY), retry: { delayMs: 1 } });
  const { error } = await collect(model, question);
  assert.equal(error?.code, 'unreachable');
  assert.match(error.message, /ECONNREFUSED/);
});

test("Google's way to refuse a key is understood", async () => {
  const message = 'API key not valid. Please pass a valid API key.';
  await using vendor = await fakeVendor([{ status: 400, body: google.error(400, message) }]);
  const { error } = await collect(
    resolveModel(google.model, { env: google.env(vendor.url, KEY) }),
    question,
  );
  assert.equal(error?.code, 'bad-key');
});

for (const [status, message] of [
  [400, 'messages.0: the text "your invalid API key" is too long'],
  [500, 'Invalid API key format in an internal request'],
] as const) {
  test(`a message with status ${status} that only mentions a key is no refused key`, async () => {
    await using vendor = await fakeVendor([{ status, body: google.error(status, message) }]);
    const { error } = await collect(
      resolveModel(google.model, { env: google.env(vendor.url, KEY), retry: { attempts: 1 } }),
      question,
    );
    assert.equal(error?.code, status === 400 ? 'invalid-request' : 'failed');
  });
}

test('a request is not retried if the account has no credit', async () => {
  const body = {
    error: {
      message: 'You exceeded your quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  };
  await using vendor = await fakeVendor([{ status: 429, body }]);
  const { error } = await collect(
    resolveModel(openai.model, { env: openai.env(vendor.url, KEY) }),
    question,
  );
  assert.match(error?.message ?? '', /no credit left/);
  assert.equal(vendor.asked.length, 1);
});

async function collect(model: Model, request: ModelRequest) {
  const chunks: ModelChunk[] = [];
  try {
    for await (const chunk of model.generate(request, never)) chunks.push(chunk);
  } catch (error) {
    assert(error instanceof ModelError, String(error));
    return { chunks, error };
  }
  return { chunks, error: undefined };
}

/** Chunks of one kind belong together up to and including the first with a `provider`. */
function partsOf(chunks: readonly ModelChunk[]): ContentPart[] {
  const parts: ContentPart[] = [];
  let open = false;
  for (const chunk of chunks) {
    if (chunk.kind === 'finish') continue;
    const last = parts.at(-1);
    if (open && (chunk.kind === 'text' || chunk.kind === 'thought') && last?.kind === chunk.kind) {
      parts.splice(-1, 1, { ...last, ...chunk, text: last.text + chunk.text });
    } else {
      parts.push(chunk);
    }
    open = chunk.provider === undefined;
  }
  return parts;
}

function responsesTo([first, second]: readonly Pick<
  FunctionCallPart,
  'id' | 'name'
>[]): ContentPart[] {
  assert(first && second);
  return [
    { kind: 'function-response', id: first.id, name: first.name, response: 'sunny' },
    {
      kind: 'function-response',
      id: second.id,
      name: second.name,
      response: 'no such city',
      isError: true,
    },
  ];
}

/** As it comes back from a session's store. */
function stored(messages: readonly Content[]): readonly Content[] {
  return JSON.parse(JSON.stringify(messages));
}
