/** An MCP server over Streamable HTTP with sessions, for tests. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import {
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

export type McpSessions = Map<string, WebStandardStreamableHTTPServerTransport>;

interface McpHttp {
  readonly create: () => McpServer;
  readonly sessions?: McpSessions;
  readonly port?: number;
  /** The header `x-key` that requests must have. */
  readonly key?: string;
}

/** Each session has a server of its own, as the SDK wants it; a session that it does not know gets 404. */
export async function listenMcp(options: McpHttp): Promise<Server> {
  const { create, sessions = new Map(), port = 0, key } = options;
  async function handle(request: Request): Promise<Response> {
    if (key !== undefined && request.headers.get('x-key') !== key)
      return new Response('no', { status: 401 });
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : sessions.get(id);
    if (known) return known.handleRequest(request);
    if (id !== null) return new Response('unknown session', { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => void sessions.set(made, transport),
    });
    await create().connect(transport);
    return transport.handleRequest(request);
  }
  const http = createServer((incoming, outgoing) => {
    const headers = Object.entries(incoming.headers).map(([key, value]) => [key, String(value)]);
    const { method = 'GET' } = incoming;
    const body = method === 'POST' ? Readable.toWeb(incoming) : null;
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method,
      headers: Object.fromEntries(headers),
      signal: gone.signal,
      ...(body && { body: body as ReadableStream<Uint8Array>, duplex: 'half' as const }),
    });
    handle(request)
      .then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
        for await (const chunk of response.body ?? []) outgoing.write(chunk);
        outgoing.end();
      })
      .catch(() => outgoing.destroy());
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  return http;
}
