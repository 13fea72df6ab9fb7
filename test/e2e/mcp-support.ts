/** Toolsets with real MCP servers: a child process over stdio, and Streamable HTTP on loopback. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { JsonValue } from '../../src/base/index.ts';
import { type Tool, type ToolContext, type Toolset } from '../../src/agent/tool.ts';
import { McpError, type McpErrorCode } from '../../src/agent/tools/mcp-error.ts';
import { mcpToolset, type McpOptions } from '../../src/agent/tools/mcp.ts';
import { toolContext } from '../support/tool-context.ts';
import { createMcpServer } from './mcp-server.ts';
import { listenMcp, type McpSessions } from './mcp-sessions.ts';

export const never = new AbortController().signal;

export function script(name: string, ...args: string[]) {
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

export interface Opened {
  readonly toolset: Toolset;
  readonly notes: Notes;
  /** Ends the server, without a word. */
  readonly kill: () => Promise<void>;
  /** Brings it back where it has to be brought back. */
  readonly restart: () => Promise<void>;
  /** Forgets its sessions. */
  readonly forget: () => void;
}

export async function overStdio(t: TestContext, options: McpOptions = {}): Promise<Opened> {
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

export async function overHttp(t: TestContext, options: McpOptions = {}): Promise<Opened> {
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

export async function find(toolset: Toolset, name: string): Promise<Tool> {
  const tools = await toolset.tools(never);
  const found = tools.find((tool) => tool.name === `srv__${name}`);
  assert.ok(found, `no ${name} among ${tools.map((tool) => tool.name).join(', ')}`);
  return found;
}

export async function call(
  toolset: Toolset,
  name: string,
  args: Record<string, JsonValue> = {},
  context: Partial<ToolContext> = {},
): Promise<unknown> {
  const tool = await find(toolset, name);
  return tool.run(args, toolContext(context));
}

export function isMcp(code: McpErrorCode, words = /./): (error: unknown) => boolean {
  return (error) =>
    error instanceof McpError &&
    error.code === code &&
    words.test(error.message) &&
    !error.message.includes('\n');
}

/** A toolset with an HTTP server that answers as the listener does, until the test ends. */
export async function listening(
  t: TestContext,
  listener: RequestListener,
  options: McpOptions = {},
): Promise<Toolset> {
  const http = createServer(listener);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const toolset = mcpToolset({ name: 'srv', url: `http://127.0.0.1:${port}/` }, options);
  t.after(async () => {
    await toolset.close();
    http.closeAllConnections();
    http.close();
  });
  return toolset;
}
