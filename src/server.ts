/**
 * An agent behind HTTP, with everything that is needed.
 *
 *   await serve(agent).listen(4000);
 */
import type { Server } from 'node:http';
import { type AddressInfo, isIP, Server as NetServer, type Socket } from 'node:net';
import { defined } from './base/index.ts';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type A2AError,
  type AgentCard,
  type Call,
  type ProtocolVersion,
  VERSIONS,
} from './protocol/index.ts';
import {
  type A2AAgent,
  createHandler,
  type HandlerOptions,
  type Logger,
  type RequestHandler,
  consoleLogger,
} from './tasks/index.ts';
import {
  type Admission,
  type Authenticate,
  createAdmission,
  type App,
  createApp,
  makeCard,
  createFetchHandler,
  type FetchHandler,
  Heartbeat,
  isLoopback,
  createNodeHandler,
  type NodeHandler,
  type MountOptions,
  type OwnMethod,
  ownMethods,
  type OwnRoute,
  type RouteReply,
  routeTable,
  type TransportRequest,
  plainRoute,
  type SocketRoute,
  StreamCounter,
  webhookDelivery,
  type WebhookOptions,
} from './http/index.ts';
import type { Upgrades } from './http/websocket/index.ts';

/** The limits of a server: sizes, streams and timeouts. */
export interface ServeLimits extends NonNullable<HandlerOptions['limits']> {
  readonly maxBodyBytes?: number;
  readonly maxStreams?: number;
  readonly maxStreamsPerClient?: number;
  readonly heartbeatMs?: number;
  /** A client that does not read its answer for so long is dropped; a stream is resumed by its last event id. */
  readonly stallMs?: number;
  /** For the whole of a request to arrive, headers and body. */
  readonly requestTimeoutMs?: number;
  /** WebSockets that are open at the same time. */
  readonly maxSockets?: number;
}

const LIMITS = {
  maxBodyBytes: 10 * 1024 * 1024,
  maxStreams: 50_000,
  maxStreamsPerClient: 20_000,
  heartbeatMs: 15_000,
  stallMs: 60_000,
  requestTimeoutMs: 60_000,
  maxSockets: 4000,
} satisfies ServeLimits;

/** For the headers of a request to arrive, and between two looks at who is late. */
const HEADERS_MS = 15_000;

/** What has been answered gets at least so long to reach its client when the server closes. */
const FLUSH_MS = 500;

/**
 * The options of `serve`.
 *
 *   serve(agent, { store: sqliteStore('tasks.db'), authenticate: bearerTokens(tokens) });
 */
export interface ServeOptions {
  /** Fields of the card that are to differ from what the agent's profile says. */
  readonly card?: Partial<AgentCard>;
  /**
   * Fields by which the extended card differs from the card; `true` declares one that is not configured. Who may call
   * the agent may ask for it: with `authenticate` only those who are known, without it everybody.
   */
  readonly extendedCard?: Partial<AgentCard> | ((call: Call) => Partial<AgentCard>) | true;
  readonly store?: HandlerOptions['store'];
  readonly authenticate?: Authenticate;
  /** Webhooks: on by default, to public addresses. */
  readonly push?: boolean | WebhookOptions;
  readonly limits?: ServeLimits;
  readonly logger?: Logger;
  /** Where the server is reached from outside, if a proxy stands before it. */
  readonly publicUrl?: string;
  /** Origins of web pages that may call. Default: none. */
  readonly cors?: readonly string[];
  /** Versions that are spoken. Default: all. */
  readonly versions?: readonly ProtocolVersion[];
  readonly deduplicate?: boolean;
  /** JSON-RPC methods of the agent's own, by name. */
  readonly methods?: Readonly<Record<string, OwnMethod>>;
  /** HTTP routes of the agent's own. */
  readonly routes?: readonly OwnRoute[];
  /** Other agents behind the same handler, each at a path of its own. */
  readonly mounts?: MountOptions;
  /** An error on a path that is not the protocol's, in words of the agent's own; undefined: in the protocol's. */
  readonly describe?: (error: A2AError) => RouteReply | undefined;
  /** WebSockets of the agent's own, where `listen` makes the server. */
  readonly sockets?: readonly SocketRoute[];
  readonly onState?: HandlerOptions['onState'];
  /** Told of every answer, when it is there; of a stream, when it opens. Must not throw. */
  readonly observe?: (request: TransportRequest, status: number, seconds: number) => void;
  /** Stands between those who call and the handler: what it refuses by throwing an A2AError is not done. */
  readonly guard?: (handler: RequestHandler) => RequestHandler;
  /**
   * The extension on the card that a request means by another URI: the same in a version that fits. Undefined: none.
   * Throws an A2AError for a version that does not.
   */
  readonly extensionOf?: (uri: string) => string | undefined;
}

/**
 * A served agent: it listens itself, or is a handler in another server.
 *
 *   express().use('/agent', serve(agent).node);
 */
