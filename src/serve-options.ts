/** The options of `serve()`. */
import type { SigningKeys } from './base/signing/index.ts';
import type { Tracer } from './base/tracing/index.ts';
import type { A2AError, AgentCard, Call, ProtocolVersion } from './protocol/index.ts';
import type { HandlerOptions, Logger, RequestHandler, Retention } from './tasks/index.ts';
import type {
  Authenticate,
  FailedRequest,
  GrpcBinding,
  MountOptions,
  OwnMethod,
  OwnRoute,
  RouteReply,
  SocketRoute,
  TlsPair,
  TransportRequest,
  WebhookOptions,
} from './http/index.ts';

/** The limits of a server: sizes, streams and timeouts. */
export interface ServeLimits extends NonNullable<HandlerOptions['limits']> {
  readonly maxBodyBytes?: number;
  readonly maxStreams?: number;
  readonly maxStreamsPerClient?: number;
  /**
   * Maximum number of bytes that wait in memory for all clients. These are bodies and WebSocket frames that are being
   * received, and answers that clients have not read. A request whose body or answer would exceed the limit gets 503. A
   * stream or a WebSocket that would exceed the limit is closed. Bodies, frames and answers up to 64 KB are not
   * counted. Default: 512 MiB.
   */
  readonly maxPendingBytes?: number;
  /**
   * Like `maxPendingBytes`, but for one client. A client is a user, or an IP address if there is no authentication. A
   * request that would exceed this limit gets 429. Default: a quarter of `maxPendingBytes`.
   */
  readonly maxPendingBytesPerClient?: number;
  readonly heartbeatMs?: number;
  /**
   * The server disconnects a client that reads nothing of its response for this time. The client can resume a stream
   * with the id of its last event. Default: 60 seconds.
   */
  readonly stallMs?: number;
  /** The timeout for receiving a request, including headers and body. 0: no timeout. Default: 60 seconds. */
  readonly requestTimeoutMs?: number;
  /** Maximum number of WebSockets that are open at the same time. Default: 4000. */
  readonly maxSockets?: number;
}

/** The default limits. */
export const LIMITS = {
  maxBodyBytes: 10 * 1024 * 1024,
  maxStreams: 50_000,
  maxStreamsPerClient: 20_000,
  maxPendingBytes: 512 * 1024 * 1024,
  heartbeatMs: 15_000,
  stallMs: 60_000,
  requestTimeoutMs: 60_000,
  maxSockets: 4000,
} satisfies ServeLimits;

/**
 * The options of `serve`.
 *
 *   serve(agent, { store: sqliteStore('tasks.db'), authenticate: bearerTokens(tokens) });
 */
export interface ServeOptions {
  /** Fields of the agent card that override the agent's profile. */
  readonly card?: Partial<AgentCard>;
  /**
   * Fields of the extended card that override the card. With `true`, the card declares an extended card, but a request
   * for it gets the error that none is configured. Without `authenticate`, all callers may read the extended card. With
   * `authenticate`, only authenticated callers may read it.
   */
  readonly extendedCard?: Partial<AgentCard> | ((call: Call) => Partial<AgentCard>) | true;
  readonly store?: HandlerOptions['store'];
  /**
   * How long finished tasks are kept. By default, they are kept for 30 days, and only while the store is smaller than 2
   * GB. A store in PostgreSQL has no size limit. With false, the server removes only expired tasks. Unfinished
   * tasks are never removed.
   */
  readonly retention?: Retention | false;
  /**
   * By default, the server calls `handler.expire` regularly, with `retention`. With false, your program must call it
   * regularly and pass the retention.
   */
  readonly sweep?: false;
  readonly authenticate?: Authenticate;
  /**
   * Converts users for requests between the nodes of a cluster. Set it if `authenticate` returns objects of a class. By
   * default, the other node gets the user as plain JSON, without methods.
   */
  readonly users?: HandlerOptions['users'];
  /**
   * Returns whether `authenticate` accepts callers without credentials at the moment. If so, the card declares no
   * security. Default: false.
   */
  readonly anonymous?: () => boolean;
  /** The certificate of a server that `listen` starts. Without it, the server uses plain HTTP. */
  readonly tls?: TlsPair;
  /** The gRPC binding: `grpcBinding()` of `parley-a2a/grpc`. Default: no gRPC. */
  readonly grpc?: GrpcBinding | undefined;
  /** The port on which `listen` serves only gRPC. By default, gRPC is on the same port as HTTP. */
  readonly grpcPort?: number | undefined;
  /**
   * Whether requests that come through a proxy on this machine are trusted like other local requests. By default, a
   * server without `authenticate` refuses such requests, because the clients of the proxy may be anywhere.
   */
  readonly trustProxy?: boolean;
  /** The settings for webhooks, or false to turn them off. By default, webhooks reach only public addresses. */
  readonly push?: boolean | WebhookOptions;
  /**
   * The keys that sign webhooks and agent cards, and that are published in `/.well-known/jwks.json`. Default: a new key
   * for this process, which signs only webhooks.
   */
  readonly signing?: SigningKeys;
  readonly limits?: ServeLimits;
  readonly logger?: Logger;
  /**
   * The public URL of the server, if it is behind a proxy. If neither `authenticate` nor `publicUrl` is set, requests
   * from other machines are refused.
   */
  readonly publicUrl?: string;
  /** Origins of the web pages of other servers that may call the agent, or `*` for all. Default: none. */
  readonly cors?: readonly string[];
  /** The supported protocol versions. Default: all. */
  readonly versions?: readonly ProtocolVersion[];
  /**
   * Whether the card's gRPC address for 0.3 has a scheme. Default: false, because the SDKs accept only a host and a
   * port. The protocol's compatibility kit for 0.3 accepts only a URL.
   */
  readonly grpcScheme?: boolean;
  /** Whether a repeated message id returns the task of the first message. Default: true. */
  readonly deduplicate?: boolean;
  /** Additional JSON-RPC methods, by name. */
  readonly methods?: Readonly<Record<string, OwnMethod>>;
  /** Additional HTTP routes. */
  readonly routes?: readonly OwnRoute[];
  /**
   * Whether to serve the web page at `/console`, where a person uses the agent in a browser. With `home`, a browser
   * also gets it at `/`. Default: false.
   */
  readonly console?: boolean | 'home';
  /** Other agents that this server offers with the same handler, each at its own path. */
  readonly mounts?: MountOptions;
  /**
   * Returns the response to an error on a path outside the protocol, or undefined for the protocol's error response.
   */
  readonly describe?: (error: A2AError, request: FailedRequest) => RouteReply | undefined;
  /** Additional WebSocket routes. They work only with `listen`. */
  readonly sockets?: readonly SocketRoute[];
  readonly onState?: HandlerOptions['onState'];
  /**
   * Starts a span for each execution of the agent, and for each call of a model or a tool in it. The spans follow
   * OpenTelemetry's conventions for generative AI. `openTelemetryTracer()` returns a tracer. By default there are no
   * spans.
   */
  readonly tracer?: Tracer;
  /**
   * Called for every response, with the time in seconds since the request arrived. For a stream, it is called when the
   * stream opens. Must not throw.
   */
  readonly observe?: (request: TransportRequest, status: number, seconds: number) => void;
  /** Wraps the handler of all requests. To refuse an operation, the wrapper throws an A2AError. */
  readonly guard?: (handler: RequestHandler) => RequestHandler;
  /**
   * Maps the URI of an extension in a request to the URI of a compatible version on the card. Returns undefined if the
   * extension is unknown. Throws an A2AError for an incompatible version.
   */
  readonly extensionOf?: (uri: string) => string | undefined;
}
