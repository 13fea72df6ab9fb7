// What is the same for every provider, on models that answer from memory. The vendors' own are in vendors.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { answerOf, saidIn } from '../../../test/support/model.ts';
import { userContent, type ContentPart } from '../content.ts';
import type { ModelRequest } from '../model.ts';
import { fromProvider, type ProviderOptions } from './provider.ts';

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 4, text: 4, reasoning: undefined },
};
const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage,
} as const satisfies LanguageModelV4StreamPart;
const hello: ModelRequest = { messages: [userContent('hello')] };

interface Fake extends LanguageModelV4 {
  readonly asked: LanguageModelV4CallOptions[];
}

function fake(
  parts: Iterable<LanguageModelV4StreamPart> | ReadableStream<LanguageModelV4StreamPart>,
): Fake {
  const asked: LanguageModelV4CallOptions[] = [];
  const stream = parts instanceof ReadableStream ? parts : ReadableStream.from(parts);
  return {
    specificationVersion: 'v4',
    provider: 'fake.chat',
    modelId: 'one',
    supportedUrls: { 'image/*': [/^https:\/\/pictures\./] },
    asked,
    doGenerate: () => Promise.reject(new Error('not used')),
    async doStream(options) {
      asked.push(options);
      return { stream };
    },
  };
}

function run(parts: Iterable<LanguageModelV4StreamPart>, options: ProviderOptions = {}) {
  return answerOf(fromProvider(fake(parts), { retry: false, ...options }), hello);
}

/** The prompt that these parts of a user become. */
async function promptOf(parts: readonly ContentPart[]): Promise<unknown> {
  const model = fake([finish]);
  await answerOf(fromProvider(model), { messages: [{ role: 'user', parts }] });
  return model.asked[0]?.prompt;
}

test('it has the name of its provider, or the one it is given', () => {
  assert.equal(fromProvider(fake([])).name, 'fake.chat:one');
  assert.equal(fromProvider(fake([]), { name: 'mine', contextWindow: 5 }).contextWindow, 5);
});

test('vendor metadata comes at the end of its block, and blocks stay separate', async () => {
  const chunks = await run([
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: '1', providerMetadata: { v: { id: 'a' } } },
    { type: 'reasoning-delta', id: '1', delta: 'one' },
    { type: 'reasoning-end', id: '1', providerMetadata: { v: { signature: 's' } } },
    { type: 'reasoning-start', id: '2' },
    { type: 'reasoning-delta', id: '2', delta: 'two', providerMetadata: { v: {} } },
    { type: 'reasoning-end', id: '2' },
    { type: 'text-delta', id: '1', delta: 'three', providerMetadata: { v: { x: 1 } } },
    finish,
  ]);
  assert.deepEqual(chunks, [
    { kind: 'thought', text: 'one' },
    { kind: 'thought', text: '', provider: { v: { id: 'a', signature: 's' } } },
    { kind: 'thought', text: 'two' },
    { kind: 'text', text: 'three' },
    { kind: 'text', text: '', provider: { v: { x: 1 } } },
    { kind: 'finish', reason: 'stop', usage: { inputTokens: 3, outputTokens: 4 } },
  ]);
});

test('an invalid token count is ignored', async () => {
  const counted = async (total: number, cacheRead: number) => {
    const inputTokens = { ...usage.inputTokens, total, cacheRead };
    const [last] = await run([{ ...finish, usage: { ...usage, inputTokens } }]);
    return last?.kind === 'finish' && last.usage;
  };
  assert.deepEqual(await counted(3, -1), { inputTokens: 3, outputTokens: 4 });
  for (const total of [-500_000, 1e308, Number.NaN, 2.5]) {
    assert.equal(await counted(total, 0), undefined);
  }
});

