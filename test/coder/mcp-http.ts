/** The MCP server of the tests over HTTP, without sessions. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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
  readonly port: number;
  stop(): Promise<void>;
}

export async function startMcp(
  t: TestContext,
  create: () => McpServer = () => createMcpServer(() => {}),
  wanted = 0,
  /** Answers a request that may not pass. */
  guard?: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean | Promise<boolean>,
): Promise<McpOverHttp> {
  const asked: string[] = [];
  const http = createServer((incoming, outgoing) => {
    async function handle(): Promise<void> {
      const { method = 'GET', headers } = incoming;
      if ((await guard?.(incoming, outgoing)) === true) return;
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
  http.listen(wanted, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    if (!http.listening) return;
    const closed = once(http, 'close');
    http.close();
    http.closeAllConnections();
    await closed;
  };
  t.after(stop);
  return { url: `http://127.0.0.1:${port}/mcp`, asked, port, stop };
}
