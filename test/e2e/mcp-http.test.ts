// MCP servers over HTTP, and hostile ones: each is left in time, with one clear error.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { type Toolset } from '../../src/agent/tool.ts';
import { mcpToolset, type McpOptions } from '../../src/agent/tools/mcp.ts';
import { toolContext } from '../support/tool-context.ts';

import { call, find, isMcp, listening, never, overHttp, script } from './mcp-support.ts';

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
    const toolset = await listening(t, (_, response) => {
      response.writeHead(200, { 'content-type': type });
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
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
    const toolset = await listening(t, (incoming, response) => {
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
    const toolset = await listening(
      t,
      (incoming, outgoing) => {
        void (async () => {
          const { method } = JSON.parse(await text(incoming)) as { method: string };
          asked.push(method);
          if (method !== 'initialize') outgoing.writeHead(400).end();
        })();
      },
      { connectTimeoutMs: 600 },
    );
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