test('files come as base64', async () => {
  const [bytes, text] = await run([
    {
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: new Uint8Array([1, 2, 3]) },
    },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
    finish,
  ]);
  assert.deepEqual(bytes, { kind: 'blob', mediaType: 'image/png', data: 'AQID' });
  assert.deepEqual(text, bytes);
});

test('two calls with the same id get different ids; tools that the vendor runs itself are not called', async () => {
  const call = { type: 'tool-call', toolCallId: 'x', toolName: 'a', input: '' } as const;
  const chunks = await run([
    call,
    call,
    { ...call, toolCallId: 'y', providerExecuted: true },
    finish,
  ]);
  const calls = chunks.filter((chunk) => chunk.kind === 'function-call');
  assert.equal(calls.length, 2);
  assert.equal(calls[0]?.id, 'x');
  assert.notEqual(calls[1]?.id, 'x');
  assert.deepEqual(calls[0]?.args, {});
  const last = chunks.at(-1);
  assert(last?.kind === 'finish');
  assert.equal(last.reason, 'tool-calls');
});

test('an answer that comes as a whole is read as a stream is', async () => {
  const model: LanguageModelV4 = {
    ...fake([]),
    doStream: () => Promise.reject(new Error('this model does not stream')),
    doGenerate: async () => ({
      content: [
        { type: 'reasoning', text: 'Hm.', providerMetadata: { v: { signature: 's' } } },
        { type: 'text', text: 'It is sunny.' },
        { type: 'tool-call', toolCallId: 'x', toolName: 'a', input: '{"b":1}' },
      ],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    }),
  };
  const asked: ModelRequest = { ...hello, streaming: false };
  const chunks = await answerOf(fromProvider(model, { retry: false, timeoutMs: 60_000 }), asked);
  assert.deepEqual(chunks, [
    { kind: 'thought', text: 'Hm.' },
    { kind: 'thought', text: '', provider: { v: { signature: 's' } } },
    { kind: 'text', text: 'It is sunny.' },
    { kind: 'function-call', id: 'x', name: 'a', args: { b: 1 } },
    { kind: 'finish', reason: 'tool-calls', usage: { inputTokens: 3, outputTokens: 4 } },
  ]);
});

for (const input of ['[1]', '"city"', 'null', '{"city"', 'city']) {
  test(`arguments that are not a JSON object are reported: ${input}`, async () => {
    const [call] = await run([
      { type: 'tool-call', toolCallId: 'x', toolName: 'a', input },
      finish,
    ]);
    assert(call?.kind === 'function-call');
    assert.deepEqual(call.args, {});
    assert.match(call.problem ?? '', /^the arguments are not/);
  });
}

test('an answer that is too large is stopped, whichever part is too large', async () => {
  function* endless(part: LanguageModelV4StreamPart): Generator<LanguageModelV4StreamPart> {
    for (;;) yield part;
  }
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-delta', id: '1', delta: 'ha' },
    { type: 'reasoning-delta', id: '1', delta: 'hm' },
    { type: 'tool-input-delta', id: '1', delta: '{}' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
  ];
  for (const part of parts) {
    await assert.rejects(
      run(endless(part), { maxChars: 1000 }),
      /sent more than 1000 characters/,
      part.type,
    );
  }
  const call: LanguageModelV4StreamPart = {
    type: 'tool-call',
    toolCallId: 'x',
    toolName: 'a',
    input: '{}',
  };
  await assert.rejects(run(endless(call), { maxCalls: 3 }), /sent more than 3 calls/);
});

test('a stream that ends without its last part was cut off', async () => {
  await assert.rejects(run([{ type: 'text-delta', id: '1', delta: 'ha' }]), {
    code: 'cut-off',
    retryable: true,
  });
});

test('an answer that never ends causes a timeout, even if the provider ignores the signal', async () => {
  const silent = new ReadableStream<LanguageModelV4StreamPart>();
  const model = fromProvider(fake(silent), { timeoutMs: 20 });
  await assert.rejects(answerOf(model, hello), {
    code: 'timeout',
    message: /did not finish its answer within 20 ms/,
  });
});

