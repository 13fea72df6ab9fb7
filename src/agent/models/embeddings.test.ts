import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeVendor, type Reply } from '../../../test/support/vendors/server.ts';
import { ModelError } from '../model.ts';
import { offlineEmbeddings } from './embeddings.ts';
import { vendorEmbeddings } from './vendor-model.ts';

const never = new AbortController().signal;
const KEY = 'sk-secret-0123456789';

function openaiReply(...vectors: unknown[]): Reply {
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
  return {
    status: 200,
    body: { object: 'list', data, usage: { prompt_tokens: 4, total_tokens: 4 } },
  };
}

async function embed(type: string, reply: Reply, texts: readonly string[], timeoutMs = 5000) {
  await using vendor = await fakeVendor([reply]);
  const settings = { baseURL: `${vendor.url}/v1`, apiKey: KEY };
  const model = vendorEmbeddings(type, 'vec', settings, { timeoutMs });
  return { ...(await model.embed(texts, never)), asked: vendor.asked };
}

async function failure(work: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof ModelError, String(error));
  assert.doesNotMatch(error.message, /secret/);
  return error;
}

for (const type of ['openai', 'openai-compatible']) {
  test(`${type}: one vector for each text, and the tokens`, async () => {
    const { vectors, inputTokens, asked } = await embed(type, openaiReply([1, 2], [3, 4]), [
      'a',
      'b',
    ]);
    assert.deepEqual(vectors, [
      [1, 2],
      [3, 4],
    ]);
    assert.equal(inputTokens, 4);
    assert.equal(asked[0]?.path, '/v1/embeddings');
    assert.partialDeepStrictEqual(asked[0]?.body, { model: 'vec', input: ['a', 'b'] });
  });
}

test('google: one vector for each text', async () => {
  const body = { embeddings: [{ values: [1, 2] }, { values: [3, 4] }] };
  const { vectors } = await embed('google', { status: 200, body }, ['a', 'b']);
  assert.equal(vectors.length, 2);
});

test('anthropic has no embedding models, and the error says so', () => {
  const settings = { baseURL: 'http://127.0.0.1:1' };
  assert.throws(() => vendorEmbeddings('anthropic', 'c', settings), /no embedding models/);
});

const wrong: Readonly<Record<string, Reply>> = {
  'too few vectors': openaiReply([1, 2]),
  'vectors of different lengths': openaiReply([1, 2], [3]),
  'vectors without numbers': openaiReply([], []),
  HTML: { status: 200, body: '<html></html>', headers: { 'content-type': 'text/html' } },
};
for (const [what, reply] of Object.entries(wrong)) {
  test(`${what}: an error`, async () => {
    const { code } = await failure(embed('openai', reply, ['a', 'b']));
    assert.notEqual(code, 'invalid-request');
  });
}

test('a vendor that does not answer causes a timeout', async () => {
  const { code, retryable } = await failure(embed('openai', 'silence', ['a'], 50));
  assert.equal(code, 'timeout');
  assert.equal(retryable, true);
});

test('a refused key is reported as such', async () => {
  const body = { error: { message: `Incorrect API key: ${KEY}`, type: 'x', code: 'y' } };
  assert.equal((await failure(embed('openai', { status: 401, body }, ['a']))).code, 'bad-key');
});

test('too many texts are refused before a request', async () => {
  const texts = Array.from({ length: 2049 }, () => 'a');
  assert.equal((await failure(embed('openai', openaiReply(), texts))).code, 'too-long');
});

test('offline: the same text has the same vector, of length 1, and common words make texts more similar', async () => {
  const texts = ['red apple', 'Red apple!', 'red pear', 'blue sky', ''];
  const { vectors } = await offlineEmbeddings().embed(texts, never);
  const dot = (one: number, other: number) =>
    (vectors[one] ?? []).reduce((sum, value, at) => sum + value * (vectors[other]?.[at] ?? 0), 0);
  for (const at of texts.keys()) assert(Math.abs(dot(at, at) - 1) < 1e-9);
  assert.deepEqual(vectors[0], vectors[1]);
  assert(dot(0, 2) > dot(0, 3));
});
