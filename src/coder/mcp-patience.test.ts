import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { FileChanges } from './approval/file-changes.ts';
import { mcpTools } from './session/mcp-tools.ts';

test('a server that says nothing is waited for once, not at every step of every turn', async (t) => {
  const held: ServerResponse[] = [];
  const server = createServer((_, response) => void held.push(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const guard = {
    root: '/work',
    mode: 'ask',
    loosest: 'auto-edit',
    rules: [],
    saveRule: () => Promise.resolve(),
    beforeChange: () => Promise.resolve(),
    truePath: (file: string) => Promise.resolve(file),
    changes: new FileChanges(),
  } as const;
  const mute = { url: `http://127.0.0.1:${address.port}/mcp` };
  const mcp = mcpTools({ mute }, { guard, cwd: '/', warn: () => {}, patienceMs: 300 });
  const began = performance.now();
  const limit = AbortSignal.timeout(10_000);
  const [first] = await mcp.status(limit);
  assert.match(first?.problem ?? '', /has not answered yet/);
  for (let step = 0; step < 5; step++) assert.deepEqual(await mcp.tools(limit), []);
  assert.ok(performance.now() - began < 3000);
  await mcp.close();
});
