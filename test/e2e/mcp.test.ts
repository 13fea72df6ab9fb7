// Toolsets with real MCP servers: a child process over stdio, and streamable HTTP on loopback.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import type { JsonValue } from '../../src/base/index.ts';
import { RichResponse, type Tool, type ToolContext, type Toolset } from '../../src/agent/tool.ts';
import {
  McpError,
  mcpToolset,
  type McpErrorCode,
  type McpOptions,
} from '../../src/agent/tools/mcp.ts';
import { toolContext } from '../support/tool-context.ts';
import { createMcpServer } from './mcp-server.ts';
import { listenMcp, type McpSessions } from './mcp-sessions.ts';

const never = new AbortController().signal;

function script(name: string, ...args: string[]) {
  const file = join(import.meta.dirname, name);
  return {
    name: 'srv',
    command: process.execPath,
    args: ['--conditions=parley-source', '--disable-warning=ExperimentalWarning', file, ...args],
  };
}

/** Lines, for those who wait for one. */
class Notes extends EventEmitter {
  readonly #lines: string[] = [];

  readonly add = (line: string): void => {
    this.#lines.push(line);
    this.emit('line');
  };

  async find(pattern: RegExp, occurrence = 1): Promise<string> {
    for (;;) {
      const found = this.#lines.filter((line) => pattern.test(line))[occurrence - 1];
      if (found !== undefined) return found;
      await once(this, 'line');
    }
  }
}

interface Opened {
  readonly toolset: Toolset;
  readonly notes: Notes;
  /** Ends the server, without a word. */
  readonly kill: () => Promise<void>;
  /** Brings it back where it has to be brought back. */
  readonly restart: () => Promise<void>;
  /** Forgets its sessions. */
  readonly forget: () => void;
}

async function overStdio(t: TestContext, options: McpOptions = {}): Promise<Opened> {
  const notes = new Notes();
  let started = 0;
  const toolset = mcpToolset(script('mcp-server.ts'), {
    log: notes.add,
    retryDelayMs: 0,
    ...options,
  });
  t.after(() => toolset.close());
  return {
    toolset,
    notes,
    kill: async () => {
      const line = await notes.find(/^pid /, ++started);
      process.kill(Number(line.slice(4)), 'SIGKILL');
    },
    restart: async () => {},
    forget: () => {},
  };
}

async function overHttp(t: TestContext, options: McpOptions = {}): Promise<Opened> {
  const notes = new Notes();
  const sessions: McpSessions = new Map();
  const create = () => createMcpServer(notes.add);
  const listen = (at: number) => listenMcp({ create, sessions, port: at, key: 'secret' });
  let http = await listen(0);
  const { port } = http.address() as AddressInfo;
  const stop = async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  };
  const url = `http://127.0.0.1:${port}/mcp`;
  const toolset = mcpToolset(
    { name: 'srv', url, headers: { 'x-key': 'secret' } },
    { retryDelayMs: 0, ...options },
  );
  t.after(async () => {
    await toolset.close();
    if (http.listening) await stop();
  });
  return {
    toolset,
    notes,
    kill: async () => {
      await stop();
      sessions.clear();
    },
    restart: async () => {
      http = await listen(port);
    },
    forget: () => sessions.clear(),
  };
}

async function find(toolset: Toolset, name: string): Promise<Tool> {
  const tools = await toolset.tools(never);
  const found = tools.find((tool) => tool.name === `srv__${name}`);
  assert.ok(found, `no ${name} among ${tools.map((tool) => tool.name).join(', ')}`);
  return found;
}

async function call(
  toolset: Toolset,
  name: string,
  args: Record<string, JsonValue> = {},
  context: Partial<ToolContext> = {},
): Promise<unknown> {
  const tool = await find(toolset, name);
  return tool.run(args, toolContext(context));
}

function isMcp(code: McpErrorCode, words = /./): (error: unknown) => boolean {
  return (error) =>
    error instanceof McpError &&
    error.code === code &&
    words.test(error.message) &&
    !error.message.includes('\n');
}

