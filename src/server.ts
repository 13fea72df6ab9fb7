/**
 * Serves an agent over HTTP: connects the task handler to the HTTP adapters.
 *
 *   await serve(agent).listen(4000);
 */
import type { Server } from 'node:http';
import { type AddressInfo, isIP, Server as NetServer, type Socket } from 'node:net';
import { defined, isLoopback, trimEndOf } from './base/index.ts';
import { type SigningKeys, temporarySigningKeys } from './base/signing/index.ts';
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
  type FailedRequest,
  createAdmission,
  type App,
  createApp,
  JWKS_PATH,
  makeCard,
  signCard,
  createFetchHandler,
  type FetchHandler,
  Heartbeat,
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
  PendingBytes,
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
  /**
   * Maximum number of bytes that wait in memory for all clients: of bodies that are being received, and of answers that
   * clients have not read. Further requests get 503. Bodies and answers up to 64 KB are not counted.
   */
  readonly maxPendingBytes?: number;
  /** The same for one client: a user, or an address without authentication. Further requests get 429. Default: a quarter. */
  readonly maxPendingBytesPerClient?: number;
  readonly heartbeatMs?: number;
  /**
   * A client that does not read its response for this long is disconnected. It can resume a stream with the id of its
   * last event.
   */
  readonly stallMs?: number;
  /** The timeout for receiving a request, including headers and body. */
  readonly requestTimeoutMs?: number;
  /** Maximum number of WebSockets that are open at the same time. */
  readonly maxSockets?: number;
}

const LIMITS = {
  maxBodyBytes: 10 * 1024 * 1024,
  maxStreams: 50_000,
  maxStreamsPerClient: 20_000,
  maxPendingBytes: 512 * 1024 * 1024,
  heartbeatMs: 15_000,
  stallMs: 60_000,
  requestTimeoutMs: 60_000,
  maxSockets: 4000,
} satisfies ServeLimits;

/** The timeout for the headers of a request. It is also the interval at which timeouts are checked. */
const HEADERS_MS = 15_000;

/** Minimum time that a closing server waits until its responses are sent. */
const FLUSH_MS = 500;

/**
 * The options of `serve`.
 *
 *   serve(agent, { store: sqliteStore('tasks.db'), authenticate: bearerTokens(tokens) });
 */
export interface ServeOptions {
  /** Fields of the agent card that override the agent's profile. */
  readonly card?: Partial<AgentCard>;
  /**
   * Fields of the extended card that override the card. `true` declares an extended card without configuring one. All
   * callers may read the extended card. With `authenticate`, only authenticated callers may read it.
   */
  readonly extendedCard?: Partial<AgentCard> | ((call: Call) => Partial<AgentCard>) | true;
  readonly store?: HandlerOptions['store'];
  readonly authenticate?: Authenticate;
  /** The settings for webhooks, or false to turn them off. By default, webhooks reach only public addresses. */
  readonly push?: boolean | WebhookOptions;
  /**
   * The keys that sign webhooks and agent cards, and that are published in `/.well-known/jwks.json`. Default: a new key
   * for this process, which signs only webhooks.
   */
  readonly signing?: SigningKeys;
  readonly limits?: ServeLimits;
  readonly logger?: Logger;
  /** The public URL of the server, if it is behind a proxy. */
  readonly publicUrl?: string;
  /** Origins of web pages that may call the agent. Default: none. */
  readonly cors?: readonly string[];
  /** The supported protocol versions. Default: all. */
  readonly versions?: readonly ProtocolVersion[];
  /** Whether a repeated message id returns the task of the first message. Default: true. */
  readonly deduplicate?: boolean;
  /** Additional JSON-RPC methods, by name. */
  readonly methods?: Readonly<Record<string, OwnMethod>>;
  /** Additional HTTP routes. */
  readonly routes?: readonly OwnRoute[];
  /** Other agents that this server offers with the same handler, each at its own path. */
  readonly mounts?: MountOptions;
  /**
   * Returns the response to an error on a path outside the protocol, or undefined for the protocol's error response.
   */
  readonly describe?: (error: A2AError, request: FailedRequest) => RouteReply | undefined;
  /** Additional WebSocket routes. They work only with `listen`. */
  readonly sockets?: readonly SocketRoute[];
  readonly onState?: HandlerOptions['onState'];
  /** Called for every response. For a stream, it is called when the stream opens. Must not throw. */
  readonly observe?: (request: TransportRequest, status: number, seconds: number) => void;
  /** Wraps the handler of all requests. To refuse an operation, the wrapper throws an A2AError. */
  readonly guard?: (handler: RequestHandler) => RequestHandler;
  /**
   * Maps the URI of an extension in a request to the URI of a compatible version on the card. Returns undefined if the
   * extension is unknown. Throws an A2AError for an incompatible version.
   */
  readonly extensionOf?: (uri: string) => string | undefined;
}

/**
 * A served agent. It listens on its own port, or is a handler in another server.
 *
 *   express().use('/agent', serve(agent).node);
 */
export interface AgentServer {
  readonly handler: RequestHandler;
  /** The number of open streams. */
  readonly streams: number;
  /** The handler for node:http, Express and Connect. */
  readonly node: NodeHandler;
  /** The handler for servers that use functions from `Request` to `Response`. */
  readonly fetch: FetchHandler;
  /**
   * Starts a server. Addresses other than loopback addresses require `authenticate`. With port 0, the system chooses a
   * free port.
   */
  listen(port?: number, host?: string): Promise<Listening>;
  /** Refuses new requests, waits up to `ms` for executions to end, and closes the store. */
  close(ms?: number): Promise<void>;
}

