/** One agent behind the gateway: its connection, its card and its health. */
import * as z from 'zod';
import { defined } from '../../base/index.ts';
import {
  chooseAmong,
  createBinding,
  createHttpService,
  discover,
  interfaceUrl,
  loadGrpc,
  remoteLimits,
  restrictToOrigins,
  type ChosenEndpoint,
  type FoundCard,
  type RemoteLimits,
} from '../../client/index.ts';
import { codecOf, type AgentService } from '../../protocol/index.ts';
import type { AgentProfile } from '../../tasks/index.ts';
import type { AgentConfig } from './config.ts';
import { fetchOver, type AgentRoute } from './dialler.ts';
import { exposedProfile } from './exposed.ts';
import { failureLine } from './failure.ts';
import { budgetOf, createTransport } from './transport.ts';

export const Health = z.object({
  state: z.enum(['unknown', 'healthy', 'unhealthy']),
  since: z.iso.datetime().describe('The time of the last change of the state'),
  checkedAt: z.iso.datetime().optional().describe('The time of the last check'),
  error: z.string().optional().describe('The failure of the last check'),
});
export type Health = Readonly<z.infer<typeof Health>>;

/** The connection to an agent, and the capabilities in its card. */
export interface Connected {
  readonly service: AgentService;
  readonly streams: boolean;
  readonly extensions: readonly string[];
}

interface Options {
  readonly name: string;
  readonly source: 'config' | 'api';
  readonly settings: AgentConfig;
  readonly route: AgentRoute;
}

type GrpcService = NonNullable<Awaited<ReturnType<typeof loadGrpc>>>['grpcService'];

const TIMEOUT_MS = 60_000;
/**
 * Timeout for fetching a card. It is shorter than TIMEOUT_MS, because a caller who registers an agent waits for its
 * card.
 */
const CARD_TIMEOUT_MS = 10_000;
const MAX_CARD_BYTES = 256 * 1024;
/** Maximum number of a card's addresses that are hidden from callers. */
const MAX_ADDRESSES = 32;

export class RemoteAgent {
  readonly name: string;
  readonly source: 'config' | 'api';
  readonly settings: AgentConfig;
  readonly limits: Required<RemoteLimits>;
  /** Names of the request headers that are forwarded to the agent, in lower case. */
  readonly forwardHeaders: readonly string[];
  readonly #route: AgentRoute;
  readonly #fetch: typeof globalThis.fetch;
  /** Addresses that callers must not see: the addresses in the settings and in the card. */
  #hidden: readonly string[];
  #health: Health = { state: 'unknown', since: new Date().toISOString() };
  #profile: AgentProfile | undefined;
  #connected: Connected | undefined;
  #fetching: Promise<Connected> | undefined;
  #grpc: { readonly key: string; readonly service: AgentService } | undefined;

  constructor({ name, source, settings, route }: Options) {
    this.name = name;
    this.source = source;
    this.settings = settings;
    this.#route = route;
    this.forwardHeaders = (settings.forwardHeaders ?? []).map((header) => header.toLowerCase());
    this.limits = remoteLimits(defined(settings.limits));
    this.#hidden = [settings.url, ...(settings.allowOrigins ?? [])];
    this.#fetch = withEtag(fetchOver(route.dispatcher));
  }

  get health(): Health {
    return this.#health;
  }

  /**
   * The part of the card that callers may see. Before the card has been fetched, the profile has only a name and a
   * description.
   */
  get profile(): AgentProfile {
    const { description = `The agent ${this.name}` } = this.settings;
    return this.#profile ?? { name: this.name, description };
  }

  get timeoutMs(): number {
    return this.settings.timeoutMs ?? TIMEOUT_MS;
  }

  isFor(workspace: string): boolean {
    return this.settings.workspaces?.includes(workspace) ?? true;
  }

  /** Returns the connection that the last fetched card describes. Fetches the card if no card has been fetched yet. */
  connect(): Connected | Promise<Connected> {
    return this.#connected ?? this.fetchCard();
  }