export interface AgentServer {
  readonly handler: RequestHandler;
  /** Streams that are open now. */
  readonly streams: number;
  /** For node:http, Express, connect. */
  readonly node: NodeHandler;
  /** For everything that speaks `Request → Response`. */
  readonly fetch: FetchHandler;
  /** Listens; off loopback only with `authenticate`. Port 0 picks a free one. */
  listen(port?: number, host?: string): Promise<Listening>;
  /** Stops taking requests, waits up to `ms` for executions to end, and closes the store. */
  close(ms?: number): Promise<void>;
}

/** A server that listens, with its URL. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  close(ms?: number): Promise<void>;
}

/**
 * Puts an agent behind HTTP.
 *
 *   const { url } = await serve(agent).listen(4000);
 *   http.createServer(serve(agent).node);
 */
export function serve(agent: A2AAgent, options: ServeOptions = {}): AgentServer {
  checkAgent(agent);
  const { authenticate, extendedCard, push = true } = options;
  const logger = options.logger ?? consoleLogger;
  const limits = { ...LIMITS, ...defined(options.limits) };
  const versions = VERSIONS.filter((version) => options.versions?.includes(version) ?? true);
  const publicUrl = options.publicUrl?.replace(/\/+$/, '');
  let listeningAt = 'http://localhost';

  const capabilities = {
    push: push !== false,
    extendedCard: extendedCard !== undefined,
    authenticated: authenticate !== undefined,
    versions,
  };
  const cardAt = (base: string, ...more: Partial<AgentCard>[]) =>
    makeCard(agent.profile, base, capabilities, options.card ?? {}, ...more);
  const extended = (call: Call): AgentCard => {
    const differs = typeof extendedCard === 'function' ? extendedCard(call) : extendedCard;
    return cardAt(call.base ?? publicUrl ?? listeningAt, differs === true ? {} : (differs ?? {}));
  };
  // What the card says counts, wherever it got it from: what is off there is off, what it demands is demanded.
  const offered = cardAt(listeningAt).capabilities;
  if (push === false && offered.pushNotifications) {
    throw new TypeError('the card declares push notifications, and `push` is false');
  }
  const webhooks = offered.pushNotifications ? (push === true ? {} : push || undefined) : undefined;
  const configured = extendedCard !== undefined && extendedCard !== true;
  const handler = createHandler(agent, {
    store: options.store,
    logger,
    limits: options.limits,
    deliver: webhooks && webhookDelivery(webhooks),
    streaming: offered.streaming,
    // The card's own default, text, is what is sure to work and not all that is taken.
    inputModes: options.card?.defaultInputModes ?? agent.profile.inputModes,
    deduplicate: options.deduplicate,
    onState: options.onState,
    extendedCard: !offered.extendedAgentCard ? undefined : configured ? extended : true,
  });
  const admission = createAdmission({ authenticate, corsOrigins: options.cors, publicUrl });
  const streams = new StreamCounter(limits);
  const heartbeat = new Heartbeat(limits);
  const answer = createApp({
    handler: options.guard?.(handler) ?? handler,
    logger,
    admission,
    streams,
    versions,
    extensions: offered.extensions ?? [],
    extensionOf: options.extensionOf,
    methods: ownMethods(options.methods),
    routes: routeTable([...(options.routes ?? []), ...(options.sockets ?? []).map(plainRoute)]),
    cardAt,
    profile: () => agent.profile,
    mounts: options.mounts && {
      path: options.mounts.path,
      find: (name, user) => options.mounts?.find(name, user),
      cardAt: ({ profile, card = {} }, base) =>
        makeCard(profile, base, { ...capabilities, extendedCard: false }, card),
    },
    describe: options.describe,
  });
  let recovering: Promise<void> | undefined;
  let recovered = false;
  const ready: App = (request, readBody) => {
    if (recovered) return answer(request, readBody);
    return recover().then(() => answer(request, readBody));
  };
  const app = options.observe ? observed(ready, options.observe) : ready;

  function recover(): Promise<void> {
    return (recovering ??= handler.recover().then(() => {
      recovered = true;
    }));
  }

  const { maxBodyBytes, stallMs } = limits;
  const cors: Admission['cors'] = (request) => admission.cors(request);
  const adapter = { maxBodyBytes, publicUrl, heartbeat, cors };
  const node = createNodeHandler(app, { ...adapter, stallMs, logger });

  async function listen(port = 0, host = '127.0.0.1'): Promise<Listening> {
    if (!isLoopback(host) && !authenticate) {
      throw new Error(`refusing to listen on ${host} without authentication`);
    }
    await recover();
    const requestTimeout = limits.requestTimeoutMs;
    const headersTimeout = Math.min(HEADERS_MS, requestTimeout);
    const upgrades = await openUpgrades();
    // Not by `import`: node:http as a module namespace brings undici along, and that is most of a start.
    const server = process.getBuiltinModule('node:http').createServer(
      {
        requestTimeout,
        headersTimeout,
        connectionsCheckingInterval: headersTimeout || HEADERS_MS,
        keepAliveTimeout: 65_000,
        shouldUpgradeCallback: (request) => upgrades?.wanted(request) === true,
      },
      node,
    );
    server.on('upgrade', (request, socket, head) => upgrades?.handle(request, socket, head));
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    const address = server.address() as AddressInfo;
    const name = isIP(host) === 6 ? `[${host}]` : host;
    listeningAt = `http://${name}:${address.port}`;
    return {
      url: publicUrl ?? listeningAt,
      port: address.port,
      server,
      async close(ms = 0) {
        const until = performance.now() + ms;
        // Not node:http's own close: it cuts off answers that are written but not sent yet.
        NetServer.prototype.close.call(server);
        await close(ms);
        upgrades?.close();
        await flushed(sockets, Math.max(FLUSH_MS, until - performance.now()));
        server.closeAllConnections();
        // Those that became something else are not the server's any more.
        for (const socket of sockets) socket.destroy();
      },
    };
  }

  async function openUpgrades(): Promise<Upgrades | undefined> {
    const { sockets: routes = [] } = options;
    if (routes.length === 0) return undefined;
    const { createUpgrades } = await import('./http/websocket/index.ts');
    const { maxBodyBytes: maxFrameBytes, maxSockets, heartbeatMs: pingMs } = limits;
    const sizes = { maxFrameBytes, maxSockets, pingMs };
    return createUpgrades({ routes, admission, publicUrl, logger, ...sizes });
  }

  function close(ms?: number): Promise<void> {
    return handler.close(ms);
  }

  return {
    handler,
    get streams() {
      return streams.total;
    },
    node,
    fetch: createFetchHandler(app, { ...adapter, unknownIsLocal: !authenticate && !publicUrl }),
    listen,
    close,
  };
}