/** A listening server, with its URL. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  close(ms?: number): Promise<void>;
}

/**
 * Serves an agent over HTTP.
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
  const publicUrl = options.publicUrl && trimEndOf(options.publicUrl, '/');
  const signing = options.signing ?? temporarySigningKeys();
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
    const base = call.base ?? publicUrl ?? listeningAt;
    const card = cardAt(base, differs === true ? {} : (differs ?? {}));
    if (!options.signing) return card;
    return signCard(card, { keys: options.signing, jku: base + JWKS_PATH }, call.version);
  };
  // The capabilities on the final card are used, including those that `options.card` sets.
  const offered = cardAt(listeningAt).capabilities;
  if (push === false && offered.pushNotifications) {
    throw new TypeError(
      'the card declares push notifications, but `push` is false: change one of them',
    );
  }
  const webhooks = offered.pushNotifications ? (push === true ? {} : push || undefined) : undefined;
  const configured = extendedCard !== undefined && extendedCard !== true;
  const handler = createHandler(agent, {
    store: options.store,
    logger,
    limits: options.limits,
    deliver: webhooks && webhookDelivery(webhooks, signing),
    streaming: offered.streaming,
    // If no modes are given, every type is accepted, although the card lists only text.
    inputModes: options.card?.defaultInputModes ?? agent.profile.inputModes,
    deduplicate: options.deduplicate,
    onState: options.onState,
    extendedCard: !offered.extendedAgentCard ? undefined : configured ? extended : true,
  });
  const admission = createAdmission({ authenticate, corsOrigins: options.cors, publicUrl });
  const streams = new StreamCounter(limits);
  const pending = new PendingBytes({
    maxPendingBytesPerClient: limits.maxPendingBytes / 4,
    ...limits,
  });
  const heartbeat = new Heartbeat(limits);
  const answer = createApp({
    handler: options.guard?.(handler) ?? handler,
    logger,
    admission,
    streams,
    pending,
    signing,
    signsCards: options.signing !== undefined,
    versions,
    extensions: offered.extensions ?? [],
    extensionOf: options.extensionOf,
    methods: ownMethods(options.methods),
    routes: routeTable([...(options.routes ?? []), ...(options.sockets ?? []).map(plainRoute)]),
    cardAt,
    profile: () => agent.profile,
    mounts: options.mounts && {
      ...options.mounts,
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
  const node = createNodeHandler(app, { ...adapter, pending, stallMs, logger });

  async function listen(port = 0, host = '127.0.0.1'): Promise<Listening> {
    if (!isLoopback(host) && !authenticate) {
      throw new Error(
        `refusing to listen on ${host} without authentication: set authenticate, or listen on 127.0.0.1`,
      );
    }
    await recover();
    const requestTimeout = limits.requestTimeoutMs;
    const headersTimeout = Math.min(HEADERS_MS, requestTimeout);
    const upgrades = await openUpgrades();
    // The module is not imported, because the module namespace of node:http loads undici, which takes most of the
    // start-up time.
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
        // The `close` of node:http is not used, because it drops responses that are written but not sent yet.
        NetServer.prototype.close.call(server);
        await close(ms);
        upgrades?.close();
        await flushed(sockets, Math.max(FLUSH_MS, until - performance.now()));
        server.closeAllConnections();
        // The HTTP server does not close upgraded connections.
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
    return createUpgrades({ routes, admission, publicUrl, logger, pending, ...sizes });
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

/** Throws an error with advice if the value is not an A2A agent, for example if it is an agent of the framework. */
function checkAgent(
  agent: Partial<A2AAgent> & { readonly run?: unknown; readonly name?: unknown },
): void {
  if (typeof agent?.execute === 'function' && agent.profile) return;
  throw new TypeError(
    typeof agent?.run === 'function'
      ? `serve() needs an A2A agent, but "${String(agent.name)}" is an agent of parley-a2a/agent. ` +
          "Convert it: serve(toA2AAgent(agent)), with toA2AAgent from 'parley-a2a/bridge'"
      : "serve() needs an A2A agent: create one with createAgent(…), or with toA2AAgent(…) from 'parley-a2a/bridge'",
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

/** Waits until all responses are sent, but at most `ms` milliseconds. */
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
  openSigningKeys,
  signingKeys,
  SigningKeyError,
  type PublicKeyJwk,
  type SigningKeys,
} from './base/signing/index.ts';
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
  type ConcludeContext,
  type DeadLetter,
  type DeadLetterOperations,
  type DeadLetterParams,
  type DeadLetterQuery,
  type Deliver,
  type Delivery,
  type DeliveryOutcome,
  type DuePush,
  type DueQuery,
  type EndReason,
  type ExecutionContext,
  type ExecutionLimits,
  type ExecutionRules,
  type ExecutorEvent,
  type Expired,
  type ExpireOptions,
  type FailedDelivery,
  type GivenAnswer,
  type HandlerOptions,
  type IntakeOptions,
  type ListOptions,
  type ListPage,
  type ListQuery,
  type Logger,
  type LogPage,
  type LogView,
  type LogViews,
  type MemoryStore,
  type MemoryStoreOptions,
  type OnState,
  type Opening,
  type Post,
  type Published,
  type PushChange,
  type PushProgress,
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
  type SubscribeOptions,
  type TaskHead,
  type TaskStore,
  type TaskUpdate,
  type Transitions,
  type ViewRequest,
  type Yielded,
} from './tasks/index.ts';
export {
  bearerTokens,
  webhookDelivery,
  type Authenticate,
  type FailedRequest,
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
  type DeliverWebhook,
  type TransportRequest,
  type WebhookOptions,
  type WebhookRequest,
} from './http/index.ts';
