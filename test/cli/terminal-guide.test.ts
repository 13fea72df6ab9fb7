// docs/terminal.md, followed by a newcomer who has nothing else: each file is written as the page has it, each command is
// typed as it stands there, and what the page promises has to happen. The model is a server on loopback in the vendor's
// format.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { bearerTokens, createAgent, serve } from '../../src/server.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type Asked, type Reply } from '../support/vendors/server.ts';
import { openTerminal } from '../tui/terminal.ts';
import { folder, lines, parley } from './support.ts';

const root = path.resolve(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/terminal.md'), 'utf8');
const home = path.join(realpathSync(folder), 'ann');
const workspace = path.join(home, 'project');
const bin = path.join(home, 'bin');

interface Block {
  readonly language: string;
  readonly text: string;
  /** The file that the line above it names. */
  readonly file: string | undefined;
}

const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(
  ({ 1: language = '', 2: text = '', index }): Block => {
    const above = page.slice(Math.max(0, index - 300), index);
    const file = above.match(/`(~\/\.config\/parley\/[^`]+\.\w+)`:\n+$/)?.[1];
    return { language, text, file };
  },
);

/** A program in a folder of `PATH`. */
function program(name: string, script: string): void {
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(bin, name), 0o755);
}

/** The address of the local model server on the page. */
const SERVER = 'http://127.0.0.1:8080';

const env = {
  HOME: home,
  XDG_CONFIG_HOME: path.join(home, '.config'),
  PARLEY_HOME: path.join(home, 'data'),
  PATH: `${bin}:${process.env['PATH']}`,
};

/** The settings of all examples together, as somebody has them who follows the whole page. */
function settings(): Record<string, unknown> {
  const parts = blocks.filter(({ file }) => file?.endsWith('settings.json') === true);
  return Object.assign({}, ...parts.map(({ text }) => JSON.parse(text) as object)) as Record<
    string,
    unknown
  >;
}

before(() => {
  mkdirSync(path.join(workspace, 'src'), { recursive: true });
  writeFileSync(path.join(workspace, 'README.md'), 'A project.\n');
  writeFileSync(path.join(workspace, 'src', 'index.ts'), 'export {};\n');
  program('npm', 'echo "npm $*"');
  const server = path.join(root, 'node_modules/@modelcontextprotocol/server-filesystem');
  program('npx', `shift 2; exec "${process.execPath}" "${server}/dist/index.js" "$@"`);
  program(
    'parley',
    `exec "${process.execPath}" --conditions=parley-source "${root}/src/cli/main.ts" "$@"`,
  );
  for (const { file, text } of blocks) {
    if (file === undefined) continue;
    const written = file.replace('~', home);
    mkdirSync(path.dirname(written), { recursive: true });
    writeFileSync(written, text);
  }
  configure('http://127.0.0.1:9');
});

/** Writes the settings, with this address in the place of the local model server's. */
function configure(url: string): void {
  const file = path.join(env.XDG_CONFIG_HOME, 'parley', 'settings.json');
  const text = JSON.stringify(settings());
  assert.ok(text.includes(SERVER));
  writeFileSync(file, text.replace(SERVER, url));
}

const call = (name: string, args: object): Reply => ({ events: openaiCompatible.call(name, args) });
const answer: Reply = { events: openaiCompatible.answer };
const bodyOf = (asked: Asked | undefined): string => JSON.stringify(asked?.body);

interface Outcome {
  readonly code: number | null;
  readonly err: string;
  readonly calls: readonly { tool_name: string; status: string; error?: { message: string } }[];
  readonly asked: readonly Asked[];
}

/** One turn, in which the model server gives these replies. */
async function turn(prompt: string, replies: readonly Reply[], more: readonly string[] = []) {
  await using vendor = await fakeVendor(replies);
  configure(vendor.url);
  const args = ['-p', prompt, '--output', 'json', ...more];
  const { code, out, err } = await parley(args, { cwd: workspace, env });
  const { toolCalls = [] } = (lines(out).at(-1) ?? {}) as { toolCalls?: Outcome['calls'] };
  const outcome: Outcome = { code, err, calls: toolCalls, asked: vendor.asked };
  return outcome;
}

test('every block of the page is checked here', () => {
  for (const { language, file } of blocks) {
    assert.ok(['sh', 'json', 'markdown'].includes(language), language);
    assert.equal(file === undefined, language === 'sh', 'a file has its name in the line above it');
  }
});

test('a prefix rule allows the command with more words, and nothing that is joined to it', async () => {
  const run = (command: string) => call('run_shell_command', { command });
  const allowed = await turn('test it', [run('npm test'), run('npm test -- parser'), answer]);
  assert.equal(allowed.code, 0, allowed.err);
  assert.deepEqual(
    allowed.calls.map(({ status }) => status),
    ['SUCCEEDED', 'SUCCEEDED'],
  );
  const joined = await turn('test it', [run('npm test && rm README.md'), answer]);
  assert.equal(joined.code, 3, 'the exit code for a call that needs approval');
  assert.ok(existsSync(path.join(workspace, 'README.md')));
  const denied = await turn('push', [run('git push'), answer], ['--approval', 'yolo']);
  assert.match(denied.calls[0]?.error?.message ?? '', /a rule denies run_shell_command "git push"/);
});

test('a local model of the settings answers, and is in the list of models', async () => {
  const { asked, err } = await turn('hello', [answer]);
  assert.match(bodyOf(asked[0]), /"model":"llama"/, err);
  const { out } = await parley(['models'], { cwd: workspace, env });
  assert.match(out, /mine:llama/);
});

test('an MCP server of the settings has tools', async () => {
  const { calls, err } = await turn(
    'look around',
    [call('files__list_allowed_directories', {}), answer],
    ['--approval', 'yolo'],
  );
  assert.equal(calls[0]?.status, 'SUCCEEDED', err);
});

test('a command of one’s own sends its text', async () => {
  const { asked } = await turn('/explain src/index.ts', [answer]);
  assert.match(bodyOf(asked[0]), /Read src\/index\.ts and explain it in three sentences\./);
});

test('a helper works with its own tools and reports', async () => {
  const { asked, calls, err } = await turn('review it', [
    call('task', { prompt: 'Review src/index.ts.', helper: 'reviewer' }),
    call('read_file', { path: 'src/index.ts' }),
    answer,
    answer,
  ]);
  assert.match(bodyOf(asked[0]), /- reviewer: Reviews a change and reports mistakes\./);
  assert.match(bodyOf(asked[1]), /You review changes\. Look for mistakes in the logic/);
  assert.doesNotMatch(bodyOf(asked[1]), /"name":"run_shell_command"/);
  assert.deepEqual(
    calls.map(({ tool_name, status }) => `${tool_name} ${status}`),
    ['task SUCCEEDED', 'read_file SUCCEEDED'],
    err,
  );
});

test('a remote agent is a helper', async (t) => {
  const agent = createAgent({ name: 'Weather', description: '' }, async function* () {
    yield 'Sunny in Paris.';
  });
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const authenticate = bearerTokens(new Map([['ann', 's3cret']]));
  const listening = await serve(agent, { logger: quiet, authenticate }).listen(0);
  t.after(() => listening.close(0));
  const file = path.join(env.XDG_CONFIG_HOME, 'parley', 'helpers', 'weather.md');
  const written = readFileSync(file, 'utf8');
  writeFileSync(file, written.replace('http://localhost:4000', listening.url));
  process.env['WEATHER_TOKEN'] = 's3cret';
  t.after(() => delete process.env['WEATHER_TOKEN']);
  const job = call('task', { prompt: 'Paris?', helper: 'weather' });
  const asks = await turn('weather?', [job, answer]);
  assert.equal(asks.code, 3, 'it needs approval');
  const { asked, err } = await turn('weather?', [job, answer], ['--approval', 'yolo']);
  assert.match(bodyOf(asked[1]), /Sunny in Paris\./, err);
});

test('the hooks refuse a key and note the end of a turn', async () => {
  const write = (content: string) => call('write_file', { path: 'a.txt', content });
  const { calls } = await turn(
    'write',
    [write('BEGIN PRIVATE KEY'), write('hello'), answer],
    ['--approval', 'auto-edit'],
  );
  assert.match(calls[0]?.error?.message ?? '', /a hook refused this call: do not write keys/);
  assert.equal(calls[1]?.status, 'SUCCEEDED');
  assert.equal(readFileSync(path.join(workspace, 'a.txt'), 'utf8'), 'hello');
  assert.match(readFileSync(path.join(workspace, 'turns.log'), 'utf8'), /^done\n/);
});

test('a skill is listed and read', async () => {
  const { asked } = await turn('publish', [call('skill', { name: 'release' }), answer]);
  assert.match(bodyOf(asked[0]), /- release: How releases are made here\./);
  assert.match(bodyOf(asked[1]), /Write the notes as in template\.md/);
});

/** The lines of the page's scripts, without comments. */
const typed = blocks
  .filter(({ language }) => language === 'sh')
  .flatMap(({ text }) => text.split('\n'))
  .map((line) => line.replace(/\s+#.*$/, '').trim())
  .filter((line) => line !== '');

/** Runs a command in a shell, without a terminal. */
async function type(line: string): Promise<void> {
  await using vendor = await fakeVendor(() => answer);
  configure(vendor.url);
  const options = { cwd: workspace, env: { ...process.env, ...env } };
  await promisify(execFile)('bash', ['-c', `exec </dev/null\n${line}`], options);
}

/** Starts a program on a pseudo-terminal, and leaves it. */
async function visit(line: string): Promise<void> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  const terminal = openTerminal('src/cli/main.ts', words.slice(1), {
    environment: { ...env, PARLEY_WORKSPACE: workspace },
  });
  try {
    await terminal.readsKeys();
    await terminal.sees(/mine:llama/);
    terminal.type('\u0003');
    terminal.type('\u0003');
    assert.equal((await terminal.exited()).code, 0);
  } finally {
    terminal.close();
  }
}

for (const line of new Set(typed)) {
  const isScreen = /^parley( (-c|--\w+|"[^"]*"))*$/.test(line);
  test(`the page says: ${line}`, () => (isScreen ? visit(line) : type(line)));
}
