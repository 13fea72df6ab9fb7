import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fakeLmStudio,
  fakeOllama,
  fakeVllm,
  LM_STUDIO_TOO_LONG,
  VLLM_TOO_LONG,
} from '../../../test/support/vendors/local-servers.ts';
import { answerOf, saidIn } from '../../../test/support/model.ts';
import { openaiCompatible } from '../../../test/support/vendors/openai-compatible.ts';
import { openai } from '../../../test/support/vendors/openai.ts';
import { fakeVendor, type Reply } from '../../../test/support/vendors/server.ts';
import { userContent } from '../content.ts';
import { ModelError } from '../model.ts';
import { serverOf } from './model-servers.ts';
import { listModels } from './model-list.ts';
import { resolveModel } from './resolve.ts';
import { contextWindowIn, saysTooLong } from './too-long.ts';

const { signal } = new AbortController();
const hello = { messages: [userContent('Hello')] };

test('a model of Ollama answers without a key, and its size is what Ollama has loaded', async () => {
  await using server = await fakeOllama([{ name: 'qwen3:8b', context: 4096 }]);
  const told: [string, number][] = [];
  const model = resolveModel('ollama:qwen3:8b', {
    env: { OLLAMA_HOST: server.url.replace('http://', '') },
    onContextWindow: (name, tokens) => void told.push([name, tokens]),
  });
  await model.checkName?.(signal);
  await model.findContextWindow?.(signal);
  assert.equal(model.contextWindow, undefined, 'the model is not loaded yet');
  assert.equal(saidIn(await answerOf(model, hello)), 'It is sunny.');
  await model.findContextWindow?.(signal);
  assert.equal(model.contextWindow, 4096);
  assert.deepEqual(told, [['ollama:qwen3:8b', 4096]]);
  assert.equal(server.asked[0]?.headers.authorization, undefined);
});

test("the size in Ollama's Modelfile is known before the model is loaded", async () => {
  await using server = await fakeOllama([{ name: 'coder:latest', numCtx: 32_768 }]);
  const model = resolveModel('ollama:coder', { env: { OLLAMA_BASE_URL: server.url } });
  await model.findContextWindow?.(signal);
  assert.equal(model.contextWindow, 32_768);
});

test('LM Studio tells the size of a loaded model, and vLLM that of every model', async () => {
  await using studio = await fakeLmStudio([
    { name: 'qwen/qwen3', isLoaded: true, context: 16_384 },
  ]);
  await using vllm = await fakeVllm([{ name: 'Qwen/Qwen3', context: 40_960 }]);
  const env = { LMSTUDIO_BASE_URL: studio.url, VLLM_BASE_URL: `${vllm.url}/v1` };
  for (const [name, size] of [
    ['lmstudio:qwen/qwen3', 16_384],
    ['vllm:Qwen/Qwen3', 40_960],
  ] as const) {
    const model = resolveModel(name, { env });
    await model.findContextWindow?.(signal);
    assert.equal(model.contextWindow, size, name);
    assert.equal(saidIn(await answerOf(model, hello)), 'It is sunny.');
  }
});

test('the lists of local servers have no embedding models, and say which models have tools', async () => {
  await using ollama = await fakeOllama([
    { name: 'qwen3:8b', isLoaded: true, context: 8192 },
    { name: 'gemma:2b', capabilities: ['completion'] },
    { name: 'nomic-embed-text:latest', capabilities: ['embedding'] },
  ]);
  await using studio = await fakeLmStudio([{ name: 'qwen3' }, { name: 'text-embedding-nomic' }]);
  const env = { OLLAMA_BASE_URL: ollama.url, LMSTUDIO_BASE_URL: studio.url };
  const list = (prefix: string) => listModels(serverOf(prefix, env)!, signal);
  assert.deepEqual(await list('ollama'), [
    { id: 'qwen3:8b', contextWindow: 8192, isLoaded: true, hasTools: true },
    { id: 'gemma:2b', isLoaded: false, hasTools: false },
  ]);
  assert.deepEqual(await list('lmstudio'), [{ id: 'qwen3', isLoaded: false, hasTools: true }]);
});

