/** A live session with a scripted model, and editors in it: the official SDK as client. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  client,
  methods,
  type AnyMessage,
  type ClientCapabilities,
  type ClientConnection,
  type InitializeResponse,
  type LoadSessionRequest,
  type NewSessionResponse,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk';
import { WebSocket } from 'ws';
import { acpHttp, acpSocket } from '../../src/acp/streams.ts';
import { serveAcp, type AcpOptions } from '../../src/acp/serve.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { createCoder, type CoderOptions } from '../../src/coder/coder.ts';
import { openLive, type Live } from '../../src/live/hub.ts';
import { liveServeOptions } from '../../src/live/ws/route.ts';
import type { McpServers } from '../../src/protocol/development-tool/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { serve } from '../../src/server.ts';
import { makePlace, type Place } from '../coder/support.ts';

export const silent = { debug() {}, info() {}, warn() {}, error() {} };
export const VERSION = '1.2.3';

export interface StartedLive extends Place {
  readonly live: Live;
  readonly url: string;
}

export interface LiveStart extends Partial<CoderOptions> {
  readonly script?: readonly ScriptedResponse[];
  readonly place?: Place;
  /** The MCP servers that the session's client brings. */
  readonly mcpServers?: McpServers;
  /** For editors that do not read. */
  readonly stallMs?: number;
}

/** A coding agent on a port, and its live session, with ACP at `/ws` and `/acp`. */
export async function startLive(
  t: Pick<TestContext, 'after'>,
  options: LiveStart = {},
): Promise<StartedLive> {
  const { script = [], stallMs = 30_000, place = makePlace(t), mcpServers, ...more } = options;
  const sessions = sqliteSessions(join(place.home, 'sessions.db'));
  const coder = await createCoder({
    roots: [place.workspace],
    sessions,
    configFolder: join(place.home, 'config'),
    dataFolder: place.home,
    logger: silent,
    model: scriptedModel(script),
    ...more,
  });
  const opened: { live?: Live } = {};
  const server = serve(coder.agent, {
    ...liveServeOptions({
      coder,
      live: () => opened.live,
      acp: (socket, enter) =>
        acpSocket(socket, enter, { version: VERSION, logger: silent, stallMs }),
      acpHttp: acpHttp({ version: VERSION, logger: silent }),
      logger: silent,
    }),
    logger: silent,
    store: sqliteStore(join(place.home, 'tasks.db')),
  });
  const listening = await server.listen(0);
  const { workspace } = place;
  const live = await openLive({
    coder,
    handler: server.handler,
    workspace,
    logger: silent,
    mcpServers,
  });
  opened.live = live;
  t.after(async () => {
    await live.close();
    await listening.close(0);
    await coder.close();
    await sessions.close();
  });
  return { ...place, live, url: listening.url };
}

/** Two ends of a connection in memory. */
export function streamPair(): [Stream, Stream] {
  const there = new TransformStream<AnyMessage, AnyMessage>();
  const back = new TransformStream<AnyMessage, AnyMessage>();
  return [
    { readable: there.readable, writable: back.writable },
    { readable: back.readable, writable: there.writable },
  ];
}

type Answer = (
  request: RequestPermissionRequest,
) => RequestPermissionResponse | Promise<RequestPermissionResponse>;

/** What an editor offers to the agent, and the app with its handlers. */
export interface Offer {
  readonly app?: ReturnType<typeof client>;
  readonly capabilities?: ClientCapabilities;
}

/** An editor: keeps what it is told, and answers what it is asked. */
export class Editor {
  readonly connection: ClientConnection;
  readonly updates: SessionUpdate[] = [];
  readonly asked: RequestPermissionRequest[] = [];
  /** Calls whose requests were withdrawn. */
  readonly withdrawn: string[] = [];
  /** Unless told, nothing is answered, until the request is withdrawn. */
  answer: Answer | undefined;
  sessionId = '';
  readonly #capabilities: ClientCapabilities;
  #changed = Promise.withResolvers<void>();

