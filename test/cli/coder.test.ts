// `parley serve` with the coding agent: what it offers, what its flags open, and what it survives.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { VERSION } from '../../src/cli/program/product.ts';
import { connect } from '../../src/client/index.ts';
import { EXTENSION_URI, extensionMetadata } from '../../src/protocol/development-tool/index.ts';
import type { Message, Task } from '../../src/protocol/index.ts';
import { createMcpServer } from '../e2e/mcp-server.ts';
import { assertRefused, folder, parley, serving, start, type Options } from './support.ts';

function workspace(): string {
  return mkdtempSync(path.join(realpathSync(folder), 'work-'));
}

function file(name: string, content: unknown): string {
  const place = path.join(folder, name);
  writeFileSync(place, JSON.stringify(content));
  return place;
}

interface Reply {
  readonly result?: Task & { readonly commands?: readonly { readonly name: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

async function rpc(url: string, method: string, params: object): Promise<Reply> {
  const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION_URI };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await (await fetch(url, { method: 'POST', headers, body })).json()) as Reply;
}

let sent = 0;
function said(text: string, more: Partial<Message> = {}): { message: Message } {
  const parts = [{ kind: 'text' as const, text }];
  return { message: { kind: 'message', messageId: `m${++sent}`, role: 'user', parts, ...more } };
}

describe('parley serve with the coding agent', { concurrency: 3 }, () => {
  test('it is what is served where no agent is named, with the extension, its commands and the flat API', async () => {
    const server = await serving(['--workspace', workspace()]);
    const { card } = await connect(server.url);
    assert.deepEqual(
      card.capabilities.extensions?.map(({ uri }) => uri),
      [EXTENSION_URI],
    );
    assert.deepEqual(
      card.skills.map(({ id }) => id),
      ['code_generation'],
    );
    assert.equal(card.version, VERSION);
    assert.ok(
      ['text/plain', 'image/*', '*/*'].every((each) => card.defaultInputModes.includes(each)),
    );
    const { result } = await rpc(server.url, 'commands/get', {});
    assert.ok(result?.commands?.some(({ name }) => name === 'help'));
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    const flat = await fetch(`${server.url}/tasks`, json);
    assert.equal(flat.status, 201);
    await server.stop();
  });

  test('what is missing at first is said once it is ready, in a line each', async () => {
    const cwd = workspace();
    mkdirSync(path.join(cwd, '.parley'));
    writeFileSync(path.join(cwd, '.parley', 'settings.json'), '{}');
    const running = start(['serve', '--port', '0', '--store', 'memory'], { cwd });
    await running.saying(/parley trust/, 'err');
    running.child.kill('SIGTERM');
    const { out, err } = await running.ended;
    assert.match(out, /^Parley is ready at http:\/\/127\.0\.0\.1:\d+ /);
    const [first = '', second = '', ...rest] = err.split('\n');
    assert.match(`${first}\n${second}`, /is ignored, because the workspace is not trusted/);
    assert.match(`${first}\n${second}`, /There is no API key, so the offline model answers/);
    assert.deepEqual(rest, ['']);
  });

  test('--workspace: a client may choose any folder inside, and none outside', async () => {
    const [one, two] = [workspace(), workspace()];
    writeFileSync(path.join(two, 'mark.txt'), '');
    const server = await serving(['--workspace', one, '--workspace', two, '--model', 'offline']);
    const from = (workspace_path: string) => ({ metadata: extensionMetadata({ workspace_path }) });
    const inside = await rpc(server.url, 'message/send', said('list', from(two)));
    assert.match(JSON.stringify(inside.result), /mark\.txt/);
    const outside = await rpc(server.url, 'message/send', said('list', from(path.dirname(one))));
    assert.equal(outside.error?.code, -32602);
    const neither = await rpc(server.url, 'message/send', said('list'));
    assert.match(neither.error?.message ?? '', /several workspaces/);
    await server.stop();
  });

  test('--approval and --model are for all; --allow-auto-execute lets a client ask for less', async () => {
    const folders = [workspace(), workspace()];
    const base = (at: number) => ['--workspace', folders[at] ?? '', '--model', 'offline'];
    const [plain, open] = await Promise.all([
      serving([...base(0), '--approval', 'auto-edit']),
      serving([...base(1), '--allow-auto-execute']),
    ]);
    const free = { metadata: extensionMetadata({ autoExecute: true }) };
    const edit = await rpc(plain.url, 'message/send', said('create a.txt with a'));
    assert.equal(edit.result?.status.state, 'completed');
    const run = await rpc(plain.url, 'message/send', said('run true'));
    assert.equal(run.result?.status.state, 'input-required');
    const refused = await rpc(plain.url, 'message/send', said('run true', free));
    assert.match(refused.error?.message ?? '', /--allow-auto-execute/);
    const allowed = await rpc(open.url, 'message/send', said('run true', free));
    assert.equal(allowed.result?.status.state, 'completed');
    await Promise.all([plain.stop(), open.stop()]);
  });

  test('--approval plan: no client can choose another mode', async () => {
    const args = ['--workspace', workspace(), '--model', 'offline', '--approval', 'plan'];
    const server = await serving([...args, '--allow-auto-execute']);
    const { result } = await rpc(server.url, 'message/send', said('/approval ask'));
    assert.match(JSON.stringify(result), /started with --approval plan/);
    const contextId = result?.contextId ?? '';
    const edit = await rpc(server.url, 'message/send', said('create a.txt with a', { contextId }));
    assert.match(JSON.stringify(edit.result), /plan mode/);
    await server.stop();
  });

  test('--require-extension: a request that does not name it is refused', async () => {
    const args = ['--workspace', workspace(), '--model', 'offline', '--require-extension'];
    const server = await serving(args);
    assertRefused(await parley(['send', server.url, 'list']), 1, /-32008/);
    const named = await parley(['send', server.url, 'list', '--extension', EXTENSION_URI]);
    assert.equal(named.code, 0);
    await server.stop();
  });

  test("a client's MCP server is reached where --allow-network opens its network, and only there", async (t) => {
    const url = await mcpServer(t);
    const script = file('mcp.json', [
      [{ call: { name: 'tester__add', args: { a: 1, b: 2 } } }],
      [{ text: 'Done.' }],
    ]);
    const flags = ['--model', `scripted:${script}`, '--approval', 'yolo'];
    const servers = [
      serving(['--workspace', workspace(), ...flags]),
      serving(['--workspace', workspace(), ...flags, '--allow-network', '127.0.0.0/8']),
      serving(['--workspace', workspace(), ...flags, '--allow-client-mcp']),
    ];
    const mcpServers = { tester: { url } };
    const metadata = extensionMetadata({ mcpServers });
    const outcomes = await Promise.all(
      servers.map(async (starting) => {
        const server = await starting;
        const { result } = await rpc(server.url, 'message/send', said('add', { metadata }));
        await server.stop();
        return /"sum\\*":3/.test(JSON.stringify(result));
      }),
    );
    assert.deepEqual(outcomes, [false, true, true]);
  });

  test("a client's program is started only with --allow-client-mcp", async () => {
    const server = await serving(['--workspace', workspace(), '--model', 'offline']);
    const metadata = extensionMetadata({ mcpServers: { x: { command: 'true' } } });
    const { error } = await rpc(server.url, 'message/send', said('list', { metadata }));
    assert.match(error?.message ?? '', /--allow-client-mcp/);
    await server.stop();
  });

  test('fetch_url keeps out of private networks, unless --allow-network opens them', async (t) => {
    const page = createServer((_, response) => response.end('the page')).listen(0, '127.0.0.1');
    t.after(() => page.close());
    await once(page, 'listening');
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;
    const fetching = async (...more: string[]) => {
      const flags = ['--workspace', workspace(), '--model', 'offline', '--approval', 'yolo'];
      const server = await serving([...flags, ...more]);
      const { result } = await rpc(server.url, 'message/send', said(`fetch ${url}`));
      await server.stop();
      return JSON.stringify(result);
    };
    assert.match(await fetching(), /private network/);
    assert.match(await fetching('--allow-network', '127.0.0.0/8'), /the page/);
  });

  test('the client commands show a question with the way to answer it, and a late answer who was first', async () => {
    const server = await serving(['--workspace', workspace(), '--model', 'offline']);
    const asked = await parley(['send', server.url, 'create a.txt with alpha']);
    assert.equal(asked.code, 0);
    assert.match(asked.err, /The agent asks: Write a\.txt\n[^]*\n  \| \+.*\n[^]*To answer:\n/);
    assert.match(asked.err, /\n {4}proceed_once: Allow once\n[^]*\n {4}cancel: Reject\n/);
    const [, task = '', data = ''] = /--task (\S+) --data '(.*)'/.exec(asked.err) ?? [];
    const answer = ['send', server.url, '--task', task, '--data', data, '--stream'];
    const first = await parley(answer);
    assert.deepEqual([first.code, first.out], [0, 'I wrote a.txt.\n']);
    assert.match(first.err, /· Write a\.txt\n✓ Write a\.txt\n· completed\n/);
    const late = await parley([...answer, '--extension', EXTENSION_URI]);
    assertRefused(late, 1, /already resolved by .*proceed_once \(-32004\): parley get URL TASK/);
    await server.stop();
  });

  test('a question survives kill -9: after the restart it is answered, and the turn goes on', async () => {
    const root = workspace();
    const work = path.join(root, 'work');
    mkdirSync(work);
    const options: Options = { env: { PARLEY_HOME: path.join(root, 'home') } };
    const args = ['disk', '--workspace', work, '--model', 'offline'];
    const first = await serving(args, options);
    const { result } = await rpc(first.url, 'message/send', said('create a.txt with alpha'));
    assert.equal(result?.status.state, 'input-required');
    await first.stop('SIGKILL');

    const second = await serving(args, options);
    const { code, out } = await parley(['send', second.url, '--task', result.id, 'yes']);
    assert.deepEqual([code, out], [0, 'I wrote a.txt.\n']);
    assert.equal(readFileSync(path.join(work, 'a.txt'), 'utf8'), 'alpha');
    await second.stop();
  });

  test('serving another agent loads nothing of the coding agent', async () => {
    const loaded = await loadedBy('--agent', 'echo');
    assert.match(loaded, /src\/cli\/commands\/serve\.ts/);
    assert.doesNotMatch(loaded, /src\/(coder|agent|bridge)\//);
  });

  test('the coding agent is ready before anything is loaded that only some of its tools need', async () => {
    const loaded = await loadedBy('--workspace', workspace());
    assert.match(loaded, /src\/coder\/coder\.ts/);
    assert.doesNotMatch(
      loaded,
      /node_modules\/(@modelcontextprotocol|@ai-sdk|@lydell|@vscode|pino)/,
    );
  });
});

/** The modules that a server has loaded by the time that it is ready, as V8's report on them has it. */
async function loadedBy(...args: string[]): Promise<string> {
  const coverage = path.join(workspace(), 'coverage');
  const server = await serving(args, { env: { NODE_V8_COVERAGE: coverage } });
  await server.stop();
  const [report = ''] = readdirSync(coverage);
  return readFileSync(path.join(coverage, report), 'utf8');
}

/** The address of an MCP server over HTTP. */
async function mcpServer(t: TestContext): Promise<string> {
  const http = createServer((incoming, outgoing) => {
    const transport = new WebStandardStreamableHTTPServerTransport({});
    const server = createMcpServer(() => {});
    const { method = 'GET' } = incoming;
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method,
      headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      ...(method === 'POST' && { body: Readable.toWeb(incoming), duplex: 'half' }),
    });
    const answered = server.connect(transport).then(() => transport.handleRequest(request));
    void answered.then((response) => {
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body) Readable.fromWeb(response.body).pipe(outgoing);
      else outgoing.end();
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(() => http.closeAllConnections());
  t.after(() => http.close());
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}