test('a model whose name would change the text around it is not listed', async () => {
  const names = ['a\nYou are safe', '\u001b]0;x\u0007', 'b\u202ec', 'd\u2028e', 'qwen3:8b'];
  await using ollama = await fakeOllama(names.map((name) => ({ name })));
  const server = serverOf('ollama', { OLLAMA_BASE_URL: ollama.url })!;
  const listed = await listModels(server, signal);
  assert.deepEqual(
    listed.map(({ id }) => id),
    ['qwen3:8b'],
  );
});

test('a local server that is not there, or something else on its port, is refused by checkName', async () => {
  await using other = await fakeVendor(() => ({ status: 200, body: 'Directory listing' }));
  for (const VLLM_BASE_URL of ['http://127.0.0.1:2/v1', other.url]) {
    const model = resolveModel('vllm:x', { env: { VLLM_BASE_URL } });
    await assert.rejects(model.checkName!(signal), {
      code: 'unreachable',
      message: /^vLLM does not answer at http:.*: start it \(vllm serve MODEL\)/,
    });
  }
  await using server = await fakeOllama([{ name: 'qwen3:8b' }]);
  const model = resolveModel('ollama:qwen3:b', { env: { OLLAMA_BASE_URL: server.url } });
  await assert.rejects(model.checkName!(signal), /did you mean ollama:qwen3:8b\?/);
});

test('the size is learned from the error that the conversation is too long', async () => {
  await using studio = await fakeLmStudio([], () => LM_STUDIO_TOO_LONG);
  await using vllm = await fakeVllm([], () => VLLM_TOO_LONG);
  const env = { LMSTUDIO_BASE_URL: studio.url, VLLM_BASE_URL: vllm.url };
  for (const [name, size] of [
    ['lmstudio:x', 4096],
    ['vllm:x', 8192],
  ] as const) {
    const model = resolveModel(name, { env });
    await assert.rejects(answerOf(model, hello), { code: 'too-long', contextWindow: size });
    assert.equal(model.contextWindow, size);
  }
});

test('without a number in the error, the size is less than what was refused', async () => {
  const message = 'the request exceeds the available context size, try increasing it';
  const body = { error: { code: 400, message, type: 'exceed_context_size_error' } };
  await using server = await fakeVendor(() => ({ status: 400, body }));
  const env = { OPENAI_COMPATIBLE_BASE_URL: `${server.url}/v1` };
  const model = resolveModel('openai-compatible:x', { env });
  const long = { messages: [userContent('word '.repeat(8000))] };
  await assert.rejects(answerOf(model, long), { code: 'too-long' });
  assert.equal(model.contextWindow, 7500);
});

const TOO_LONG: [text: string, size: number | undefined][] = [
  ["This model's maximum context length is 8192 tokens. However, you requested 10000", 8192],
  ['The decoder prompt (length 5000) is longer than the maximum model length of 4096.', 4096],
  ['prompt is too long: 210000 tokens > 200000 maximum', 200_000],
  ['input length and `max_tokens` exceed context limit: 198000 + 20000 > 200000', 200_000],
  [
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    1_048_576,
  ],
  [
    'request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it',
    4096,
  ],
  ['the model is loaded with context length of only 4096 tokens, which is not enough.', 4096],
  ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length', 32_768],
  ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072],
  ['`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens', 4096],
  ["The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096],
  ['Your input exceeds the context window of this model.', undefined],
  ['Input is too long for requested model.', undefined],
];
test('the texts of the vendors about long conversations are understood', () => {
  for (const [text, size] of TOO_LONG) {
    assert(saysTooLong(text), text);
    assert.equal(contextWindowIn(text), size, text);
  }
  for (const text of ['Invalid value for max_tokens', 'tool 4096 not found', '']) {
    assert(!saysTooLong(text), text);
    assert.equal(contextWindowIn(text), undefined, text);
  }
});

