import assert from 'node:assert/strict';
import {
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runTogether } from '../../../test/support/processes.ts';
import type { PolicyRule } from '../approval/rule.ts';
import { settingsJsonSchema } from './schema.ts';
import {
  loadSettings,
  mergeSettings,
  parseSettings,
  removeRules,
  saveRule,
  SettingsError,
  userRules,
} from './settings.ts';
import { isTrusted, trust } from './trust.ts';

async function folders(t: TestContext) {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-settings-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  const config = path.join(root, 'config', 'parley');
  const workspace = path.join(root, 'workspace');
  await mkdir(config, { recursive: true });
  await mkdir(path.join(workspace, '.parley'), { recursive: true });
  return { root, config, workspace };
}

const rule = (pattern: string): PolicyRule => ({
  tool: 'run_shell_command',
  pattern,
  decision: 'allow',
});

test('without files there are no settings', async (t) => {
  const { config, workspace } = await folders(t);
  assert.deepEqual(await loadSettings({ configFolder: config, workspace, trusted: true }), {
    settings: {},
    userRules: 0,
    files: [],
    ignored: [],
  });
});

test("a workspace's settings count only when it is trusted", async (t) => {
  const { config, workspace } = await folders(t);
  const mine = path.join(config, 'settings.json');
  const theirs = path.join(workspace, '.parley', 'settings.json');
  await writeFile(mine, '{ "approval": "ask", /* mine */ "model": "offline" }');
  await writeFile(theirs, '{ "approval": "yolo", }');
  assert.deepEqual(await loadSettings({ configFolder: config, workspace, trusted: false }), {
    settings: { approval: 'ask', model: 'offline' },
    userRules: 0,
    files: [mine],
    ignored: [],
    untrusted: theirs,
  });
  assert.deepEqual(await loadSettings({ configFolder: config, workspace, trusted: true }), {
    settings: { approval: 'yolo', model: 'offline' },
    userRules: 0,
    files: [mine, theirs],
    ignored: [],
  });
});

test('commands of an untrusted workspace are reported like its settings', async (t) => {
  const { config, workspace } = await folders(t);
  const commands = path.join(workspace, '.parley', 'commands');
  await mkdir(commands);
  const { untrusted } = await loadSettings({ configFolder: config, workspace, trusted: false });
  assert.equal(untrusted, commands);
});

test('a rule that can never match is refused, with its line', () => {
  const text = `{
    "policy": [
      { "tool": "run_shell_command", "pattern": "git status", "decision": "allow" },
      { "tool": "run_shell_command", "pattern": "git status && rm", "decision": "deny" }
    ]
  }`;
  assert.throws(
    () => parseSettings('settings.json', text),
    /^SettingsError: settings\.json:4: policy\.1: "git status && rm" is not the start of a single command/,
  );
});

test('an invalid file in an untrusted workspace is not an error', async (t) => {
  const { config, workspace } = await folders(t);
  await writeFile(path.join(workspace, '.parley', 'settings.json'), '{ nonsense');
  const { settings } = await loadSettings({ configFolder: config, workspace, trusted: false });
  assert.deepEqual(settings, {});
});

test("a workspace's settings are its own file, not one that a link leads to", async (t) => {
  const { root, config, workspace } = await folders(t);
  await writeFile(path.join(root, 'elsewhere.json'), '{}');
  const link = path.join(workspace, '.parley', 'settings.json');
  await symlink(path.join(root, 'elsewhere.json'), link);
  await assert.rejects(
    loadSettings({ configFolder: config, workspace, trusted: true }),
    SettingsError,
  );
  const { untrusted } = await loadSettings({ configFolder: config, workspace, trusted: false });
  assert.equal(untrusted, link);
});

test("a workspace's settings are in .parley, not where a link to other files of the workspace leads", async (t) => {
  const { config, workspace } = await folders(t);
  const own = path.join(workspace, '.parley');
  await mkdir(path.join(workspace, 'docs'));
  await writeFile(path.join(workspace, 'docs', 'settings.json'), '{ "approval": "yolo" }');
  const load = () => loadSettings({ configFolder: config, workspace, trusted: true });
  await symlink('../docs/settings.json', path.join(own, 'settings.json'));
  await assert.rejects(load(), /settings\.json is outside .*\.parley/);
  await rm(own, { recursive: true });
  await symlink('docs', own);
  await assert.rejects(load(), /settings\.json is outside .*\.parley/);
});

