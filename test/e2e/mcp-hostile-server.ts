// An MCP server that does what no server should, over stdio. Its argument says what.
import { createInterface } from 'node:readline';

const [mode] = process.argv.slice(2);

function answer(id: unknown, result: unknown): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}

function refuse(id: unknown, message: string): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message } })}\n`);
}

function toolsPage(cursor: unknown): unknown {
  const from = Number(cursor ?? 0);
  const tools = Array.from({ length: 500 }, (_, n) => ({
    name: `tool${from + n}`,
    description: 'x'.repeat(10_000),
    inputSchema: { type: 'object' },
  }));
  // There is always one page more.
  return { tools, nextCursor: String(from + tools.length) };
}

/** One message that never ends. */
function flood(): void {
  const chunk = 'x'.repeat(65_536);
  const write = (): void => {
    while (process.stdout.write(chunk));
    process.stdout.once('drain', write);
  };
  process.stdout.write('{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"');
  write();
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (mode === 'silent') continue;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const serverInfo = { name: 'hostile', version: '1' };
    answer(id, { protocolVersion, capabilities: { tools: {} }, serverInfo });
  } else if (method === 'tools/list') {
    const inputSchema = { type: 'object' };
    answer(
      id,
      mode === 'many' ? toolsPage(params?.cursor) : { tools: [{ name: 'x', inputSchema }] },
    );
  } else if (method === 'tools/call') {
    if (mode === 'flood') flood();
    if (mode === 'blank') refuse(id, ' '.repeat(200_000));
    if (mode === 'nonsense') answer(id, { content: 'not a list' });
    if (mode === 'long') answer(id, { content: [{ type: 'text', text: 'x'.repeat(2_000_000) }] });
  }
}
