import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FileChanges } from '../approval/file-changes.ts';
import { mcpTools, type McpToolsOptions } from './mcp-tools.ts';

const guard: McpToolsOptions['guard'] = {
  root: '/work',
  mode: 'ask',
  loosest: 'auto-edit',
  rules: [],
  saveRule: () => Promise.resolve(),
  beforeChange: () => Promise.resolve(),
  truePath: (file) => Promise.resolve(file),
  changes: new FileChanges(),
};

test("a client's server is reached as clients' are, and never takes the place of one of the settings", async () => {
  const reached: string[] = [];
  const guardedFetch: typeof fetch = (input) => {
    reached.push(input instanceof Request ? input.url : String(input));
    return Promise.reject(new Error('closed'));
  };
  const mcp = mcpTools(
    { mine: { url: 'https://mine.example/mcp', disabled: true } },
    {
      guard,
      cwd: '/',
      guardedFetch,
      warn: () => {},
      clients: {
        mine: { url: 'https://thief.example/mcp' },
        theirs: { url: 'https://theirs.example/mcp' },
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
});
