import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf } from '../../../test/support/model.ts';
import { ModelError } from '../model.ts';
import { serverOf } from './model-servers.ts';
import { defaultModelName, resolveModel } from './resolve.ts';
import { scriptedModel } from './scripted.ts';

test('a Model is returned unchanged', () => {
  const model = scriptedModel([]);
  assert.equal(resolveModel(model), model);
});

test('well-known models have their context window', () => {
  const env = {};
  assert.equal(resolveModel('google:gemini-3.8-flash', { env }).contextWindow, 1_048_576);
  assert.equal(resolveModel('anthropic:claude-haiku-4-5', { env }).contextWindow, 200_000);
  assert.equal(resolveModel('openai:gpt-5', { env }).contextWindow, 400_000);
  assert.equal(resolveModel('openai-compatible:llama', { env }).contextWindow, undefined);
});

const wrong: [string, RegExp][] = [
  ['gogle:gemini-x', /did you mean google:gemini-x\?/],
  ['opnai-compatible:x', /did you mean openai-compatible:NAME\?/],
  ['gemini-3.8-flash', /did you mean google:gemini-3\.8-flash\?/],
  ['claude-sonnet-5-5', /did you mean anthropic:claude-sonnet-5-5\?/],
  ['openai/gpt-5', /did you mean openai:gpt-5\?/],
  ['ofline', /did you mean offline\?/],
  ['google:', /did you mean google:NAME\?/],
  ['scripted', /did you mean scripted:FILE\?/],
  ['__proto__:x', /unknown model "__proto__:x": Use one of google:NAME, anthropic:NAME, /],
  ['', /unknown model "": Use one of/],
  ['x'.repeat(100_000), /^ModelError: unknown model "x{80}"/],
];
for (const [name, says] of wrong) {
  test(`${JSON.stringify(name.slice(0, 30))} is refused with a hint`, () => {
    assert.throws(() => resolveModel(name), says);
  });
}

test('a missing key is reported at the first request, or at once with checkKey', async () => {
  const says = { code: 'no-key', message: /^google:x needs GEMINI_API_KEY: set it/ };
  for (const env of [{}, { GEMINI_API_KEY: ' ' }]) {
    assert.throws(() => resolveModel('google:x', { env, checkKey: true }), says);
    const model = resolveModel('google:x', { env });
    await assert.rejects(answerOf(model, { messages: [] }), says);
  }
});

test('an openai-compatible model needs an address and no key', () => {
  const options = { checkKey: true };
  const name = 'openai-compatible:llama';
  assert.throws(
    () => resolveModel(name, { env: {}, ...options }),
    /needs OPENAI_COMPATIBLE_BASE_URL/,
  );
  for (const address of ['nonsense', 'file:///etc/passwd', 'http://user:secret@host/v1']) {
    const env = { OPENAI_COMPATIBLE_BASE_URL: address };
    assert.throws(
      () => resolveModel(name, { env, ...options }),
      (error) => {
        assert(error instanceof ModelError);
        assert.match(error.message, /OPENAI_COMPATIBLE_BASE_URL is not a valid address/);
        return true;
      },
    );
  }
  const env = { OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:11434/v1' };
  assert.equal(resolveModel(name, { env, ...options }).name, name);
});

test('the address of an openai-compatible server is complete with and without /v1', () => {
  for (const OPENAI_COMPATIBLE_BASE_URL of ['http://host:8000', 'http://host:8000/']) {
    const server = serverOf('openai-compatible', { OPENAI_COMPATIBLE_BASE_URL });
    assert.equal(server?.baseURL, 'http://host:8000/v1');
  }
  for (const OPENAI_COMPATIBLE_BASE_URL of ['http://host:8000/v1', 'http://host:8000/api/v3']) {
    const server = serverOf('openai-compatible', { OPENAI_COMPATIBLE_BASE_URL });
    assert.equal(server?.baseURL, OPENAI_COMPATIBLE_BASE_URL);
  }
});

test('the first key that is set decides the default model', () => {
  assert.equal(defaultModelName({}), 'offline');
  assert.equal(defaultModelName({ GEMINI_API_KEY: '' }), 'offline');
  assert.match(defaultModelName({ OPENAI_API_KEY: 'k' }), /^openai:/);
  assert.match(defaultModelName({ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }), /^anthropic:/);
  assert.match(defaultModelName({ GOOGLE_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }), /^google:/);
});

test('a model that is named in the environment is the default, whatever keys there are', () => {
  const env = { PARLEY_MODEL: 'openai:gpt-6', GEMINI_API_KEY: 'k' };
  assert.equal(defaultModelName(env), 'openai:gpt-6');
  assert.match(defaultModelName({ ...env, PARLEY_MODEL: ' ' }), /^google:/);
});

test('check() reports a missing key before the first request', () => {
  const without = resolveModel('google:x', { env: {} });
  assert.throws(() => without.check?.(), { name: 'ModelError', code: 'no-key' });
  const withKey = resolveModel('google:x', { env: { GEMINI_API_KEY: 'k' } });
  assert.doesNotThrow(() => withKey.check?.());
  assert.equal(typeof withKey.check, 'function');
});
