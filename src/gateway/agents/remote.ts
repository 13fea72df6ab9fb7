/** One agent behind the gateway: its connection, its card and its health. */
import type { Dispatcher } from 'undici';
import { defined } from '../../base/index.ts';
import {
  choose,
  createBinding,
  createHttpService,
  discover,
  remoteLimits,
  restrictToOrigins,
  type FoundCard,
  type RemoteLimits,
} from '../../client/index.ts';
import { codecOf, type AgentCard, type AgentService } from '../../protocol/index.ts';
import type { AgentProfile } from '../../tasks/index.ts';
import type { AgentConfig } from './config.ts';
import { fetchOver } from './dialler.ts';
import { exposedProfile } from './exposed.ts';
import { failureLine } from './failure.ts';
import { createTransport } from './transport.ts';

export interface Health {
  readonly state: 'unknown' | 'healthy' | 'unhealthy';
  /** Time of the last change of the state, in ISO 8601. */
  readonly since: string;
  /** Time of the last check, in ISO 8601. */
  readonly checkedAt?: string;
  /** The failure of the last check, in one line. */
  readonly error?: string;
}

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
  readonly dispatcher: Dispatcher;
}

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
  readonly #dispatcher: Dispatcher;
  readonly #fetch: typeof globalThis.fetch;
  /** Addresses that callers must not see: the addresses in the settings and in the card. */
  #hidden: readonly string[];
  #health: Health = { state: 'unknown', since: new Date().toISOString() };
  #profile: AgentProfile | undefined;
  #connected: Connected | undefined;
  #fetching: Promise<Connected> | undefined;

  constructor({ name, source, settings, dispatcher }: Options) {
    this.name = name;
    this.source = source;
    this.settings = settings;
    this.#dispatcher = dispatcher;
    this.forwardHeaders = (settings.forwardHeaders ?? []).map((header) => header.toLowerCase());
    this.limits = remoteLimits(defined(settings.limits));
    this.#hidden = [settings.url, ...(settings.allowOrigins ?? [])];
    this.#fetch = withEtag(fetchOver(dispatcher));
  }

  get health(): Health {
    return this.#health;
  }

  /**
   * The part of the card that callers may see. Before the card has been fetched, it has only a name and a description.
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

  /** Returns the connection that the last card describes. Fetches the card if there is none yet. */
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
      const connected = this.#through(found.card, found.url);
      this.#setHealth('healthy');
      return connected;
    } catch (error) {
      this.#setHealth('unhealthy', this.explain(error));
      throw error;
    }
  }

  #through(card: AgentCard, url: string): Connected {
    const { headers = {}, description } = this.settings;
    const endpoint = choose({ card, url });
    const codec = codecOf(endpoint.version, endpoint.binding);
    const binding = createBinding(endpoint, codec);
    const { limits, timeoutMs } = this;
    const dispatcher = this.#dispatcher;
    const transport = createTransport({
      url: endpoint.url,
      dispatcher,
      headers,
      limits,
      timeoutMs,
    });
    const service = createHttpService({ codec, binding, transport });
    const extensions = (card.capabilities.extensions ?? []).map(({ uri }) => uri);
    this.#profile = exposedProfile(card, { description, hidden: this.#hidden });
    this.#connected = { service, streams: card.capabilities.streaming === true, extensions };
    return this.#connected;
  }

  #setHealth(state: Health['state'], error?: string): void {
    const checkedAt = new Date().toISOString();
    const since = state === this.#health.state ? this.#health.since : checkedAt;
    this.#health = { state, since, checkedAt, ...(error !== undefined && { error }) };
  }
}

/**
 * Returns a `fetch` that sends the ETag of the last card. If the card has not changed, it returns the last card again.
 */
function withEtag(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let known: { url: string; etag: string; body: string; type: string } | undefined;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = new Headers(init?.headers);
    if (known?.url === url) headers.set('if-none-match', known.etag);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 304 && known?.url === url) {
      await response.body?.cancel();
      return new Response(known.body, { headers: { 'content-type': known.type } });
    }
    const etag = response.headers.get('etag');
    const size = Number(response.headers.get('content-length') ?? Number.NaN);
    // Keep only a card that is known to be small. A compressed card is larger than its content-length.
    const isSmall = size <= MAX_CARD_BYTES && !response.headers.has('content-encoding');
    if (!response.ok || etag === null || !isSmall) return response;
    const body = await response.text();
    const type = response.headers.get('content-type') ?? '';
    known = { url, etag, body, type };
    return new Response(body, { headers: { 'content-type': type } });
  };
}

function addressesIn({ card, url }: FoundCard): string[] {
  const addresses = card.supportedInterfaces.map((offer) => URL.parse(offer.url, url)?.href);
  return addresses.filter((address) => address !== undefined).slice(0, MAX_ADDRESSES);
}