test('for an answer without streaming, only the total limit applies, also if it is the default', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answers = (afterMs: number): LanguageModelV4 => ({
    ...fake([]),
    doGenerate: async () => {
      t.mock.timers.tick(afterMs);
      const finishReason = { unified: 'stop', raw: 'stop' } as const;
      return { content: [{ type: 'text', text: 'Hi' }], finishReason, usage, warnings: [] };
    },
  });
  const ask = (afterMs: number) =>
    answerOf(fromProvider(answers(afterMs), { retry: false }), { ...hello, streaming: false });
  assert.equal((await ask(29 * 60_000)).length, 2);
  await assert.rejects(ask(31 * 60_000), { code: 'timeout', message: /did not finish its answer/ });
});

test('events without content restart the idle timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let sent = 0;
  const parts = new ReadableStream<LanguageModelV4StreamPart>(
    {
      pull(controller) {
        t.mock.timers.tick(100);
        controller.enqueue(++sent < 10 ? { type: 'raw', rawValue: {} } : finish);
      },
    },
    { highWaterMark: 0 },
  );
  const chunks = await answerOf(fromProvider(fake(parts), { idleTimeoutMs: 150 }), hello);
  assert.equal(chunks.length, 1);
});

test('an abort takes effect at once, even if the provider ignores the signal', async () => {
  const controller = new AbortController();
  const model = fromProvider(fake(new ReadableStream()));
  const answer = answerOf(model, hello, controller.signal);
  const reason = new Error('enough');
  controller.abort(reason);
  await assert.rejects(answer, (error) => error === reason);
});

test('text files become text, other files are passed on, and URLs only if the vendor fetches them', async () => {
  const png = 'image/png';
  assert.deepEqual(
    await promptOf([
      {
        kind: 'blob',
        mediaType: 'text/markdown',
        name: 'a.md',
        data: Buffer.from('# A').toString('base64'),
      },
      { kind: 'blob', mediaType: png, data: 'AQID', name: 'b.png' },
      { kind: 'file', mediaType: png, uri: 'https://pictures.example/c.png' },
      { kind: 'file', mediaType: png, uri: 'http://169.254.169.254/d.png' },
      { kind: 'file', uri: 'file:///etc/passwd', name: 'e' },
      { kind: 'data', data: { f: 1 } },
      { kind: 'text', text: '' },
    ]),
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a.md:\n# A' },
          { type: 'file', mediaType: png, data: { type: 'data', data: 'AQID' }, filename: 'b.png' },
          {
            type: 'file',
            mediaType: png,
            data: { type: 'url', url: new URL('https://pictures.example/c.png') },
          },
          { type: 'text', text: '[file at http://169.254.169.254/d.png (image/png)]' },
          { type: 'text', text: '[file e at file:///etc/passwd]' },
          { type: 'text', text: '{"f":1}' },
        ],
      },
    ],
  );
});

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1').toString('base64');

test("a tool's files follow its response, from the user", async () => {
  const picture: ContentPart = { kind: 'blob', mediaType: 'image/png', data: PNG };
  assert.deepEqual(
    await promptOf([
      { kind: 'text', text: 'and?' },
      {
        kind: 'function-response',
        id: '1',
        name: 'draw',
        response: { ok: true },
        parts: [picture],
      },
    ]),
    [
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: '1',
            toolName: 'draw',
            output: { type: 'json', value: { ok: true } },
          },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: '[files from draw]' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
          { type: 'text', text: 'and?' },
        ],
      },
    ],
  );
});

