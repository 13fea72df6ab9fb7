/** A live session of a coding agent with a scripted model, in this process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import type { TestContext } from 'node:test';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import type { LiveItem, LiveSession } from '../../src/live/client/session.ts';
import { createCoder, type CoderOptions } from '../../src/coder/coder.ts';
import { openLive, type Live, type LiveOptions } from '../../src/live/hub.ts';
import { liveServeOptions, type LiveServeOptions } from '../../src/live/ws/route.ts';
import { eventIn, type ToolCall } from '../../src/protocol/development-tool/index.ts';
import { textOf } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { serve, type AgentServer, type Listening, type ServeOptions } from '../../src/server.ts';
import { callIn, makePlace, type Place } from '../coder/support.ts';
import { within } from '../support/within.ts';

export const silent = { debug() {}, info() {}, warn() {}, error() {} };

export interface OpenOptions extends Partial<CoderOptions> {
  readonly script?: readonly ScriptedResponse[];
  readonly server?: ServeOptions;
  readonly place?: Place;
  readonly files?: LiveOptions['files'];
  /** The conversation that it continues. */
  readonly continues?: Pick<LiveOptions, 'contextId' | 'former'>;
  /** How it is served to others. */
  readonly access?: Partial<Omit<LiveServeOptions, 'coder'>>;
}

export interface Opened {
  readonly live: Live;
  readonly server: AgentServer;
  readonly place: Place;
  listen(): Promise<Listening>;
  /** Ends it before the test does. */
  close(): Promise<void>;
}

export async function openSession(
  t: TestContext,
  {
    script = [],
    server: serveOptions,
    place = makePlace(t),
    access,
    files,
    continues,
    ...more
  }: OpenOptions = {},
): Promise<Opened> {
  const session: { live?: Live } = {};
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
    ...liveServeOptions({ coder, live: () => session.live, logger: silent, ...access }),
    logger: silent,
    store: serveOptions?.store ?? sqliteStore(join(place.home, 'tasks.db')),
    ...serveOptions,
  });
  const { workspace } = place;
  const opened = await openLive({
    coder,
    handler: server.handler,
    workspace,
    logger: silent,
    access: access?.access,
    files,
    ...continues,
  });
  session.live = opened;
  const listening: Listening[] = [];
  let closing: Promise<void> | undefined;
  const shut = async () => {
    await opened.close();
    for (const each of listening) await each.close(0);
    await server.close(0);
    await coder.close();
    await sessions.close();
  };
  const close = () => (closing ??= shut());
  t.after(close);
  const listen = async () => {
    const at = await server.listen(0);
    listening.push(at);
    return at;
  };
  return { live: opened, server, place, listen, close };
}

/** A session that others can join, and where. */
export async function serveSession(
  t: TestContext,
  options: OpenOptions = {},
): Promise<Opened & { readonly url: string; readonly ws: string; readonly listening: Listening }> {
  const opened = await openSession(t, options);
  const listening = await opened.listen();
  const { url } = listening;
  return { ...opened, url, ws: `${url.replace('http', 'ws')}/ws`, listening };
}

/** A client that writes down what it sees, and can wait for what it wants to see. */
export class Watcher {
  readonly items: LiveItem[] = [];
  readonly session: LiveSession;
  readonly done: Promise<void>;
  #waiting: (() => void)[] = [];

  constructor(session: LiveSession, options?: Parameters<LiveSession['items']>[0]) {
    this.session = session;
    this.done = this.#read(options);
  }

  async #read(options: Parameters<LiveSession['items']>[0]): Promise<void> {
    for await (const item of this.session.items(options)) {
      this.items.push(item);
      for (const wake of this.#waiting.splice(0)) wake();
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The first that `find` finds anything in, from the `from`th on. */
  async until<T>(find: (item: LiveItem) => T | undefined, from = 0): Promise<T> {
    for (let at = from; ; at++) {
      while (at >= this.items.length) {
        const next = new Promise<void>((resolve) => this.#waiting.push(resolve));
        await within(`${this.items.length} items so far, and none is ${String(find)}`, next);
      }
      const found = find(this.items[at]!);
      if (found !== undefined) return found;
    }
  }

  /** The next call that waits for an answer, after so many others. */
  async pending(after = 0): Promise<ToolCall> {
    const seen = new Set<string>();
    return this.until((item) => {
      const calls =
        item.kind === 'snapshot'
          ? item.snapshot.pending
          : item.kind === 'event'
            ? [callIn(item.event)]
            : [];
      for (const call of calls) {
        if (!call?.confirmation_request) continue;
        seen.add(call.tool_call_id);
        if (seen.size > after) return call;
      }
      return undefined;
    });
  }

  /** Waits until so many turns have come to this state. */
  async state(state: string, times = 1): Promise<void> {
    let left = times;
    await this.until((item) => {
      if (item.kind !== 'event' || item.event.kind !== 'status-update') return undefined;
      const { final, status } = item.event;
      if (final && status.state === state) left--;
      return left === 0 ? true : undefined;
    });
  }

  /** What was said, as `who: text`. */
  get said(): string[] {
    const lines: string[] = [];
    for (const item of this.items) {
      if (item.kind !== 'event' || item.event.kind !== 'status-update') continue;
      const { status, metadata } = item.event;
      const told = eventIn(metadata);
      if (told?.kind !== 'TEXT_CONTENT' || !status.message) continue;
      const who = status.message.role === 'user' ? (told.source?.name ?? 'user') : 'agent';
      lines.push(`${who}: ${textOf(status.message.parts)}`);
    }
    return lines;
  }

  /** The numbers of the events, in the order in which they came, by task. */
  get order(): string[] {
    return this.items.flatMap((item) =>
      item.kind === 'event' ? [`${item.taskId}#${item.seq}`] : [],
    );
  }
}

/** A way to the server that can be cut, and may be slow. */
export async function bridge(
  t: TestContext,
  url: string,
  { bytesPerSecond = Infinity }: { readonly bytesPerSecond?: number } = {},
) {
  const sockets = new Set<Socket>();
  let open = true;
  const server = createServer((inner) => {
    if (!open) {
      inner.destroy();
      return;
    }
    const outer = connect(Number(new URL(url).port), '127.0.0.1');
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    }
    if (bytesPerSecond === Infinity) outer.pipe(inner);
    else outer.pipe(slowly(bytesPerSecond)).pipe(inner);
    inner.pipe(outer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    server.close();
    cut();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const setOpen = (value: boolean) => {
    open = value;
    if (!value) cut();
  };
  return { url: `http://127.0.0.1:${address.port}`, cut, setOpen };
}

function slowly(bytesPerSecond: number): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      setTimeout(() => done(null, chunk), (chunk.length / bytesPerSecond) * 1000);
    },
  });
}