/** Says what to do with a value that is not an A2A agent, such as an agent of the framework. */
function checkAgent(
  agent: Partial<A2AAgent> & { readonly run?: unknown; readonly name?: unknown },
): void {
  if (typeof agent?.execute === 'function' && agent.profile) return;
  throw new TypeError(
    typeof agent?.run === 'function'
      ? `serve() needs an A2A agent, and "${String(agent.name)}" is an agent of parley-a2a/agent. ` +
          "Convert it: serve(toA2AAgent(agent)), with toA2AAgent from 'parley-a2a/bridge'"
      : "serve() needs an A2A agent: make one with createAgent(…), or with toA2AAgent(…) from 'parley-a2a/bridge'",
  );
}

function observed(app: App, observe: NonNullable<ServeOptions['observe']>): App {
  return async (request, readBody) => {
    const since = performance.now();
    const reply = await app(request, readBody);
    observe(request, 'status' in reply ? reply.status : 200, (performance.now() - since) / 1000);
    return reply;
  };
}

/** Waits until everything that was answered has been sent, at most so long. */
async function flushed(sockets: ReadonlySet<Socket>, ms: number): Promise<void> {
  const until = performance.now() + ms;
  do await delay(5);
  while (
    performance.now() < until &&
    [...sockets].some(({ writableLength }) => writableLength > 0)
  );
}

export * from './protocol.ts';
export type { MaybePromise } from './base/index.ts';
export {
  consoleLogger,
  createAgent,
  createHandler,
  memoryStore,
  TaskStream,
  type A2AAgent,
  type AgentContext,
  type AgentExecutor,
  type AgentFunction,
  type AgentOptions,
  type AgentProfile,
  type Append,
  type AppendOutcome,
  type ArtifactEvent,
  type CancelContext,
  type Deliver,
  type Delivery,
  type DeliveryOutcome,
  type EndReason,
  type ExecutionContext,
  type ExecutionLimits,
  type ExecutionRules,
  type ExecutorEvent,
  type Expired,
  type ExpireOptions,
  type GivenAnswer,
  type HandlerOptions,
  type IntakeOptions,
  type ListOptions,
  type ListPage,
  type ListQuery,
  type Logger,
  type LogPage,
  type MemoryStore,
  type MemoryStoreOptions,
  type OnState,
  type Opening,
  type Post,
  type Published,
  type PushRecord,
  type Reception,
  type RequestContext,
  type RequestHandler,
  type ReserveParams,
  type RuntimeLimits,
  type Scope,
  type SerializedEntry,
  type Sink,
  type StatusEvent,
  type StreamSink,
  type TaskHead,
  type TaskStore,
  type Transitions,
  type Yielded,
} from './tasks/index.ts';
export {
  bearerTokens,
  webhookDelivery,
  type Authenticate,
  type FetchContext,
  type FetchHandler,
  type JsonRoute,
  type MountedAgent,
  type MountOptions,
  type NodeHandler,
  type OwnMethod,
  type OwnRoute,
  type PeerSocket,
  type RouteBase,
  type RouteReply,
  type RouteRequest,
  type RouteStream,
  type RouteText,
  type SocketListener,
  type SocketRequest,
  type SocketRoute,
  type StreamRoute,
  type TransportRequest,
  type WebhookOptions,
} from './http/index.ts';