test('a file of a tool that the model does not accept is a note, so that the session can go on', async () => {
  const blob = (mediaType: string, data: string) => ({ kind: 'blob', mediaType, data }) as const;
  const uri = 'https://pictures.example/c.png';
  const parts = [
    blob('image/jpg', PNG),
    blob('image/png', 'AQID'),
    blob('image/png', PNG + 'A'.repeat(5 * 2 ** 20)),
    blob('audio/wav', 'AQID'),
    { kind: 'file', uri, mediaType: 'image/png' } as const,
  ];
  const prompt = await promptOf([
    { kind: 'function-response', id: '1', name: 'draw', response: '', parts },
  ]);
  const why = 'not shown, because this model does not accept the file';
  const content = [
    { type: 'text', text: '[files from draw]' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
    { type: 'text', text: `[image/png, 3 bytes, ${why}]` },
    { type: 'text', text: `[image/png, 3.8 MB, ${why}]` },
    { type: 'text', text: `[audio/wav, 3 bytes, ${why}]` },
    { type: 'text', text: '[file at https://pictures.example/c.png (image/png)]' },
  ];
  assert.partialDeepStrictEqual(prompt, [{ role: 'tool' }, { role: 'user', content }]);
});

test('if the vendor refuses a request with files, the model gets notes instead, unless files are required', async () => {
  const damaged = { kind: 'blob', mediaType: 'image/png', data: PNG } as const;
  const parts: ContentPart[] = [
    damaged,
    { kind: 'text', text: 'and?' },
    { kind: 'function-response', id: '1', name: 'draw', response: 'ok', parts: [damaged] },
  ];
  const request = { messages: [{ role: 'user' as const, parts }] };
  const refusing = (): Fake => {
    const model = fake([finish]);
    return {
      ...model,
      doStream(options) {
        if (!JSON.stringify(options.prompt).includes('"type":"file"'))
          return model.doStream(options);
        model.asked.push(options);
        return Promise.reject(
          Object.assign(new Error('Could not process image'), { statusCode: 400 }),
        );
      },
    };
  };
  const model = refusing();
  await answerOf(fromProvider(model), request);
  const [, second] = model.asked;
  const sent = JSON.stringify(second?.prompt);
  assert.equal(sent.match(/\[image\/png, \d+ bytes, not shown/g)?.length, 2);
  const strict = refusing();
  await assert.rejects(answerOf(fromProvider(strict, { strict: true }), request), /process image/);
  assert.equal(strict.asked.length, 1);
});

test('settings and the schema of an answer are passed on', async () => {
  const model = fake([finish]);
  const outputSchema = { type: 'object', properties: { a: { type: 'string' } } };
  await answerOf(fromProvider(model, { providerOptions: { fake: { loud: true } } }), {
    ...hello,
    maxOutputTokens: 7,
    temperature: 0.5,
    outputSchema,
  });
  assert.partialDeepStrictEqual(model.asked[0], {
    maxOutputTokens: 7,
    temperature: 0.5,
    responseFormat: { type: 'json', schema: outputSchema },
    providerOptions: { fake: { loud: true } },
  });
});

test('a model of specification version 3 works too', async () => {
  const asked: LanguageModelV3CallOptions[] = [];
  const parts: LanguageModelV3StreamPart[] = [
    { type: 'text-delta', id: '1', delta: 'hi' },
    { type: 'file', mediaType: 'image/png', data: 'AQID' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  ];
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'old',
    modelId: 'one',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    async doStream(options) {
      asked.push(options);
      return { stream: ReadableStream.from(parts) };
    },
  };
  const picture: ContentPart = { kind: 'blob', mediaType: 'image/png', data: 'AQID' };
  const tools = [{ name: 't', description: '', parameters: {} }];
  const chunks = await answerOf(fromProvider(model), {
    messages: [{ role: 'user', parts: [picture] }],
    tools,
  });
  assert.equal(saidIn(chunks), 'hi');
  assert.deepEqual(chunks[1], { kind: 'blob', mediaType: 'image/png', data: 'AQID' });
  assert.deepEqual(asked[0]?.prompt, [
    { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'AQID' }] },
  ]);
  assert.equal(asked[0]?.tools?.length, 1);
});