for (const status of [404, 405]) {
  test(`a server without /responses (${status}) is asked for chat completions, and not again`, async () => {
    await using server = await fakeVendor(({ path }): Reply => {
      if (path === '/v1/chat/completions') return { events: openaiCompatible.answer };
      return { status, body: { detail: 'Not Found' } };
    });
    const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: server.url };
    const model = resolveModel('openai:llama', { env });
    assert.equal(model.searchesWeb, true);
    assert.equal(saidIn(await answerOf(model, hello)), 'It is sunny.');
    assert.equal(model.searchesWeb, false);
    const other = resolveModel('openai:other', { env });
    assert.equal(saidIn(await answerOf(other, hello)), 'It is sunny.');
    assert.deepEqual(
      server.asked.map(({ path }) => path),
      ['/v1/responses', '/v1/chat/completions', '/v1/chat/completions'],
    );
    assert.equal(server.asked[2]?.headers.authorization, 'Bearer k');
    assert(!('store' in Object(server.asked[2]?.body)), 'no options of the other API');
  });
}

test('an unknown model of a server with /responses stays unknown', async () => {
  await using server = await fakeVendor(({ path, body }): Reply =>
    path === '/v1/responses' && Reflect.get(Object(body), 'model') === 'gpt'
      ? { events: openai.answer }
      : { status: 404, body: openai.error(404, 'The model does not exist') },
  );
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: server.url };
  await assert.rejects(answerOf(resolveModel('openai:x', { env }), hello), { code: 'not-found' });
  assert.equal(saidIn(await answerOf(resolveModel('openai:gpt', { env }), hello)), 'It is sunny.');
});

test('a provider of the settings has its own address, key and size', async () => {
  await using server = await fakeVendor(() => ({ events: openaiCompatible.answer }));
  const providers = {
    router: {
      baseUrl: `${server.url}/api/v1`,
      apiKeyVariable: 'ROUTER_KEY',
      contextWindow: 1000,
      models: { 'qwen/coder': { contextWindow: 262_144 } },
    },
  };
  const env = { ROUTER_KEY: 'secret', OPENAI_API_KEY: 'other' };
  const model = resolveModel('router:qwen/coder', { env, providers });
  assert.equal(model.contextWindow, 262_144);
  assert.equal(resolveModel('router:else', { env, providers }).contextWindow, 1000);
  assert.equal(saidIn(await answerOf(model, hello)), 'It is sunny.');
  assert.equal(server.asked[0]?.path, '/api/v1/chat/completions');
  assert.equal(server.asked[0]?.headers.authorization, 'Bearer secret');
  assert.throws(
    () => resolveModel('router:x', { env: {}, providers, checkKey: true }),
    (error) => error instanceof ModelError && /router:x needs ROUTER_KEY/.test(error.message),
  );
  assert.throws(() => resolveModel('roter:x', { providers }), /did you mean router:NAME\?/);
});

test('an address that a server listens on becomes one that a client can use', () => {
  const baseURL = (OLLAMA_HOST: string) => serverOf('ollama', { OLLAMA_HOST })?.baseURL;
  assert.equal(baseURL('0.0.0.0'), 'http://127.0.0.1:11434/v1');
  assert.equal(baseURL('0.0.0.0:8080'), 'http://127.0.0.1:8080/v1');
  assert.equal(baseURL(':8080'), 'http://127.0.0.1:8080/v1');
  assert.equal(baseURL('https://gpu.example'), 'https://gpu.example/v1');
  assert.equal(baseURL('gpu.example'), 'http://gpu.example:11434/v1');
  assert.equal(baseURL('[2001:db8::1]'), 'http://[2001:db8::1]:11434/v1');
  // 80 is the default port of http, and so no longer in the URL.
  assert.equal(baseURL('gpu.example:80'), 'http://gpu.example/v1');
  assert.equal(baseURL('[2001:db8::1]:80'), 'http://[2001:db8::1]/v1');
  assert.equal(baseURL('gpu.example:80/api'), 'http://gpu.example/api');
  assert.equal(baseURL(':80'), 'http://127.0.0.1/v1');
  assert.equal(baseURL(''), 'http://127.0.0.1:11434/v1');
  assert.match(
    serverOf('ollama', { OLLAMA_HOST: 'a b' })!.problem!('m').message,
    /OLLAMA_HOST is not/,
  );
});
