// A person without an API key: the real program on a pseudo-terminal, and Ollama's format on loopback.
import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fakeOllama } from '../support/vendors/local-servers.ts';
import { openTerminal } from './terminal.ts';

const NO_KEYS = {
  GEMINI_API_KEY: '',
  GOOGLE_API_KEY: '',
  ANTHROPIC_API_KEY: '',
  OPENAI_API_KEY: '',
};

async function open(t: TestContext, environment: Record<string, string>, flags: string[] = []) {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-tui-')));
  const terminal = openTerminal(
    'src/cli/main.ts',
    ['--workspace', folder, '--store', 'memory', ...flags],
    {
      environment: {
        ...NO_KEYS,
        PARLEY_HOME: folder,
        HOME: folder,
        XDG_CONFIG_HOME: folder,
        ...environment,
      },
    },
  );
  t.after(async () => {
    terminal.close();
    await rm(folder, { recursive: true, force: true });
  });
  await terminal.sees(/◆ Parley/);
  return terminal;
}

test('without a key, a model on this machine is offered instead of offline, and answers', async (t) => {
  await using ollama = await fakeOllama([
    { name: 'gemma:2b', capabilities: ['completion'] },
    { name: 'qwen3:8b', context: 32_768 },
  ]);
  const { type, sees } = await open(t, { OLLAMA_HOST: ollama.url, OLLAMA_BASE_URL: '' });
  await sees(/Ollama is available on this machine, so ollama:qwen3:8b/);
  type('Hello\r');
  await sees(/It is sunny\./);
  assert.equal(Reflect.get(Object(ollama.asked[0]?.body), 'model'), 'qwen3:8b');
});

test('nothing on this machine answers without questions in yolo mode', async (t) => {
  await using ollama = await fakeOllama([{ name: 'qwen3:8b' }]);
  const { sees } = await open(t, { OLLAMA_BASE_URL: ollama.url }, ['--approval', 'yolo']);
  await sees(/so the offline model answers/);
});