  constructor(stream: Stream, { app = client({ name: 'editor' }), capabilities }: Offer = {}) {
    this.#capabilities = capabilities ?? {};
    this.connection = app
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params.update);
        this.#change();
      })
      .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
        this.asked.push(params);
        this.#change();
        if (this.answer) return this.answer(params);
        if (!signal.aborted) await once(signal, 'abort');
        this.withdrawn.push(params.toolCall.toolCallId);
        this.#change();
        return { outcome: { outcome: 'cancelled' } };
      })
      .connect(stream);
  }

  initialize(name = 'zed'): Promise<InitializeResponse> {
    return this.connection.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientInfo: { name, version: '0.1' },
      clientCapabilities: this.#capabilities,
    });
  }

  async open(cwd = '/'): Promise<NewSessionResponse> {
    await this.initialize();
    const response = await this.connection.agent.request(methods.agent.session.new, {
      cwd,
      mcpServers: [],
    });
    this.sessionId = response.sessionId;
    return response;
  }

  load(sessionId = this.sessionId, cwd = '/') {
    this.sessionId = sessionId;
    const wanted: LoadSessionRequest = { sessionId, cwd, mcpServers: [] };
    return this.connection.agent.request(methods.agent.session.load, wanted);
  }

  prompt(text: string): Promise<PromptResponse> {
    const { sessionId } = this;
    const prompt = [{ type: 'text' as const, text }];
    return this.connection.agent.request(methods.agent.session.prompt, { sessionId, prompt });
  }

  cancel(): Promise<void> {
    const { sessionId } = this;
    return this.connection.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  /** Resolves when it holds, looked at after each thing that happens here. */
  async until(holds: (editor: this) => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(20_000);
    while (!holds(this)) {
      await Promise.race([this.#changed.promise, once(deadline, 'abort')]);
      assert.ok(
        !deadline.aborted,
        `never came: ${String(holds)}\nupdates: ${outline(this.updates)}`,
      );
    }
  }

  of<Kind extends SessionUpdate['sessionUpdate']>(
    kind: Kind,
  ): Extract<SessionUpdate, { sessionUpdate: Kind }>[] {
    return this.updates.filter(
      (update): update is Extract<SessionUpdate, { sessionUpdate: Kind }> =>
        update.sessionUpdate === kind,
    );
  }

  /** What the agent has said. */
  get text(): string {
    return textIn(this.of('agent_message_chunk'));
  }

  /** What others have said. */
  get heard(): string[] {
    return this.of('user_message_chunk').map((chunk) => textIn([chunk]));
  }

  #change(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

export function textIn(chunks: readonly { content: { type: string; text?: string } }[]): string {
  return chunks.map(({ content }) => content.text ?? '').join('');
}

/** One word for each update, pieces of text together. */
export function outline(updates: readonly SessionUpdate[]): string {
  const words: string[] = [];
  for (const update of updates) {
    const { sessionUpdate: kind } = update;
    const status = 'status' in update ? ` ${update.status ?? ''}` : '';
    const word = `${kind}${status}`.trim();
    if (word !== words.at(-1) || !kind.endsWith('chunk')) words.push(word);
  }
  return words.join(', ');
}

/** An editor in memory. */
export function editorFor(
  t: TestContext,
  options: Partial<AcpOptions> & Pick<AcpOptions, 'join'>,
  offer?: Offer,
) {
  const [ours, theirs] = streamPair();
  const served = serveAcp(ours, { version: VERSION, logger: silent, ...options });
  const editor = new Editor(theirs, offer);
  t.after(async () => {
    editor.connection.close();
    served.close();
    await served.closed;
  });
  return { editor, served };
}

/** An editor in memory that joins a live session. */
export function editorIn(t: TestContext, { live }: Pick<StartedLive, 'live'>): Editor {
  const { editor } = editorFor(t, {
    join: ({ clientName: name }) => live.join({ kind: 'acp', name }),
  });
  return editor;
}

/** An editor on a WebSocket. */
export async function editorAt(
  t: TestContext,
  url: string,
  protocols: string[] = [],
): Promise<Editor & { readonly socket: WebSocket }> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols);
  t.after(() => socket.terminate());
  await once(socket, 'open');
  return Object.assign(new Editor(webStream(socket)), { socket });
}

function webStream(socket: WebSocket): Stream {
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      socket.on('message', (data: Buffer) =>
        controller.enqueue(JSON.parse(data.toString()) as AnyMessage),
      );
      socket.on('close', () => controller.close());
    },
    cancel: () => socket.close(),
  });
  const writable = new WritableStream<AnyMessage>({
    write: (message) => socket.send(JSON.stringify(message)),
  });
  return { readable, writable };
}

export const allowed: RequestPermissionResponse = {
  outcome: { outcome: 'selected', optionId: 'proceed_once' },
};
