/** The MCP server of the tests over HTTP, without sessions. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import {
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { createMcpServer } from '../e2e/mcp-server.ts';

export interface McpOverHttp {
  readonly url: string;
  /** The methods that it was asked for. */
  readonly asked: string[];
}

export async function startMcp(
  t: TestContext,
  create: () => McpServer = () => createMcpServer(() => {}),
): Promise<McpOverHttp> {
  const asked: string[] = [];
  const http = createServer((incoming, outgoing) => {
    async function handle(): Promise<void> {
      const { method = 'GET', headers } = incoming;
      const body = method === 'POST' ? await text(incoming) : undefined;
      const { method: called } = JSON.parse(body ?? '{}') as { method?: string };
      asked.push(called ?? method);
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await create().connect(transport);
      const response = await transport.handleRequest(
        new Request(`http://127.0.0.1${incoming.url}`, {
          method,
          headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
          ...(body !== undefined && { body }),
        }),
      );
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    }
    handle().catch(() => outgoing.destroy());
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, asked };
}
