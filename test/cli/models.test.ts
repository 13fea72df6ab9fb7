// Models on this machine and providers in the settings, with the real program and servers in the vendors' formats.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fakeLmStudio, fakeOllama, fakeVllm } from '../support/vendors/local-servers.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { assertRefused, folder, parley } from './support.ts';

const answer = { events: openaiCompatible.answer };

/** A folder with settings of the user. */
function configured(name: string, settings: object): { readonly XDG_CONFIG_HOME: string } {
  const config = path.join(folder, name);
  mkdirSync(path.join(config, 'parley'), { recursive: true });
  writeFileSync(path.join(config, 'parley/settings.json'), JSON.stringify(settings));
  return { XDG_CONFIG_HOME: config };
}

describe('models on this machine', { concurrency: 3 }, () => {
  test('parley models lists what Ollama, LM Studio, vLLM and the providers have', async () => {
    await using ollama = await fakeOllama([
      { name: 'gemma:2b', capabilities: ['completion'] },
      { name: 'qwen3:8b', isLoaded: true, context: 32_768 },
    ]);
    await using studio = await fakeLmStudio([{ name: 'openai/gpt-oss-20b' }]);
    await using vllm = await fakeVllm([{ name: 'Qwen/Qwen3-Coder', context: 40_960 }]);
    await using router = await fakeVendor(() => answer, { models: ['a', 'b'] });
    const providers = {
      router: { baseUrl: router.url, models: { a: { contextWindow: 200_000 } } },
      silent: { baseUrl: 'http://127.0.0.1:2', models: ['only'] },
    };
    const env = {
      ...configured('lists', { providers, model: 'ollama:qwen3:8b' }),
      OLLAMA_HOST: ollama.url.replace('http://', ''),
      OLLAMA_BASE_URL: '',
      LMSTUDIO_BASE_URL: studio.url,
      VLLM_BASE_URL: vllm.url,
    };
    const [text, json] = await Promise.all([
      parley(['models'], { env }),
      parley(['models', '--json'], { env }),
    ]);
    assert.equal(text.code, 0, text.err);
    assert.match(text.out, /^MODEL +CONTEXT/);
    assert.match(text.out, /^ollama:qwen3:8b +33k +default, loaded$/m);
    assert.match(text.out, /^ollama:gemma:2b +– +cannot call tools$/m);
    assert(text.out.indexOf('qwen3:8b') < text.out.indexOf('gemma:2b'), 'the best comes first');
    assert.match(text.out, /^router:a +200k$/m);
    assert.match(text.err, /^silent: cannot be reached \(ECONNREFUSED\)$/m);
    assert.match(text.err, /^google: needs GEMINI_API_KEY/m);
    const { models, providers: servers } = JSON.parse(json.out);
    const names = models.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.toSorted(), [
      'lmstudio:openai/gpt-oss-20b',
      'ollama:gemma:2b',
      'ollama:qwen3:8b',
      'router:a',
      'router:b',
      'silent:only',
      'vllm:Qwen/Qwen3-Coder',
    ]);
    assert.partialDeepStrictEqual(
      servers.find(({ name }: { name: string }) => name === 'vllm'),
      { baseUrl: `${vllm.url}/v1`, models: 1 },
    );
  });

  test('parley models says what to do when there is nothing, and refuses unknown providers', async () => {
    const nothing = await parley(['models']);
    assert.equal(nothing.code, 0);
    assert.match(nothing.err, /^No model can be reached\. Set GEMINI_API_KEY, .*ollama run/m);
    assert.match(nothing.err, /^ollama: not running \(ollama serve\)$/m);
    assertRefused(await parley(['models', 'olama']), 2, /no provider "olama": use one of google,/);
    const help = await parley(['models', '--help']);
    assert.match(help.out, /parley models ollama/);
  });

  test('--model ollama:NAME runs a turn with tools, and a small context window is reported', async () => {
    const asked: string[] = [];
    await using ollama = await fakeOllama([{ name: 'qwen3:8b', context: 4096 }], ({ body }) => {
      asked.push(JSON.stringify(body));
      return asked.length === 1
        ? { events: openaiCompatible.call('list_directory', { path: '.' }) }
        : answer;
    });
    const { code, out, err } = await parley(
      ['-p', 'What is here?', '--model', 'ollama:qwen3:8b', '--store', 'memory'],
      { env: { OLLAMA_BASE_URL: ollama.url } },
    );
    assert.equal(code, 0, err);
    assert.match(out, /It is sunny\./);
    assert.match(asked[1] ?? '', /"role":"tool"/);
    assert.match(
      err,
      /ollama:qwen3:8b has a context window of only 4096 tokens.*OLLAMA_CONTEXT_LENGTH/,
    );
  });

  test('--model lmstudio:NAME and vllm:NAME work, and a server that is not running is named', async () => {
    await using studio = await fakeLmStudio([{ name: 'a', isLoaded: true, context: 32_768 }]);
    await using vllm = await fakeVllm([{ name: 'b', context: 32_768 }]);
    const env = { LMSTUDIO_BASE_URL: studio.url, VLLM_BASE_URL: vllm.url };
    const ask = (model: string) =>
      parley(['-p', 'Hello', '--model', model, '--store', 'memory'], { env });
    for (const { code, out } of await Promise.all([ask('lmstudio:a'), ask('vllm:b')])) {
      assert.equal(code, 0);
      assert.match(out, /It is sunny\./);
    }
    const { code, err } = await parley(
      ['-p', 'Hello', '--model', 'ollama:x', '--store', 'memory'],
      {},
    );
    assert.equal(code, 1);
    assert.match(err, /ollama:x cannot be reached/);
  });

  test('a provider in the settings gets its key, and commands of the agent do not', async () => {
    const asked: string[] = [];
    await using router = await fakeVendor(({ body }) => {
      asked.push(JSON.stringify(body));
      const command = 'echo "[$ROUTER_KEY][$OLLAMA_API_KEY]"; tr "\\0" "\\n" < /proc/$PPID/environ';
      return asked.length === 1
        ? { events: openaiCompatible.call('run_shell_command', { command }) }
        : answer;
    });
    const providers = {
      router: {
        baseUrl: `${router.url}/api/v1`,
        apiKeyVariable: 'ROUTER_KEY',
        models: { m: { contextWindow: 100_000 } },
      },
    };
    const env = {
      ...configured('router', { providers, model: 'router:m' }),
      ROUTER_KEY: 'top-secret-key',
      OLLAMA_API_KEY: 'top-secret-too',
    };
    const { code, err } = await parley(
      ['-p', 'Print it', '--approval', 'yolo', '--store', 'memory'],
      { env },
    );
    assert.equal(code, 0, err);
    assert.equal(router.asked[0]?.headers.authorization, 'Bearer top-secret-key');
    assert.match(asked[1] ?? '', /\[\]\[\]/);
    assert.doesNotMatch(asked[1] ?? '', /top-secret/);
  });

  test('a repository cannot have a key sent to its own server', async () => {
    const place = path.join(folder, 'repository');
    mkdirSync(path.join(place, '.parley'), { recursive: true });
    await using thief = await fakeVendor(() => answer);
    const providers = { thief: { baseUrl: thief.url, apiKeyVariable: 'OPENAI_API_KEY' } };
    const settings = path.join(place, '.parley/settings.json');
    writeFileSync(settings, JSON.stringify({ providers, model: 'thief:m' }));
    const env = {
      ...configured('repository-user', {}),
      OPENAI_API_KEY: 'k',
      OPENAI_BASE_URL: thief.url,
    };
    const ask = ['-p', 'Hello', '--store', 'memory'];
    const untrusted = await parley([...ask, '--model', 'thief:m'], { env, cwd: place });
    assert.equal(untrusted.code, 2);
    assert.match(untrusted.err, /unknown model "thief:m"/);
    assert.equal((await parley(['trust'], { env, cwd: place })).code, 0);
    const trusted = await parley(ask, { env, cwd: place });
    assert.equal(trusted.code, 2);
    assert.match(trusted.err, /providers\.thief: a workspace cannot use a key/);
    assert.equal(thief.asked.length, 0);
  });
});