test('an invalid permission is reported and ignored, and stays in the file; other invalid rules are errors', async (t) => {
  const { config, workspace } = await folders(t);
  const file = path.join(config, 'settings.json');
  const permission = (more: object) => ({ ...rule('a'), workspace, ...more });
  const policy = [
    permission({ pattern: 'x'.repeat(4097) }),
    rule('first'),
    permission({ tool: 'fetch_url', pattern: '.example.com' }),
    permission({ pattern: 'second' }),
  ];
  await writeFile(file, JSON.stringify({ policy }, null, 1));
  const {
    settings,
    ignored,
    userRules: count,
  } = await loadSettings({ configFolder: config, trusted: false });
  assert.deepEqual(settings.policy, [policy[1], policy[3]]);
  assert.equal(count, 2);
  assert.match(ignored[0]!, /settings\.json:3: policy\.0: this permission is ignored: .*4096/);
  assert.match(
    ignored[1]!,
    /policy\.2: this permission is ignored: "\.example\.com" is not a host/,
  );
  await saveRule(config, rule('third'));
  await removeRules(config, ({ pattern }) => pattern === 'second');
  const left = [...policy.slice(0, 3), rule('third')];
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { policy: left });
  for (const invalid of [
    { ...policy[0], decision: 'deny' },
    { ...policy[0], workspace: undefined },
  ]) {
    await writeFile(file, JSON.stringify({ policy: [invalid] }));
    await assert.rejects(
      loadSettings({ configFolder: config, trusted: false }),
      /policy\.0\.pattern/,
    );
  }
});

test('an invalid rule is not saved, also if there are no settings yet', async (t) => {
  const { config } = await folders(t);
  const invalid: PolicyRule = { tool: 'fetch_url', pattern: 'https://x', decision: 'allow' };
  for (const each of [invalid, { ...invalid, workspace: '/' }, rule('x'.repeat(4097))]) {
    await assert.rejects(saveRule(config, each), { name: 'SettingsError' });
  }
  await assert.rejects(stat(path.join(config, 'settings.json')), { code: 'ENOENT' });
});

test('merging appends rules, merges servers and limits by name, and replaces the rest', () => {
  const merged = mergeSettings(
    {
      theme: 'dark',
      policy: [rule('a')],
      mcpServers: { x: { command: 'x' }, y: { command: 'y' } },
      limits: { maxSteps: 1, maxTokens: 2 },
    },
    {
      theme: 'light',
      policy: [rule('b')],
      mcpServers: { y: { url: 'http://y' } },
      limits: { maxSteps: 3 },
    },
  );
  assert.deepEqual(merged, {
    theme: 'light',
    policy: [rule('a'), rule('b')],
    mcpServers: { x: { command: 'x' }, y: { url: 'http://y' } },
    limits: { maxSteps: 3, maxTokens: 2 },
  });
});

test('a workspace cannot choose where notifications are sent', async (t) => {
  const { config, workspace } = await folders(t);
  const theirs = path.join(workspace, '.parley', 'settings.json');
  await writeFile(theirs, '{ "notify": { "url": "https://evil.example/" }, "theme": "light" }');
  const load = async () =>
    (await loadSettings({ configFolder: config, workspace, trusted: true })).settings;
  assert.deepEqual(await load(), { theme: 'light' });
  const notify = { url: 'https://ntfy.example/topic', headers: { authorization: 'PARLEY_NTFY' } };
  await writeFile(path.join(config, 'settings.json'), JSON.stringify({ notify }));
  assert.deepEqual((await load()).notify, notify);
});

