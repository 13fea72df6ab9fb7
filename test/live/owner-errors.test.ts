// Why the model failed, and what to do: the person who runs the program sees it, in the terminal and with `parley -p`.
// Other clients, whatever they speak, get a correlation id. The vendor is a server on loopback that misbehaves.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { editorAt } from '../acp/support.ts';
import { lines, parley, start } from '../cli/support.ts';
import { makePlace, type Place } from '../coder/support.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { fakeVendor, type FakeVendor, type Reply } from '../support/vendors/server.ts';
import type { Wire } from '../support/vendors/wire.ts';
import { ENTER, READY, startProgram, type ProgramOptions } from './program.ts';
import { RawClient } from './raw-client.ts';

const KEY = 'sk-secret-0123456789';
const ESCAPE = '\u001b';
const ANSWER: Reply = { events: anthropic.answer };

/** A vendor whose next replies are set by the test. */
async function vendorOf(t: TestContext): Promise<FakeVendor & { replies: Reply[] }> {
  const replies: Reply[] = [];
  const vendor = await fakeVendor(() => replies.shift() ?? ANSWER);
  t.after(() => vendor[Symbol.asyncDispose]());
  return { ...vendor, replies };
}

function environmentOf(wire: Wire, url: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(wire.env(url, KEY)).map(([name, value]) => [name, value ?? '']),
  );
}

function terminalAt(t: TestContext, place: Place, options: ProgramOptions & { url: string }) {
  const { url, args = [], ...more } = options;
  const own = ['--workspace', place.workspace, '--model', anthropic.model, ...args];
  const environment = environmentOf(anthropic, url);
  return startProgram(t, own, { ...more, place, environment });
}

/** What each vendor sends when it refuses a request, and what the person is told. */
const REFUSALS: readonly {
  readonly what: string;
  readonly reply: Reply;
  readonly told: RegExp;
}[] = [
  {
    what: 'the key is refused',
    reply: {
      status: 401,
      body: {
        type: 'error',
        error: { type: 'authentication_error', message: 'invalid x-api-key' },
      },
    },
    told: /refused the key in ANTHROPIC_API_KEY \(401\): set a valid key\. Then start Parley again, or use \/model/,
  },
  {
    what: 'the rate limit asks for a long wait',
    reply: {
      status: 429,
      headers: { 'retry-after': '1800' },
      body: { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.' } },
    },
    told: /is rate limited \(429\): Slow down: try again in 30 min/,
  },
  {
    what: 'the conversation is too long',
    reply: {
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 210000 tokens > 200000 maximum',
        },
      },
    },
    told: /too long for anthropic:\S+: prompt is too long: 210000 tokens > 200000 maximum\. Use \/compress/,
  },
  {
    what: 'the account has no credit',
    reply: {
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'Your credit balance is too low to access the Anthropic API.',
        },
      },
    },
    told: /the account has no credit left \(400\): Your credit balance is too low/,
  },
  {
    what: 'the model does not exist',
    reply: {
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error', message: 'model: claude-x' } },
    },
    told: /was not found \(404\): check the model's name and the base URL\. model: claude-x\. Use \/model to select another model/,
  },
];

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

