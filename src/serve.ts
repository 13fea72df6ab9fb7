/**
 * Serves an agent over HTTP: connects the task handler to the HTTP adapters.
 *
 *   await serve(agent).listen(4000);
 */
import type { Server } from 'node:http';
import { defined, isLoopback, trimEndOf } from './base/index.ts';
import { temporarySigningKeys } from './base/signing/index.ts';
import { type AgentCard, type Call, VERSIONS } from './protocol/index.ts';
import {
  type A2AAgent,
  createHandler,
  type RequestHandler,
  startSweeper,
  tracedExecutor,
  consoleLogger,
} from './tasks/index.ts';
import {
  type Admission,
  createAdmission,
  type App,
  createApp,
  createHealth,
  healthRoutes,
  JWKS_PATH,
  Addresses,
  grpcPlace,
  makeCard,
  signCard,
  createFetchHandler,
  type FetchHandler,
  Heartbeat,
  createNodeHandler,
  type AppContext,
  type GrpcHandler,
  type NodeHandler,
  ownMethods,
  routeTable,
  plainRoute,
  PendingBytes,
  SignedHosts,
  storeCheck,
  StreamCounter,
  tenantOf,
  type TlsPair,
  webhookDelivery,
} from './http/index.ts';
import type { Upgrades } from './http/websocket/index.ts';
import { consoleRoutes, pageReply, wantsPage } from './console/index.ts';
import { LIMITS, type ServeOptions } from './serve-options.ts';

/** How often the server ends or removes expired tasks, and removes the tasks that `retention` does not keep. */
const SWEEP_MS = 10_000;

/** Minimum time for sending the remaining responses when a server or an address closes. */
const FLUSH_MS = 500;

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
  /** The handler for gRPC requests to an HTTP/2 server, if the option `grpc` is set. */
  readonly grpc: GrpcHandler | undefined;
  /**
   * Starts a server. Addresses other than loopback addresses require `authenticate`. With port 0, the system chooses a
   * free port.
   */
  listen(port?: number, host?: string): Promise<Listening>;
  /**
   * Refuses new messages, waits up to `ms` milliseconds for executions and webhooks to end, aborts those that have not
   * ended, and closes the store. The default of `ms` is 0. Webhooks get at least one second, even if `ms` is smaller.
   */
  close(ms?: number): Promise<void>;
}

/** A listening server, with its URL. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** The host and the port of gRPC, if the option `grpc` is set. */
  readonly grpc?: string;
  readonly server: Server;
  /**
   * Replaces the certificate on all addresses, including those that were added with a certificate of their own. Throws
   * if an address does not use TLS. Open connections stay open.
   */
  setTls(pair: TlsPair): void;
  /**
   * Listens on another address of this machine too, with the same port. By default, this address uses the certificate
   * of the server, if it has one. If the first address is a loopback address, the Host header of a request
   * from another machine must be an added address or the host of `publicUrl`.
   */
  addAddress(host: string, options?: { readonly tls?: TlsPair }): Promise<AddedAddress>;
  /** Stops listening, calls `AgentServer.close`, and then closes all connections. */
  close(ms?: number): Promise<void>;
}

/** Another address of a listening server. */
export interface AddedAddress {
  readonly url: string;
  /** Stops listening on this address, and closes its connections. */
  close(): Promise<void>;
}

/**
 * Serves an agent over HTTP.
 *
 *   const { url } = await serve(agent).listen(4000);
 *   http.createServer(serve(agent).node);
 */