test('a trusted workspace may add providers, but never gets a key', async (t) => {
  const { config, workspace } = await folders(t);
  const theirs = path.join(workspace, '.parley', 'settings.json');
  const router = { baseUrl: 'https://router.example/v1', apiKeyVariable: 'ROUTER_KEY' };
  await writeFile(path.join(config, 'settings.json'), JSON.stringify({ providers: { router } }));
  const load = async (providers: object) => {
    await writeFile(theirs, JSON.stringify({ providers }));
    return (await loadSettings({ configFolder: config, workspace, trusted: true })).settings;
  };
  const team = { baseUrl: 'http://10.0.0.7:8000/v1', models: ['qwen3'] };
  assert.deepEqual((await load({ team, router: { baseUrl: 'https://evil.example' } })).providers, {
    team: { ...team, models: { qwen3: {} } },
    router,
  });
  for (const [name, provider] of Object.entries({
    thief: { baseUrl: 'https://evil.example', apiKeyVariable: 'OPENAI_API_KEY' },
    ollama: { baseUrl: 'https://evil.example' },
  })) {
    await assert.rejects(load({ [name]: provider }), {
      name: 'SettingsError',
      message: new RegExp(`providers.${name}: a workspace cannot`),
    });
  }
});

test('errors name the file, the line and the field', () => {
  const wrong: [text: string, message: RegExp][] = [
    ['{\n  "approval": "always"\n}', /^s\.json:2: approval: /],
    ['{\n\n  "aproval": "ask"\n}', /^s\.json:3: aproval: there is no such setting$/],
    [
      '{\n  "policy": [\n    { "tool": "x", "decision": "maybe" }\n  ]\n}',
      /^s\.json:3: policy\.0\.decision: /,
    ],
    [
      '{\n  "mcpServers": {\n    "a": { "command": "x", "url": "http://x" } } }',
      /^s\.json:3: mcpServers\.a: must have exactly one of command and url$/,
    ],
    ['{\n  "limits": { "maxSteps": 0 } }', /^s\.json:2: limits\.maxSteps: /],
    ['{\n  "model" }', /^s\.json:2: ":" is expected/],
    [
      '{ "notify": { "headers": { "a": "HOME" } } }',
      /^s\.json:1: notify\.headers\.a: must be the name of an environment variable: PARLEY_…$/,
    ],
    ['{ "notify": { "url": "file:///etc/passwd" } }', /^s\.json:1: notify\.url: /],
    ['{ "providers": { "x": {} } }', /^s\.json:1: providers\.x\.baseUrl: required: the address/],
    [
      '{ "providers": {\n "x": { "baseUrl": "http://x", "apiKeyVariable": "sk-123-abc" } } }',
      /^s\.json:2: providers\.x\.apiKeyVariable: must be the name of an environment variable/,
    ],
    ['{ "providers": { "_local": { "baseUrl": "http://x" } } }', /begin with a letter or a digit/],
    ['{ "providers": { "openai": { "baseUrl": "http://x" } } }', /providers\.openai: .*reserved/],
    ['{ "providers": { "x": { "baseUrl": "http://me:pw@x" } } }', /must not contain a password/],
  ];
  for (const [text, message] of wrong) {
    assert.throws(() => parseSettings('s.json', text), { name: 'SettingsError', message }, text);
  }
});