for (const [how, open] of [
  ['stdio', overStdio],
  ['http', overHttp],
] as const) {
  describe(`mcp over ${how}`, () => {
    test("the server's tools are offered under its name, with their schemas", async (t) => {
      const { toolset } = await open(t);
      const add = await find(toolset, 'add');
      assert.equal(add.description, 'Adds two numbers');
      const { properties, required } = add.parameters;
      assert.deepEqual(Object.keys(properties ?? {}), ['a', 'b']);
      assert.deepEqual(required, ['a', 'b']);
    });

    test('two tools whose names become the same stay two', async (t) => {
      const { toolset } = await open(t);
      const names = (await toolset.tools(never)).map(({ name }) => name);
      const odd = names.filter((name) => name.startsWith('srv__odd_name'));
      assert.equal(odd.length, 2);
      assert.equal(await call(toolset, 'odd_name'), 'odd_name');
      const other = odd.find((name) => name !== 'srv__odd_name')?.slice('srv__'.length) ?? '';
      assert.equal(await call(toolset, other), 'odd.name');
    });

    test('a call returns the data, else the words', async (t) => {
      const { toolset } = await open(t);
      assert.deepEqual(await call(toolset, 'add', { a: 1, b: 2 }), { sum: 3 });
      assert.equal(await call(toolset, 'echo', { text: 'hello' }), 'hello');
    });

    test('pictures and files stand beside the words', async (t) => {
      const { toolset } = await open(t);
      const result = await call(toolset, 'picture');
      assert.ok(result instanceof RichResponse);
      assert.equal(result.response, 'a dot\n\ntest://notes\nsome notes');
      assert.deepEqual(result.parts, [
        { kind: 'blob', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
        { kind: 'file', uri: 'https://a.example/file.pdf', name: 'file.pdf' },
      ]);
    });

    test("a tool's own error is thrown with its words", async (t) => {
      const { toolset } = await open(t);
      await assert.rejects(call(toolset, 'fails'), isMcp('tool', /^the disk is on fire$/));
    });

    test('arguments that the server refuses are an error of the tool', async (t) => {
      const { toolset } = await open(t);
      await assert.rejects(call(toolset, 'add', { a: 'one' }), isMcp('tool'));
    });

    test('progress is shown', async (t) => {
      const { toolset } = await open(t);
      const shown: JsonValue[] = [];
      const progress = (value: JsonValue) => void shown.push(value);
      assert.equal(await call(toolset, 'counts', { steps: 2 }, { progress }), 'counted');
      assert.deepEqual(shown, [
        { progress: 1, total: 2, message: 'step 1' },
        { progress: 2, total: 2, message: 'step 2' },
      ]);
    });

    test('an abort cancels the call on the server', async (t) => {
      const { toolset, notes } = await open(t);
      const stop = new AbortController();
      const calling = call(toolset, 'waits', {}, { signal: stop.signal });
      await notes.find(/^waiting$/);
      const reason = new Error('enough');
      stop.abort(reason);
      await assert.rejects(calling, (error) => error === reason);
      await notes.find(/^cancelled$/);
      assert.deepEqual(await call(toolset, 'add', { a: 1, b: 1 }), { sum: 2 });
    });

    test('a call without an answer ends in time, and is cancelled on the server', async (t) => {
      const { toolset, notes } = await open(t, { callTimeoutMs: 1_000 });
      await find(toolset, 'waits');
      await assert.rejects(
        call(toolset, 'waits'),
        isMcp('timeout', /did not respond within 1000 ms/),
      );
      await notes.find(/^cancelled$/);
    });

    test('a tool that the server adds is there when the tools are asked for again', async (t) => {
      const { toolset } = await open(t);
      await call(toolset, 'grows');
      const deadline = AbortSignal.timeout(20_000);
      for (;;) {
        const tools = await toolset.tools(deadline);
        if (tools.some(({ name }) => name === 'srv__grown')) break;
        await new Promise((resolve) => setImmediate(resolve));
        deadline.throwIfAborted();
      }
    });

    test('the list is asked for once', async (t) => {
      const { toolset } = await open(t);
      assert.equal(await toolset.tools(never), await toolset.tools(never));
    });

    test('after the server died and is back, calls go on', async (t) => {
      const { toolset, kill, restart } = await open(t);
      assert.deepEqual(await call(toolset, 'add', { a: 1, b: 2 }), { sum: 3 });
      const add = await find(toolset, 'add');
      await kill();
      await restart();
      // Whoever comes before the death is noticed gets its error, and nobody a second one.
      const again = () => add.run({ a: 2, b: 2 }, toolContext());
      const result = await Promise.resolve(again()).catch(async (error: unknown) => {
        assert.ok(isMcp('unreachable')(error), String(error));
        return again();
      });
      assert.deepEqual(result, { sum: 4 });
    });

    test('after close nothing goes on', async (t) => {
      const { toolset } = await open(t);
      const add = await find(toolset, 'add');
      await toolset.close?.();
      await assert.rejects(toolset.tools(never), isMcp('closed'));
      await assert.rejects(async () => add.run({ a: 1, b: 1 }, toolContext()), isMcp('closed'));
    });

    test('only what is wanted is offered', async (t) => {
      const { toolset } = await open(t, { include: ['add', 'echo', 'fails'], exclude: ['echo'] });
      const names = (await toolset.tools(never)).map(({ name }) => name);
      assert.deepEqual(names, ['srv__add', 'srv__fails']);
    });

    test('whether a person has to allow a call is as the options say', async (t) => {
      const asked = async (confirm: McpOptions['confirm'], name: string) => {
        const { toolset } = await open(t, confirm === undefined ? {} : { confirm });
        const tool = await find(toolset, name);
        return tool.confirm?.({ a: 1 }, toolContext());
      };
      assert.equal(await asked(undefined, 'echo'), undefined);
      assert.equal(await asked('all', 'add'), true);
      assert.equal(await asked('writes', 'add'), false);
      assert.equal(await asked('writes', 'echo'), true);
      const rule: McpOptions['confirm'] = (tool, args) => ({ text: JSON.stringify([tool, args]) });
      assert.deepEqual(await asked(rule, 'add'), {
        text: '[{"name":"add","readOnly":true,"destructive":false},{"a":1}]',
      });
    });
  });
}

describe('an MCP server that is a program', () => {
  test('ends with the toolset', async (t) => {
    const { toolset, notes } = await overStdio(t);
    await toolset.tools(never);
    const pid = Number((await notes.find(/^pid /)).slice(4));
    assert.equal(process.kill(pid, 0), true);
    await toolset.close?.();
    assert.throws(() => process.kill(pid, 0), /ESRCH/);
  });

  test('that ends in the middle of a call fails the call, and is started again for the next', async (t) => {
    const { toolset } = await overStdio(t);
    await assert.rejects(call(toolset, 'dies'), isMcp('unreachable', /outcome|unknown/));
    assert.equal(await call(toolset, 'echo', { text: 'back' }), 'back');
  });

  test('does not get our keys', async (t) => {
    process.env['PARLEY_TEST_SECRET'] = 'secret';
    t.after(() => delete process.env['PARLEY_TEST_SECRET']);
    const { toolset } = await overStdio(t);
    const environment = String(await call(toolset, 'environment'));
    assert.match(environment, /PATH/);
    assert.doesNotMatch(environment, /PARLEY_TEST_SECRET/);
  });

  test('that cannot be started is one clear error, and not tried again at once', async (t) => {
    const server = { name: 'srv', command: '/nowhere/no-such-program' };
    const toolset = mcpToolset(server, { retryDelayMs: 60_000 });
    t.after(() => toolset.close());
    const problem = isMcp('unreachable', /the MCP server srv is unavailable: .*ENOENT/);
    await assert.rejects(toolset.tools(never), problem);
    await assert.rejects(toolset.tools(never), problem);
  });

  for (const [what, code, says] of [
    [
      'the first error',
      'console.error("starting\\nError: no database\\nbye"); process.exit(3)',
      'Error: no database',
    ],
    [
      'its last words',
      'process.stderr.write("starting\\nno database"); process.exit(3)',
      'no database',
    ],
  ] as const) {
    test(`that ends before it is ready is quoted with ${what}`, async (t) => {
      const toolset = mcpToolset({ name: 'srv', command: process.execPath, args: ['-e', code] });
      t.after(() => toolset.close());
      const problem = new RegExp(`^the MCP server srv is unavailable: [^\\n]*: ${says}$`);
      await assert.rejects(toolset.tools(never), isMcp('unreachable', problem));
    });
  }

  test('whoever leaves while it starts leaves at once, and others still get it', async (t) => {
    const { toolset } = await overStdio(t);
    const stop = new AbortController();
    const leaving = toolset.tools(stop.signal);
    const staying = toolset.tools(never);
    stop.abort(new Error('enough'));
    await assert.rejects(leaving, /enough/);
    assert.ok((await staying).length > 5);
  });
});

describe('an MCP server by HTTP', () => {
  test('that is not there is one clear error, until it is there', async (t) => {
    const { toolset, kill, restart } = await overHttp(t);
    await kill();
    const problem = isMcp('unreachable', /the MCP server srv is unavailable: .*ECONNREFUSED/);
    await assert.rejects(toolset.tools(never), problem);
    await restart();
    assert.ok((await toolset.tools(never)).length > 5);
  });

  test('that has forgotten the session gets a new one, and the call is made', async (t) => {
    const { toolset, forget } = await overHttp(t);
    const add = await find(toolset, 'add');
    forget();
    assert.deepEqual(await add.run({ a: 2, b: 2 }, toolContext()), { sum: 4 });
  });

  async function endless(t: TestContext, type: string, chunk: string): Promise<Toolset> {
    const http = createServer((_, response) => {
      response.writeHead(200, { 'content-type': type });
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const toolset = mcpToolset({ name: 'srv', url: `http://127.0.0.1:${port}/` });
    t.after(async () => {
      await toolset.close();
      http.closeAllConnections();
      http.close();
    });
    return toolset;
  }

  test('that sends a body without end is left', async (t) => {
    const toolset = await endless(t, 'application/json', 'x'.repeat(65_536));
    await assert.rejects(toolset.tools(never), isMcp('unreachable', /more than \d+ bytes/));
  });

  test('that asks without end and takes no answers is left', async (t) => {
    let open = 0;
    let most = 0;
    const http = createServer((incoming, response) => {
      most = Math.max(most, ++open);
      response.on('close', () => (open -= 1));
      void (async () => {
        const text = (await incoming.toArray()).join('');
        const { id, method } = incoming.method === 'POST' ? JSON.parse(text) : {};
        const answer = (result: object): void => {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
        };
        if (method === 'initialize') {
          const serverInfo = { name: 'srv', version: '1' };
          answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo });
        } else if (method === 'tools/list') {
          answer({ tools: [{ name: 'x', inputSchema: { type: 'object' } }] });
        } else if (method === 'tools/call') {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          for (let n = 0; n < 2_000; n++) {
            response.write(`data: {"jsonrpc":"2.0","id":"p${n}","method":"ping"}\n\n`);
          }
        } else if (id === undefined || method !== undefined) {
          response.writeHead(id === undefined ? 202 : 400).end();
        }
      })();
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const toolset = mcpToolset({ name: 'srv', url: `http://127.0.0.1:${port}/` });
    t.after(async () => {
      await toolset.close();
      http.closeAllConnections();
      http.close();
    });
    const x = await find(toolset, 'x');
    const reason = /has not answered \d+ requests/;
    await assert.rejects(async () => x.run({}, toolContext()), isMcp('unreachable', reason));
    assert.ok(most < 600, `${most} connections`);
  });

  test('that sends an event without end is left, although each line is short', async (t) => {
    const toolset = await endless(t, 'text/event-stream', `data: ${'x'.repeat(65_536)}\r\n`);
    await assert.rejects(toolset.tools(never), isMcp('unreachable', /more than \d+ bytes/));
  });
});

describe('a hostile MCP server', () => {
  function hostile(t: TestContext, mode: string, options: McpOptions = {}): Toolset {
    const toolset = mcpToolset(script('mcp-hostile-server.ts', mode), options);
    t.after(() => toolset.close());
    return toolset;
  }

  test('that never answers is given up in time', async (t) => {
    const toolset = hostile(t, 'silent', { connectTimeoutMs: 300 });
    await assert.rejects(toolset.tools(never), isMcp('unreachable', /no response within 300 ms/));
  });

  test('that never answers over HTTP is given up in time, with all protocols that are tried', async (t) => {
    const asked: string[] = [];
    const http = createServer((incoming, outgoing) => {
      void (async () => {
        const { method } = JSON.parse(await text(incoming)) as { method: string };
        asked.push(method);
        if (method !== 'initialize') outgoing.writeHead(400).end();
      })();
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    const toolset = mcpToolset({ name: 'srv', url }, { connectTimeoutMs: 600 });
    t.after(async () => {
      await toolset.close();
      http.closeAllConnections();
      http.close();
    });
    await assert.rejects(toolset.tools(never), isMcp('unreachable', /no response within 600 ms/));
    assert.deepEqual(asked, ['server/discover', 'initialize']);
  });

  test('that never answers a call is given up in time', async (t) => {
    const toolset = hostile(t, 'mute', { callTimeoutMs: 1_000 });
    await assert.rejects(call(toolset, 'x'), isMcp('timeout'));
  });

  test('that lists tools without end is cut short, and so are its descriptions', async (t) => {
    const log: string[] = [];
    const toolset = hostile(t, 'many', { log: (line) => void log.push(line) });
    const tools = await toolset.tools(never);
    assert.equal(tools.length, 250);
    assert.ok(tools.every(({ description }) => description.length < 5_000));
    assert.match(log.join(), /only the first 250/);
  });

  test('that answers without end is left', async (t) => {
    const toolset = hostile(t, 'flood');
    await assert.rejects(call(toolset, 'x'), isMcp('unreachable', /buffer|size|large|bytes/i));
  });

  test('that answers at great length is cut', async (t) => {
    const text = String(await call(hostile(t, 'long'), 'x'));
    assert.ok(text.length < 101_000);
    assert.match(text, /characters left out/);
  });

  test('that answers nonsense is said to', async (t) => {
    await assert.rejects(
      call(hostile(t, 'nonsense'), 'x'),
      isMcp('invalid', /an invalid response/),
    );
  });

  test('a reason of blanks without end is no work to read', async (t) => {
    const toolset = hostile(t, 'blank');
    await toolset.tools(new AbortController().signal);
    const since = performance.now();
    await assert.rejects(call(toolset, 'x'), isMcp('tool', /refused/));
    assert.ok(performance.now() - since < 2000, 'in linear time');
  });
});