  /** Fetches the card. This is also the health check. Concurrent calls share one fetch. */
  fetchCard(): Promise<Connected> {
    return (this.#fetching ??= this.#fetchCard().finally(() => {
      this.#fetching = undefined;
    }));
  }

  /** Describes the error in one line, for callers. */
  explain(error: unknown): string {
    return failureLine(error, this.name, this.#hidden);
  }

  async #fetchCard(): Promise<Connected> {
    try {
      const { url, headers = {}, allowOrigins = [] } = this.settings;
      const timeoutMs = Math.min(this.timeoutMs, CARD_TIMEOUT_MS);
      const http = { fetch: this.#fetch, headers, timeoutMs, maxResponseBytes: MAX_CARD_BYTES };
      const offered = await discover(url, http);
      this.#hidden = [url, ...allowOrigins, ...addressesIn(offered)];
      const found = restrictToOrigins([url, ...allowOrigins], offered);
      const connected = await this.#through(found);
      this.#setHealth('healthy');
      return connected;
    } catch (error) {
      this.#setHealth('unhealthy', this.explain(error));
      throw error;
    }
  }

  async #through(found: FoundCard): Promise<Connected> {
    const { card } = found;
    const { description } = this.settings;
    const grpc = await loadGrpc(found);
    const endpoint = chooseAmong(found, {}, grpc !== undefined);
    const service =
      grpc && endpoint.binding === 'GRPC'
        ? this.#overGrpc(endpoint, grpc.grpcService)
        : this.#overHttp(endpoint);
    const extensions = (card.capabilities.extensions ?? []).map(({ uri }) => uri);
    this.#profile = exposedProfile(card, { description, hidden: this.#hidden });
    this.#connected = { service, streams: card.capabilities.streaming === true, extensions };
    return this.#connected;
  }

  #overHttp(endpoint: ChosenEndpoint): AgentService {
    const codec = codecOf(endpoint.version, endpoint.binding);
    const binding = createBinding(endpoint, codec);
    const { limits, timeoutMs } = this;
    const { headers = {} } = this.settings;
    const { dispatcher } = this.#route;
    const transport = createTransport({
      url: endpoint.url,
      dispatcher,
      headers,
      limits,
      timeoutMs,
    });
    return createHttpService({ codec, binding, transport });
  }

  /**
   * Creates a service for the endpoint. If the endpoint has not changed, returns the last service, which keeps its own
   * connection open.
   */
  #overGrpc(endpoint: ChosenEndpoint, grpcService: GrpcService): AgentService {
    const key = JSON.stringify(endpoint);
    if (this.#grpc?.key === key) return this.#grpc.service;
    const { limits, timeoutMs } = this;
    const { guard, signal } = this.#route;
    const service = grpcService(endpoint, {
      guard,
      signal,
      timeoutMs,
      headers: this.settings.headers,
      idleTimeoutMs: limits.idleMs,
      maxEventBytes: limits.maxEventBytes,
      maxResponseBytes: limits.maxEventBytes,
      budgetOf: (call) => budgetOf(call, limits),
    });
    this.#grpc = { key, service };
    return service;
  }

  #setHealth(state: Health['state'], error?: string): void {
    const checkedAt = new Date().toISOString();
    const since = state === this.#health.state ? this.#health.since : checkedAt;
    this.#health = { state, since, checkedAt, ...(error !== undefined && { error }) };
  }
}

interface KnownCard {
  readonly url: string;
  readonly etag: string;
  readonly body: string;
  readonly type: string;
}

/**
 * Returns a `fetch` that sends the ETag of the last card. If the card has not changed, it returns the last card again.
 */
function withEtag(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let known: KnownCard | undefined;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = new Headers(init?.headers);
    if (known?.url === url) headers.set('if-none-match', known.etag);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 304 && known?.url === url) {
      await response.body?.cancel();
      return responseOf(known);
    }
    const etag = response.headers.get('etag');
    const size = Number(response.headers.get('content-length') ?? Number.NaN);
    // Keep only a card that is known to be small. A compressed card is larger than its content-length.
    const isSmall = size <= MAX_CARD_BYTES && !response.headers.has('content-encoding');
    if (!response.ok || etag === null || !isSmall) return response;
    const body = await response.text();
    const type = response.headers.get('content-type') ?? '';
    known = { url, etag, body, type };
    return responseOf(known);
  };
}

/**
 * Returns a response with the card. It has the card's URL, because relative URLs in the card are resolved against it.
 */
function responseOf({ url, body, type }: KnownCard): Response {
  const response = new Response(body, { headers: { 'content-type': type } });
  return Object.defineProperty(response, 'url', { value: url });
}

function addressesIn({ card, url }: FoundCard): string[] {
  const addresses = card.supportedInterfaces.map((offer) => interfaceUrl(offer, url)?.href);
  return addresses.filter((address) => address !== undefined).slice(0, MAX_ADDRESSES);
}