export function serve(agent: A2AAgent, options: ServeOptions = {}): AgentServer {
  checkAgent(agent);
  const { authenticate, extendedCard, mounts, push = true } = options;
  const logger = options.logger ?? consoleLogger;
  const limits = { ...LIMITS, ...defined(options.limits) };
  const versions = VERSIONS.filter((version) => options.versions?.includes(version) ?? true);
  const publicUrl = options.publicUrl && trimEndOf(options.publicUrl, '/');
  const signing = options.signing ?? temporarySigningKeys();
  const signedHosts = new SignedHosts();
  let listeningAt = 'http://localhost';
  /** Whether gRPC is served. Set when the server listens. */
  let listensGrpc = false;
  /** The port of gRPC, if it differs from the port of the server. Set when the server listens. */
  let grpcPort: number | undefined;

  const capabilities = {
    push: push !== false,
    extendedCard: extendedCard !== undefined,
    get authenticated() {
      return authenticate !== undefined && options.anonymous?.() !== true;
    },
    versions,
    sockets: options.sockets,
    grpcAt: (base: string) =>
      listensGrpc ? grpcPlace(base, grpcPort, options.grpcScheme) : undefined,
  };
  const cardAt = (base: string, ...more: Partial<AgentCard>[]) =>
    makeCard(agent.profile, base, capabilities, options.card ?? {}, ...more);
  const extended = (call: Call): AgentCard => {
    const differs = typeof extendedCard === 'function' ? extendedCard(call) : extendedCard;
    const base = call.base ?? publicUrl ?? listeningAt;
    const card = cardAt(base, differs === true ? {} : (differs ?? {}));
    if (!options.signing) return card;
    const jku = base + JWKS_PATH;
    signedHosts.check(jku, `user ${call.user?.id ?? ''}`);
    return signCard(card, { keys: options.signing, jku }, call.version);
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
  const handler = createHandler(options.tracer ? tracedExecutor(agent, options.tracer) : agent, {
    store: options.store,
    logger,
    limits: options.limits,
    deliver: webhooks && webhookDelivery(webhooks, signing),
    streaming: offered.streaming,
    // If no input modes are given, every media type is accepted, although the card lists only text.
    inputModes: options.card?.defaultInputModes ?? agent.profile.inputModes,
    deduplicate: options.deduplicate,
    users: options.users,
    onState: options.onState,
    extendedCard: !offered.extendedAgentCard ? undefined : configured ? extended : true,
  });
  /**
   * The Host headers of the added addresses. If `onlyAdded` is true, a request from another machine must have one of
   * them, or the host of `publicUrl`.
   */
  const addedHosts = new Set<string>();
  let onlyAdded = false;
  let source = { profile: agent.profile, authenticated: capabilities.authenticated };
  /**
   * Returns the key of the card cache: an object that is replaced when the profile or the authentication on the card
   * changes.
   */
  function cardSource(): object {
    const { authenticated } = capabilities;
    if (source.profile !== agent.profile || source.authenticated !== authenticated) {
      source = { profile: agent.profile, authenticated };
    }
    return source;
  }
  const admission = createAdmission({
    authenticate,
    corsOrigins: options.cors,
    publicUrl,
    trustProxy: options.trustProxy,
    networkHosts: () => (onlyAdded ? addedHosts : undefined),
  });
  const streams = new StreamCounter(limits);
  const pending = new PendingBytes({
    maxPendingBytesPerClient: limits.maxPendingBytes / 4,
    ...limits,
  });
  const heartbeat = new Heartbeat(limits);
  const health = createHealth({
    checks: options.store ? { store: storeCheck(options.store) } : {},
    logger,
  });
  const page = { live: options.sockets?.some(({ path }) => path === '/ws') };
  const context: AppContext = {
    handler: options.guard?.(handler) ?? handler,
    logger,
    admission,
    streams,
    pending,
    signing,
    signsCards: options.signing !== undefined,
    signedHosts,
    versions,
    extensions: offered.extensions ?? [],
    extensionOf: options.extensionOf,
    methods: ownMethods(options.methods),
    routes: routeTable([
      ...(options.routes ?? []),
      ...(options.sockets ?? []).map(plainRoute),
      ...(options.console === undefined || options.console === false ? [] : consoleRoutes(page)),
      // Routes of the options come first, so that the gateway and other programs can replace the health routes.
      ...healthRoutes(health),
    ]),
    home:
      options.console === 'home'
        ? (request) =>
            wantsPage(request.header('accept')) ? pageReply('console/', page) : undefined
        : undefined,
    cardAt,
    profile: cardSource,
    mounts: mounts && {
      ...mounts,
      cardAt: ({ profile, card = {} }, base) => {
        const own = { ...capabilities, extendedCard: false, sockets: undefined };
        const tenant = tenantOf(mounts, base);
        const place = tenant === undefined ? undefined : capabilities.grpcAt(base);
        const grpcAt = () => place && { ...place, tenant };
        return makeCard(profile, base, { ...own, grpcAt }, card);
      },
    },
    describe: options.describe,
  };
  const answer = createApp(context);
  const closing = new AbortController();
  let recovering: Promise<void> | undefined;
  let recovered = false;
  const ready: App = (request, readBody) => {
    if (recovered) return answer(request, readBody);
    return recover().then(() => answer(request, readBody));
  };
  const app = options.observe ? observed(ready, options.observe) : ready;

  function recover(): Promise<void> {
    return (recovering ??= handler.recover().then(started, (error: unknown) => {
      // The next request tries again.
      recovering = undefined;
      throw error;
    }));
  }

  function started(): void {
    recovered = true;
    if (options.sweep === false) return;
    const { retention = {} } = options;
    const kept = retention === false ? undefined : retention;
    const { signal } = closing;
    startSweeper({ handler, logger, everyMs: SWEEP_MS, retention: kept, signal });
  }

  const { maxBodyBytes, stallMs } = limits;
  const cors: Admission['cors'] = (request) => admission.cors(request);
  const adapter = { maxBodyBytes, publicUrl, heartbeat, cors };
  const { node, unread } = createNodeHandler(app, { ...adapter, pending, stallMs, logger });

  const grpc = options.grpc?.handlerFor({
    app: context,
    publicUrl,
    maxBodyBytes,
    heartbeat,
    health,
    ready: () => (recovered ? undefined : recover()),
    observe: options.observe,
  });

  /** Throws if other machines could reach the address and there is no authentication. */
  function checkHost(host: string): void {
    if (isLoopback(host) || authenticate) return;
    throw new Error(
      `refusing to listen on ${host} without authentication: set authenticate, or listen on 127.0.0.1`,
    );
  }

  async function listen(port = 0, host = '127.0.0.1'): Promise<Listening> {
    checkHost(host);
    await recover();
    const upgrades = await openUpgrades();
    const { requestTimeoutMs } = limits;
    const { tls } = options;
    const handlers = { node, grpc, upgrades, unread };
    const addresses = await Addresses.open(port, host, {
      ...handlers,
      requestTimeoutMs,
      tls,
      grpcPort: options.grpcPort === port && port > 0 ? undefined : options.grpcPort,
    });
    const { main } = addresses;
    listeningAt = main.url;
    onlyAdded = isLoopback(host);
    listensGrpc = grpc !== undefined;
    ({ grpcPort } = addresses);

    return {
      url: publicUrl ?? listeningAt,
      port: main.port,
      ...(listensGrpc && { grpc: grpcPlace(publicUrl ?? listeningAt, grpcPort).url }),
      server: main.server,
      async addAddress(where, given = {}) {
        checkHost(where);
        const address = await addresses.add(where, given.tls);
        for (const own of address.hosts) addedHosts.add(own);
        return {
          url: address.url,
          close() {
            for (const own of address.hosts) addedHosts.delete(own);
            return address.close(FLUSH_MS);
          },
        };
      },
      setTls: (pair) => addresses.setTls(pair),
      async close(ms = 0) {
        const until = performance.now() + ms;
        addresses.stop();
        await close(ms);
        upgrades?.close();
        await addresses.end(Math.max(FLUSH_MS, until - performance.now()));
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
    health.drain();
    closing.abort();
    return handler.close(ms);
  }

  return {
    handler,
    get streams() {
      return streams.total;
    },
    node,
    fetch: createFetchHandler(app, { ...adapter, unknownIsLocal: !authenticate && !publicUrl }),
    grpc,
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
