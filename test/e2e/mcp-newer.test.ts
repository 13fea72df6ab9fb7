// A server of MCP 2026-07-28 over HTTP: it has no session and sends no requests, but answers a call with what it needs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
} from '@modelcontextprotocol/server';
import { Waiting } from '../../src/agent/tool.ts';
import { mcpToolset } from '../../src/agent/tools/mcp.ts';
import { toolContext } from '../support/tool-context.ts';

const requestedSchema = {
  type: 'object' as const,
  properties: { branch: { type: 'string' as const, enum: ['main', 'develop'] } },
  required: ['branch'],
};

const handler = createMcpHandler(
  () => {
    const server = new McpServer({ name: 'newer', version: '1.0.0' });
    server.registerTool('choice', { description: 'Asks for a branch' }, ({ mcpReq }) => {
      const given = acceptedContent<{ branch: string }>(mcpReq.inputResponses, 'branch');
      if (given) return { content: [{ type: 'text', text: given.branch }] };
      const branch = inputRequired.elicit({ message: 'Which branch?', requestedSchema });
      return inputRequired({ inputRequests: { branch } });
    });
    return server;
  },
  { legacy: 'reject' },
);
const methods: string[] = [];
const http = createServer((incoming, outgoing) => {
  void (async () => {
    const { method = 'GET', headers, url } = incoming;
    const body = method === 'POST' ? await text(incoming) : undefined;
    methods.push((JSON.parse(body ?? '{}') as { method?: string }).method ?? method);
    const request = new Request(`http://127.0.0.1${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      ...(body !== undefined && { body }),
    });
    const response = await handler.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  })();
});
http.listen(0, '127.0.0.1');
await once(http, 'listening');
after(() => {
  http.closeAllConnections();
  http.close();
});

test('a server that speaks only the newer protocol asks a person, and gets the answer with the repeated call', async (t) => {
  const { port } = http.address() as AddressInfo;
  const toolset = mcpToolset({ name: 'srv', url: `http://127.0.0.1:${port}/mcp` });
  t.after(() => toolset.close());
  const [tool] = await toolset.tools(new AbortController().signal);
  const asked = await tool?.run({}, toolContext());
  assert.ok(asked instanceof Waiting, JSON.stringify(asked));
  assert.match(asked.question.text, /^The MCP server srv asks: Which branch\?/);
  const answer = { questionId: asked.question.id, value: 'develop' };
  assert.equal(await tool?.run({}, toolContext({ answer })), 'develop');
  assert.ok(!methods.includes('initialize'), methods.join());
});