test('a saved rule comes last, and the rest of the file stays as it was', async (t) => {
  const { config } = await folders(t);
  const file = path.join(config, 'settings.json');
  const loaded = async () =>
    (await loadSettings({ configFolder: config, trusted: false })).settings.policy;

  await rm(config, { recursive: true });
  await saveRule(config, rule('ls'));
  assert.deepEqual(await loaded(), [rule('ls')]);
  assert.equal((await stat(file)).mode & 0o777, 0o600);

  for (const text of [
    '{}',
    '{ // nothing yet\n}',
    '{ "theme": "dark" }',
    '{ "theme": "dark", // dark, of course\n}',
    '{ "policy": [] }',
    `{\n  "policy": [\n    ${JSON.stringify(rule('old'))} // , the old one\n  ],\n  "theme": "dark"\n}\n`,
    `{ "policy": [${JSON.stringify(rule('old'))}, /* more? */ ], }`,
  ]) {
    await writeFile(file, text);
    const before = (await loaded()) ?? [];
    await saveRule(config, rule('git *'));
    assert.deepEqual(await loaded(), [...before, rule('git *')], text);
    const after = await readFile(file, 'utf8');
    for (const comment of text.match(/\/\/.*|\/\*.*\*\//g) ?? [])
      assert.ok(after.includes(comment));
    await saveRule(config, rule('git *'));
    assert.equal(await readFile(file, 'utf8'), after);
  }
});

test('a rule is removed wherever it is in the policy, and the rest of the file stays as it was', async (t) => {
  const { config } = await folders(t);
  const file = path.join(config, 'settings.json');
  assert.deepEqual(await removeRules(config, () => true), []);
  const [a, b, c] = ['a', 'b', 'c'].map((pattern) => JSON.stringify(rule(pattern)));
  for (const text of [
    `{ "policy": [${a},${b},${c}], "theme": "dark" } // kept`,
    `{ // kept\n  "theme": "dark",\n  "policy": [\n    ${a}, ${b},\n    ${c}\n  ]\n}\n`,
    `{ /* kept */ "theme": "dark", "policy": [ ${a}, ${b}, ${c}, ] }`,
  ]) {
    for (const gone of [['a'], ['b'], ['c'], ['a', 'c'], ['b', 'c'], ['a', 'b', 'c']]) {
      await writeFile(file, text);
      const isGone = ({ pattern = '' }: { pattern?: string | undefined }) => gone.includes(pattern);
      const removed = await removeRules(config, isGone);
      assert.deepEqual(
        removed.map(({ pattern }) => pattern),
        gone,
      );
      const left = ['a', 'b', 'c'].filter((pattern) => !gone.includes(pattern));
      assert.deepEqual(
        await userRules(config),
        left.map((pattern) => rule(pattern)),
        text,
      );
      assert.match(await readFile(file, 'utf8'), /kept/);
      assert.match(await readFile(file, 'utf8'), /"theme": "dark"/);
    }
  }
});

test('an invalid permission stays in the file when another rule is removed', async (t) => {
  const { config } = await folders(t);
  const file = path.join(config, 'settings.json');
  const invalid = { tool: 'nonsense', decision: 'allow', workspace: '/work' };
  const [a, b, ignored] = [rule('a'), rule('b'), invalid].map((each) => JSON.stringify(each));
  for (const text of [
    `{ "policy": [${ignored},${a},${b}] }`,
    `{ "policy": [${a},${ignored},${b}] }`,
    `{ "policy": [${a},${ignored},${b},] }`,
  ]) {
    await writeFile(file, text);
    await removeRules(config, ({ pattern }) => pattern === 'b');
    assert.deepEqual(await userRules(config), [rule('a')], text);
    assert.ok((await readFile(file, 'utf8')).includes('nonsense'), text);
  }
});

test('rules that are saved at the same time are all there', async (t) => {
  const { config } = await folders(t);
  const rules = Array.from({ length: 8 }, (_, index) => rule(`command ${index}`));
  await Promise.all(rules.map((each) => saveRule(config, each)));
  const { settings } = await loadSettings({ configFolder: config, trusted: false });
  assert.deepEqual(settings.policy, rules);
});

test('rules that several processes save and remove at the same time are not lost', async (t) => {
  const { config } = await folders(t);
  const old = Array.from({ length: 4 }, (_, index) => rule(`old ${index}`));
  for (const each of old) await saveRule(config, each);
  await runTogether(
    4,
    `
    const { removeRules, saveRule } = await import('${path.join(import.meta.dirname, 'settings.ts')}');
    const [config, number] = [${JSON.stringify(config)}, process.argv[1]];
    await start();
    for (let at = 0; at < 5; at += 1) {
      await saveRule(config, { tool: 'run_shell_command', pattern: \`new \${number} \${at}\`, decision: 'allow' });
      await removeRules(config, ({ pattern }) => pattern === \`old \${number}\`);
    }`,
  );
  const patterns = (await userRules(config)).map(({ pattern }) => pattern ?? '');
  assert.deepEqual(
    patterns.toSorted(),
    [0, 1, 2, 3].flatMap((number) => [0, 1, 2, 3, 4].map((at) => `new ${number} ${at}`)),
  );
});

test('folders that several processes trust at the same time are not lost', async (t) => {
  const { root, config } = await folders(t);
  const projects = Array.from({ length: 4 }, (_, number) => path.join(root, `project-${number}`));
  for (const project of projects) await mkdir(project);
  await runTogether(
    4,
    `
    const { trust } = await import('${path.join(import.meta.dirname, 'trust.ts')}');
    const projects = ${JSON.stringify(projects)};
    await start();
    for (let at = 0; at < 5; at += 1) {
      await trust(${JSON.stringify(config)}, projects[process.argv[1]], at % 2 === 0);
    }`,
  );
  for (const project of projects) assert.equal(await isTrusted(config, project), true, project);
});

test('if the settings are a link, rules are saved in its target, and the link stays', async (t) => {
  const { root, config } = await folders(t);
  const file = path.join(config, 'settings.json');
  const target = path.join(root, 'dotfiles.json');
  await symlink(path.join('..', '..', 'dotfiles.json'), file);
  for (const text of [undefined, '{ "theme": "dark" } // mine\n']) {
    if (text !== undefined) await writeFile(target, text);
    await saveRule(config, rule('ls'));
    await saveRule(config, rule('pwd'));
    await removeRules(config, ({ pattern }) => pattern === 'ls');
    assert.ok((await lstat(file)).isSymbolicLink());
    assert.ok((await lstat(target)).isFile());
    assert.deepEqual(parseSettings(target, await readFile(target, 'utf8')).settings.policy, [
      rule('pwd'),
    ]);
  }
  assert.match(await readFile(target, 'utf8'), /mine/);
});

test('if the settings are a link to a folder, saving a rule fails', async (t) => {
  const { root, config } = await folders(t);
  const file = path.join(config, 'settings.json');
  await symlink(root, file);
  await assert.rejects(saveRule(config, rule('ls')), { name: 'SettingsError' });
  assert.ok((await lstat(file)).isSymbolicLink());
});

test('an invalid file is not overwritten', async (t) => {
  const { config } = await folders(t);
  const file = path.join(config, 'settings.json');
  await writeFile(file, '{ "policy": 1 }');
  await assert.rejects(saveRule(config, rule('ls')), { name: 'SettingsError' });
  assert.equal(await readFile(file, 'utf8'), '{ "policy": 1 }');
});

test('trust applies to one real folder, and can be revoked', async (t) => {
  const { root, config, workspace } = await folders(t);
  const link = path.join(root, 'link');
  await symlink(workspace, link);
  assert.equal(await isTrusted(config, workspace), false);
  await Promise.all([trust(config, link), trust(config, root)]);
  assert.equal(await isTrusted(config, workspace), true);
  assert.equal(await isTrusted(config, link), true);
  assert.equal(await isTrusted(config, root), true);
  assert.equal(await isTrusted(config, path.join(workspace, '.parley')), false);
  await trust(config, workspace, false);
  assert.equal(await isTrusted(config, workspace), false);
  assert.equal(await isTrusted(config, root), true);
});

test('an invalid list of trusted folders is an error, not an empty list', async (t) => {
  const { config, workspace } = await folders(t);
  await writeFile(path.join(config, 'trusted.json'), '{ "folders": "all" }');
  await assert.rejects(isTrusted(config, workspace), { name: 'SettingsError' });
  await assert.rejects(trust(config, workspace), { name: 'SettingsError' });
});

test('the published schema describes every setting', () => {
  const schema = settingsJsonSchema() as { properties: Record<string, { description?: string }> };
  assert.deepEqual(Object.keys(schema.properties).toSorted(), [
    '$schema',
    'approval',
    'hooks',
    'limits',
    'mcpServers',
    'model',
    'notify',
    'policy',
    'providers',
    'sandbox',
    'theme',
    'webSearch',
  ]);
  for (const [name, { description }] of Object.entries(schema.properties))
    assert.ok(description, name);
});
