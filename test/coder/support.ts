/** A coding agent behind a real server, with a scripted model and a workspace of its own. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { createCoder, type CoderOptions } from '../../src/coder/coder.ts';
import type { CommandService } from '../../src/coder/commands/service.ts';
import { coderServeOptions } from '../../src/coder/serve-options.ts';
import { EXTENSION_URI, eventIn, ToolCall } from '../../src/protocol/development-tool/index.ts';
import type { Message, StreamEvent, Task } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { serve, type ServeOptions } from '../../src/server.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

export interface Place {
  readonly workspace: string;
  readonly home: string;
}

export function makePlace(t: Pick<TestContext, 'after'>): Place {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-coder-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const place = { workspace: join(folder, 'work'), home: join(folder, 'home') };
  for (const each of Object.values(place)) mkdirSync(each);
  return place;
}

export interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

export interface StartOptions extends Partial<CoderOptions> {
  readonly script?: readonly ScriptedResponse[];
  readonly server?: ServeOptions;
  /** In the place of the agent's own. */
  readonly commands?: CommandService;
}

export async function startCoder(
  t: TestContext,
  place: Place,
  { script = [], server: serveOptions, commands, ...more }: StartOptions = {},
): Promise<Started> {
  const model: Model = more.model ?? scriptedModel(script);
  const sessions = sqliteSessions(join(place.home, 'sessions.db'));
  const coder = await createCoder({
    roots: [place.workspace],
    sessions,
    configFolder: join(place.home, 'config'),
    dataFolder: place.home,
    logger: silent,
    ...more,
    model,
  });
  const server = serve(coder.agent, {
    ...coderServeOptions({ workspaces: coder.workspaces, commands: commands ?? coder.commands }),
    logger: silent,
    ...serveOptions,
    store: serveOptions?.store ?? sqliteStore(join(place.home, 'tasks.db')),
  });
  const listening = await server.listen(0);
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await listening.close(0);
    await coder.close();
    await sessions.close();
  };
  t.after(stop);
  return { url: listening.url, stop };
}

let made = 0;
export function userMessage(
  content: string | Message['parts'],
  more: Partial<Message> = {},
): Message {
  const parts = typeof content === 'string' ? [{ kind: 'text' as const, text: content }] : content;
  return { kind: 'message', messageId: `m${process.pid}-${++made}`, role: 'user', parts, ...more };
}

const HEADERS = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION_URI };

/** One JSON-RPC call of 0.3. */
export async function rpc(url: string, method: string, params: object): Promise<RpcReply> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body });
  return (await response.json()) as RpcReply;
}

/** Sends a message as a client that does not know the extension. */
export async function sendPlainly(url: string, message: object): Promise<RpcReply> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message },
  });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  return (await response.json()) as RpcReply;
}

export interface RpcReply {
  readonly result?: Task;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
}

/** The events of a stream of 0.3, to its end. */
export async function stream(url: string, message: Message): Promise<StreamEvent[]> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'message/stream',
    params: { message },
  });
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body });
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(text);
  }
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => {
    const { result, error } = JSON.parse(data!) as { result: StreamEvent; error?: object };
    if (error) throw new Error(JSON.stringify(error));
    return result;
  });
}

/** An event in a word or two: `task submitted`, `TOOL_CALL_UPDATE PENDING`, `STATE_CHANGE completed final`. */
export function outline(event: StreamEvent): string {
  if (event.kind === 'task') return `task ${event.status.state}`;
  if (event.kind !== 'status-update') return event.kind;
  const { kind } = eventIn(event.metadata) ?? { kind: 'none' };
  const call = callIn(event);
  const detail = call ? call.status : kind === 'STATE_CHANGE' ? event.status.state : '';
  return [kind, detail, event.final ? 'final' : ''].filter((word) => word !== '').join(' ');
}

/** The tool call in an event, checked against the extension's schema. */
export function callIn(event: StreamEvent): ToolCall | undefined {
  if (event.kind !== 'status-update' || eventIn(event.metadata)?.kind !== 'TOOL_CALL_UPDATE') {
    return undefined;
  }
  const part = event.status.message?.parts[0];
  return part?.kind === 'data' ? ToolCall.parse(part.data) : undefined;
}

export function confirmation(taskId: string, data: Record<string, unknown>): Message {
  return userMessage([{ kind: 'data', data }], { taskId });
}