/** The errors of the other vendors, as they send them. */
const OTHERS: readonly [Wire, Reply, RegExp][] = [
  [
    google,
    {
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
        },
      },
    },
    /refused the key in GEMINI_API_KEY \(400\): set a valid key\. Then start Parley again/,
  ],
  [
    google,
    {
      status: 429,
      body: {
        error: {
          code: 429,
          message: 'You exceeded your current quota.',
          status: 'RESOURCE_EXHAUSTED',
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
              violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
            },
            { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '41s' },
          ],
        },
      },
    },
    /the account has no credit left \(429\): You exceeded your current quota/,
  ],
  [
    google,
    {
      status: 400,
      body: {
        error: {
          code: 400,
          message:
            'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    },
    /too long for google:\S+: The input token count .* Use \/compress/,
  ],
  [
    openai,
    {
      status: 400,
      body: {
        error: {
          message:
            'Your input exceeds the context window of this model. Please adjust your input and try again.',
          type: 'invalid_request_error',
          param: 'input',
          code: 'context_length_exceeded',
        },
      },
    },
    /too long for openai:\S+: Your input exceeds the context window .* Use \/compress/,
  ],
  [
    anthropic,
    { status: 404, body: anthropic.error(404, 'model: claude-x') },
    /check the model's name and the base URL\. model: claude-x\. Choose another model with --model\./,
  ],
];

const BROKEN = { mcpServers: { tools: { command: '/nonexistent/mcp-server' } } };
const UNAVAILABLE =
  /The MCP server tools is unavailable: .*ENOENT.*\. Its tools are missing\. Check mcpServers\.tools in settings\.json\. \/mcp shows its state\./;

/** A place whose settings.json is where the program looks for it. */
function placeWith(t: TestContext, value: object): Place & { env: Record<string, string> } {
  const made = makePlace(t);
  const config = join(made.home, 'config');
  mkdirSync(join(config, 'parley'), { recursive: true });
  writeFileSync(join(config, 'parley', 'settings.json'), JSON.stringify(value));
  return { ...made, env: { PARLEY_HOME: made.home, XDG_CONFIG_HOME: config } };
}

describe('errors reach the person', { concurrency: 3 }, () => {
  test('the terminal shows why the model failed and what to do; clients over /ws, ACP and HTTP get the correlation id only', async (t) => {
    const place = makePlace(t);
    const vendor = await vendorOf(t);
    const terminal = terminalAt(t, place, { url: vendor.url, args: ['--a2a-port', '0'] });
    const port = await terminal.until('the port', () => /A2A :(\d+)/.exec(terminal.visible())?.[1]);
    const client = new RawClient(t, `ws://127.0.0.1:${port}/ws`);
    await client.snapshot();
    const editor = await editorAt(t, `ws://127.0.0.1:${port}/ws`);
    await editor.open();
    for (const [at, { what, reply, told }] of REFUSALS.entries()) {
      vendor.replies.push(reply);
      terminal.type(`attempt ${at}${ENTER}`);
      await terminal.until(what, () => told.test(onOneLine(terminal.all())));
      await client.state('failed', at + 1);
    }
    const failed = client.frames.filter(({ params }) => params?.event?.status?.state === 'failed');
    const tasks = await Promise.all(
      failed.map(async ({ params }) =>
        (await fetch(`http://127.0.0.1:${port}/v1/tasks/${params.taskId}/events?after=0`)).text(),
      ),
    );
    await editor.until(
      () => (editor.text.match(/Correlation id/g) ?? []).length >= REFUSALS.length,
    );
    for (const seen of [JSON.stringify(client.frames), JSON.stringify(editor.updates), ...tasks]) {
      assert.match(seen, /The model gave no answer\. Correlation id: [\da-f-]{36}/);
      assert.doesNotMatch(
        seen,
        /ANTHROPIC_API_KEY|rate limited|Slow down|credit|too long|claude-x/,
      );
    }
    assert.doesNotMatch(terminal.all(), /Correlation id/);
  });

  test('while a request is retried, the terminal shows when and why, and Esc stops it', async (t) => {
    const place = makePlace(t);
    const vendor = await vendorOf(t);
    const terminal = terminalAt(t, place, { url: vendor.url });
    await terminal.sees(READY);
    vendor.replies.push(
      { status: 529, body: anthropic.error(529, 'Overloaded'), headers: { 'retry-after': '0.6' } },
      ANSWER,
      { status: 429, body: anthropic.error(429, 'Slow down.'), headers: { 'retry-after': '45' } },
    );
    terminal.type(`hello${ENTER}`);
    await terminal.sees(
      /Retrying in \ds .* Esc cancels\n +anthropic:\S+ cannot answer now \(529\): Over/,
    );
    await terminal.sees(/It is sunny\./);
    assert.doesNotMatch(terminal.visible(), /Retrying/);
    terminal.type(`and now?${ENTER}`);
    await terminal.sees(
      /Retrying in 4\ds .* Esc cancels\n +anthropic:\S+ is rate limited \(429\): Slow/,
    );
    await terminal.sees(/Retrying in 4[0-4]s/);
    terminal.type(ESCAPE);
    await terminal.sees(/Canceled\./);
    assert.doesNotMatch(terminal.visible(), /Retrying/);
    assert.equal(vendor.asked.length, 3);
  });

  test('parley --plain prints the retry and the reason for a failure', async (t) => {
    const place = makePlace(t);
    const vendor = await vendorOf(t);
    const terminal = terminalAt(t, place, { url: vendor.url, args: ['--plain'] });
    await terminal.sees(/Type a request/);
    vendor.replies.push(
      { status: 529, body: anthropic.error(529, 'Overloaded'), headers: { 'retry-after': '0.6' } },
      { status: 401, body: anthropic.error(401, 'invalid x-api-key') },
    );
    terminal.type(`hello${ENTER}`);
    await terminal.sees(/Retrying in 1 s: anthropic:\S+ cannot answer now \(529\): Overloaded/);
    await terminal.until('the reason', () =>
      /Error: anthropic:\S+ refused the key in ANTHROPIC_API_KEY/.test(onOneLine(terminal.all())),
    );
  });

  test('parley -p prints the same reasons, for each vendor, and exits with 1', async (t) => {
    await Promise.all(
      OTHERS.map(async ([wire, reply, told]) => {
        const { home, workspace } = makePlace(t);
        const vendor = await vendorOf(t);
        vendor.replies.push(reply, reply, reply, reply);
        const env = { PARLEY_HOME: home, ...environmentOf(wire, vendor.url) };
        const ended = await parley(['-p', 'hello', '--model', wire.model], { cwd: workspace, env });
        assert.equal(ended.code, 1);
        assert.match(ended.err, told);
        assert.match(ended.err, /^parley: the task failed: [^\n]*\n$/);
        assert.equal(vendor.asked.length, 1, 'the request is not repeated');
      }),
    );
  });

  test('parley -p prints retries, also when a log level is set, and why it gave up', async (t) => {
    const { home, workspace } = makePlace(t);
    const vendor = await vendorOf(t);
    const { url } = vendor;
    await vendor[Symbol.asyncDispose]();
    const env = {
      PARLEY_HOME: home,
      PARLEY_LOG_LEVEL: 'fatal',
      ...environmentOf(anthropic, url),
    };
    const ended = await parley(['-p', 'hi', '--model', anthropic.model], { cwd: workspace, env });
    assert.equal(ended.code, 1);
    assert.match(ended.err, /^Retrying in \d s: anthropic:\S+ cannot be reached \(ECONNREFUSED\)/m);
    assert.match(ended.err, /^parley: the task failed: anthropic:\S+ cannot be reached/m);
  });

  test('a broken MCP server is announced on the first screen, and /mcp shows its state', async (t) => {
    const place = placeWith(t, BROKEN);
    const args = ['--workspace', place.workspace, '--model', 'offline'];
    const terminal = startProgram(t, args, { place });
    await terminal.until('the notice', () => UNAVAILABLE.test(onOneLine(terminal.all())));
    terminal.type(`/mcp${ENTER}`);
    await terminal.sees(/tools: not available/);
    const told = onOneLine(terminal.all()).split('Its tools are missing').length - 1;
    assert.equal(told, 1, 'it is announced once');
  });

  test('a broken MCP server is announced by parley -p on standard error, and by parley serve in its log at the start', async (t) => {
    const { env, workspace } = placeWith(t, BROKEN);
    const ended = await parley(['-p', 'list', '--model', 'offline'], { cwd: workspace, env });
    assert.equal(ended.code, 0);
    assert.match(ended.err, UNAVAILABLE);
    const args = ['serve', '--port', '0', '--json', '--store', 'memory', '--model', 'offline'];
    const server = start([...args, '--workspace', workspace], { env });
    await server.saying(UNAVAILABLE, 'err');
    server.child.kill('SIGTERM');
    const { err } = await server.ended;
    assert.equal(lines(err).filter((line) => UNAVAILABLE.test(JSON.stringify(line))).length, 1);
  });

  test('a change that /restore cannot undo, because git is missing, is announced', async (t) => {
    const { home, workspace } = makePlace(t);
    const env = { PARLEY_HOME: home, PATH: '/nonexistent' };
    const args = ['-p', 'create a.txt with hello', '--model', 'offline', '--approval', 'auto-edit'];
    const ended = await parley(args, { cwd: workspace, env });
    assert.equal(ended.code, 0);
    assert.match(ended.err, /^There are no checkpoints in .*git.*\. \/restore cannot undo/m);
  });
});
