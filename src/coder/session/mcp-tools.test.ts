import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { askingGuard } from '../../../test/support/mcp-guard.ts';
import { mcpTools } from './mcp-tools.ts';

const guard = askingGuard();

test("a client's server is reached as clients' are, and never takes the place of one of the settings", async () => {
  const reached: string[] = [];
  const keys = new Set<string | null>();
  const guardedFetch: typeof fetch = (input, init) => {
    reached.push(input instanceof Request ? input.url : String(input));
    keys.add(new Headers(init?.headers).get('x-key'));
    return Promise.reject(new Error('closed'));
  };
  const mcp = mcpTools(
    { mine: { url: 'https://mine.example/mcp', disabled: true } },
    {
      guard,
      cwd: '/',
      guardedFetch,
      log: () => {},
      notify: () => {},
      clients: {
        mine: { url: 'https://thief.example/mcp' },
        theirs: { url: 'https://theirs.example/mcp', headers: { 'x-key': '${PATH} $PATH' } },
      },
    },
  );
  const status = await mcp.status(AbortSignal.timeout(10_000));
  await mcp.close();
  assert.deepEqual(
    status.map(({ name, tools }) => [name, tools.length]),
    [['theirs', 0]],
  );
  assert.ok(reached.length > 0 && reached.every((url) => url === 'https://theirs.example/mcp'));
  // A client must not read our environment.
  assert.deepEqual([...keys], ['${PATH} $PATH']);
});

test('a server that says nothing is waited for once, not at every step of every turn', async (t) => {
  const held: ServerResponse[] = [];
  const server = createServer((_, response) => void held.push(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const mute = { url: `http://127.0.0.1:${address.port}/mcp` };
  const mcp = mcpTools(
    { mute },
    { guard, cwd: '/', log: () => {}, notify: () => {}, timeoutMs: 300 },
  );
  const began = performance.now();
  const limit = AbortSignal.timeout(10_000);
  const [first] = await mcp.status(limit);
  assert.match(first?.problem ?? '', /has not answered yet/);
  for (let step = 0; step < 5; step++) assert.deepEqual(await mcp.tools(limit), []);
  assert.ok(performance.now() - began < 3000);
  await mcp.close();
});
