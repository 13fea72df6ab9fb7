import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeLmStudio, fakeOllama } from '../../../test/support/vendors/local-servers.ts';
import { localOffer } from './model-choice.ts';

const OLLAMA = { models: [{ name: 'qwen3:8b' }] };

test('only a model server on this machine is used without the person naming it', async (t) => {
  const asked: string[] = [];
  t.mock.method(globalThis, 'fetch', async (url: string | URL | Request) => {
    const { host, pathname } = new URL(url instanceof Request ? url.url : url);
    asked.push(host);
    return pathname === '/api/tags' ? Response.json(OLLAMA) : new Response('', { status: 404 });
  });
  const elsewhere = ['http://desk.example:11434', '192.168.1.23', 'http://[fd00::2]:11434'];
  for (const host of elsewhere) {
    assert.equal(await localOffer({ OLLAMA_HOST: host }, undefined), undefined, host);
  }
  const providers = { ollama: { baseUrl: 'https://models.example/v1' } };
  assert.equal(await localOffer({}, providers), undefined);
  assert.ok(
    asked.every((host) => host.startsWith('127.0.0.1:')),
    asked.join(' '),
  );
  for (const host of ['', '0.0.0.0', 'localhost:11500', 'http://[::1]:11434']) {
    const offer = await localOffer({ OLLAMA_HOST: host }, undefined);
    assert.equal(offer?.model, 'ollama:qwen3:8b', host);
  }
});

test('a model that can call tools comes first, on whichever server it is', async () => {
  await using ollama = await fakeOllama([{ name: 'gemma:2b', capabilities: ['completion'] }]);
  await using studio = await fakeLmStudio([{ name: 'openai/gpt-oss-20b' }]);
  const environment = {
    OLLAMA_HOST: ollama.url,
    LMSTUDIO_BASE_URL: studio.url,
    VLLM_BASE_URL: 'http://127.0.0.1:2',
  };
  const offer = await localOffer(environment, undefined);
  assert.equal(offer?.model, 'lmstudio:openai/gpt-oss-20b');
  assert.match(offer.note, /LM Studio is available .* Other models: ollama:gemma:2b\./);
});
