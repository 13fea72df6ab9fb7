import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ConfigError, configJsonSchema, loadConfig, parseConfig } from './config.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-config-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function problemsOf(text: string, environment = {}): readonly string[] {
  try {
    parseConfig('gateway.json', text, environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

test('comments, variables and the address of the schema are taken', () => {
  const text = `{
    "$schema": "./gateway.schema.json", // for the editor
    "providers": { "east": { "type": "openai", "apiKey": "\${EAST_KEY}", "baseUrl": "https://\${HOST}/v1" } },
    "models": { "fast": { "routes": [{ "provider": "east", "model": "m" }, { "provider": "offline" }] } },
    "agents": { "travel": { "url": "http://127.0.0.1:4000", "description": "costs $\${5}" } },
    "drainSeconds": 30,
  }`;
  const { config, variables } = parseConfig('f', text, { EAST_KEY: 'k-1', HOST: 'h.example' });
  assert.equal(config.providers?.['east']?.apiKey, 'k-1');
  assert.equal(config.providers['east'].baseUrl, 'https://h.example/v1');
  assert.equal(config.agents?.['travel']?.description, 'costs ${5}');
  assert.deepEqual([config.drainSeconds, variables], [30, ['EAST_KEY', 'HOST']]);
});

test('everything that is wrong is said at once, with its line and field', () => {
  const text = `{
    "providers": {
      "east": { "type": "openay" },
      "west": { "type": "openai", "apiKey": "\${WEST_KEY}", "colour": 1 }
    },
    "cors": ["https://app.example/path"],
    "drainSeconds": "long",
    "agent": {},
    "agents": { "Trip planner": { "url": "http://127.0.0.1:4000" }, "travel": {} }
  }`;
  assert.deepEqual(
    problemsOf(text).map((line) => line.replace(/(expected|a name has at most).*/, '$1')),
    [
      'gateway.json:3: providers.east.type: Invalid option: expected',
      'gateway.json:4: providers.west.apiKey: the environment variable WEST_KEY is not set',
      'gateway.json:4: providers.west.colour: there is no such setting',
      'gateway.json:6: cors.0: must be an origin such as https://app.example, without a path, or *',
      'gateway.json:7: drainSeconds: expected',
      'gateway.json:8: agent: there is no such setting',
      'gateway.json:9: agents.Trip planner: a name has at most',
      'gateway.json:9: agents.travel.url: it is missing',
    ],
  );
});

test('a model whose provider is not there is named, and so is a script', () => {
  const text = `{ "providers": { "east": { "type": "scripted", "file": "none.json" } },
    "models": { "fast": { "provider": "eats" } } }`;
  assert.deepEqual(problemsOf(text), [
    'gateway.json:1: providers.east.file: no such file',
    'gateway.json:2: models.fast.provider: unknown provider "eats"; known providers: east, offline',
  ]);
});

test('a vendor whose key is in the environment is a provider, as it is when the gateway runs', () => {
  const text = '{ "models": { "fast": { "provider": "openai", "model": "m" } } }';
  assert.deepEqual(problemsOf(text, { OPENAI_API_KEY: 'k' }), []);
  assert.match(problemsOf(text).join(), /unknown provider "openai"; known providers: offline$/);
});

test('what is no JSON is named with its line', () => {
  assert.deepEqual(problemsOf('{\n  "a" 1 }'), ['gateway.json:2: ":" is expected, found "1"']);
});

test('an address has no password in it: it would be in every log', () => {
  const text = `{
    "providers": { "a": { "type": "openai", "baseUrl": "https://ann:hush@h.example/v1" } },
    "telemetry": { "endpoint": "https://ann:hush@h.example" }
  }`;
  assert.deepEqual(problemsOf(text), [
    'gateway.json:2: providers.a.baseUrl: must be an http or https address without credentials',
    'gateway.json:3: telemetry.endpoint: must be an http or https address without credentials',
  ]);
});

test('a problem does not show what a variable holds', () => {
  const text = '{ "providers": { "a": { "type": "openai", "baseUrl": "${SECRET}" } } }';
  const problems = problemsOf(text, { SECRET: 'hush-hush' });
  assert.equal(problems.length, 1);
  assert.doesNotMatch(problems.join(), /hush/);
});

test('a file with a secret that others may read is warned about, one with variables is not', async () => {
  const file = path.join(folder, 'gateway.json');
  const warningsOf = async (apiKey: string, mode: number) => {
    writeFileSync(file, `{ "providers": { "a": { "type": "openai", "apiKey": "${apiKey}" } } }`);
    chmodSync(file, mode);
    return (await loadConfig(file, { A_KEY: 'k' })).warnings;
  };
  const [warning, ...more] = await warningsOf('sk-secret', 0o644);
  assert.match(warning ?? '', /contains secrets and is readable by other users: run chmod 600/);
  assert.doesNotMatch(warning ?? '', /sk-secret/);
  assert.deepEqual(more, []);
  assert.deepEqual(await warningsOf('sk-secret', 0o600), []);
  assert.deepEqual(await warningsOf('${A_KEY}', 0o644), []);
});

test('a provider that will want a key and has none is warned about', () => {
  const text = '{ "providers": { "a": { "type": "openai" }, "b": { "type": "offline" } } }';
  const { warnings } = parseConfig('f', text, {});
  assert.deepEqual(warnings, ['f: providers.a has no apiKey, and OPENAI_API_KEY is not set']);
  assert.deepEqual(parseConfig('f', text, { OPENAI_API_KEY: 'k' }).warnings, []);
});

test('a file that is not there is one line', async () => {
  const file = path.join(folder, 'none.json');
  await assert.rejects(loadConfig(file, {}), { message: `${file}: no such file` });
});

test('a pipe is read once; again, nobody is waited for, and what has no end is cut off', async (t) => {
  if (process.platform === 'win32') return t.skip('no pipes with names');
  const file = path.join(folder, 'pipe.json');
  execFileSync('mkfifo', [file]);
  const [{ config }] = await Promise.all([
    loadConfig(file, {}),
    writeFile(file, '{ "drainSeconds": 3 }'),
  ]);
  assert.equal(config.drainSeconds, 3);
  await assert.rejects(loadConfig(file, {}, { again: true }), {
    message: `${file}: is no longer a regular file`,
  });
  await assert.rejects(loadConfig('/dev/zero', {}), /larger than \d+ bytes/);
});

test('the published schema knows every field, and describes it', () => {
  const schema = configJsonSchema() as { properties: Record<string, { description?: string }> };
  const fields = Object.entries(schema.properties);
  assert.ok(fields.length >= 10);
  for (const [name, { description }] of fields) assert.ok(description, name);
});

test('a reference that leads nowhere is said together with what is wrong elsewhere', () => {
  const text = `{
    "providers": { "east": { "type": "openay" }, "west": { "type": "scripted", "file": "none.json" } },
    "models": {
      "fast": { "provider": "east" },
      "slow": { "routes": [{ "provider": "wset" }] }
    },
    "drainSeconds": "long"
  }`;
  const fields = problemsOf(text).map((line) => line.split(': ').slice(0, 2).join(': '));
  assert.deepEqual(fields, [
    'gateway.json:2: providers.east.type',
    'gateway.json:2: providers.west.file',
    'gateway.json:5: models.slow.routes.0.provider',
    'gateway.json:7: drainSeconds',
  ]);
});

function surprisesOf(value: object): readonly string[] {
  return parseConfig('f', JSON.stringify(value), {}).surprises;
}
const east = { type: 'openai', apiKey: 'k', models: ['big', 'small'] };

test('a configuration without a defaultModel is told which model tasks will use', () => {
  const text = 'f:1: providers: there is no defaultModel, so tasks that name no model use';
  assert.deepEqual(surprisesOf({ providers: { east } }), [
    `${text} "big": set defaultModel to choose another one`,
  ]);
  assert.deepEqual(surprisesOf({ providers: { east, west: east } }), [
    `${text} the offline model: set defaultModel`,
  ]);
  assert.deepEqual(surprisesOf({ providers: { east }, defaultModel: 'small' }), []);
  assert.match(surprisesOf({ providers: { east }, defaultModel: 'none' }).join(), /model card/);
});

test('routes to models that their provider does not list, and weights without effect, are told', () => {
  const routes = [
    { provider: 'east', model: 'bgi', weight: 0 },
    { provider: 'east', model: 'big', weight: 0 },
    { provider: 'east', model: 'big', weight: 0 },
  ];
  const models = { fast: { routes }, small: { provider: 'east' }, tiny: { provider: 'east' } };
  const bare = { type: 'openai', apiKey: 'k' };
  assert.deepEqual(
    surprisesOf({ providers: { east, bare }, models, defaultModel: 'fast' }).map((line) =>
      line.replace('f:1: ', ''),
    ),
    [
      'models.fast.routes.0: the provider east does not list the model "bgi"',
      'models.fast.routes: all weights are 0, so the first route is always tried first',
      'models.fast.routes.2: repeats an earlier route, so it is tried twice',
      'models.tiny: the provider east does not list the model "tiny"',
      'providers.bare: lists no models, and no model uses it, so only model cards can reach it',
    ],
  );
});

test('a budget in money for models without a price, and an issuer without a first key, are told', () => {
  const pricing = { inputPricePerToken: 1, outputPricePerToken: 1, currency: 'USD' };
  const config = {
    providers: { p: { type: 'offline' } },
    models: { free: { provider: 'p' }, paid: { provider: 'p', pricing } },
    defaultModel: 'free',
    budgets: { workspaces: { '*': { amount: 5, currency: 'USD', period: 'day' } } },
    keys: { oidc: { issuer: 'https://id.example', audience: 'parley' } },
  };
  const [price, key, ...more] = surprisesOf(config);
  assert.equal(
    price,
    'f:1: models.free: has no pricing, so callers with a budget in money cannot use it',
  );
  assert.match(key ?? '', /^f:1: keys\.oidc: .*creates no first key: .*parley keys create/);
  assert.deepEqual(more, []);
});

test('models of a provider are told as unpriced only if no entry of models has a price for them', () => {
  const pricing = { inputPricePerToken: 1, outputPricePerToken: 1, currency: 'USD' };
  const config = (models: object) => ({
    providers: { east: { ...east, embeddingModels: ['vectors'] } },
    models,
    defaultModel: 'big',
    budgets: { workspaces: { '*': { amount: 5, currency: 'USD', period: 'day' } } },
  });
  const big = { provider: 'east', pricing };
  const [without, ...more] = surprisesOf(config({ big }));
  assert.match(
    without ?? '',
    /^f:1: providers\.east: has models without a price \(small, vectors\)/,
  );
  assert.deepEqual(more, []);
  const alias = { routes: [{ provider: 'east', model: 'small' }], pricing };
  assert.deepEqual(surprisesOf(config({ big, alias, vectors: big })), []);
  const google = { type: 'google', apiKey: 'k', models: ['models/gemini-3', 'gemini-2'] };
  const three = { provider: 'google', model: 'gemini-3', pricing };
  const two = { provider: 'google', model: 'models/gemini-2', pricing };
  assert.deepEqual(
    surprisesOf({ ...config({ three, two }), providers: { google }, defaultModel: 'two' }),
    [],
  );
});

test('an invalid configuration has the warnings about its valid parts, too', () => {
  const value = {
    providers: { east: { type: 'openai', models: ['big'] } },
    models: { fast: { provider: 'east', model: 'bgi' } },
    defaultModel: 'fast',
    drainSeconds: -1,
    keys: { oidc: { issuer: 'https://id.example', audience: 'parley' } },
  };
  const errorOf = (given: object): ConfigError => {
    try {
      parseConfig('f', JSON.stringify(given), {}, true);
    } catch (error) {
      if (error instanceof ConfigError) return error;
    }
    throw new Error('the configuration is valid');
  };
  const { problems, warnings } = errorOf(value);
  assert.match(problems.join(), /^f:1: drainSeconds: [^,]*$/);
  assert.equal(warnings.length, 3);
  const all = warnings.join('\n');
  assert.match(all, /providers\.east has no apiKey, and OPENAI_API_KEY is not set/);
  assert.match(all, /models\.fast: the provider east does not list the model "bgi"/);
  assert.match(all, /keys\.oidc: .*creates no first key/);
  // If a provider is invalid, it is not known whether the default model exists.
  const invalid = { ...value, providers: { east: { type: 'openay' } }, defaultModel: 'other' };
  assert.doesNotMatch(errorOf(invalid).warnings.join(), /defaultModel/);
  const secret = { ...value, providers: { east: { type: 'openai', apiKey: 'sk-1' } } };
  assert.match(errorOf(secret).warnings.join(), /contains secrets and is readable by other users/);
});
